"""The figures, drawn from made-up runs and checked by their lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from rstc.benchmark.figures import FIGURES, MissingRunsError, draw_figures

MakeRun = Callable[..., dict[str, Any]]
Runs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def runs(make_run: MakeRun) -> Runs:
    curve = [{"step": step, "acc": 40.0 + step, "nmi": 50.0, "clusters": 150 - step} for step in (0, 10, 20)]
    points = {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 0.0], "class": [0, 1, 1]}
    own = {"eps1": 0.1, "eps2": 0.1, "lambda_i": 10.0}
    without_contrast = {**own, "lambda_i": 0.0}
    runs = [
        make_run(
            name,
            method,
            map=points,
            curve=curve,
            classes=20,
            settings=without_contrast if method == "rstc-c" else own,
        )
        for name in ("googlenews-t", "stackoverflow-4k")
        for method in ("sbert", "rstc-c", "rstc-i", "rstc-paper", "rstc-m2", "rstc-m3", "sccl")
    ]
    for param, values in {"eps1": (0.05, 0.5), "eps2": (0.0, 1.0), "lambda_i": (100.0,)}.items():
        for value in values:
            settings = {**own, param: value}
            runs.append(
                make_run("stackoverflow-4k", "rstc-paper", changes={param: value}, settings=settings, acc=10 * value)
            )
    return runs


def lines_of(figure: Figure, axes: int) -> dict[str, tuple[list[float], list[float]]]:
    drawn = figure.axes[axes].get_lines()
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in drawn}


@pytest.fixture(scope="module")
def figures(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draw all figures; return their folder."""
    folder = tmp_path_factory.mktemp("figures")
    assert set(draw_figures(runs, folder).values()) == {None}
    return folder


def test_every_figure_is_saved_as_pdf_and_png(figures: Path) -> None:
    for name in FIGURES:
        assert (figures / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (figures / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_same_runs_give_same_files(runs: Runs, figures: Path, tmp_path: Path) -> None:
    draw_figures(runs, tmp_path)
    for path in figures.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_missing_runs_are_named(make_run: MakeRun, tmp_path: Path) -> None:
    missing = draw_figures([make_run("tweet", "bow")], tmp_path / "figures")
    assert "a sweep of eps1" in missing["eps"]
    assert all(missing.values())
    assert not list((tmp_path / "figures").iterdir())


def test_sweep_includes_the_unchanged_run(runs: Runs) -> None:
    eps2 = lines_of(FIGURES["eps"](runs), 1)["StackOverflow-4k, 1 seed"]
    assert eps2 == ([0, 1, 2], [0.0, 50.0, 10.0])  # at 0, at its own 0.1, at 1


def test_curves_show_the_runs(runs: Runs) -> None:
    figure = FIGURES["estimators"](runs)
    assert lines_of(figure, 0)["M1 (SAOT)"] == ([0, 10, 20], [40, 50, 60])
    assert lines_of(figure, 1)["M3 (KL)"] == ([0, 10, 20], [150, 140, 130])


def test_maps_with_more_classes_than_colours_are_left_out(runs: Runs) -> None:
    figure = FIGURES["representations"](runs)
    assert [axes.get_title() for axes in figure.axes][:4] == ["SBERT (k-means)", "RSTC-C", "RSTC-I", "RSTC (M1)"]
    many = [{**run, "classes": 152} for run in runs]
    with pytest.raises(MissingRunsError):
        FIGURES["representations"](many)


def test_lambda_zero_is_rstc_c(runs: Runs) -> None:
    assert lines_of(FIGURES["lambda"](runs), 0)["StackOverflow-4k, 1 seed"] == ([0, 1, 2], [50.0, 50.0, 1000.0])


def test_error_bars_are_the_deviation_over_the_seeds(runs: Runs) -> None:
    swept = [run for run in runs if run["dataset"] == "stackoverflow-4k" and run["method"] == "rstc-paper"]
    more = [*runs, *({**run, "seed": 1, "acc": run["acc"] + 2} for run in swept)]
    axes = FIGURES["eps"](more).axes[1]
    (bars,) = axes.containers
    heights = [top - bottom for (_, bottom), (_, top) in bars.lines[2][0].get_segments()]
    assert heights == pytest.approx([2 * 2**0.5] * 3)


def test_point_is_the_mean_over_the_common_seeds(runs: Runs) -> None:
    own = next(r for r in runs if (r["dataset"], r["method"], r["changes"]) == ("stackoverflow-4k", "rstc-paper", {}))
    more = [*runs, {**own, "seed": 1, "acc": 90.0}]  # of the swept values there is seed 0 alone
    assert lines_of(FIGURES["eps"](more), 1)["StackOverflow-4k, 1 seed"][1] == [0.0, 50.0, 10.0]


def test_curve_is_the_mean_over_the_seeds(runs: Runs) -> None:
    m2 = next(run for run in runs if (run["dataset"], run["method"]) == ("googlenews-t", "rstc-m2"))
    stopped = [{"step": 0, "acc": 20.0, "nmi": 0, "clusters": 2}, {"step": 10, "acc": 30.0, "nmi": 0, "clusters": 2}]
    figure = FIGURES["estimators"]([*runs, {**m2, "seed": 1, "curve": stopped}])
    assert lines_of(figure, 0)["M2 (moving average)"] == ([0, 10], [30, 40])


def test_schedule_selects_the_runs_to_draw(runs: Runs, tmp_path: Path) -> None:
    whole = [{**run, "changes": {**run["changes"], "schedule": "paper"}} for run in runs if run["method"] != "sbert"]
    sbert = [run for run in runs if run["method"] == "sbert"]
    assert all(draw_figures([*whole, *sbert], tmp_path / "cpu").values())
    assert not any(draw_figures([*whole, *sbert], tmp_path / "paper", "paper").values())
