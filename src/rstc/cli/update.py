"""`rstc update`: add new rows to a run, and decide on the new clusters that it proposes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rstc.cli.compare import Every, GroupColumns, TimeColumn, print_comparison_findings
from rstc.cli.documents.runs import ClusterItem, DecisionDocument, ProposalItem, UpdateDocument
from rstc.cli.options import Encoding, Header, Sheet
from rstc.errors import InputError

if TYPE_CHECKING:
    from rstc.results.comparisons import ComparisonRequest
    from rstc.results.proposals import Proposal
    from rstc.results.summary import Summary


def update(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Run folder.")],
    file: Annotated[
        str | None, typer.Argument(help="New rows: CSV, TSV, JSON(L), Excel, Parquet or plain text.")
    ] = None,
    sheet: Sheet = None,
    encoding: Encoding = "utf-8",
    header: Header = None,
    accept: Annotated[
        str | None, typer.Option("--accept", metavar="1,3|all", help="Make clusters of these proposals.")
    ] = None,
    decline: Annotated[
        str | None, typer.Option("--decline", metavar="1,3|all", help="Do not propose these clusters again.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Add rows even if DIR holds them already.")] = False,
    time: TimeColumn = None,
    every: Every = None,
    by: GroupColumns = None,
) -> UpdateDocument | DecisionDocument:
    """Add new rows to a run, or decide on the new clusters that an update proposes.

    Training continues on the old and the new texts. Clusters keep their numbers; a text moves to another cluster only
    if the updated model assigns it there. DIR then holds the old rows followed by the new ones, and the drift between
    them is printed. Rows that DIR holds already are not added again. Corrections are applied first and kept.

    Groups of new texts that fit no cluster are proposed as new clusters. They become clusters with --accept, without
    FILE; a cluster that was accepted is a correction, which `rstc explore` can undo.

    What the clusters of the run were compared by (`rstc compare`) is compared again, with the new rows; --time and --by
    ask for something else.

    Examples:

        rstc update run this_week.csv

        rstc update run this_week.csv --time posted_at --every week

        rstc update run --accept 1,3

        rstc update run --decline all
    """
    if file is None and accept is None and decline is None:
        raise InputError("give a file with new rows, or decide on proposals with --accept or --decline")
    if file is not None and (accept is not None or decline is not None):
        raise InputError("--accept and --decline decide on the proposals of an update that was made: leave out FILE")
    from rstc.results.comparisons import ComparisonRequest

    comparisons = ComparisonRequest.build(time, every, by or [])
    if file is None:
        if again or comparisons:
            raise InputError("--again, --time and --by need a file with new rows")
        return _decide(folder, _parse_ids("--accept", accept), _parse_ids("--decline", decline))
    return _add_rows(folder, file, sheet, encoding, header, again, comparisons)


def _add_rows(
    folder: Path,
    file: str,
    sheet: str | None,
    encoding: str,
    header: bool | None,
    again: bool,
    comparisons: ComparisonRequest | None,
) -> UpdateDocument:
    """Add the rows of a file to a run, and print what they change."""
    from rstc.cli.display import output, print_clusters, proposal_table, show_progress

    with show_progress(file, folder) as listener:
        from rstc.pipelines.update import update_run
        from rstc.results.proposals import OPEN, read_proposals

        summary = update_run(
            folder,
            file,
            encoding=encoding,
            sheet=sheet,
            header=header,
            again=again,
            comparisons=comparisons,
            listener=listener,
        )
    if summary is None:
        output.print(
            f"{folder} holds all rows of {Path(file).name} already: nothing was added (--again adds them)",
            soft_wrap=True,
        )
        return _describe_update(folder, None, [], [])
    print_clusters(summary.clusters, folder)
    for line in [*format_entry(summary), *format_drift(summary)]:
        output.print(line, soft_wrap=True)
    names = {entry.cluster: entry.name for entry in summary.clusters}
    for overlap in summary.overlaps:
        output.print(overlap.describe(names), soft_wrap=True)
    proposals = [proposal for proposal in read_proposals(folder) if proposal.status == OPEN]
    if proposals:
        output.print(proposal_table(folder, proposals, names))
        ids = ",".join(str(proposal.id) for proposal in proposals)
        output.print(
            f"Groups of texts that fit no cluster are proposed as new ones: `rstc update {folder} --accept {ids}` adds "
            f"them, --decline leaves the texts where they are",
            soft_wrap=True,
        )
    return _describe_update(folder, summary, proposals, print_comparison_findings(folder))


def _describe_update(
    folder: Path, summary: Summary | None, proposals: list[Proposal], findings: list[str]
) -> UpdateDocument:
    """Return the document of an update, which has no summary if nothing was added."""
    drift = summary.update if summary else None
    if summary is None:
        from rstc.results.corrected_run import CorrectedRun

        entries = CorrectedRun.read(folder).entries()
    else:
        entries = summary.clusters
    return UpdateDocument(
        folder=str(folder),
        n_rows=drift.n_rows if drift else 0,
        n_texts=drift.n_texts if drift else 0,
        n_known=summary.updates[-1].n_known if summary else 0,
        drift=drift.distance if drift else None,
        expected_drift=drift.expected if drift else None,
        moved=drift.moved if drift else None,
        clusters=ClusterItem.list_from(entries),
        proposals=[
            ProposalItem(
                id=proposal.id,
                name=proposal.name,
                size=proposal.size,
                keywords=proposal.keywords,
                nearest_cluster=proposal.near,
            )
            for proposal in proposals
        ],
        findings=findings,
    )


def _decide(folder: Path, accepted: list[int] | str | None, declined: list[int] | str | None) -> DecisionDocument:
    """Accept and decline proposals, and print what became of them."""
    from rstc.cli.display import cluster_table, output, show_progress

    with show_progress(folder) as listener:
        from rstc.pipelines.proposals import accept_proposals, decline_proposals
        from rstc.results.corrected_run import CorrectedRun

        # Declined first: "all" of the other option are then those that are left.
        n_declined = 0 if declined is None else len(decline_proposals(folder, declined))
        n_accepted = 0 if accepted is None else len(accept_proposals(folder, accepted, listener))
    entries = CorrectedRun.read(folder).entries()
    if n_accepted:
        output.print(cluster_table(entries[-n_accepted:]))
        output.print(f"{_count(n_accepted)} accepted: {len(entries)} clusters in {folder}", soft_wrap=True)
    if n_declined:
        output.print(f"{_count(n_declined)} declined")
    if not n_accepted and not n_declined:
        output.print("there is no open proposal")
    return DecisionDocument(
        folder=str(folder), n_accepted=n_accepted, n_declined=n_declined, clusters=ClusterItem.list_from(entries)
    )


def _count(number: int) -> str:
    return f"{number} proposal" + ("" if number == 1 else "s")


def _parse_ids(option: str, value: str | None) -> list[int] | str | None:
    """Return the numbers of an option such as "1,3", "all" as it is."""
    if value is None or value == "all":
        return value
    try:
        return [int(number) for number in value.split(",")]
    except ValueError:
        raise InputError(f"{option} expects numbers such as 1,3 or all, got {value!r}") from None


def format_entry(summary: Summary) -> list[str]:
    """Return lines on what an update left out and took over."""
    entry, lines = summary.updates[-1], []
    if entry.n_known:
        lines.append(f"{entry.n_known:,} rows of {entry.file} were in the run already, and were left out")
    if entry.n_edits:
        count = "1 correction was" if entry.n_edits == 1 else f"{entry.n_edits} corrections were"
        lines.append(f"{count} applied first, and kept")
    return lines


def format_drift(summary: Summary) -> list[str]:
    """Return lines that compare the new texts with the old ones."""
    drift, names = summary.update, {entry.cluster: entry.name for entry in summary.clusters}
    assert drift is not None
    gains = [new - old for new, old in zip(drift.shares, drift.shares_before, strict=True)]
    changed = sorted(range(len(gains)), key=lambda cluster: -abs(gains[cluster]))[:3]
    changes = ", ".join(
        f"{names.get(c, c)} {drift.shares_before[c]:.0%} -> {drift.shares[c]:.0%}" for c in changed if gains[c]
    )
    is_large = drift.distance > 2 * drift.expected
    return [
        f"{drift.n_texts:,} new texts; {drift.moved:.1%} of the old ones are in another cluster than before",
        f"Drift {drift.distance:.2f}, by chance it would be {drift.expected:.2f}: "
        + f"the cluster shares {'differ from' if is_large else 'are like'} those of the old ones"
        + (f" ({changes})" if changes else ""),
        f"Confidence {drift.confidence:.2f}, of the old ones {drift.confidence_before:.2f}",
    ]
