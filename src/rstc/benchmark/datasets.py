"""The sets: the eight of the paper's Table 3, others made of them, and the small one that comes with rstc."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from rstc.benchmark.variants import noisy, stratified, uneven
from rstc.config import Imbalance
from rstc.errors import InputError
from rstc.io.atomic import user_cache
from rstc.representation.augmenters.word_noise import WordDeletion

DELETED_SHARE = 0.1  # of the words, in the views of sets that come without views


@dataclass(frozen=True)
class Dataset:
    """A set of the benchmark.

    Attributes:
        name: the name of its file, without the ending.
        title: its name in the paper.
        imbalance: what the paper calls it.
        address: where its public home keeps it; empty if it needs no fetching.
        checksum: of its rows, as `checksum_of` computes it; the same for a download and for a local copy.
        made_of: the set that this one is made of.
        make: how it is made of the rows of that one.
    """

    name: str
    title: str
    imbalance: Imbalance
    address: str = ""
    checksum: str = ""
    made_of: str | None = None
    make: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table

    @property
    def source(self) -> str:
        """The set whose file it needs: another, or itself."""
        return self.made_of or self.name


@dataclass(frozen=True)
class Loaded:
    """A set in memory: its texts, what they are in truth, and two views of each text.

    Attributes:
        texts: the texts, N.
        truth: the class of each text, N, for scoring only; empty for texts that belong to none and are not scored.
        views: view 1 and view 2, N each.
        views_from: "given" with the set, or "word deletion", drawn once from a fixed seed.
    """

    texts: list[str]
    truth: list[str]
    views: tuple[list[str], list[str]]
    views_from: str

    @property
    def n_classes(self) -> int:
        """C, the number of classes."""
        return len(set(self.truth) - {""})


_AUTHORS = "https://raw.githubusercontent.com/hmllmh/RSTC/HEAD/AugData/augmented-datasets/"
_RAKIB = "https://raw.githubusercontent.com/rashadulrakib/short-text-clustering-enhancement/HEAD/data/"

_SMALL = partial(stratified, size=4000)
_UNEVEN = partial(uneven, ratio=10)
_VERY_UNEVEN = partial(uneven, ratio=100)

DATASETS = {
    one.name: one
    for one in (
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
        ),
        Dataset(
            "googlenews-ts",
            "GoogleNews-TS",
            "heavy",
            _RAKIB + "TS",
            "b1acb55c90d4e7d9c2745bc2c27227345ab76e5377ec8f8c7e8c504ba51450c7",
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
        ),
        Dataset(
            "tweet",
            "Tweet",
            "heavy",
            _AUTHORS + "tweet-original-order_trans_subst_10.csv",
            "2dcbf76eb97701ab90fde59c7f07ce3ccf8715e7bd7e133b5bed3b4d8dd3d67c",
        ),
        Dataset("sample", "the bundled sample", "light"),
        Dataset("stackoverflow-4k", "StackOverflow-4k", "balanced", made_of="stackoverflow", make=_SMALL),
        Dataset("agnews-4k", "AgNews-4k", "balanced", made_of="agnews", make=_SMALL),
        Dataset("stackoverflow-10to1", "StackOverflow 10:1", "light", made_of="stackoverflow", make=_UNEVEN),
        Dataset("stackoverflow-100to1", "StackOverflow 100:1", "heavy", made_of="stackoverflow", make=_VERY_UNEVEN),
        Dataset("tweet-noisy", "Tweet with noise", "heavy", made_of="tweet", make=noisy),
        Dataset("googlenews-t-noisy", "GoogleNews-T with noise", "heavy", made_of="googlenews-t", make=noisy),
        Dataset("stackoverflow-noisy", "StackOverflow with noise", "balanced", made_of="stackoverflow", make=noisy),
        Dataset("agnews-noisy", "AgNews with noise", "balanced", made_of="agnews", make=noisy),
    )
}
WHOLE_SETS = [name for name, one in DATASETS.items() if one.address]  # the paper's eight
SMALL_SETS = ["tweet", "googlenews-t", "stackoverflow-4k", "agnews-4k"]  # on which every method can be run
NOISY_SETS = [name for name in DATASETS if name.endswith("-noisy")]
UNEVEN_SETS = ["stackoverflow", "stackoverflow-10to1", "stackoverflow-100to1"]


def default_folder() -> Path:
    """Return where `rstc benchmark download` puts the sets unless told otherwise."""
    return user_cache() / "datasets"


def dataset(name: str) -> Dataset:
    """Return a set by its name."""
    if name not in DATASETS:
        raise InputError(f"there is no set {name!r}; the sets are {', '.join(DATASETS)}")
    return DATASETS[name]


def check_there(names: Iterable[str], folder: Path) -> None:
    """Refuse a folder that lacks the file of one of the sets."""
    for name in sorted(names):
        one = dataset(name)
        file = f"{one.source}.csv"
        if name != "sample" and not (folder / file).is_file():
            raise InputError(
                f"there is no {file} in {folder}: run `rstc benchmark download`, or name a folder with --data"
            )


def load(name: str, folder: Path) -> Loaded:
    """Read a set from a folder of local copies."""
    one = dataset(name)
    table = one.make(read(one.source, folder))
    texts = table["text"].tolist()
    if "text1" in table:
        views, origin = (table["text1"].tolist(), table["text2"].tolist()), "given"
    else:
        rng = np.random.default_rng(0)
        first, second = (WordDeletion(DELETED_SHARE)(texts, rng) for _ in range(2))
        views, origin = (first, second), "word deletion"
    return Loaded(texts, table["label"].tolist(), views, origin)


def read(name: str, folder: Path) -> pd.DataFrame:
    """Return the rows of a whole set, after checking that they are those of the paper."""
    if name == "sample":
        with resources.as_file(resources.files("rstc.samples") / "customer_messages.csv") as path:
            return pd.read_csv(path, dtype=str, keep_default_na=False).rename(columns={"topic": "label"})
    path = folder / f"{name}.csv"
    check_there([name], folder)
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read: {problem}") from problem
    if missing := {"label", "text"} - set(table.columns):
        raise InputError(f"{path} lacks the column {min(missing)!r}")
    if (found := checksum_of(table)) != DATASETS[name].checksum:
        raise InputError(
            f"{path} does not hold the rows of {DATASETS[name].title}: their checksum is {found[:12]}…, "
            f"expected {DATASETS[name].checksum[:12]}…"
        )
    return table


def checksum_of(table: pd.DataFrame) -> str:
    """Return the sha256 of a table's columns and rows, whatever the quoting and the line ends of its file.

    >>> checksum_of(pd.DataFrame({"label": ["1"], "text": ["late again"]}))[:8]
    'f6df1814'
    """
    digest = hashlib.sha256("\x1f".join(table.columns).encode())
    for row in table.itertuples(index=False):
        digest.update(("\x1e" + "\x1f".join(row)).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Statistics:
    """A row of the paper's Table 3: classes, texts, mean words of a text, largest class over smallest."""

    C: int
    N: int
    A: float
    R: float


def statistics(texts: Sequence[str], truth: Sequence[str]) -> Statistics:
    """Describe a set as the paper's Table 3 does.

    >>> statistics(["late again", "where is it", "refund", "money back"], ["a", "a", "b", "a"])
    Statistics(C=2, N=4, A=2.0, R=3.0)
    """
    sizes = pd.Series([label for label in truth if label]).value_counts()
    words = [len(text.split()) for text in texts]
    return Statistics(len(sizes), len(texts), float(np.mean(words)), float(sizes.max() / sizes.min()))
