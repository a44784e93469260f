"""Checks of a run folder, which may be damaged or come from elsewhere, before anything follows from its content."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rstc.errors import InputError
from rstc.io.atomic import sha256
from rstc.io.formats import SUFFIXES
from rstc.io.predictions import MAX_STORED_CLUSTERS
from rstc.pseudo_labels.cluster_count import COARSE, FINE, MEDIUM, Candidate, ClusterCount
from rstc.results.records import check_types

if TYPE_CHECKING:
    from rstc.results.points import Points
    from rstc.results.proposals import Proposal
    from rstc.results.summary import Summary

npy: Any = np.lib.format  # it has no types
MAX_SUMMARY_BYTES = 2**28


def check_file(folder: Path, name: str, summary: Summary) -> None:
    """Raise an error if a file of a run is not the one that was written with its summary."""
    expected = summary.files.get(name)
    path = folder / name
    if expected is not None and path.is_file() and sha256(path) != expected:
        raise InputError(f"the run in {folder} was altered or damaged: {name} is not the file that was written")


def check_summary(summary: Summary) -> None:
    """Raise ValueError if the entries of a summary, whose types are checked, do not fit together."""
    source, n_clusters = summary.input, len(summary.class_distribution)
    _require(source.format in SUFFIXES, "the format of the input")
    _require(Path(source.file).name == source.file or "://" in source.file, "the name of the input")
    counts = (source.n_rows, source.n_texts, source.n_missing, source.n_trained, source.n_shown, source.n_processes)
    _require(all(count >= 0 for count in counts), "the numbers of rows and texts")
    _require(source.n_shown <= source.n_texts <= source.n_rows, "the numbers of rows and texts")
    _require(0 < n_clusters <= MAX_STORED_CLUSTERS, "the number of clusters")
    numbers = [entry.cluster for entry in summary.clusters]
    _require(len(set(numbers)) == len(numbers), "the numbers of the clusters")
    _require(all(0 <= number < n_clusters for number in numbers), "the numbers of the clusters")
    for entry in summary.clusters:
        rows = [*entry.typical_rows, *entry.doubtful_rows]
        _require(all(0 <= row < source.n_shown for row in rows), "the texts of a cluster")
        _require(entry.size >= 0 and all(0 <= near < n_clusters for near in entry.near), "the entry of a cluster")
        rating = entry.reliability
        _require(rating is None or rating.n_repeats > 0, "the reliability of a cluster")
    _check_tree(summary.hierarchy)
    if count := summary.n_clusters_search:
        check_types(ClusterCount, vars(count))
        for candidate in count.candidates:
            check_types(Candidate, vars(candidate))
        _require(count.certainty in ("clear", "fair", "weak"), "the estimated number of clusters")
    for level in summary.levels:
        _require(level.name in (COARSE, MEDIUM, FINE) and bool(level.groups), "the levels")
        for group in level.groups:
            _require(all(0 <= cluster < n_clusters for cluster in group.clusters), "the levels")
            _require(all(0 <= part < MAX_STORED_CLUSTERS for part in group.parts or []), "the levels")
            _require(bool(group.clusters), "the levels")
    _require(not summary.levels or sum(level.is_chosen for level in summary.levels) == 1, "the levels")
    if summary.update:
        shares = (summary.update.shares, summary.update.shares_before)
        _require(len(shares[0]) == len(shares[1]), "the shares of an update")
    _require(all(isinstance(entry, dict) for entry in summary.history), "the history")
    if summary.truth:
        truth = summary.truth
        _require(len(truth.matrix) == len(truth.classes), "the scores")
        _require(all(len(row) == len(truth.clusters) for row in truth.matrix), "the scores")


def _check_tree(tree: list[list[float]]) -> None:
    """Raise ValueError unless a tree is a linkage matrix, whose rows join numbers of earlier rows."""
    n_leaves = len(tree) + 1
    for index, row in enumerate(tree):
        _require(len(row) == 4, "the tree of the clusters")
        _require(
            all(0 <= node < n_leaves + index and node == int(node) for node in row[:2]), "the tree of the clusters"
        )


def check_points(points: Points, summary: Summary) -> None:
    """Raise ValueError if the texts of a run do not fit to its summary."""
    _require(len(points.texts) == summary.input.n_shown, "the number of texts")
    _require(all(isinstance(text, str) for text in points.texts), "the texts")
    rows, clusters = points.rows, points.clusters
    in_input = len(rows) == 0 or (rows.min() >= 0 and rows.max() < summary.input.n_rows)
    _require(in_input and len(np.unique(rows)) == len(rows), "the rows of the texts")
    _require(len(clusters) == 0 or clusters.min() >= -1, "the clusters of the texts")
    _require(set(np.unique(clusters).tolist()) - {-1} <= {entry.cluster for entry in summary.clusters}, "the clusters")
    confidence = points.confidence[np.isfinite(points.confidence)]
    _require(len(confidence) == 0 or (confidence.min() >= 0 and confidence.max() <= 1.0 + 1e-5), "the confidence")
    if points.fine is not None:
        _require(len(points.fine) == 0 or points.fine.max() < MAX_STORED_CLUSTERS, "the levels")
        known = {part for level in summary.levels for group in level.groups for part in group.parts or []}
        _require(not known or set(points.fine[points.fine >= 0].tolist()) <= known, "the levels")


def check_proposals(proposals: Sequence[Proposal], summary: Summary) -> None:
    """Raise ValueError if proposals of new clusters do not fit to the run."""
    n_texts = summary.input.n_shown
    for proposal in proposals:
        _require(max((*proposal.rows, *proposal.typical), default=-1) < n_texts, "the texts of a proposal")


def check_embedding_size(path: Path) -> None:
    """Raise ValueError if embeddings.npy describes another amount of numbers than it holds."""
    with path.open("rb") as file:
        version = npy.read_magic(file)
        shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(file)
        _require(math.prod(shape) * dtype.itemsize == path.stat().st_size - file.tell(), "the embeddings")


def _require(is_valid: bool, what: str) -> None:
    if not is_valid:
        raise ValueError(f"{what} cannot be those of a run")
