"""What an agent can do with files and runs below one folder: cluster, look, search, predict. Plain values in and out.

Texts come from files of unknown origin. They are returned as data, cut to a length, and at most so many at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rstc.errors import InputError
from rstc.pipelines.cluster import cluster_file
from rstc.pipelines.request import RunRequest
from rstc.results.corrected_run import CorrectedRun
from rstc.results.run_files import REPORT, SUMMARY, is_unfinished
from rstc.results.summary import ClusterEntry
from rstc.runtime.progress import Listener
from rstc.service.model_store import ServedModel, read_folder_state
from rstc.service.text_search import find_near_rows, find_rows_with_words

MAX_TEXT = 300  # characters of a text that are returned
MAX_ITEMS = 100  # texts or clusters that are returned at a time
MAX_MODELS = 2  # that are kept loaded
MAX_PREDICTED = 100  # texts that are predicted at a time

Result = dict[str, Any]


class RunTools:
    """Files and runs below a folder.

    Parameters
    ----------
    root : Path
        The folder; nothing outside of it is read or written, also not by a link that leads out of it.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise InputError(f"there is no folder {root}")
        self.root = root.resolve()
        self._models: OrderedDict[tuple[Path, Any], ServedModel] = OrderedDict()

    def resolve(self, name: str) -> Path:
        """Return the path of a name relative to the root; raise InputError if it leads out of it."""
        if "://" in name or "\0" in name or not name.strip():
            raise InputError(f"{name[:100]!r} is not the path of a file below the root")
        path = (self.root / name).resolve()
        if not path.is_relative_to(self.root):
            raise InputError(f"{name[:100]!r} is outside of the folder that these tools may use")
        return path

    def name_of(self, path: Path) -> str:
        """Return a path relative to the root."""
        return path.relative_to(self.root).as_posix()

    def read_run(self, run: str) -> CorrectedRun:
        """Read a run with its corrections."""
        return CorrectedRun.read(self.resolve(run))

    def list_files(self) -> Result:
        """List the runs below the root, and the other files in it."""
        runs = sorted(path.parent for path in self.root.glob("**/" + SUMMARY))[:MAX_ITEMS]
        files = sorted(path for path in self.root.iterdir() if path.is_file() and not path.name.startswith("."))
        return {
            "runs": [self.name_of(run) for run in runs],
            "files": [self.name_of(file) for file in files[:MAX_ITEMS]],
        }

    def cluster(
        self,
        file: str,
        out: str,
        n_clusters: int | str = "auto",
        text_column: str | None = None,
        settings: Mapping[str, Any] | None = None,
        listener: Listener | None = None,
    ) -> Result:
        """Cluster a file into a new run, as `rstc cluster` does; return its summary."""
        source, target = self.resolve(file), self.resolve(out)
        if not source.is_file():
            raise InputError(f"there is no file {file}")
        if target == self.root:
            raise InputError("the run needs a folder of its own below the root")
        settings = self._resolve_settings(settings or {})
        request = RunRequest(str(source), target, n_clusters, text_column=text_column, settings=settings)
        cluster_file(request, listener=listener)
        return self.describe(self.name_of(target))

    def _resolve_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings whose encoder, if there is one, is a folder below the root; refuse other paths."""
        resolved = dict(settings)
        for name in ("views", "cache_folder"):
            if name in resolved:
                raise InputError(f"the setting {name} can name files outside of the root and cannot be set here")
        if "encoder" in resolved:
            resolved["encoder"] = str(self.resolve(str(resolved["encoder"])))
        return resolved

    def describe(self, run: str, offset: int = 0, limit: int = 30) -> Result:
        """Describe a run and its clusters after corrections, the largest first."""
        corrected = self.read_run(run)
        entries = sorted(corrected.entries(), key=lambda entry: -entry.size)
        summary, shown = corrected.summary, entries[offset : offset + _bound(limit)]
        return {
            "run": run,
            "report": self.name_of(self.resolve(run) / REPORT),
            "file": summary.input.file,
            "n_texts": summary.input.n_texts,
            "n_outliers": int((corrected.clusters < 0).sum()),
            "n_clusters": len(entries),
            "n_corrections": len(corrected.log.edits),
            "reliability": summary.reliability.describe() if summary.reliability else None,
            "clusters": [self._describe_cluster(entry, corrected.state.names) for entry in shown],
            "more_from": _next(offset, len(shown), len(entries)),
        }

    def _describe_cluster(self, entry: ClusterEntry, names: Mapping[int, str]) -> Result:
        rating = entry.reliability
        return {
            "cluster": entry.cluster,
            "name": entry.name,
            "description": entry.description,
            "size": entry.size,
            "confidence": None if entry.confidence is None else round(entry.confidence, 3),
            "keywords": entry.keywords[:8],
            "typical_texts": [cut(text) for text in entry.typical[:3]],
            "stability": rating.level if rating else None,
            "confused_with": rating.confused_with if rating else None,
            "near": entry.near[:3],
        }

    def list_texts(self, run: str, cluster: int, offset: int = 0, limit: int = 30) -> Result:
        """List the texts of a cluster, or with -1 those without one."""
        corrected = self.read_run(run)
        if cluster != -1 and cluster not in corrected.state.names:
            raise InputError(f"there is no cluster {cluster}")
        rows = np.flatnonzero(corrected.clusters == cluster if cluster >= 0 else corrected.clusters < 0)
        shown = rows[offset : offset + _bound(limit)]
        return {
            "cluster": cluster,
            "n_texts": len(rows),
            "texts": [list_row(corrected, row) for row in shown.tolist()],
            "more_from": _next(offset, len(shown), len(rows)),
        }

    def search(self, run: str, query: str, limit: int = 20) -> Result:
        """Search texts by words, and by the nearest embeddings of the query where the run keeps them."""
        corrected, limit = self.read_run(run), _bound(limit)
        with_words = find_rows_with_words(corrected.points.texts, query)
        found = set(with_words[:limit].tolist())
        near: list[tuple[int, float]] = []
        if corrected.embeddings is not None and query.strip():
            E = self._load_model(self.resolve(run)).model.transform([query])[0]
            near = [pair for pair in find_near_rows(corrected.embeddings, E, 2 * limit) if pair[0] not in found]
        return {
            "n_with_words": len(with_words),
            "with_words": [list_row(corrected, row) for row in with_words[:limit].tolist()],
            "near_in_meaning": [
                {**list_row(corrected, row), "similarity": round(similarity, 3)} for row, similarity in near[:limit]
            ],
        }

    def predict(self, model: str, texts: Sequence[str]) -> Result:
        """Assign texts to the clusters of a run, a saved model or an exported one."""
        if len(texts) > MAX_PREDICTED:
            raise InputError(f"{len(texts)} texts are too many at a time; at most {MAX_PREDICTED}")
        return {"predictions": self._load_model(self.resolve(model)).predict(list(texts))}

    def read_summary(self, run: str) -> str:
        """Return summary.json of a run."""
        path = self.resolve(run)
        if is_unfinished(path) or not (path / SUMMARY).is_file():
            raise InputError(f"there is no finished run in {run}")
        return (path / SUMMARY).read_text(encoding="utf-8")

    def find_report(self, run: str) -> str:
        """Return the path of a run's page."""
        path = self.resolve(run) / REPORT
        if not path.is_file():
            raise InputError(f"there is no {REPORT} in {run}")
        return str(path)

    def _load_model(self, folder: Path) -> ServedModel:
        """Load a model, or return the loaded one if its files are the same."""
        key = (folder, read_folder_state(folder))
        if key not in self._models:
            self._models[key] = ServedModel.load(folder, "auto")
        self._models.move_to_end(key)
        while len(self._models) > MAX_MODELS:
            self._models.popitem(last=False)
        return self._models[key]


def list_row(run: CorrectedRun, row: int) -> Result:
    """Return a text of a run with its number, its cluster and its confidence."""
    cluster = int(run.clusters[row])
    return {
        "row": row,
        "text": cut(run.points.texts[row]),
        "cluster": cluster,
        "name": run.state.names.get(cluster),
        "confidence": None if cluster < 0 else round(float(run.points.confidence[row]), 4),
    }


def cut(text: str) -> str:
    """Cut a text to `MAX_TEXT` characters."""
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def _bound(limit: int) -> int:
    return min(max(limit, 1), MAX_ITEMS)


def _next(offset: int, n_shown: int, n_all: int) -> int | None:
    return offset + n_shown if offset + n_shown < n_all else None
