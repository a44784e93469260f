"""What the measuring scripts share: options, embeddings, scores, timing, and result files that grow row by row."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from rstc.benchmark.runs import JobOutcome
from rstc.metrics import evaluate
from rstc.representation.bundled_files import get_bundled_folder
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder
from rstc.runtime.environment import describe_machine, package_versions

RESULTS = Path(__file__).parent / "results"
PAPER_RUNS = RESULTS / "paper"  # the store of `rstc benchmark`
FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def make_parser(
    description: str | None, *, data: bool = True, datasets: list[str] | None = None, seeds: int | None = None
) -> argparse.ArgumentParser:
    """Make a parser with the options that a script shares with others.

    Parameters
    ----------
    description : str
        The docstring of the script.
    data : bool
        Whether it has --data, the folder of the data sets.
    datasets : list of str, optional
        Default of --datasets; without it there is no such option.
    seeds : int, optional
        Default of --seeds; without it there is no such option.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data:
        parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder of the data sets")
    if datasets is not None:
        parser.add_argument(
            "--datasets", type=lambda names: names.split(","), default=datasets, metavar="A,B", help="names"
        )
    if seeds is not None:
        parser.add_argument("--seeds", type=int, default=seeds, help="number of seeds, from 0 on")
    return parser


def default_encoder() -> Encoder:
    """Load the bundled encoder as `RSTC` does by default."""
    return load_encoder(None, "mean", 32)


def load_sentence_transformer() -> Any:
    """Load the bundled encoder as plain Sentence-Transformers does, with the same limit of 32 tokens."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_bundled_folder()), device="cpu", local_files_only=True)
    model.max_seq_length = 32
    return model


def embed(texts: list[str], encoder: Encoder | None = None) -> np.ndarray:
    """Embed texts with the default encoder or another, scaled to length one, (N, D)."""
    encoder = encoder or default_encoder()
    return np.asarray(normalize(encoder.embed(encoder.tokenize(texts)).numpy()), dtype=np.float32)


def score(labels_true: Any, labels_pred: Any) -> dict[str, Any]:
    """Compute ACC, NMI and ARI in percent, and count the clusters."""
    scores = asdict(evaluate(list(labels_true), list(labels_pred)))
    return {name: round(100 * scores[name], 2) for name in ("acc", "nmi", "ari")} | {"clusters": scores["n_clusters"]}


def measure_time(function: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> tuple[Any, float]:
    """Call a function; return its result and the seconds it took."""
    start = clock()
    result = function()
    return result, clock() - start


def compare_times(contenders: dict[str, Callable[[], Any]], rounds: int) -> tuple[dict[str, Any], dict[str, float]]:
    """Call contenders by turns; return their last results and their median seconds without the first, warming round."""
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    results: dict[str, Any] = {}
    for _ in range(rounds + 1):
        for name, function in contenders.items():
            results[name], seconds = measure_time(function)
            spent[name].append(seconds)
        print({name: round(seconds[-1], 2) for name, seconds in spent.items()}, flush=True)
    return results, {name: float(np.median(seconds[1:])) for name, seconds in spent.items()}


def run_in_process(function: Callable[..., None], *arguments: Any) -> None:
    """Call a function in a new process, so that its memory does not count towards later measurements."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()


def fit_bertopic(texts: list[str], E: np.ndarray, seed: int, **settings: Any) -> np.ndarray:
    """Cluster texts by BERTopic with its own UMAP settings but a seed; outliers are -1."""
    from bertopic import BERTopic
    from umap import UMAP

    umap = UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
    return np.array(BERTopic(umap_model=umap, **settings).fit_transform(texts, embeddings=E)[0])


def print_outcome(outcome: JobOutcome) -> None:
    """Print the scores or the error of a job of `rstc.benchmark`."""
    if outcome.result is not None or outcome.error:
        print(outcome.describe(), flush=True)


def describe_run(*packages: str) -> dict[str, Any]:
    """Return the command, the versions (of some packages as well) and the machine of this measurement."""
    options = [
        "DIR" if option in ("--data", "--keep", "--pictures") else argument
        for option, argument in zip(sys.argv, sys.argv[1:], strict=False)
    ]
    return {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *options]),
        "versions": package_versions() | {name: version(name) for name in packages},
        "machine": describe_machine(),
    }


class ResultFile:
    """A JSON file of rows, written after each row; a row that is present is not measured again.

    What all rows were made with is stored once beside them. A row that is added later, on another machine or with
    other versions, has the differences in `made_with`; each row has its command.

    Parameters
    ----------
    name : str
        Name of the file in benchmarks/results, without the ending.
    key : tuple of str
        Names of the entries that identify a row.
    packages : tuple of str
        Packages whose versions are recorded, besides those of rstc.
    **made_with
        Further entries that describe the measurement.
    """

    def __init__(self, name: str, key: tuple[str, ...], *, packages: tuple[str, ...] = (), **made_with: Any) -> None:
        description = describe_run(*packages) | made_with
        self._path, self._key = RESULTS / f"{name}.json", key
        self._command = description.pop("command")
        self.content: dict[str, Any] = description | {"rows": []}
        self._differences: dict[str, Any] = {}
        if self._path.exists():
            self.content = json.loads(self._path.read_text())
            self._differences = _find_differences(self.content, description)

    def has(self, **row: Any) -> bool:
        """Check whether a row with these key values is present."""
        return any(all(present[name] == row[name] for name in self._key) for present in self.content["rows"])

    def add(self, row: dict[str, Any]) -> None:
        """Write a row and print it."""
        differences = {"made_with": self._differences} if self._differences else {}
        self.content["rows"].append(row | {"command": self._command} | differences)
        self.write()
        print(json.dumps(row), flush=True)

    def write(self) -> None:
        """Write the file; an interruption leaves the previous one."""
        self._path.parent.mkdir(exist_ok=True)
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps(self.content, indent=1) + "\n")
        temporary.replace(self._path)


def _find_differences(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the entries that are different now; of a nested dict, such as the versions, only the differing ones."""
    differences: dict[str, Any] = {}
    for name, value in now.items():
        other = before.get(name)
        if isinstance(value, dict) and isinstance(other, dict):
            value = {key: entry for key, entry in value.items() if other.get(key) != entry}
            if value:
                differences[name] = value
        elif value != other:
            differences[name] = value
    return differences
