"""Score the clusters of a run against true classes; the only pipeline that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rstc.io.columns import extract_texts, find_text_column
from rstc.report.html.render import write_page
from rstc.results.corrected_run import CorrectedRun
from rstc.results.run_folder import Points, read_rows, write_summary
from rstc.results.summary import TruthScores


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
    from rstc.metrics import confusion_matrix, evaluate  # scikit-learn, not before the input is known to be valid

    true_classes = [classes[row] for row in points.rows]
    pairs = [
        (true_class, cluster)
        for true_class, cluster in zip(true_classes, points.clusters.tolist(), strict=True)
        if true_class is not None
    ]
    y_true, clusters = [true_class for true_class, _ in pairs], [cluster for _, cluster in pairs]
    scores, matrix = evaluate(y_true, clusters), confusion_matrix(y_true, clusters)
    return TruthScores(
        column=column,
        n_texts=len(pairs),
        acc=scores.acc,
        nmi=scores.nmi,
        ari=scores.ari,
        classes=matrix.index.tolist(),
        clusters=matrix.columns.tolist(),
        matrix=matrix.to_numpy().tolist(),
    )
