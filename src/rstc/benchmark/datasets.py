"""The data sets: the eight of the paper's Table 3, variants derived from them, and the bundled sample."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from rstc.benchmark.variants import add_noise, make_imbalanced, stratified_subsample
from rstc.config import Imbalance
from rstc.errors import InputError
from rstc.io.atomic import user_cache_dir
from rstc.representation.augmenters.word_noise import WordDeletion

DELETED_SHARE = 0.1  # of the words, in the views of data sets without views of their own


@dataclass(frozen=True)
class Dataset:
    """A data set of the benchmark.

    Attributes
    ----------
    name : str
        Its name on the command line, and of its file without the ending.
    title : str
        Its name in the paper.
    imbalance : str
        Its class imbalance, as the paper names it.
    url : str
        Public address of its file; empty if it is bundled or derived.
    checksum : str
        Checksum of its rows (see `compute_checksum`), the same for a download and for a local copy; without the views,
        if they have an address of their own.
    views_url : str
        Public address of its views, if the file of the texts has none.
    derived_from : str or None
        Name of the data set that this one is derived from.
    derive : callable
        Makes the rows of this data set from the rows of that one.
    """

    name: str
    title: str
    imbalance: Imbalance
    url: str = ""
    checksum: str = ""
    views_url: str = ""
    derived_from: str | None = None
    derive: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table

    @property
    def source(self) -> str:
        """Name of the data set whose file is read: the one it is derived from, or its own."""
        return self.derived_from or self.name


@dataclass(frozen=True)
class LoadedDataset:
    """A data set in memory.

    Attributes
    ----------
    texts : list of str
        The texts, N.
    true_labels : list of str
        The class of each text, N, for scoring only; empty for texts without a class, which are not scored.
    views : pair of lists of str
        The first and the second view of each text, N each.
    views_from : str
        Origin of the views: "given" with the data set, or "word deletion", drawn once from a fixed seed.
    """

    texts: list[str]
    true_labels: list[str]
    views: tuple[list[str], list[str]]
    views_from: str

    @property
    def n_classes(self) -> int:
        """The number of true classes."""
        return len(set(self.true_labels) - {""})


_AUTHORS = "https://raw.githubusercontent.com/hmllmh/RSTC/HEAD/AugData/augmented-datasets/"
_RAKIB = "https://raw.githubusercontent.com/rashadulrakib/short-text-clustering-enhancement/HEAD/data/"

_SMALL = partial(stratified_subsample, size=4000)
_IMBALANCED_10 = partial(make_imbalanced, ratio=10)
_IMBALANCED_100 = partial(make_imbalanced, ratio=100)

DATASETS = {
    entry.name: entry
    for entry in (
        Dataset(
            "agnews",
            "AgNews",
            "balanced",
            _AUTHORS + "agnewsdataraw-8000_trans_subst_10.csv",
            "b57f038bcf1349db5f672377b5f2659c8044bc3ebcc9c1a16c169ebfe462d565",
        ),
        Dataset(
            "searchsnippets",
            "SearchSnippets",
            "light",
            _RAKIB + "search_snippets/search_snippets_true_text",
            "4dc607243f82d11084c353451451131820a74d4c842e719184e5ac0964dc34bb",
            _AUTHORS + "searchsnippets_trans_subst_10.csv",
        ),
        Dataset(
            "stackoverflow",
            "StackOverflow",
            "balanced",
            _AUTHORS + "stackoverflow_trans_subst_10.csv",
            "547897c56dd53e72e3781acf6e75210e11f289a029d26e6f5d939943400d17c6",
        ),
        Dataset(
            "biomedical",
            "Biomedical",
            "balanced",
            _RAKIB + "biomedical/biomedical_true_text",
            "d58e1c2f2d64f5bba1b2bcdefa1dc54639659cea8327614039281c1eba3cf5ce",
            _AUTHORS + "biomedical_trans_subst_10.csv",
        ),
        Dataset(
            "googlenews-ts",
            "GoogleNews-TS",
            "heavy",
            _RAKIB + "TS",
            "b1acb55c90d4e7d9c2745bc2c27227345ab76e5377ec8f8c7e8c504ba51450c7",
            _AUTHORS + "TS_trans_subst_10.csv",
        ),
        Dataset(
            "googlenews-t",
            "GoogleNews-T",
            "heavy",
            _AUTHORS + "T_trans_subst_10.csv",
            "fcb407a5ca5f540680e1384724e1fa3f178c5ff8f2b622ac6ad4939920d35f7b",
        ),
        Dataset(
            "googlenews-s",
            "GoogleNews-S",
            "heavy",
            _RAKIB + "S",
            "182d8a553db332b2a164d21d808d3066e30d96b8f3e8a2efa86ad86bdaa6458c",
            _AUTHORS + "S_trans_subst_10.csv",
        ),
        Dataset(
            "tweet",
            "Tweet",
            "heavy",
            _AUTHORS + "tweet-original-order_trans_subst_10.csv",
            "2dcbf76eb97701ab90fde59c7f07ce3ccf8715e7bd7e133b5bed3b4d8dd3d67c",
        ),
        Dataset("sample", "the bundled sample", "light"),
        Dataset("stackoverflow-4k", "StackOverflow-4k", "balanced", derived_from="stackoverflow", derive=_SMALL),
        Dataset("agnews-4k", "AgNews-4k", "balanced", derived_from="agnews", derive=_SMALL),
        Dataset(
            "stackoverflow-10to1", "StackOverflow 10:1", "light", derived_from="stackoverflow", derive=_IMBALANCED_10
        ),
        Dataset(
            "stackoverflow-100to1", "StackOverflow 100:1", "heavy", derived_from="stackoverflow", derive=_IMBALANCED_100
        ),
        Dataset("tweet-noisy", "Tweet with noise", "heavy", derived_from="tweet", derive=add_noise),
        Dataset(
            "googlenews-t-noisy", "GoogleNews-T with noise", "heavy", derived_from="googlenews-t", derive=add_noise
        ),
        Dataset(
            "stackoverflow-noisy",
            "StackOverflow with noise",
            "balanced",
            derived_from="stackoverflow",
            derive=add_noise,
        ),
        Dataset("agnews-noisy", "AgNews with noise", "balanced", derived_from="agnews", derive=add_noise),
    )
}
PAPER_DATASETS = [name for name, entry in DATASETS.items() if entry.url]
SMALL_DATASETS = ["tweet", "googlenews-t", "stackoverflow-4k", "agnews-4k"]  # small enough to run every method
NOISY_DATASETS = [name for name in DATASETS if name.endswith("-noisy")]
IMBALANCED_DATASETS = ["stackoverflow", "stackoverflow-10to1", "stackoverflow-100to1"]


def default_data_folder() -> Path:
    """Return the folder that `rstc benchmark download` writes to by default."""
    return user_cache_dir() / "datasets"


def dataset(name: str) -> Dataset:
    """Look up a data set by name."""
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}; the data sets are {', '.join(DATASETS)}")
    return DATASETS[name]


def check_files_exist(names: Iterable[str], folder: Path) -> None:
    """Raise InputError if a folder lacks the file of one of the data sets."""
    for name in sorted(names):
        file = f"{dataset(name).source}.csv"
        if name != "sample" and not (folder / file).is_file():
            raise InputError(f"{folder} has no {file}: run `rstc benchmark download`, or name a folder with --data")


def load(name: str, folder: Path) -> LoadedDataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : Path
        Folder with the files of the paper's data sets.

    Returns
    -------
    LoadedDataset
    """
    entry = dataset(name)
    table = entry.derive(read_table(entry.source, folder))
    texts = table["text"].tolist()
    if "text1" in table:
        views, views_from = (table["text1"].tolist(), table["text2"].tolist()), "given"
    else:
        rng = np.random.default_rng(0)
        first, second = (WordDeletion(DELETED_SHARE)(texts, rng) for _ in range(2))
        views, views_from = (first, second), "word deletion"
    return LoadedDataset(texts, table["label"].tolist(), views, views_from)


def read_table(name: str, folder: Path) -> pd.DataFrame:
    """Read the rows of a data set that is not derived, and check that they are those of the paper.

    Parameters
    ----------
    name : str
        Name of the data set.
    folder : Path
        Folder with the files of the paper's data sets.

    Returns
    -------
    DataFrame
        The columns `label`, `text` and, if the data set has views, `text1` and `text2`.

    Raises
    ------
    InputError
        If the file is missing, cannot be read, or holds other rows.
    """
    if name == "sample":
        with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as path:
            return pd.read_csv(path, dtype=str, keep_default_na=False).rename(columns={"topic": "label"})
    path = folder / f"{name}.csv"
    check_files_exist([name], folder)
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read: {problem}") from problem
    if missing := {"label", "text"} - set(table.columns):
        raise InputError(f"{path} lacks the column {min(missing)!r}")
    if (checksum := compute_checksum(select_checked_columns(table, DATASETS[name]))) != DATASETS[name].checksum:
        raise InputError(
            f"{path} does not hold the rows of {DATASETS[name].title}: their checksum is {checksum[:12]}…, "
            f"expected {DATASETS[name].checksum[:12]}…"
        )
    return table


def select_checked_columns(table: pd.DataFrame, entry: Dataset) -> pd.DataFrame:
    """Return the columns of a data set that its checksum covers."""
    return table[[name for name in table.columns if not (entry.views_url and name in ("text1", "text2"))]]


def compute_checksum(table: pd.DataFrame) -> str:
    """Compute the sha256 of a table's columns and rows, independent of the quoting and line ends of its file.

    Examples
    --------
    >>> compute_checksum(pd.DataFrame({"label": ["1"], "text": ["late again"]}))[:8]
    'f6df1814'
    """
    digest = hashlib.sha256("\x1f".join(table.columns).encode())
    for row in table.itertuples(index=False):
        digest.update(("\x1e" + "\x1f".join(row)).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Statistics:
    """A row of the paper's Table 3.

    Attributes
    ----------
    C : int
        Number of classes.
    N : int
        Number of texts.
    A : float
        Mean number of words per text.
    R : float
        Size of the largest class over that of the smallest.
    """

    C: int
    N: int
    A: float
    R: float


def compute_statistics(texts: Sequence[str], true_labels: Sequence[str]) -> Statistics:
    """Describe a data set as the paper's Table 3 does.

    Examples
    --------
    >>> compute_statistics(["late again", "where is it", "refund", "money back"], ["a", "a", "b", "a"])
    Statistics(C=2, N=4, A=2.0, R=3.0)
    """
    sizes = pd.Series([label for label in true_labels if label]).value_counts()
    n_words = [len(text.split()) for text in texts]
    return Statistics(len(sizes), len(texts), float(np.mean(n_words)), float(sizes.max() / sizes.min()))
