"""Score the clusters of a run against true classes; the only pipeline that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from rstc.io.columns import extract_texts, find_text_column
from rstc.io.predictions import NO_CLUSTER
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.points import Points
from rstc.results.run_folder import hold_run_lock, read_rows, write_summary
from rstc.results.summary import TruthScores


@hold_run_lock
def score_run(folder: Path, column: str) -> Path:
    """Score the clusters that a run found against a column of its input, in its summary and on its page.

    Parameters
    ----------
    folder : Path
        The run folder.
    column : str
        The column of true classes.

    Returns
    -------
    Path
        The page.
    """
    run = CorrectedRun.read(folder)
    table = read_rows(folder, run.summary.input, run.points)
    classes = extract_texts(table, find_text_column(table, column))
    run.summary = replace(run.summary, truth=score_points(run.points, classes, column))
    write_summary(folder, run.summary)
    return write_page(folder, run)


def score_points(points: Points, classes: Sequence[Any], column: str) -> TruthScores:
    """Score the clusters of texts against true classes; texts without a class are left out.

    Parameters
    ----------
    points : Points
        The texts of a run with their clusters.
    classes : sequence
        The true class of each row of the input, None where it has none.
    column : str
        Name of the column that holds them.

    Returns
    -------
    TruthScores
    """
    # scikit-learn, not before the input is known to be valid
    from rstc.metrics import confusion_matrix, evaluate, evaluate_confidence

    rows = [i for i, row in enumerate(points.rows.tolist()) if classes[row] is not None]
    y_true, clusters = [classes[row] for row in points.rows[rows]], points.clusters[rows].tolist()
    scores, matrix = evaluate(y_true, clusters), confusion_matrix(y_true, clusters)
    # An outlier has no confidence: it is in no cluster.
    confidence = np.where(points.clusters[rows] == NO_CLUSTER, 0, points.confidence[rows]).tolist()
    calibration = evaluate_confidence(y_true, clusters, confidence)
    return TruthScores(
        column=column,
        n_texts=len(rows),
        acc=scores.acc,
        nmi=scores.nmi,
        ari=scores.ari,
        classes=matrix.index.tolist(),
        clusters=matrix.columns.tolist(),
        matrix=matrix.to_numpy().tolist(),
        calibration={**asdict(calibration), "bins": calibration.bins.to_dict("records")},
    )
