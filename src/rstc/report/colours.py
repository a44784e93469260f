"""Colours of clusters, on the page and in figures.

Seven hues that colour-blind readers can distinguish: those of Okabe and Ito, with a darker yellow. Further clusters
repeat the hues darker, then lighter, then from the start; the names distinguish clusters of similar colours.
"""

from __future__ import annotations

HUES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00"]
SHADES = [0.0, -0.28, 0.32]  # negative: towards black, positive: towards white
GREY = "#80868e"  # texts without cluster


def colour_of(cluster: int) -> str:
    """Return the colour of a cluster.

    Parameters
    ----------
    cluster : int
        Number of the cluster, negative for none.

    Returns
    -------
    str
        The colour in hexadecimal.

    Examples
    --------
    >>> colour_of(0), colour_of(7)
    ('#0072b2', '#005280')
    """
    if cluster < 0:
        return GREY
    hue, shade = HUES[cluster % len(HUES)], SHADES[cluster // len(HUES) % len(SHADES)]
    channels = [int(hue[start : start + 2], 16) for start in (1, 3, 5)]
    shaded = [c * (1 + shade) if shade < 0 else c + (255 - c) * shade for c in channels]
    return "#" + "".join(f"{round(c):02x}" for c in shaded)
