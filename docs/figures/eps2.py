"""Draw docs/figures/eps2.png: the effect of eps2 on cluster sizes, for synthetic predictions."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
from scipy.special import log_softmax

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from rstc import saot

N, C = 2000, 10


def main() -> None:
    """Draw the figure."""
    rng = np.random.default_rng(0)
    truth = np.sort(rng.choice(C, N, p=(0.6 ** np.arange(C)) / (0.6 ** np.arange(C)).sum()))
    log_p = log_softmax(2.5 * np.eye(C)[truth] + rng.normal(size=(N, C)), axis=1)
    figure, panels = plt.subplots(1, 4, figsize=(10, 2.6), sharey=True, layout="constrained")
    for panel, eps2 in zip(panels, (1.0, 0.1, 0.01, 0.001), strict=True):
        sizes = np.bincount(saot(log_p, 0.1, eps2).plan.argmax(1), minlength=C)
        panel.bar(np.arange(C), sizes, color="#0072b2")
        panel.step(np.arange(C + 1) - 0.5, [*np.bincount(truth, minlength=C), 0], where="post", color="#d55e00")
        panel.set_title(f"eps2 = {eps2:g}", fontsize=10)
        panel.set_xticks([])
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("texts")
    figure.suptitle("blue: found by SAOT; red: as they are", fontsize=9, y=1.08)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    main()
