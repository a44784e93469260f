"""The tutorial's commands run as they are printed, and what it says about the clusters holds."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from fork_server import run_rstc
from rstc.results.points import read_points

ROOT = Path(__file__).parent.parent
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FOLDER = "demo-run"
SEEDS = (1, 2, 3)  # whose runs the tutorial names
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # several runs of the real encoder


@dataclass(frozen=True)
class Run:
    """What is in the run folder at one point of the tutorial, and what was printed until then."""

    summary: dict[str, Any]
    comparisons: dict[str, Any]
    table: pd.DataFrame
    places: NDArray[np.float64]  # on the map, (N, 2)
    printed: str

    @classmethod
    def read(cls, folder: Path, printed: str) -> Run:
        summary, comparisons = (
            json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("summary", "comparisons")
        )
        places = read_points(folder).layout.astype(np.float64)
        return cls(summary, comparisons, pd.read_csv(folder / "clusters.csv"), places, printed)

    def find_cluster(self, topic: str) -> int:
        """Return the cluster that holds most messages of a topic."""
        return int(self.table.loc[self.table["topic"] == topic, "cluster"].mode()[0])

    def entry(self, cluster: int) -> dict[str, Any]:
        """Return a cluster's entry in the summary."""
        return next(entry for entry in self.summary["clusters"] if entry["cluster"] == cluster)

    def over_time(self, cluster: int) -> dict[str, Any]:
        """Return what the comparison over time found for a cluster."""
        return next(entry for entry in self.comparisons["over_time"]["clusters"] if entry["id"] == cluster)

    def trends(self) -> dict[int, str]:
        """Return the trends of the clusters that are not steady."""
        entries = self.comparisons["over_time"]["clusters"]
        return {entry["id"]: entry["trend"] for entry in entries if entry["trend"] != "steady"}

    def purity(self, cluster: int, topics: set[str]) -> float:
        """Return which share of a cluster's messages has one of some topics."""
        return float(self.table.loc[self.table["cluster"] == cluster, "topic"].isin(topics).mean())


@dataclass(frozen=True)
class Walk:
    """The runs after the demo, after the corrections and after the update; the edits, proposals and predictions."""

    demo: Run
    others: list[Run]  # of other seeds
    edits: list[dict[str, Any]]
    corrected: Run
    gift_cards: int
    cancellations: int
    updated: Run
    proposals: list[dict[str, Any]]
    accepted: str
    labelled: pd.DataFrame


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """Follow the tutorial in a folder of its own; the clicks of `rstc explore` are made without a browser."""
    place = tmp_path_factory.mktemp("tutorial")
    folder = place / FOLDER
    commands = list_commands()

    def follow(until: str) -> str:
        """Run the commands before the next one that begins with some words; return what they printed."""
        printed = ""
        while commands and not commands[0].startswith(until):
            command = commands.pop(0)
            if command.startswith("rstc "):
                result = run_rstc(*command.split()[1:], cwd=place)
                assert result.returncode == 0, f"{command}: {result.stderr}"
                printed += result.stdout
            else:
                subprocess.run(["sh", "-ec", command], cwd=place, check=True)
        return printed

    printed = follow("rstc explore")
    demo = Run.read(folder, printed)
    commands.pop(0)
    gift_cards, cancellations = runpy.run_path(str(ROOT / "tools" / "take_screenshots.py"))["correct"](folder)
    edits = json.loads((folder / "edits.json").read_text(encoding="utf-8"))["edits"]
    printed = follow("cat > new.csv")
    corrected = Run.read(folder, printed)
    printed = follow("rstc update demo-run --accept")
    updated = Run.read(folder, printed)
    proposals = json.loads((folder / "proposals.json").read_text(encoding="utf-8"))["proposals"]
    accepted = follow("cat > next.csv")
    follow("nothing is left")
    others = []
    for seed in SEEDS:
        result = run_rstc("demo", "--seed", str(seed), "--out", f"seed-{seed}", cwd=place)
        assert result.returncode == 0, result.stderr
        others.append(Run.read(place / f"seed-{seed}", result.stdout))
    labelled = pd.read_csv(place / "labelled.csv")
    return Walk(demo, others, edits, corrected, gift_cards, cancellations, updated, proposals, accepted, labelled)


def list_commands() -> list[str]:
    """Return the commands of the tutorial; the lines of a file that one writes belong to it."""
    blocks = re.findall(r"```sh\n(.*?)```", TUTORIAL, re.DOTALL)
    return [
        command for block in blocks for command in re.findall(r"cat .*?^EOF$|^rstc [^\n]*", block, re.DOTALL | re.M)
    ]


def test_the_demo_prints_its_findings_on_one_screen(walk: Walk) -> None:
    lines = walk.demo.printed.rstrip().splitlines()
    assert len(lines) <= 45
    assert "no cluster changes its share" in walk.demo.printed
    assert "'app, crashes' is" in walk.demo.printed
    assert "Look next at" in lines[-2]
    assert "rstc evaluate" in lines[-1]


def test_the_reliability_is_as_the_tutorial_says(walk: Walk) -> None:
    reliability = walk.demo.summary["reliability"]
    assert len(walk.demo.table) == 465
    assert reliability["verdict"] == "stable"
    assert 0.6 <= reliability["agreement"] < 0.65, '"only just": the limit is 0.6'
    assert reliability["n_repeats"] == 30
    assert 4 <= reliability["n_found_again"] <= 6  # "about half"
    assert 0.07 < reliability["low"] < 0.15  # "a tenth"
    for topic, name in (("refund_missing", "refund"), ("app_broken", "app")):
        entry = walk.demo.entry(walk.demo.find_cluster(topic))
        assert name in entry["name"]
        assert entry["reliability"]["n_found"] >= 27  # "nearly every time"


@pytest.mark.parametrize(
    ("topics", "words"),
    [
        ({"delivery_late"}, ("delivery", "order")),
        ({"cancel_subscription", "charged_twice"}, ("charged", "cancel, month")),
    ],
    ids=["deliveries", "subscriptions"],
)
def test_two_pairs_of_unstable_clusters_share_a_border(walk: Walk, topics: set[str], words: tuple[str, str]) -> None:
    first, second = (next(entry for entry in walk.demo.summary["clusters"] if word in entry["name"]) for word in words)
    for entry, partner in ((first, second), (second, first)):
        assert entry["reliability"]["n_found"] < 15  # the page marks it with a circle
        assert entry["reliability"]["confused_with"] == partner["cluster"]
        assert walk.demo.purity(entry["cluster"], topics) > 0.5


def test_no_cluster_changes_for_certain_and_the_refunds_come_close(walk: Walk) -> None:
    assert walk.demo.trends() == {}
    refund = walk.demo.find_cluster("refund_missing")
    assert walk.demo.purity(refund, {"refund_missing", "charged_twice"}) > 0.8
    entry = walk.demo.over_time(refund)
    entries = walk.demo.comparisons["over_time"]["clusters"]
    assert entry["q_value"] == min(other["q_value"] for other in entries)
    assert 0.05 < entry["q_value"] < 0.06  # "at the limit of 0.05"
    assert 2.5 <= sum(entry["counts"]) / 26 < 3.5  # "about three messages a week"
    weeks = np.asarray(entry["counts"]), np.asarray(walk.demo.comparisons["over_time"]["totals"])
    spring, end = (np.divide(*(values[part].sum() for values in weeks)) for part in (slice(0, 4), slice(-4, None)))
    assert 0.07 < spring < 0.13  # "one message in ten"
    assert 0.25 < end < 0.33  # "more than one in four"


def test_crashes_come_from_the_app_and_refunds_from_everywhere(walk: Walk) -> None:
    (shares,) = walk.demo.comparisons["groups"]
    crashes, refund = walk.demo.find_cluster("app_broken"), walk.demo.find_cluster("refund_missing")
    app, email = shares["values"].index("app"), shares["values"].index("email")
    cells = dict(zip(shares["clusters"], shares["cells"], strict=True))
    assert walk.demo.purity(crashes, {"app_broken"}) > 0.8
    assert 5 < cells[crashes][app]["ratio"] < 7  # "about six times"
    assert cells[crashes][app]["sign"] == 1
    assert cells[crashes][email]["share"] < 0.08  # "rare in emails"
    assert cells[crashes][email]["ratio"] < 0.5
    assert all(cell["sign"] == 0 for cell in cells[refund])


def test_the_smallest_cluster_is_about_gift_cards_and_login_codes(walk: Walk) -> None:
    mixed = walk.demo.find_cluster("gift_card")
    entry = walk.demo.entry(mixed)
    assert entry["size"] == min(other["size"] for other in walk.demo.summary["clusters"])
    assert "code" in entry["name"]
    assert "gift card" in entry["name"]
    assert walk.demo.purity(mixed, {"gift_card", "login_password"}) > 0.8
    assert 0.4 < walk.demo.purity(mixed, {"gift_card"}) < 0.75
    is_mixed = (walk.demo.table["cluster"] == mixed).to_numpy()
    parts = walk.demo.table["topic"].to_numpy()[is_mixed] == "gift_card"
    places = walk.demo.places[is_mixed]
    middles = [np.median(places[part], axis=0) for part in (parts, ~parts)]
    spreads = [
        np.median(np.linalg.norm(places[part] - middle, axis=1))
        for part, middle in zip((parts, ~parts), middles, strict=True)
    ]
    assert np.linalg.norm(middles[0] - middles[1]) > 3 * max(spreads), "two groups on the map, far apart"


def test_the_corrections_separate_gift_cards_and_join_cancellations(walk: Walk) -> None:
    run = walk.corrected
    assert len(run.table["cluster"].unique()) == 10
    assert set(run.table.loc[run.table["cluster"] == walk.gift_cards, "cluster_name"]) == {"gift cards"}
    assert run.purity(walk.gift_cards, {"gift_card"}) > 0.8
    moves = [edit for edit in walk.edits if edit["do"] == "move"]
    assert [len(move["rows"]) for move in moves] == [2]  # "two about the codes of gift cards"
    cancellations = {walk.demo.find_cluster("cancel_subscription"), walk.demo.find_cluster("charged_twice")}
    assert walk.cancellations in cancellations
    before = walk.demo.table["cluster"].value_counts()
    assert (run.table["cluster"] == walk.cancellations).sum() > before[walk.cancellations]


def test_gift_cards_are_new_and_refunds_growing_once_they_are_split_off(walk: Walk) -> None:
    run = walk.corrected
    refund = run.find_cluster("refund_missing")
    assert run.trends() == {walk.gift_cards: "new", refund: "growing"}
    assert set(run.table.index[run.table["cluster"] == refund]) == set(
        walk.demo.table.index[walk.demo.table["cluster"] == walk.demo.find_cluster("refund_missing")]
    ), "the messages are the same"
    assert run.over_time(walk.gift_cards)["q_value"] < 0.01  # "a clear finding"
    is_new = run.table["cluster"] == walk.gift_cards
    dates = pd.to_datetime(run.table["date"])
    assert dates[is_new].min() > dates.max() - pd.Timedelta(weeks=6)
    assert dates[is_new].min() >= pd.Timestamp("2026-07-20")  # "since the end of July"


def test_with_other_seeds_a_narrower_cluster_of_refunds_grows_about_fourfold(walk: Walk) -> None:
    size = walk.demo.entry(walk.demo.find_cluster("refund_missing"))["size"]
    for run in walk.others:
        refund = run.find_cluster("refund_missing")
        assert run.entry(refund)["name"] == "refund"
        assert run.entry(refund)["size"] < size
        assert run.trends() == {refund: "growing"}
        assert 3 < run.over_time(refund)["change"] < 5


def test_the_update_proposes_the_messages_about_points(walk: Walk) -> None:
    (proposal,) = walk.proposals
    texts = walk.updated.table["text"].iloc[proposal["rows"]]
    assert len(texts) == 8
    assert texts.str.contains("points").all()
    assert proposal["stability"] >= 0.75  # "most resamples"
    assert "gift cards" in set(walk.updated.table["cluster_name"])
    assert "the cluster shares are like those" in walk.updated.printed
    assert "1 proposal accepted: 11 clusters" in walk.accepted


def test_new_messages_are_assigned_as_the_tutorial_says(walk: Walk) -> None:
    names = walk.labelled["cluster_name"].tolist()
    assert ["points" in names[0], "app" in names[1], "refund" in names[2]] == [True] * 3


def test_names_and_pictures_that_the_tutorial_mentions_exist(walk: Walk) -> None:
    names = {entry["name"] for entry in walk.demo.summary["clusters"]}
    quoted = {"refund, return", "app, crashes", "days, delivery, today", "order", "gift card, code, sms"}
    quoted |= {"charged, subscription, cancel", "cancel, month"}
    assert all(f"`{name}`" in TUTORIAL for name in quoted)
    assert len(quoted & names) >= 4, "another processor may find other keywords for a few"
    pictures = [ROOT / "docs" / name for name in re.findall(r"\]\((figures/[\w-]+\.png)\)", TUTORIAL)]
    assert len(pictures) == 5
    assert all(picture.stat().st_size <= 250_000 for picture in pictures)
