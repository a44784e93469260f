"""The figures: what they draw, from made-up runs, looked up in the drawing itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from rstc.benchmark.figures import FIGURES, MissingRunsError, draw_all

MadeUp = Callable[..., dict[str, Any]]
Runs = list[dict[str, Any]]


@pytest.fixture(scope="module")
def runs(made_up: MadeUp) -> Runs:
    curve = [{"step": step, "acc": 40.0 + step, "nmi": 50.0, "clusters": 150 - step} for step in (0, 10, 20)]
    places = {"x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 0.0], "class": [0, 1, 1]}
    own = {"eps1": 0.1, "eps2": 0.1, "lambda_i": 10.0}
    without_contrast = {**own, "lambda_i": 0.0}
    found = [
        made_up(
            name,
            method,
            map=places,
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
            found.append(
                made_up("stackoverflow-4k", "rstc-paper", changes={param: value}, settings=settings, acc=10 * value)
            )
    return found


def lines_of(figure: Figure, axes: int) -> dict[str, tuple[list[float], list[float]]]:
    drawn = figure.axes[axes].get_lines()
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in drawn}


def test_every_figure_is_saved_for_print_and_for_the_screen(runs: Runs, tmp_path: Path) -> None:
    assert set(draw_all(runs, tmp_path).values()) == {None}
    for name in FIGURES:
        assert (tmp_path / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_runs_give_the_same_files(runs: Runs, tmp_path: Path) -> None:
    draw_all(runs, tmp_path / "one")
    draw_all(runs, tmp_path / "two")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_figures_whose_runs_are_missing_are_named(made_up: MadeUp, tmp_path: Path) -> None:
    missing = draw_all([made_up("tweet", "bow")], tmp_path / "figures")
    assert "a sweep of eps1" in missing["eps"]
    assert all(missing.values())
    assert not list((tmp_path / "figures").iterdir())


def test_a_sweep_includes_the_run_at_the_methods_own_setting(runs: Runs) -> None:
    eps2 = lines_of(FIGURES["eps"](runs), 1)["StackOverflow-4k"]
    assert eps2 == ([0, 1, 2], [0.0, 50.0, 10.0])  # at 0, at its own 0.1, at 1


def test_curves_are_those_of_the_runs(runs: Runs) -> None:
    figure = FIGURES["estimators"](runs)
    assert lines_of(figure, 0)["M1 (SAOT)"] == ([0, 10, 20], [40, 50, 60])
    assert lines_of(figure, 1)["M3 (KL)"] == ([0, 10, 20], [150, 140, 130])


def test_maps_of_sets_with_more_classes_than_colours_are_left_out(runs: Runs) -> None:
    figure = FIGURES["representations"](runs)
    assert [axes.get_title() for axes in figure.axes][:4] == ["SBERT (k-means)", "RSTC-C", "RSTC-I", "RSTC (M1)"]
    many = [{**run, "classes": 152} for run in runs]
    with pytest.raises(MissingRunsError):
        FIGURES["representations"](many)


def test_without_the_contrast_rstc_is_rstc_c(runs: Runs) -> None:
    assert lines_of(FIGURES["lambda"](runs), 0)["StackOverflow-4k"] == ([0, 1, 2], [50.0, 50.0, 1000.0])


def test_a_point_is_the_mean_over_the_seeds_that_all_points_have(runs: Runs) -> None:
    own = next(r for r in runs if (r["dataset"], r["method"], r["changes"]) == ("stackoverflow-4k", "rstc-paper", {}))
    more = [*runs, {**own, "seed": 1, "acc": 90.0}]  # of the swept values there is seed 0 alone
    assert lines_of(FIGURES["eps"](more), 1)["StackOverflow-4k"][1] == [0.0, 50.0, 10.0]


def test_a_curve_is_the_mean_of_the_seeds(runs: Runs) -> None:
    m2 = next(run for run in runs if (run["dataset"], run["method"]) == ("googlenews-t", "rstc-m2"))
    stopped = [{"step": 0, "acc": 20.0, "nmi": 0, "clusters": 2}, {"step": 10, "acc": 30.0, "nmi": 0, "clusters": 2}]
    figure = FIGURES["estimators"]([*runs, {**m2, "seed": 1, "curve": stopped}])
    assert lines_of(figure, 0)["M2 (moving average)"] == ([0, 10], [30, 40])


def test_runs_on_the_papers_schedule_are_drawn_when_asked_for(runs: Runs, tmp_path: Path) -> None:
    whole = [{**run, "changes": {**run["changes"], "schedule": "paper"}} for run in runs if run["method"] != "sbert"]
    sbert = [run for run in runs if run["method"] == "sbert"]
    assert all(draw_all([*whole, *sbert], tmp_path / "cpu").values())
    assert not any(draw_all([*whole, *sbert], tmp_path / "paper", "paper").values())
