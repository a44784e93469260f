"""What a user knows of some texts: classes by name, and which text is of which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rstc.validation.n_clusters import Within
from rstc.errors import InputError
from rstc.pseudo_labels.constraints import UNKNOWN
from rstc.runtime.distributed import Ranks


@dataclass(frozen=True)
class Knowledge:
    """Known classes.

    Attributes:
        classes: their names.
        of_text: which of them each text is of, -1 where it is not known, (N,).
    """

    classes: list[Any]
    of_text: NDArray[np.int64]


def read_knowledge(y: Any, rows: Sequence[int], n_rows: int) -> Knowledge | None:
    """Return what labels, one for each of n_rows, say of the texts in some rows; None where that is nothing.

    Unknown are -1, None, NaN and empty strings.

    >>> read_knowledge(["late", None, "refund", "late", "", "lost"], range(5), 6)
    Knowledge(classes=['late', 'refund'], of_text=array([ 0, -1,  1,  0, -1]))
    """
    if y is None:
        return None
    labels: Sequence[Any] = [_plain(value) for value in (y.to_pandas() if hasattr(y, "to_pandas") else y)]
    if len(labels) != n_rows:
        raise InputError(f"there are {len(labels)} labels, but {n_rows} texts")
    labels = [labels[row] for row in rows]
    classes = sorted({label for label in labels if label is not None}, key=lambda label: (str(type(label)), label))
    if not classes:
        return None
    place = {label: number for number, label in enumerate(classes)}
    return Knowledge(classes, np.array([UNKNOWN if label is None else place[label] for label in labels]))


def with_equals(texts: Sequence[str], known: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what is known (N,) with equal texts knowing it too, unless they were given different classes.

    >>> with_equals(["late", "lost", "late", "refund", "refund"], np.array([1, -1, -1, 0, 2])).tolist()
    [1, -1, 1, 0, 2]
    """
    classes: dict[str, set[int]] = {}
    for text, one in zip(texts, known.tolist(), strict=True):
        if one != UNKNOWN:
            classes.setdefault(text, set()).add(one)
    only = {text: found.copy().pop() for text, found in classes.items() if len(found) == 1}
    return np.where(known == UNKNOWN, np.array([only.get(text, UNKNOWN) for text in texts], dtype=np.int64), known)


def asked_with_known(asked: int | Within, knowledge: Knowledge, class_contrast: bool, ranks: Ranks) -> int | Within:
    """Return how many clusters are asked for, where some classes are known; each of them is one."""
    if not ranks.alone:
        raise InputError("labels that are known need all texts together, which several processes do not have")
    if not class_contrast:
        raise InputError("class_contrast=False learns from no labels, so there is no use for those that are known")
    fewest = len(knowledge.classes)
    most = asked if isinstance(asked, int) else asked[1]
    if most is not None and most < fewest:
        raise InputError(f"{fewest} classes are known, which is more than the {most} clusters that are asked for")
    return asked if isinstance(asked, int) else (max(asked[0], fewest), asked[1])


def _plain(value: Any) -> Any:
    """Return a label as a plain value, None where it says nothing."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
        return _plain(value)
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, (int, float, bool)):
        raise InputError(f"a label is a name or a number, got {value!r}")
    return None if value == UNKNOWN else value
