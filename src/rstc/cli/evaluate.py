"""`rstc evaluate`: score clusters against true classes."""

from __future__ import annotations

from typing import Annotated

import typer

from rstc.cli.options import Encoding, Format


def evaluate(
    file: Annotated[str, typer.Argument(help="File with a column of clusters and a column of true classes.")],
    truth: Annotated[str, typer.Option("--truth", metavar="COLUMN", help="Column of true classes.")],
    cluster_column: Annotated[
        str, typer.Option("--cluster-column", metavar="COLUMN", help="Column of clusters.")
    ] = "cluster",
    format: Format = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Score clusters against true classes: ACC, NMI, ARI and a table of the classes.

    ACC is the share of texts in the right cluster after the best one-to-one matching of clusters and classes. NMI
    and ARI measure agreement without a matching: 100 % is perfect, about 0 % is chance.

    Rows without a cluster or without a true class are left out and counted; outliers (cluster -1) count as one more
    cluster.

    Example:

        rstc evaluate run/clusters.csv --truth topic
    """
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import notes, output
    from rstc.io.columns import extract_texts, find_text_column
    from rstc.io.formats import detect_format, read_table

    table = read_table(file, detect_format(file, format), encoding)
    columns = [extract_texts(table, find_text_column(table, name)) for name in (truth, cluster_column)]
    from rstc.metrics import evaluate as score  # scikit-learn, not before the input is known to be valid

    pairs = [pair for pair in zip(*columns, strict=True) if None not in pair]
    scores = score([true_class for true_class, _ in pairs], [cluster for _, cluster in pairs])
    if len(pairs) < len(table):
        notes.print(f"note: {len(table) - len(pairs)} rows lack a cluster or a true class and are left out")

    output.print(f"ACC {scores.acc:.2%}   NMI {scores.nmi:.2%}   ARI {scores.ari:.2%}")
    output.print(
        f"{scores.n_texts:,} texts, {scores.n_classes} classes, {scores.n_clusters} clusters",
    )
    class_table = Table("class", "size", "cluster", "recall", "precision")
    for row in scores.classes.itertuples(index=False):
        name, size, cluster, recall, precision = row
        number, share = ("-", "-") if cluster is None else (str(cluster), f"{precision:.0%}")
        class_table.add_row(Text(str(name)), f"{size:,}", number, f"{recall:.0%}", share)
    output.print(class_table)
