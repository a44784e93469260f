"""docs/architecture.md describes the code as it is: its walk, its layers and its modules."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fork_server import ForkedProcess

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MAX_FILES = 48
MAX_RETURNS = 10

# Files that a run enters, but that handle neither the text nor anything computed of it row by row.
NOT_ON_THE_WALK = {
    "settings and their validation": [
        "params.py",
        "pipelines/request.py",
        "validation/fit_input.py",
        "validation/labels.py",
        "validation/n_clusters.py",
        "representation/view_specs.py",
        "representation/augmenters/base.py",
    ],
    "ties between clusters, and distances of few texts": ["numerics/fixed_blocks.py"],
    "construction of the trainer, and its records": [
        "training/inputs.py",
        "training/trainer_parts.py",
        "training/schedule.py",
        "training/state.py",
        "training/history.py",
        "training/fingerprint.py",
        "training/checkpointing.py",
        "training/checkpoint_file.py",
        "pseudo_labels/label_sources.py",
    ],
    "how a run decides, and how it says so": [
        "pseudo_labels/agreement.py",
        "pseudo_labels/centring.py",
        "pseudo_labels/cluster_count.py",
        "pseudo_labels/initialization_settings.py",
        "representation/token_limit.py",
        "results/decisions.py",
        "report/fitted_run.py",
        "results/messages.py",
    ],
    "what confidence and stability are computed from, and how a run says them": [
        "pseudo_labels/confidence_model.py",
        "pseudo_labels/mahalanobis.py",
        "pseudo_labels/matching.py",
        "pseudo_labels/n_clusters.py",
        "pseudo_labels/outliers.py",
        "pseudo_labels/stability.py",
        "pseudo_labels/structure.py",
        "results/records.py",
        "results/reliability.py",
    ],
    "levels of detail, which are found beside the clusters": [
        "pseudo_labels/levels.py",
        "pseudo_labels/subclusters.py",
        "training/levels.py",
        "training/level_choice.py",
        "results/levels.py",
        "report/level_frames.py",
    ],
    "loading of the encoder, and how its modules compute": [
        "training/encoders.py",
        "representation/loading.py",
        "representation/package_files.py",
        "representation/prompts.py",
        "representation/folder_checks.py",
        "representation/tokenizer_checks.py",
        "representation/weight_checks.py",
        "representation/fast_dropout.py",
        "representation/embedding_lookup.py",
    ],
    "what only updated runs have": ["results/proposals.py"],
    "files": [
        "io/headers.py",
        "io/atomic.py",
        "io/checkpoint_names.py",
        "io/plain_folder.py",
        "results/points.py",
        "results/run_checks.py",
        "results/run_files.py",
        "results/unfinished_run.py",
        "runtime/terminal_text.py",
        "io/csv_injection.py",
        "io/durability.py",
        "io/locks.py",
        "io/remote.py",
        "io/text_files.py",
    ],
    "neighbours and colours on the page": ["results/neighbours.py", "report/colours.py"],
    "the model folder": [
        "persistence/fitted_model.py",
        "persistence/model_files.py",
        "persistence/model_folder.py",
        "persistence/model_description.py",
        "persistence/model_card.py",
    ],
    "languages, and how keywords are found": [
        "language/casing.py",
        "language/characters.py",
        "language/detection.py",
        "language/names.py",
        "language/segmentation.py",
        "language/stemming.py",
        "language/stop_words.py",
        "language/terms.py",
        "language/tokens.py",
        "results/phrases.py",
        "results/keywords.py",
    ],
    "names and edits of clusters": [
        "results/naming.py",
        "results/edits.py",
        "results/corrected_run.py",
    ],
    "data frames in Python": ["report/frames.py", "report/visualize.py"],
    "the other columns of the file": [
        "io/column_types.py",
        "results/kept_columns.py",
        "report/html/packed_columns.py",
    ],
    "comparisons, of a run that was asked for some": ["results/comparisons.py"],
}
PACKAGES_NOT_ON_THE_WALK = ("cli/", "runtime/", "config/")

TRACE = """
import json, sys, threading
from pathlib import Path

import rstc
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest

root, entered = str(Path(rstc.__file__).parent), set()
newlocals = 0x02  # flag of functions; bodies of modules and classes, which run on import, lack it


def trace(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and code.co_flags & newlocals:
        entered.add(str(Path(code.co_filename).relative_to(root).as_posix()))


table, out, encoder = sys.argv[1:]
settings = {"encoder": encoder, "training": "always", "max_steps": 4, "batch_size": 32, "kmeans_starts": 1}
cluster_file(RunRequest(table, Path(out) / "warm-up", 4, settings=settings))  # imports are not part of the walk
threading.setprofile(trace)
sys.setprofile(trace)
cluster_file(RunRequest(table, Path(out) / "run", 4, settings=settings))
sys.setprofile(None)
print(json.dumps(sorted(entered)))
"""


def walk() -> tuple[list[str], int]:
    """Return the files of the walk in order, and how often it returns to one of them."""
    table = PAGE.split("<!-- walk:start -->")[1].split("<!-- walk:end -->")[0]
    named = re.findall(r"`([\w/]+\.py)`", table)
    return list(dict.fromkeys(named)), len(named) - len(set(named))


def test_the_walk_is_short() -> None:
    files, returns = walk()
    assert len(files) <= MAX_FILES
    assert returns <= MAX_RETURNS


def test_the_walk_names_the_files_that_a_run_enters(tickets: Path, tmp_path: Path, tiny_encoder: str) -> None:
    (tmp_path / "trace.py").write_text(TRACE)
    done = ForkedProcess(tickets, tmp_path, tiny_encoder, script=tmp_path / "trace.py").wait()
    assert done.returncode == 0, done.stderr
    entered = set(json.loads(done.stdout.splitlines()[-1]))
    left_out = {name for names in NOT_ON_THE_WALK.values() for name in names}
    on_the_walk = {name for name in entered - left_out if not name.startswith(PACKAGES_NOT_ON_THE_WALK)}
    assert sorted(on_the_walk) == sorted(walk()[0])


def test_files_that_are_not_on_the_walk_exist() -> None:
    left_out = [name for names in NOT_ON_THE_WALK.values() for name in names]
    assert [name for name in left_out if not (ROOT / "src" / "rstc" / name).exists()] == []


def test_every_file_that_the_page_names_exists() -> None:
    named = set(re.findall(r"`((?:\w+/)*\w+\.(?:py|js))`", PAGE))
    assert len(named) > 100
    assert sorted(name for name in named if not (ROOT / "src" / "rstc" / name).exists()) == []


def test_true_labels_are_kept_from_all_pipelines_but_score() -> None:
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("Only metrics reads true labels")[1]
    named = set(re.findall(r'"rstc\.pipelines\.(\w+)"', contract.split("forbidden_modules")[0]))
    pipelines = {path.stem for path in (ROOT / "src" / "rstc" / "pipelines").iterdir()} - {"__init__", "__pycache__"}
    assert named == pipelines - {"score"}


def test_the_page_shows_the_layers_of_the_import_contract() -> None:
    contract = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("layers = [")[1].split("\n]")[0]
    layers = [" ".join(layer.split(" | ")) for layer in re.findall(r'"(.+)"', contract)]
    shown = [" ".join(line.split()) for line in PAGE.splitlines()]
    assert [layer for layer in layers if layer not in shown] == []
