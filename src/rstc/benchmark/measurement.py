"""One run of the benchmark: fit a method on a data set, score its clusters, and record how it was made."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.benchmark.datasets import LoadedDataset, dataset, load
from rstc.benchmark.maps import tsne_map
from rstc.benchmark.methods import get_settings, make_estimator, method
from rstc.benchmark.store import Job, pack_labels
from rstc.errors import RstcWarning
from rstc.estimator import RSTC
from rstc.io.atomic import replace_file, user_cache_dir
from rstc.metrics import evaluate
from rstc.representation.encoder import fingerprint_weights
from rstc.runtime.environment import describe_machine, find_commit, hash_source, package_versions, peak_memory

METHODS_WITH_MAP = ("sbert", "rstc-c", "rstc-i", "rstc-paper")  # shown in the paper's t-SNE figure


def measure(job: Job, data: Path, checkpoints: Path | None = None) -> dict[str, Any]:
    """Run a job in this process.

    Parameters
    ----------
    job : Job
        The method, the data set, the seed and the changed settings.
    data : Path
        Folder of the data sets.
    checkpoints : Path, optional
        Folder for checkpoints of runs that train RSTC: a run that was stopped is resumed from them. They are removed
        when the run is complete.

    Returns
    -------
    dict
        The run as it is stored: scores, time, memory, settings, the cluster of each text, training curve, versions,
        source and machine.
    """
    loaded = load(job.dataset, data)
    entry = method(job.method)
    estimator = make_estimator(job.method, dataset(job.dataset), loaded.n_classes, job.seed, job.changes)
    fit_arguments: dict[str, Any] = {}
    folder = None if checkpoints is None or not isinstance(estimator, RSTC) else checkpoints / job.path.with_suffix("")
    recorder = _CurveRecorder(np.array(loaded.true_labels), folder and folder.with_suffix(".curve.json"))
    if folder:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fit_arguments["checkpoints"] = folder
    encoding_seconds = 0.0
    if entry.views:
        fit_arguments["views"] = loaded.views
    if entry.watch:
        fit_arguments["watch"] = recorder
    if entry.embeddings:
        fit_arguments["embeddings"], encoding_seconds = _load_embeddings(loaded, estimator)
    if "cache_folder" in estimator.get_params():
        # Hidden states cached by an earlier run on the same texts are reused: encoding is most of the work. `seconds`
        # and the peak memory may therefore exclude it, which `stages` shows.
        estimator.set_params(cache_folder=str(user_cache_dir() / "states"))
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RstcWarning)
        estimator.fit(loaded.texts, **fit_arguments)
    seconds = time.perf_counter() - start - recorder.seconds + encoding_seconds + recorder.seconds_before
    peak = peak_memory()
    result = {
        "dataset": job.dataset,
        "method": job.method,
        "changes": dict(job.changes),
        "seed": job.seed,
        "texts": len(loaded.texts),
        "classes": loaded.n_classes,
        "views": loaded.views_from if entry.views else None,
        **_score(loaded.true_labels, estimator.labels_),
        "seconds": round(seconds, 2),
        "peak_memory_mb": None if peak is None else round(peak / 2**20),
        "stages": {name: round(spent, 2) for name, spent in getattr(estimator, "seconds_", {}).items()},
        "steps": getattr(estimator, "n_iter_", None),
        "settled": getattr(estimator, "converged_", None),
        "warnings": [str(warning.message) for warning in caught if issubclass(warning.category, RstcWarning)],
        "settings": get_settings(estimator),
        "labels": pack_labels(estimator.labels_),
        "curve": recorder.curve,
        "history": getattr(estimator, "history_", []),
        "versions": package_versions(),
        "commit": find_commit(),
        "source": hash_source(),
        "machine": describe_machine(),
    }
    if job.method in METHODS_WITH_MAP and job.seed == 0 and set(job.changes) <= {"schedule"}:
        result["map"] = tsne_map(estimator.embedding_, loaded.true_labels)
    if folder:
        recorder.remove_file()
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _score(true_labels: Sequence[str], clusters: NDArray[np.int64]) -> dict[str, Any]:
    """Compute ACC, NMI, ARI and AMI in percent of the texts that have a class, and the number of their clusters."""
    scored = [row for row, label in enumerate(true_labels) if label]
    scores = evaluate([true_labels[row] for row in scored], clusters[scored].tolist())
    return {
        "acc": round(100 * scores.acc, 3),
        "nmi": round(100 * scores.nmi, 3),
        "ari": round(100 * scores.ari, 3),
        "ami": round(100 * scores.ami, 3),
        "clusters": scores.n_clusters,
    }


class _CurveRecorder:
    """A `watch` callback that scores the clusters during training; the method never sees the scores.

    Parameters
    ----------
    true_labels : ndarray of str
        The true class of each text.
    path : Path, optional
        File that keeps the curve of a run that can be resumed.

    Attributes
    ----------
    curve : list of dict
        The step and the scores of each call.
    seconds : float
        Time spent on scoring, which does not count as the method's.
    seconds_before : float
        Time that a resumed run had taken when the last point of its curve was recorded.
    """

    def __init__(self, true_labels: NDArray[np.str_], path: Path | None = None) -> None:
        self._true_labels, self._path, self._start = true_labels, path, time.perf_counter()
        kept: dict[str, Any] = json.loads(path.read_text()) if path and path.exists() else {"curve": [], "seconds": 0.0}
        self.curve: list[dict[str, Any]] = kept["curve"]
        self.seconds_before: float = kept["seconds"]
        self.seconds = 0.0

    def __call__(self, step: int, rows: NDArray[np.int64], clusters: NDArray[np.int64]) -> None:
        start = time.perf_counter()
        # A resumed run repeats the steps after its last checkpoint.
        self.curve = [point for point in self.curve if point["step"] < step]
        self.curve.append({"step": step, **_score(self._true_labels[rows].tolist(), clusters)})
        if self._path:
            spent = self.seconds_before + start - self._start - self.seconds
            with replace_file(self._path) as temporary:
                temporary.write_text(json.dumps({"curve": self.curve, "seconds": spent}))
        self.seconds += time.perf_counter() - start

    def remove_file(self) -> None:
        """Remove the file of the curve."""
        if self._path:
            self._path.unlink(missing_ok=True)


def _load_embeddings(loaded: LoadedDataset, estimator: Any) -> tuple[NDArray[np.float32], float]:
    """Return the embeddings of a data set, cached for the other seeds, and the seconds that encoding took."""
    start = time.perf_counter()
    encoder = estimator.load_encoder()
    settings = f"{fingerprint_weights(encoder.named_parameters())} {estimator.max_tokens} {package_versions()}"
    digest = hashlib.sha256("\x1e".join([settings, *loaded.texts]).encode()).hexdigest()
    path = user_cache_dir() / "embeddings" / f"{digest}.npz"
    if not path.exists():
        E = encoder.embed(encoder.tokenize(loaded.texts)).numpy()
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, E=E, seconds=time.perf_counter() - start)
    with np.load(path) as cached:
        return cached["E"], float(cached["seconds"])
