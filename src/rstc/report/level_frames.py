"""The levels of detail of a fitted model in Python: a data frame of their groups, and the labels of each level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.errors import InputError
from rstc.results.levels import Level, build_levels
from rstc.validation.texts import NonEmptyTexts


class LevelsMixin:
    """Levels of detail of a model that is fitted on texts."""

    labels_: NDArray[np.int64]
    cluster_names_: Any
    _texts: list[str | None]
    _levels: Any  # a rstc.training.levels.Levels, or None until it is needed

    @property
    def levels_(self) -> pd.DataFrame:
        """The levels of detail, coarse to fine; each divides the groups of the one before.

        Returns
        -------
        DataFrame
            One row per group, with the columns `level`, `group` (its number in `labels_at(level)`), `name`, `size`
            and `clusters`: the clusters of the model that it consists of, or the one that it is a part of.
        """
        rows = [
            {"level": level.name, "group": number, "name": group.name, "size": group.size, "clusters": group.clusters}
            for level, numbers in self._list_levels()
            for number, group in zip(numbers, level.groups, strict=True)
        ]
        return pd.DataFrame(rows, columns=["level", "group", "name", "size", "clusters"])

    def labels_at(self, level: str) -> NDArray[np.int64]:
        """Return the group of each fitted text at a level of detail, (N,); -1 as in `labels_`.

        Parameters
        ----------
        level : {"coarse", "medium", "fine"}
            The level. Where a coarse or fine level does not exist, it equals the medium one.
        """
        labels: dict[str, NDArray[np.int64]] = self.level_labels.labels
        if level not in labels:
            raise InputError(f"level={level!r} must be one of {', '.join(labels)}")
        return labels[level].copy()

    def _list_levels(self) -> list[tuple[Level, list[int]]]:
        """Return the levels with the numbers of their groups."""
        found, data = self.level_labels, NonEmptyTexts.from_list(self._texts)
        rows = np.array(data.rows, dtype=np.int64)
        names = dict(enumerate(self.cluster_names_))
        levels, _ = build_levels(found.labels, found.chosen, data.texts, rows, names)
        numbers = [np.unique(found.labels[level.name]) for level in levels]
        return [(level, own[own >= 0].tolist()) for level, own in zip(levels, numbers, strict=True)]

    @property
    def level_labels(self) -> Any:
        """The labels of each level, as a `rstc.training.levels.Levels`; they are found when they are first needed."""
        self._check_has_texts()  # type: ignore[attr-defined]
        if self._levels is None:
            self._levels = self._find_levels()  # type: ignore[attr-defined]
        return self._levels
