"""Figures and the page of a fitted model in Python, for notebooks and for files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rstc.errors import InputError
from rstc.io.atomic import replace_file
from rstc.report.colours import colour_run
from rstc.report.fitted_run import build_fitted_run, find_model_messages, select_shown
from rstc.report.frames import ResultFramesMixin
from rstc.results.corrected_run import CorrectedRun
from rstc.results.layout import Layout, compute_layout
from rstc.results.messages import Message
from rstc.results.neighbours import find_text_neighbours
from rstc.runtime.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAP_SIZE = (9.0, 6.5)  # inches
HIERARCHY_WIDTH = 9.0


class VisualizeMixin(ResultFramesMixin):
    """Figures and the page of a model that is fitted on texts."""

    n_texts_: int

    def visualize_map(self, figsize: Sequence[float] = MAP_SIZE) -> Figure:
        """Draw each text as a point in the colour of its cluster, with the names of the clusters.

        Needs matplotlib, which the extra `figures` installs. A notebook shows the figure; `figure.savefig("map.png")`
        writes it.

        Parameters
        ----------
        figsize : pair of float
            Width and height in inches.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from rstc.report.map_figure import draw_map

        figure = self._make_figure(figsize)
        points = self._fitted_run.points
        draw_map(figure, points.layout, points.clusters, self._fitted_run.state.names, colour_run(self._fitted_run))
        return figure

    def visualize_hierarchy(self, width: float = HIERARCHY_WIDTH) -> Figure:
        """Draw the tree over the clusters as a dendrogram, with their names and sizes.

        Needs matplotlib, which the extra `figures` installs.

        Parameters
        ----------
        width : float
            Width in inches; the height follows from the number of clusters.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from rstc.report.hierarchy_figure import draw_hierarchy
        from rstc.report.html.content import build_tree_content

        figure = self._make_figure((width, width))
        run = self._fitted_run
        sizes = {entry.cluster: entry.size for entry in run.summary.clusters}
        draw_hierarchy(figure, build_tree_content(run), run.state.names, sizes, colour_run(run))
        return figure

    def visualize_over_time(self, dates: Any, every: str | None = None) -> Figure:
        """Draw the shares of the clusters over time, with their 95 % intervals: the numbers of `over_time`.

        Needs matplotlib, which the extra `figures` installs.

        Parameters
        ----------
        dates : sequence or column
            The date of each fitted text, as in `over_time`.
        every : {"day", "week", "month", "quarter", "year"}, optional
            The length of a period; by default the span of the dates decides.

        Returns
        -------
        matplotlib.figure.Figure
        """
        figure = self._make_figure(MAP_SIZE)
        from rstc.report.comparison_figures import draw_over_time
        from rstc.report.comparison_frames import compare_over_time

        result = compare_over_time(self._fitted_clusters(), dates, every)
        draw_over_time(figure, result, colour_run(self._fitted_run))
        return figure

    def visualize_by(self, values: Any) -> Figure:
        """Draw the share of each cluster in each group of texts: the numbers of `by_group`.

        Needs matplotlib, which the extra `figures` installs.

        Parameters
        ----------
        values : sequence or column
            The group of each fitted text, as in `by_group`.

        Returns
        -------
        matplotlib.figure.Figure
        """
        figure = self._make_figure(MAP_SIZE)
        from rstc.report.comparison_figures import draw_groups
        from rstc.report.comparison_frames import compare_groups

        draw_groups(figure, compare_groups(self._fitted_clusters(), values))
        return figure

    def report(self, path: str | Path, *, columns: Any = None, title: str | None = None) -> Path:
        """Write the clusters as a page: one HTML file that needs no network, and contains the texts.

        It is the page that `rstc cluster` writes.

        Parameters
        ----------
        path : str or Path
            The file.
        columns : DataFrame, optional
            Other columns of the fitted rows, in the same order, to filter and compare by.
        title : str, optional
            Title of the page; by default the name of the file.

        Returns
        -------
        Path
            The file.
        """
        from rstc.report.html.render import render_page

        self._check_has_texts()
        path = Path(path)
        if columns is not None:
            columns = self._validate_columns(columns)
        layout = self._map_layout
        run = build_fitted_run(
            self,  # type: ignore[arg-type]
            self._texts,
            layout,
            title=title or path.stem,
            columns=columns,
            neighbours=find_text_neighbours(self.embedding_[select_shown(self._texts)], layout),
        )
        with replace_file(path) as temporary:
            temporary.write_text(render_page(run), encoding="utf-8")
        return path

    @property
    def messages_(self) -> list[Message]:
        """What matters about the fitted texts and their clusters, such as truncated texts, with advice."""
        return list(self._fitted_messages)

    def _validate_columns(self, columns: Any) -> pd.DataFrame:
        """Return other columns of the fitted rows as a data frame, without the column of the texts."""
        frame = columns.to_pandas() if hasattr(columns, "to_pandas") else columns
        try:
            table = pd.DataFrame(frame)
        except ValueError as problem:
            raise InputError(f"columns must be a table ({problem})") from None
        if len(table) != len(self._texts):
            raise InputError(f"columns has {len(table)} rows, but the model was fitted on {len(self._texts)}")
        return table.drop(columns=[getattr(self, "text_column_", None)], errors="ignore").reset_index(drop=True)

    def _make_figure(self, size: Sequence[float]) -> Figure:
        """Return an empty figure that belongs to no window."""
        self._check_has_texts()
        import_optional("matplotlib", "figures")
        from rstc.report.notebook_figure import NotebookFigure

        return NotebookFigure(figsize=(size[0], size[1]), layout="constrained", dpi=110)

    @cached_property
    def _fitted_run(self) -> CorrectedRun:
        self._check_has_texts()
        return build_fitted_run(self, self._texts, self._map_layout)  # type: ignore[arg-type]

    @cached_property
    def _map_layout(self) -> Layout:
        """Positions on the map of the rows of `select_shown`; names and merges of clusters do not change them."""
        return compute_layout(self.embedding_[select_shown(self._texts)])

    @cached_property
    def _fitted_messages(self) -> list[Message]:
        self._check_has_texts()
        shown = select_shown(self._texts)
        texts = [str(self._texts[row]) for row in shown]
        n_missing = len(self._texts) - self.n_texts_
        return find_model_messages(self, texts, self.labels_[shown], n_missing)  # type: ignore[arg-type]

    def _clear_result_frames(self) -> None:
        super()._clear_result_frames()
        self.__dict__.pop("_fitted_messages", None)
        self.__dict__.pop("_fitted_run", None)
