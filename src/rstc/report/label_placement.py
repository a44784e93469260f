"""Places for labels on a map, such that they overlap neither each other nor, where possible, crowded parts of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GAP = 3.0  # between labels
N_DIRECTIONS = 24  # that a label may be moved to
STEP = 9.0  # by which it is moved further away
MAX_STEPS = 45
GRID = 10.0  # size of the cells in which points are counted
POINT_WEIGHT = 0.35  # of a covered point, in units of distance; at most MAX_POINT_COST in total
MAX_POINT_COST = 30.0
LEADER_WEIGHT = 14.0  # of a line that crosses another label


@dataclass(frozen=True)
class PlacedLabel:
    """Where a label is drawn.

    Attributes
    ----------
    x, y : float
        The middle of the label.
    is_moved : bool
        Whether it is so far from its anchor that a line should connect them.
    """

    x: float
    y: float
    is_moved: bool


def find_anchor(points: Floats) -> Floats:
    """Return the point (2,) that most points (N, 2) are near to, which the mean of two separate groups is not.

    >>> find_anchor(np.array([[0.0, 0], [0, 1], [1, 0], [90, 90]])).tolist()
    [0.0, 0.0]
    """
    sample = points[:: max(len(points) // 500, 1)]
    distances = np.linalg.norm(sample[:, None] - sample[None], axis=2)
    radius = max(float(np.quantile(distances, 0.25)), 1e-9)
    anchor: Floats = sample[np.exp(-((distances / radius) ** 2)).sum(1).argmax()]
    return anchor


def place_labels(
    anchors: Floats, sizes: Floats, points: Floats, width: float, height: float
) -> list[PlacedLabel | None]:
    """Place labels near their anchors, the first ones best; all lengths are in the same unit, such as pixels.

    Each label takes the best free place among those on circles around its anchor: near it, away from crowded parts, and
    without crossing another label by the line that leads to it.

    Parameters
    ----------
    anchors : array of float, shape (n, 2)
        What the labels refer to.
    sizes : array of float, shape (n, 2)
        Width and height of each label.
    points : array of float, shape (N, 2)
        The points of the map.
    width, height : float
        The map lies between (0, 0) and (width, height).

    Returns
    -------
    list of PlacedLabel or None
        None for a label that has no place.

    Examples
    --------
    >>> one, other = place_labels(np.array([[50.0, 50], [52, 50]]), np.full((2, 2), 20.0), np.zeros((0, 2)), 200, 200)
    >>> (one.x, one.y), abs(one.x - other.x) >= 20 or abs(one.y - other.y) >= 20
    ((50.0, 50.0), True)
    """
    density = _count_in_cells(points, width, height)
    offsets = _list_offsets()
    placed: list[PlacedLabel | None] = []
    boxes: Floats = np.zeros((0, 4))  # left, bottom, right, top of the placed labels
    leaders: Floats = np.zeros((0, 4))  # from anchor to label
    for anchor, size in zip(anchors, sizes, strict=True):
        half = size / 2 + GAP / 2
        # A flat ellipse: a wide label beside its anchor is as near as a flat one above it.
        centres = anchor + offsets * np.array([max(half[0] / half[1] / 2, 1.0), 1.0])
        candidates = np.hstack([centres - half, centres + half])
        inside = (candidates[:, :2] >= 0).all(1) & (candidates[:, 2] <= width) & (candidates[:, 3] <= height)
        free = inside & ~_overlap(candidates, boxes).any(1)
        if not free.any():
            placed.append(None)
            continue
        centres, candidates = centres[free], candidates[free]
        cost = np.linalg.norm(centres - anchor, axis=1)
        cost += np.minimum(POINT_WEIGHT * _count_in_boxes(density, candidates), MAX_POINT_COST)
        cost += LEADER_WEIGHT * _count_crossings(anchor, centres, boxes)
        cost += LEADER_WEIGHT * _count_crossed_leaders(candidates, leaders)
        best = int(cost.argmin())
        left, bottom, right, top = candidates[best]
        is_moved = not (left <= anchor[0] <= right and bottom <= anchor[1] <= top)
        placed.append(PlacedLabel(float(centres[best, 0]), float(centres[best, 1]), is_moved))
        boxes = np.vstack([boxes, candidates[best]])
        if is_moved:
            leaders = np.vstack([leaders, [*anchor, *centres[best]]])
    return placed


def _list_offsets() -> Floats:
    """Return the places that are tried, (n, 2), relative to the anchor."""
    rings = [
        (STEP * step * math.cos(2 * math.pi * i / N_DIRECTIONS), STEP * step * math.sin(2 * math.pi * i / N_DIRECTIONS))
        for step in range(1, MAX_STEPS + 1)
        for i in range(N_DIRECTIONS)
    ]
    return np.array([(0.0, 0.0), *rings])


def _overlap(candidates: Floats, boxes: Floats) -> NDArray[np.bool_]:
    """Return whether each of n boxes overlaps each of m others, (n, m)."""
    a, b = candidates[:, None], boxes[None]
    return np.asarray(
        (a[..., 0] < b[..., 2]) & (b[..., 0] < a[..., 2]) & (a[..., 1] < b[..., 3]) & (b[..., 1] < a[..., 3])
    )


def _count_in_cells(points: Floats, width: float, height: float) -> Floats:
    """Return the number of points below and to the left of each corner of a grid, scaled to 2,000 points in all."""
    shape = (max(int(width // GRID) + 1, 1), max(int(height // GRID) + 1, 1))
    counts = np.zeros(shape)
    if len(points):
        cells = np.clip((points // GRID).astype(int), 0, np.array(shape) - 1)
        np.add.at(counts, (cells[:, 0], cells[:, 1]), min(2000 / len(points), 1.0))
    return np.pad(counts.cumsum(0).cumsum(1), ((1, 0), (1, 0)))


def _count_in_boxes(cumulative: Floats, boxes: Floats) -> Floats:
    """Return about how many points each box covers, (n,)."""
    limit = np.array(cumulative.shape) - 1
    low = np.clip((boxes[:, :2] // GRID).astype(int), 0, limit)
    high = np.clip((boxes[:, 2:] // GRID).astype(int) + 1, 0, limit)
    total = cumulative[high[:, 0], high[:, 1]] - cumulative[low[:, 0], high[:, 1]]
    return np.asarray(total - cumulative[high[:, 0], low[:, 1]] + cumulative[low[:, 0], low[:, 1]])


def _count_crossings(anchor: Floats, centres: Floats, boxes: Floats) -> Floats:
    """Return how many boxes the line from the anchor to each centre enters, (n,)."""
    steps = np.linspace(0, 1, 15)[None, :, None]
    on_line = anchor + steps * (centres[:, None] - anchor)  # (n, 15, 2)
    inside = (on_line[:, :, None] >= boxes[:, :2]) & (on_line[:, :, None] <= boxes[:, 2:])  # (n, 15, m, 2)
    return np.asarray(np.any(np.all(inside, axis=-1), axis=1).sum(1), dtype=np.float64)


def _count_crossed_leaders(candidates: Floats, leaders: Floats) -> Floats:
    """Return how many lines of other labels enter each box, (n,)."""
    if not len(leaders):
        return np.zeros(len(candidates))
    steps = np.linspace(0, 1, 15)[:, None, None]
    on_lines = leaders[:, :2] + steps * (leaders[:, 2:] - leaders[:, :2])  # (15, m, 2)
    points = on_lines[None]  # (1, 15, m, 2)
    inside = (points >= candidates[:, None, None, :2]) & (points <= candidates[:, None, None, 2:])
    return np.asarray(np.any(np.all(inside, axis=-1), axis=1).sum(1), dtype=np.float64)
