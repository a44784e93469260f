"""`rstc evaluate`: score clusters against true classes."""

from __future__ import annotations

from typing import Annotated

import typer

from rstc.cli.completion import complete_column
from rstc.cli.documents.files import CalibrationItem, ClassItem, EvaluationDocument
from rstc.cli.options import Encoding, Format, Sheet


def evaluate(
    file: Annotated[str, typer.Argument(help="File with a column of clusters and a column of true classes.")],
    truth: Annotated[
        str,
        typer.Option("--truth", metavar="COLUMN", help="Column of true classes.", autocompletion=complete_column),
    ],
    cluster_column: Annotated[
        str,
        typer.Option("--cluster-column", metavar="COLUMN", help="Column of clusters.", autocompletion=complete_column),
    ] = "cluster",
    confidence_column: Annotated[
        str | None,
        typer.Option(
            "--confidence-column",
            metavar="COLUMN",
            help="Column of confidences; by default `confidence`, if it is one.",
            autocompletion=complete_column,
        ),
    ] = None,
    format: Format = None,
    sheet: Sheet = None,
    encoding: Encoding = "utf-8",
) -> EvaluationDocument:
    """Score clusters against true classes: ACC, NMI, ARI, calibration of the confidence, and a table of the classes.

    ACC is the share of texts in the right cluster after the best one-to-one matching of clusters and classes. NMI
    and ARI measure agreement without a matching: 100 % is perfect, about 0 % is chance.

    With a column of confidences, their expected calibration error (ECE) and the area under the risk-coverage curve
    (AURC: the mean error of the surest texts, over all shares of them) are printed, with a table: of the texts with a
    confidence of 0.8 to 0.9, 80 to 90 % should be in the right cluster. `rstc report DIR --truth COLUMN` draws both.

    Rows without a cluster or without a true class are left out and counted; outliers (cluster -1) count as one more
    cluster.

    Example:

        rstc evaluate run/clusters.csv --truth topic
    """
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import notes, output
    from rstc.io.columns import extract_confidence, extract_texts, find_text_column
    from rstc.io.formats import detect_format, read_table

    table = read_table(file, detect_format(file, format), encoding, sheet)
    columns = [extract_texts(table, find_text_column(table, name)) for name in (truth, cluster_column)]
    confidence = extract_confidence(table, confidence_column)
    # scikit-learn, not before the input is known to be valid
    from rstc.metrics import evaluate as score
    from rstc.metrics import evaluate_confidence

    pairs = [pair for pair in zip(*columns, strict=True) if None not in pair]
    scores = score([true_class for true_class, _ in pairs], [cluster for _, cluster in pairs])
    if len(pairs) < len(table):
        notes.print(f"note: {len(table) - len(pairs)} rows lack a cluster or a true class and are left out")

    output.print(f"ACC {scores.acc:.2%}   NMI {scores.nmi:.2%}   ARI {scores.ari:.2%}   AMI {scores.ami:.2%}")
    output.print(
        f"{scores.n_texts:,} texts, {scores.n_classes} classes, {scores.n_clusters} clusters",
    )
    item = None
    if confidence is not None:
        rated = [(*pair, c) for *pair, c in zip(*columns, confidence, strict=True) if None not in pair]
        calibration = evaluate_confidence(*zip(*rated, strict=True))
        output.print(
            f"Confidence: ECE {calibration.ece:.3f}   AURC {calibration.aurc:.3f}   error {1 - scores.acc:.1%}, of the "
            f"surest half {calibration.risk_at_half:.1%}",
        )
        item = CalibrationItem(ece=calibration.ece, aurc=calibration.aurc, risk_at_half=calibration.risk_at_half)
        bin_table = Table("confidence", "texts", "mean", "in the right cluster")
        for row in calibration.bins.itertuples(index=False):
            bin_table.add_row(
                f"{row.low:.1f} to {row.high:.1f}", f"{row.texts:,}", f"{row.confidence:.0%}", f"{row.accuracy:.0%}"
            )
        output.print(bin_table)
    classes = []
    class_table = Table("class", "size", "cluster", "recall", "precision")
    for row in scores.classes.itertuples(index=False):
        name, size, cluster, recall, precision = row
        number, share = ("-", "-") if cluster is None else (str(cluster), f"{precision:.0%}")
        classes.append(
            ClassItem(
                name=str(name),
                size=int(size),
                cluster=None if cluster is None else str(cluster),
                recall=float(recall),
                precision=None if cluster is None else float(precision),
            )
        )
        class_table.add_row(Text(str(name)), f"{size:,}", number, f"{recall:.0%}", share)
    output.print(class_table)
    return EvaluationDocument(
        n_texts=scores.n_texts,
        n_left_out=len(table) - len(pairs),
        n_classes=scores.n_classes,
        n_clusters=scores.n_clusters,
        acc=scores.acc,
        nmi=scores.nmi,
        ari=scores.ari,
        ami=scores.ami,
        calibration=item,
        classes=classes,
    )
