"""`rstc evaluate`: clusters against true classes, where somebody knows them."""

from __future__ import annotations

from typing import Annotated

import typer

from rstc.cli.options import Encoding, Format


def evaluate(
    file: Annotated[str, typer.Argument(help="A file with a column of clusters and one of true classes.")],
    truth: Annotated[str, typer.Option("--truth", metavar="COLUMN", help="The column of true classes.")],
    cluster_column: Annotated[
        str, typer.Option("--cluster-column", metavar="COLUMN", help="The column of clusters.")
    ] = "cluster",
    format: Format = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Score clusters against true classes: ACC, NMI, ARI and a table of the classes.

    ACC is the share of texts in the right cluster, after the best one-to-one matching of clusters and classes. NMI
    and ARI measure agreement without a matching: 100 % is perfect, near 0 is chance.

    Rows without a cluster or without a true class are left out and counted; texts that belong nowhere (cluster -1)
    count as one more cluster.

    Example:

        rstc evaluate run/clusters.csv --truth topic
    """
    from rich.table import Table
    from rich.text import Text

    from rstc.cli.display import notes, output
    from rstc.metrics import evaluate as score
    from rstc.io.readers import format_of, read_table
    from rstc.io.columns import find_text_column, texts_of

    table = read_table(file, format_of(file, format), encoding)
    columns = [texts_of(table, find_text_column(table, name)) for name in (truth, cluster_column)]
    pairs = [(one, other) for one, other in zip(*columns, strict=True) if one is not None and other is not None]
    scores = score([one for one, _ in pairs], [other for _, other in pairs])
    if len(pairs) < len(table):
        notes.print(f"note: {len(table) - len(pairs)} rows lack a cluster or a true class and are left out")

    output.print(f"ACC {scores.acc:.2%}   NMI {scores.nmi:.2%}   ARI {scores.ari:.2%}", highlight=False, markup=False)
    output.print(
        f"{scores.n_texts:,} texts, {scores.n_classes} classes, {scores.n_clusters} clusters",
        highlight=False,
        markup=False,
    )
    shown = Table("class", "size", "cluster", "recall", "precision")
    for row in scores.classes.itertuples(index=False):
        name, size, cluster, recall, precision = row
        found = ("-", "-") if cluster is None else (str(cluster), f"{precision:.0%}")
        shown.add_row(Text(str(name)), f"{size:,}", found[0], f"{recall:.0%}", found[1])
    output.print(shown)
