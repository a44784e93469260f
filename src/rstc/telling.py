"""What a fitted model tells in Python: its texts and its clusters as tables, and itself in a notebook."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rstc.errors import InputError
from rstc.results.layout import places
from rstc.report.frames import MOST_POINTS, cluster_frame, html_of


class TellsAsTables:
    """A model that was fitted on texts and tells of them."""

    labels_: NDArray[np.int64]
    probabilities_: NDArray[np.float32]
    embedding_: NDArray[np.float32]
    class_distribution_: NDArray[np.float64]
    classes_: list[Any] | None
    _texts: list[str | None]
    _index: pd.Index[Any] | None

    def to_frame(self) -> pd.DataFrame:
        """Return the fitted texts with `cluster`, its `name` and `confidence`, a row each, by the index they came with.

        Rows without a text have none of these; a text that belongs nowhere has cluster -1.
        """
        self._check_texts()
        there = np.array([text is not None for text in self._texts])
        names = self.cluster_info_["name"].reindex(self.labels_).to_numpy(dtype=object)
        names[~there | (self.labels_ < 0)] = None
        table = {
            "text": self._texts,
            "cluster": pd.array(np.where(there, self.labels_, 0), dtype="Int64"),
            "name": names,
            "confidence": np.where(self.labels_ >= 0, self.probabilities_.max(1, initial=0), np.nan),
        }
        frame = pd.DataFrame(table, index=self._index)
        frame.loc[~there, "cluster"] = pd.NA
        return frame

    @property
    def cluster_info_(self) -> pd.DataFrame:
        """A row a cluster: name, size, share, estimated_share, confidence, keywords, typical and doubtful texts."""
        self._check_texts()
        return self._told[0]

    def _check_texts(self) -> None:
        check_is_fitted(self, "class_distribution_")
        if not hasattr(self, "_texts"):
            raise InputError("a model that was loaded has no texts to tell of; fit it, or label texts by `predict`")

    @cached_property
    def _told(self) -> tuple[pd.DataFrame, str]:
        """The table of clusters, and the same as HTML with a map."""
        rows = [i for i, text in enumerate(self._texts) if text is not None]
        texts = [str(self._texts[i]) for i in rows]
        labels, E = self.labels_[rows], self.embedding_[rows]
        confidence = self.probabilities_[rows].max(1, initial=0)
        clusters = cluster_frame(texts, labels, confidence, E, self.class_distribution_, self.classes_)
        some = np.random.default_rng(0).permutation(len(rows))[:MOST_POINTS]
        title = f"{type(self).__name__}: {len(texts):,} texts in {len(clusters)} clusters"
        return clusters, html_of(title, clusters, places(E[some]), labels[some])

    def _forget_told(self) -> None:
        """Let go of tables of an earlier fit."""
        self.__dict__.pop("_told", None)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Show the clusters and a map in a notebook, once there are any."""
        if not hasattr(self, "_texts") or not hasattr(self, "labels_"):
            shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
            return shown
        return {"text/plain": repr(self), "text/html": self._told[1]}
