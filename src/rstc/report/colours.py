"""The colours of clusters, on the page and in pictures.

Seven hues that colour-blind readers can tell apart: those of Okabe and Ito, but a darker yellow. More clusters have
them darker and then lighter, and then again; those may look alike, and names tell them apart.
"""

from __future__ import annotations

HUES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00"]
SHADES = [0.0, -0.28, 0.32]
GREY = "#80868e"  # of what is in no cluster


def colour_of(cluster: int) -> str:
    """Return a cluster's colour.

    >>> colour_of(0), colour_of(7)
    ('#0072b2', '#005280')
    """
    if cluster < 0:
        return GREY
    shade = SHADES[cluster // len(HUES) % len(SHADES)]
    parts = [int(HUES[cluster % len(HUES)][at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(p * (1 + shade) if shade < 0 else p + (255 - p) * shade):02x}" for p in parts)
