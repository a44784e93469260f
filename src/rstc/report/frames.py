"""Results of a fitted model in Python: data frames of texts and clusters, and an HTML view for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rstc.errors import InputError
from rstc.io.columns import add_predictions
from rstc.report.colours import GREY, assign_colours
from rstc.report.comparison_frames import FittedClusters, build_group_frame, build_over_time_frame
from rstc.results.describe import describe
from rstc.results.edits import validate_description, validate_name
from rstc.results.layout import Layout, compute_layout
from rstc.results.naming import name_clusters
from rstc.results.reliability import ClusterReliability, rate_cluster
from rstc.results.summary import build_cluster_entry
from rstc.validation.texts import NonEmptyTexts

if TYPE_CHECKING:
    from rstc.pseudo_labels.stability import ClusterStability

MAX_CLUSTERS_SHOWN = 30  # in a notebook
MAX_POINTS_SHOWN = 2000  # on the map in a notebook
_MAP_WIDTH = 360  # pixels
_MAP_MARGIN = 4


class ResultFramesMixin:
    """Data frames and the notebook view of a model that is fitted on texts."""

    labels_: NDArray[np.int64]
    confidence_: NDArray[np.float32]
    reliability_: Any  # a rstc.training.reliability.Reliability, or None
    embedding_: NDArray[np.float32]
    class_distribution_: NDArray[np.float64]
    classes_: list[Any] | None
    _fitted_model: Any  # a rstc.persistence.fitted_model.FittedModel
    _texts: list[str | None]
    _index: pd.Index[Any] | None

    def to_frame(self) -> pd.DataFrame:
        """Return the fitted texts with their clusters.

        Returns
        -------
        DataFrame
            One row per text, with the index of the input and the columns `text`, `cluster`, `cluster_name`,
            `confidence` and `confidence_level`. The cluster is missing for rows without a text, and -1 for outliers.
        """
        self._check_has_texts()
        frame = pd.DataFrame({"text": self._texts}, index=self._index)
        return add_predictions(frame, self._texts, self.labels_, self.confidence_, self.cluster_names_)

    @property
    def cluster_names_(self) -> list[str]:
        """The name of each cluster, by its number."""
        names: list[str] = self._name_fitted_model().list_names()
        return names

    @property
    def given_names(self) -> list[Any] | None:
        """The names that clusters have already: as given to `rename_clusters`, or else the given classes."""
        names: list[Any] | None = self._fitted_model.names
        return names or self.classes_

    @property
    def given_descriptions(self) -> list[str | None] | None:
        """The descriptions that clusters have, as given to `rename_clusters` or as a correction."""
        descriptions: list[str | None] | None = self._fitted_model.descriptions
        return descriptions

    def rename_clusters(self, names: Mapping[int, str], descriptions: Mapping[int, str] | None = None) -> None:
        """Name and describe clusters; `update`, `save` and `merge_to` keep the names.

        Parameters
        ----------
        names : mapping
            From the number of a cluster to its name; other clusters keep the name that they have.
        descriptions : mapping, optional
            From the number of a cluster to a sentence on what its texts are about, shown in `cluster_info_`.
        """
        check_is_fitted(self, "class_distribution_")
        described = descriptions or {}
        unknown = [cluster for cluster in (*names, *described) if cluster not in range(len(self.class_distribution_))]
        if unknown:
            raise InputError(f"there is no cluster {unknown[0]!r}")
        present = self._fitted_model.names or [None] * len(self.class_distribution_)
        validated = {cluster: validate_name(name) for cluster, name in names.items()}
        sentences = {cluster: validate_description(text) for cluster, text in described.items()}
        old = self.given_descriptions or [None] * len(present)
        self._fitted_model = replace(
            self._fitted_model,
            names=[validated.get(cluster, name) for cluster, name in enumerate(present)],
            descriptions=[sentences.get(cluster, text) for cluster, text in enumerate(old)]
            if sentences
            else self.given_descriptions,
        )
        self._clear_result_frames()

    def _name_fitted_model(self) -> Any:
        """Return the fitted model with a name for each cluster that holds a text, where the texts are known."""
        check_is_fitted(self, "class_distribution_")
        model = self._fitted_model
        if not hasattr(self, "_texts") or (model.names is not None and None not in model.names):
            return model
        names = self.cluster_info_["name"].to_dict()
        return replace(model, names=[names.get(cluster) for cluster in range(model.n_clusters)])

    @property
    def cluster_info_(self) -> pd.DataFrame:
        """One row per cluster: name, size, share, estimated_share, confidence, keywords, typical and doubtful texts.

        With descriptions (`rename_clusters`) also these.
        With repeats also its stability (the share of repeats that find it again), separation, size_low and size_high,
        confused_with (another cluster), and a note in plain words.
        """
        self._check_has_texts()
        return self._cluster_frame_and_html[0]

    def over_time(self, dates: Any, every: str | None = None) -> pd.DataFrame:
        """Return the share of each cluster per period, and whether the cluster is new, growing, steady, fading or gone.

        Parameters
        ----------
        dates : sequence or column
            The date of each fitted text, as dates or strings; a text without one is left out.
        every : {"day", "week", "month", "quarter", "year"}, optional
            The length of a period; by default the span of the dates decides.

        Returns
        -------
        DataFrame
            One row per cluster and period: `cluster`, `cluster_name`, `period` (its first day), `count`, `total`,
            `share` with its 95 % interval `low` to `high`, `is_complete` (of the period), `is_peak`, and for the whole
            cluster `trend`, `change` (ratio of the last to the first share of its trend) with `change_low` and
            `change_high`, and `q_value`. `frame.attrs["findings"]` lists what was found in sentences.

        Examples
        --------
        >>> model.over_time(table["posted_at"], every="week")  # doctest: +SKIP
        """
        return build_over_time_frame(self._fitted_clusters(), dates, every)

    def by_group(self, values: Any) -> pd.DataFrame:
        """Return the share of each cluster in each group of texts, and where it is over- or under-represented.

        Parameters
        ----------
        values : sequence or column
            The group of each fitted text, such as a country or a rating; a text without one is left out. Numbers with
            more than 10 values are cut at their quartiles, dates into periods, and of more than 20 other values the
            rarest are counted together.

        Returns
        -------
        DataFrame
            One row per cluster and group: `cluster`, `cluster_name`, `value`, `count`, `total` (of the group), `share`
            of the group's texts with its 95 % interval `low` to `high`, `ratio` to the share in all other groups with
            `ratio_low` and `ratio_high`, `q_value`, and `sign` (1 or -1 where q < 0.05). `frame.attrs` holds
            `findings`, `effect` (Cramer's V) and its `p_value`.

        Examples
        --------
        >>> model.by_group(table["airline"])  # doctest: +SKIP
        """
        return build_group_frame(self._fitted_clusters(), values)

    def _fitted_clusters(self) -> FittedClusters:
        info = self.cluster_info_
        names = dict(zip(info.index.tolist(), info["name"].tolist(), strict=True))
        return FittedClusters(self._texts, self.labels_, self.confidence_, names)

    def _check_has_texts(self) -> None:
        check_is_fitted(self, "class_distribution_")
        if not hasattr(self, "_texts"):
            raise InputError("a loaded model does not hold the texts it was fitted on; fit it again, or use `predict`")

    @cached_property
    def _cluster_frame_and_html(self) -> tuple[pd.DataFrame, str]:
        data = NonEmptyTexts.from_list(self._texts)
        rows, texts = data.rows, data.texts
        labels, E = self.labels_[rows], self.embedding_[rows]
        stability = self.reliability_.measure_stability() if self.reliability_ else {}
        frame = build_cluster_frame(
            texts,
            labels,
            self.confidence_[rows],
            E,
            self.class_distribution_,
            self.given_names,
            stability,
            self.given_descriptions,
        )
        sample = np.random.default_rng(0).permutation(len(rows))[:MAX_POINTS_SHOWN]
        title = f"{type(self).__name__}: {len(texts):,} texts in {len(frame)} clusters"
        return frame, render_html(title, frame, compute_layout(E[sample]), labels[sample])

    def _clear_result_frames(self) -> None:
        """Drop the cached data frame of an earlier fit."""
        self.__dict__.pop("_cluster_frame_and_html", None)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the clusters and a map in a notebook, once the model is fitted."""
        if not hasattr(self, "_texts") or not hasattr(self, "labels_"):
            bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
            return bundle
        return {"text/plain": repr(self), "text/html": self._cluster_frame_and_html[1]}


def build_cluster_frame(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    confidence: NDArray[np.float32],
    E: NDArray[np.float32],
    b: NDArray[np.float64],
    given_names: Sequence[Any] | None = None,
    stability: Mapping[int, ClusterStability] | None = None,
    sentences: Sequence[str | None] | None = None,
) -> pd.DataFrame:
    """Build a data frame with one row per cluster that holds a text.

    Parameters
    ----------
    texts : sequence of str
        N texts.
    labels : array of int, shape (N,)
        The cluster of each text, negative for a text without cluster.
    confidence : array of float, shape (N,)
        Confidence of each text.
    E : array of float, shape (N, D)
        Learned embeddings.
    b : array of float, shape (C,)
        Estimated share of each cluster.
    given_names : sequence, optional
        A name or None for each cluster number.
    stability : mapping, optional
        Stability of each cluster.
    sentences : sequence, optional
        A description or None for each cluster number.

    Returns
    -------
    DataFrame
        Indexed by `cluster`.
    """
    descriptions = describe(texts, labels, confidence, E)
    names = name_clusters(descriptions, texts, given_names)
    entries = [
        build_cluster_entry(
            description,
            texts,
            name=name,
            n_texts=len(texts),
            estimated_share=float(b[description.cluster]),
            reliability=rate_cluster((stability or {}).get(description.cluster), description.size),
            sentence=sentences[description.cluster] if sentences else None,
        )
        for description, name in zip(descriptions, names, strict=True)
    ]
    names_by_cluster = {entry.cluster: entry.name for entry in entries}
    rows = [
        {
            "name": entry.name,
            **({"description": entry.description} if sentences else {}),
            "size": entry.size,
            "share": entry.share,
            "estimated_share": entry.estimated_share,
            "confidence": entry.confidence,
            "keywords": entry.keywords,
            # In full: the quotes of an entry are truncated.
            "typical": [texts[row] for row in entry.typical_rows],
            "doubtful": [texts[row] for row in entry.doubtful_rows],
            **_list_reliability(entry.reliability, names_by_cluster),
        }
        for entry in entries
    ]
    return pd.DataFrame(rows, index=pd.Index([entry.cluster for entry in entries], name="cluster"))


def _list_reliability(rating: ClusterReliability | None, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the columns on how far a cluster can be trusted; none without a rating."""
    if rating is None:
        return {}
    return {
        "stability": rating.n_found / rating.n_repeats,
        "separation": rating.separation,
        "size_low": rating.size_low,
        "size_high": rating.size_high,
        "confused_with": rating.confused_with,
        "note": rating.describe(names),
    }


def render_html(title: str, clusters: pd.DataFrame, layout: Layout, labels: NDArray[np.int64]) -> str:
    """Render the largest clusters as a table beside a map, without scripts and external resources.

    Parameters
    ----------
    title : str
        Text above the table.
    clusters : DataFrame
        The clusters, as `build_cluster_frame` returns them.
    layout : array of uint16, shape (N, 2)
        Positions of the texts on the map.
    labels : array of int, shape (N,)
        The cluster of each of these texts.

    Returns
    -------
    str
        An HTML element.
    """
    by_size = clusters.sort_values("size", ascending=False, kind="stable")
    shown, colours = by_size.head(MAX_CLUSTERS_SHOWN), assign_colours(by_size.index.tolist())
    rows = "".join(
        f"<tr><td style='color:{colours[cluster]}'>&#9679;</td><td>{cluster}</td><td>{row['size']:,}</td>"
        f"<td style='text-align:left'>{escape(row['name'])}</td>"
        f"<td style='text-align:left'>{escape(row['typical'][0][:100])}</td></tr>"
        for cluster, (_, row) in zip(shown.index.tolist(), shown.iterrows(), strict=True)
    )
    more = f"<p>and {len(clusters) - len(shown)} smaller ones</p>" if len(clusters) > len(shown) else ""
    head = "<tr><th></th><th>cluster</th><th>size</th><th>name</th><th>a typical text</th></tr>"
    return (
        "<div style='display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start'>"
        f"<div style='flex:1 1 26em;min-width:0'><p>{escape(title)}</p>"
        f"<table>{head}{rows}</table>{more}</div>{_render_map(layout, labels, colours)}</div>"
    )


def _render_map(layout: Layout, labels: NDArray[np.int64], colours: Mapping[int, str]) -> str:
    """Render texts as points of an SVG image."""
    largest = max(int(layout.max(initial=0)), 1)
    pixels = (layout.astype(np.float64) / largest * (_MAP_WIDTH - 2 * _MAP_MARGIN) + _MAP_MARGIN).round(1)
    points = "".join(
        f"<circle cx='{x}' cy='{y}' r='2' fill='{colours.get(label, GREY)}' fill-opacity='.7'/>"
        for (x, y), label in zip(pixels.tolist(), labels.tolist(), strict=True)
    )
    size = f"viewBox='0 0 {_MAP_WIDTH} {_MAP_WIDTH}' width='{_MAP_WIDTH}' height='{_MAP_WIDTH}'"
    return f"<svg {size} style='flex:none' role='img' aria-label='a map of the texts'>{points}</svg>"
