"""`rstc update` on texts of a new kind, on corrected runs and on rows that the run has already."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fork_server import run_rstc
from rstc import RSTC, InputError
from rstc.pipelines.apply_edits import apply_edits
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.proposals import accept_proposals, decline_proposals
from rstc.pipelines.request import RunRequest
from rstc.pipelines.update import update_run
from rstc.results.corrected_run import CorrectedRun
from rstc.results.earlier_edits import read_earlier_edits
from rstc.results.edits import read_log
from rstc.results.proposals import read_proposals
from rstc.results.run_folder import read_summary
from tiny_encoder import make_texts

KNOWN = {"parcel": 60, "password": 40, "refund": 30}
WriteFile = Callable[..., str]


@pytest.fixture(scope="module")
def three_topics(tiny_encoder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cluster texts of three topics; return the run folder, which is not to be changed."""
    folder = tmp_path_factory.mktemp("three")
    texts = make_texts(KNOWN, seed=1)[0]
    pd.DataFrame({"id": range(len(texts)), "text": texts}).to_csv(folder / "first.csv", index=False)
    settings = {"encoder": tiny_encoder, "kmeans_starts": 3, "repeats": 6}
    cluster_file(RunRequest(str(folder / "first.csv"), folder / "run", 3, text_column="text", settings=settings))
    return folder


@pytest.fixture
def run(three_topics: Path, tmp_path: Path) -> Path:
    shutil.copytree(three_topics / "run", tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    def write(sizes: dict[str, int], seed: int, first_id: int = 1000, name: str = "new.csv") -> str:
        texts = make_texts(sizes, seed=seed)[0]
        pd.DataFrame({"id": range(first_id, first_id + len(texts)), "text": texts}).to_csv(tmp_path / name, index=False)
        return str(tmp_path / name)

    return write


def find_topic(texts: list[str], topic_word: str) -> list[int]:
    return [row for row, text in enumerate(texts) if topic_word in text.split()]


def test_new_topic_is_proposed_and_accepted(run: Path, write_file: WriteFile) -> None:
    path = write_file({"parcel": 20, "refund": 10, "recipe": 25}, seed=7)
    update_run(run, path)
    (proposal,) = read_proposals(run)
    texts = CorrectedRun.read(run).points.texts
    recipes = {row for word in ("soup", "onion", "garlic", "oven", "flour") for row in find_topic(texts, word)}
    assert set(proposal.rows) <= set(range(130, 185))
    assert len(recipes & set(proposal.rows)) >= 20
    assert len(set(proposal.rows) - recipes) <= 2
    assert (proposal.id, proposal.status, proposal.size) == (1, "open", len(proposal.rows))
    assert proposal.stability is not None
    assert proposal.stability >= 0.7
    assert set(proposal.keywords) & {"soup", "onion", "garlic", "pepper", "boil", "pan", "oven", "flour"}
    assert '"status": "open"' in (run / "report.html").read_text(encoding="utf-8")

    accept_proposals(run, [1])
    rows = pd.read_csv(run / "clusters.csv")
    assert rows["cluster"][proposal.rows].eq(3).all()
    assert rows["cluster_name"][proposal.rows].eq(proposal.name).all()
    assert set(rows["cluster"]) == {0, 1, 2, 3}
    model = RSTC.load(run / "model")
    assert (model.predict(make_texts({"recipe": 20}, seed=9)[0]) == 3).mean() > 0.9
    assert model.cluster_names_[3] == proposal.name
    accepted = CorrectedRun.read(run)
    assert accepted.proposals[0].status == "accepted"
    assert accepted.entries()[-1].typical_rows == proposal.typical
    with pytest.raises(InputError, match="accepted already"):
        accept_proposals(run, [1])
    with pytest.raises(InputError, match="no proposal 5"):
        decline_proposals(run, [5])

    update_run(run, write_file({"recipe": 12, "password": 8}, seed=11, first_id=5000))
    summary = read_summary(run)
    assert summary.n_clusters == 4
    assert next(entry.name for entry in summary.clusters if entry.cluster == 3) == proposal.name
    after = pd.read_csv(run / "clusters.csv")
    assert after["cluster"][proposal.rows].eq(3).all()
    assert (after["cluster"][185:] == 3).sum() in range(11, 14)
    assert [p.status for p in read_proposals(run)] == ["accepted"]


def test_nothing_is_proposed_if_nothing_is_new(run: Path, write_file: WriteFile) -> None:
    for seed in range(2):
        update_run(run, write_file({"parcel": 20, "refund": 10, "password": 10}, seed=20 + seed, first_id=1000 * seed))
    assert read_proposals(run) == []
    assert len(read_summary(run).updates) == 2


def test_declined_proposal_is_not_made_again(run: Path, write_file: WriteFile) -> None:
    update_run(run, write_file({"parcel": 10, "recipe": 25}, seed=7))
    before = pd.read_csv(run / "clusters.csv")
    decline_proposals(run, "all")
    assert [proposal.status for proposal in CorrectedRun.read(run).proposals] == ["declined"]
    assert pd.read_csv(run / "clusters.csv").equals(before)
    update_run(run, write_file({"recipe": 20}, seed=8, first_id=3000))
    assert [proposal.status for proposal in read_proposals(run)] == ["declined"]


def test_open_proposal_grows_with_the_next_update(run: Path, write_file: WriteFile) -> None:
    update_run(run, write_file({"parcel": 10, "recipe": 15}, seed=7))
    (first,) = read_proposals(run)
    update_run(run, write_file({"recipe": 15}, seed=8, first_id=3000))
    (second,) = read_proposals(run)
    assert second.id == 2
    assert second.size > first.size + 8


def test_explore_accepts_declines_and_undoes(run: Path, write_file: WriteFile) -> None:
    update_run(run, write_file({"parcel": 10, "recipe": 25}, seed=7))
    session = EditSession(run)
    assert [proposal["status"] for proposal in session.state()["proposals"]] == ["open"]
    state = session.correct({"do": "accept", "proposal": 1})
    assert [proposal["status"] for proposal in state["proposals"]] == ["accepted"]
    assert 3 in {cluster["id"] for cluster in state["clusters"]}
    state = session.correct({"do": "undo"})
    assert [proposal["status"] for proposal in state["proposals"]] == ["open"]
    state = session.correct({"do": "decline", "proposal": 1})
    assert [proposal["status"] for proposal in state["proposals"]] == ["declined"]
    assert session.correct({"do": "accept", "proposal": 1})["edits"] == 1
    with pytest.raises(InputError, match="no proposal None"):
        session.correct({"do": "accept", "proposal": None})


def test_corrections_survive_updates(run: Path, write_file: WriteFile) -> None:
    found = CorrectedRun.read(run)
    clusters = found.points.clusters
    moved = [int(np.flatnonzero(clusters == 0)[0])]
    noise = [int(np.flatnonzero(clusters == 1)[0])]
    split = np.flatnonzero(clusters == 0)[5:25].tolist()
    for edit in (
        {"do": "split", "cluster": 0, "rows": split, "name": "my part"},
        {"do": "merge", "cluster": 2, "into": 1},
        {"do": "rename", "cluster": 1, "name": "accounts and money"},
        {"do": "move", "rows": moved, "into": 1},
        {"do": "noise", "rows": noise},
    ):
        found.correct(edit)
    found.save(run)
    apply_edits(run)
    apply_edits(run)  # applied or not makes no difference
    expected = pd.read_csv(run / "clusters.csv")["cluster"]
    for number in range(2):
        write = write_file({"parcel": 10, "password": 10, "refund": 5}, seed=30 + number, first_id=1000 + 100 * number)
        summary = update_run(run, write)
        assert summary is not None
        rows = pd.read_csv(run / "clusters.csv")
        assert rows["cluster"][split].eq(3).all()
        assert rows["cluster"][moved].eq(1).all()
        assert rows["cluster"][noise].eq(-1).all()
        assert (rows["cluster"][:130] == expected).mean() > 0.9
        assert set(rows["cluster"]) == {-1, 0, 1, 3}, "a merged cluster stays empty"
        names = {entry.cluster: entry.name for entry in summary.clusters}
        assert (names[1], names[3]) == ("accounts and money", "my part")
        assert rows["cluster_name"].tolist() == [names.get(cluster, "outlier") for cluster in rows["cluster"]]
        assert read_log(run).edits == ()
        assert len(read_earlier_edits(run).edits) == 5
        assert summary.updates[-1].n_edits == (0 if number else 5)
        assert RSTC.load(run / "model").cluster_names_[3] == "my part"
    run_again = CorrectedRun.read(run)
    run_again.correct({"do": "split", "cluster": 0, "rows": [int(np.flatnonzero(run_again.clusters == 0)[0])]})
    assert run_again.state.next_cluster == 5, "numbers of merged clusters are not used again"


def test_rows_are_not_added_twice(run: Path, three_topics: Path, write_file: WriteFile, tmp_path: Path) -> None:
    path = write_file({"parcel": 10, "password": 5}, seed=40)
    update_run(run, path)
    after = (run / "clusters.csv").read_bytes()
    done = run_rstc("update", run, path)
    assert (done.returncode, "nothing was added" in done.stdout) == (0, True), done.stderr
    assert update_run(run, str(three_topics / "first.csv")) is None
    assert (run / "clusters.csv").read_bytes() == after

    longer = pd.concat([pd.read_csv(path), pd.DataFrame({"id": [9001, 9002], "text": ["late van", "code reset"]})])
    longer.to_csv(tmp_path / "longer.csv", index=False)
    summary = update_run(run, str(tmp_path / "longer.csv"))
    assert summary is not None
    assert (summary.updates[-1].n_rows, summary.updates[-1].n_known) == (2, 15)
    assert [entry.file for entry in summary.updates] == ["new.csv", "longer.csv"]
    assert summary.input.n_rows == 147
    summary = update_run(run, path, again=True)
    assert summary is not None
    assert summary.input.n_rows == 162


def test_command_line_decides_on_proposals(run: Path, write_file: WriteFile) -> None:
    path = write_file({"parcel": 10, "recipe": 25}, seed=7)
    done = run_rstc("update", run, path)
    assert done.returncode == 0, done.stderr
    assert "Proposed clusters" in done.stdout
    assert "--accept 1" in done.stdout
    for arguments, problem in (
        ([], "give a file"),
        ([path, "--accept", "1"], "leave out FILE"),
        (["--accept", "one"], "expects numbers such as 1,3 or all, got 'one'"),
        (["--accept", "4"], "there is no proposal 4; the proposals are 1"),
    ):
        refused = run_rstc("update", run, *arguments)
        assert (refused.returncode, problem in refused.stderr.replace("\n", " ")) == (2, True), refused.stderr
    done = run_rstc("update", run, "--accept", "all")
    assert done.returncode == 0, done.stderr
    assert "1 proposal accepted: 4 clusters" in done.stdout
    info = run_rstc("info", run)
    assert "accepted: " in info.stdout
    assert "35 rows of new.csv" in info.stdout


def test_model_in_memory_accepts_proposals(quick: dict[str, Any]) -> None:
    texts = make_texts(KNOWN, seed=1)[0]
    model = RSTC(3, random_state=0, **quick).fit(texts)
    with pytest.raises(InputError, match="before `update`"):
        model.accept_proposals()
    model.update([None, *make_texts({"parcel": 10, "recipe": 20}, seed=2)[0]])
    (proposal,) = model.proposals_
    assert min(proposal.rows) > 130, "positions count rows without a text"
    before = model.labels_.copy()
    assert model.accept_proposals([1]) is model
    assert model.n_clusters_ == 4
    assert (model.labels_[proposal.rows] == 3).all()
    others = np.setdiff1d(np.arange(len(before)), proposal.rows)
    assert (model.labels_[others] == before[others]).all()
    assert model.cluster_info_["name"][3] == proposal.name
    assert model.predict_proba(["soup onion garlic oven"]).argmax() == 3
    assert model.proposals_[0].status == "accepted"
    assert model.accept_proposals().n_clusters_ == 4, "nothing is open"


def test_outliers_that_form_no_group_stay_outliers(quick: dict[str, Any]) -> None:
    model = RSTC(3, random_state=0, noise=0.005, **(quick | {"training": "auto"})).fit(make_texts(KNOWN, seed=1)[0])
    strange = ["zq xv wj kk qq", "jjj yyy uuu vvv", "bbb hhh ggg"]
    model.update([*make_texts({"parcel": 12, "refund": 8}, seed=3)[0], *strange])
    assert model.proposals_ == []
    assert set(model.labels_[-3:].tolist()) <= {-1, 0, 1, 2}
