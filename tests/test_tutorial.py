"""The tutorial's commands run as they are printed, and what it says about the clusters holds."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from fork_server import run_rstc
from rstc.pipelines.edit_session import EditSession
from rstc.results.run_folder import read_points

ROOT = Path(__file__).parent.parent
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
FOLDER = "demo-run"
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

    def trends(self) -> dict[int, str]:
        return {entry["id"]: entry["trend"] for entry in self.comparisons["over_time"]["clusters"]}

    def purity(self, cluster: int, topics: set[str]) -> float:
        """Return which share of a cluster's messages has one of some topics."""
        return float(self.table.loc[self.table["cluster"] == cluster, "topic"].isin(topics).mean())


@dataclass(frozen=True)
class Walk:
    """The run after the demo, after the corrections and after the update; the proposals, and the predictions."""

    demo: Run
    corrected: Run
    gift_cards: int
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
    gift_cards = correct(folder, demo)
    printed = follow("cat > new.csv")
    corrected = Run.read(folder, printed)
    printed = follow("rstc update demo-run --accept")
    updated = Run.read(folder, printed)
    proposals = json.loads((folder / "proposals.json").read_text(encoding="utf-8"))["proposals"]
    accepted = follow("cat > next.csv")
    follow("nothing is left")
    return Walk(demo, corrected, gift_cards, updated, proposals, accepted, pd.read_csv(place / "labelled.csv"))


def list_commands() -> list[str]:
    """Return the commands of the tutorial; the lines of a file that one writes belong to it."""
    blocks = re.findall(r"```sh\n(.*?)```", TUTORIAL, re.DOTALL)
    return [
        command for block in blocks for command in re.findall(r"cat .*?^EOF$|^rstc [^\n]*", block, re.DOTALL | re.M)
    ]


def correct(folder: Path, demo: Run) -> int:
    """Split the cluster of gift cards and codes, and rename the part about gift cards, as the buttons do."""
    session = EditSession(folder)
    mixed = demo.find_cluster("gift_card")
    session.correct({"do": "split", "cluster": mixed})
    is_gift_card = (demo.table["topic"] == "gift_card").to_numpy()
    part = int(pd.Series(session.run.clusters[is_gift_card]).mode()[0])
    session.correct({"do": "rename", "cluster": part, "name": "gift cards"})
    session.close()
    return part


def test_the_demo_prints_the_findings_on_one_screen(walk: Walk) -> None:
    lines = walk.demo.printed.rstrip().splitlines()
    assert len(lines) <= 45
    sentences = [entry["sentence"] for entry in walk.demo.comparisons["over_time"]["clusters"]]
    assert any(sentence in " ".join(line.strip() for line in lines) for sentence in sentences if sentence)
    assert "Look next at" in lines[-2]
    assert "rstc evaluate" in lines[-1]


def test_the_reliability_is_as_the_tutorial_says(walk: Walk) -> None:
    reliability = walk.demo.summary["reliability"]
    assert len(walk.demo.table) == 465
    assert reliability["verdict"] == "partly stable"
    assert reliability["n_repeats"] == 30
    assert 4 <= reliability["n_found_again"] <= 8  # "about six of ten"
    assert 0.12 < reliability["low"] < 0.3  # "about a fifth"
    for topic, name in (("refund_missing", "refund"), ("app_broken", "app")):
        entry = walk.demo.entry(walk.demo.find_cluster(topic))
        assert name in entry["name"]
        assert entry["reliability"]["n_found"] >= 27  # "nearly every time"


def test_messages_about_late_deliveries_are_cut_into_unstable_clusters(walk: Walk) -> None:
    late = walk.demo.table.loc[walk.demo.table["topic"] == "delivery_late", "cluster"].value_counts()
    first, second = late.index[:2]
    names = {walk.demo.entry(cluster)["name"] for cluster in (first, second)}
    assert any("delivery" in name for name in names)
    assert any("order" in name for name in names)
    assert all(walk.demo.entry(cluster)["reliability"]["n_found"] < 20 for cluster in (first, second))


def test_the_cluster_of_missing_refunds_grows_about_fourfold_and_no_other_changes(walk: Walk) -> None:
    refund = walk.demo.find_cluster("refund_missing")
    assert walk.demo.purity(refund, {"refund_missing", "charged_twice"}) > 0.8
    trends = walk.demo.trends()
    assert {cluster for cluster, trend in trends.items() if trend != "steady"} == {refund}
    assert trends[refund] == "growing"
    entry = next(entry for entry in walk.demo.comparisons["over_time"]["clusters"] if entry["id"] == refund)
    assert 3 < entry["change"] < 5.5
    assert 2 <= sum(entry["counts"]) / 26 < 3.5  # "two or three messages a week"


def test_crashes_come_from_the_app_and_refunds_from_everywhere(walk: Walk) -> None:
    (shares,) = walk.demo.comparisons["groups"]
    crashes, refund = walk.demo.find_cluster("app_broken"), walk.demo.find_cluster("refund_missing")
    app, email = shares["values"].index("app"), shares["values"].index("email")
    cells = dict(zip(shares["clusters"], shares["cells"], strict=True))
    assert walk.demo.purity(crashes, {"app_broken"}) > 0.8
    assert 3 < cells[crashes][app]["ratio"] < 8  # "about five times"
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


def test_gift_cards_are_new_once_they_are_split_off(walk: Walk) -> None:
    run = walk.corrected
    assert len(run.table["cluster"].unique()) == 11
    assert set(run.table.loc[run.table["cluster"] == walk.gift_cards, "cluster_name"]) == {"gift cards"}
    assert run.purity(walk.gift_cards, {"gift_card"}) > 0.8
    trends = run.trends()
    assert {cluster: trend for cluster, trend in trends.items() if trend != "steady"} == {
        walk.gift_cards: "new",
        run.find_cluster("refund_missing"): "growing",
    }
    is_new = run.table["cluster"] == walk.gift_cards
    dates = pd.to_datetime(run.table["date"])
    assert dates[is_new].min() > dates.max() - pd.Timedelta(weeks=6)


def test_the_update_proposes_the_messages_about_points(walk: Walk) -> None:
    (proposal,) = walk.proposals
    texts = walk.updated.table["text"].iloc[proposal["rows"]]
    assert len(texts) == 8
    assert texts.str.contains("points").all()
    assert proposal["stability"] >= 0.9
    assert "gift cards" in set(walk.updated.table["cluster_name"])
    assert "the cluster shares are like those" in walk.updated.printed
    assert "1 proposal accepted: 12 clusters" in walk.accepted


def test_new_messages_are_assigned_as_the_tutorial_says(walk: Walk) -> None:
    names = walk.labelled["cluster_name"].tolist()
    assert ["points" in names[0], "app" in names[1], "refund" in names[2]] == [True] * 3


def test_names_and_pictures_that_the_tutorial_mentions_exist(walk: Walk) -> None:
    names = {entry["name"] for entry in walk.demo.summary["clusters"]}
    quoted = {"refund", "app, crashes", "days, delivery, package", "order", "code, gift card"}
    assert all(f"`{name}`" in TUTORIAL for name in quoted)
    assert len(quoted & names) >= 3, "another processor may find other keywords for a few"
    pictures = [ROOT / "docs" / name for name in re.findall(r"\]\((figures/[\w-]+\.png)\)", TUTORIAL)]
    assert len(pictures) >= 3
    assert all(picture.stat().st_size <= 250_000 for picture in pictures)
