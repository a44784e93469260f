"""The names of the files of a run folder.

==================  ===========================================================================================
clusters.<format>   the rows of the input with their clusters (`rstc.io.columns.CLUSTER_COLUMNS`), in its format
summary.json        input, clusters and settings (`rstc.results.summary.Summary`)
points.parquet      each text with its cluster as the run found it, its place on the map, its nearest texts (`Points`)
embeddings.npy      the embeddings of these texts in half precision, which a cluster is split by without the model
report.html         the result as a page
model/              the trained model; missing from corrections without torch until they are applied with it
edits.json          corrections, if there are any (`rstc.results.edits.EditLog`)
edits-earlier.json  corrections before the last update (`rstc.results.earlier_edits.EarlierEdits`)
proposals.json      new clusters that an update proposes (`rstc.results.proposals.Proposal`)
model-found/        the model as the run trained it, if corrections were applied
names.json          answers of a language model that named clusters (`rstc names --url`)
comparisons.json    clusters over time and by group, if they were asked for (`rstc.results.comparisons.Comparisons`)
checkpoints/        the checkpoints of a run that has not found its clusters yet
unfinished.*        what the map and the page are made from, until they are (`UnfinishedRun`)
==================  ===========================================================================================
"""

from __future__ import annotations

from pathlib import Path

from rstc.io.formats import SUFFIXES
from rstc.results.earlier_edits import EARLIER_EDITS
from rstc.results.edits import EDITS
from rstc.results.proposals import PROPOSALS

CLUSTERS = "clusters"
SUMMARY = "summary.json"
POINTS = "points.parquet"
TEXT_EMBEDDINGS = "embeddings.npy"
REPORT = "report.html"
MODEL = "model"
ORIGINAL_MODEL = "model-found"
CHECKPOINTS = "checkpoints"
UNFINISHED = "unfinished.safetensors"
COMPARISONS = "comparisons.json"
NAME_ANSWERS = "names.json"
DESCRIPTION = "model.json"  # of a folder that is a model itself
SUMMED_FILES = (POINTS, TEXT_EMBEDDINGS)  # whose checksums the summary holds

RUN_FILES = frozenset(
    {
        SUMMARY,
        POINTS,
        TEXT_EMBEDDINGS,
        REPORT,
        MODEL,
        ORIGINAL_MODEL,
        EDITS,
        COMPARISONS,
        NAME_ANSWERS,
        EARLIER_EDITS,
        PROPOSALS,
        UNFINISHED,
        *(CLUSTERS + suffix for suffix in SUFFIXES.values()),
    }
)


def is_unfinished(folder: Path) -> bool:
    """Return whether a run folder holds results whose map and page are still to be made."""
    return (folder / UNFINISHED).is_file()
