"""A matplotlib figure that a notebook shows by itself, whether or not pyplot was imported; imports matplotlib."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """A figure that belongs to no window, and that IPython shows as an image."""

    def _repr_png_(self) -> bytes:
        image = io.BytesIO()
        self.savefig(image, format="png")
        return image.getvalue()
