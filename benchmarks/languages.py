"""Texts in other languages than English: rstc with an encoder that does not know them, and with one that does.

    python benchmarks/languages.py --data DIR [--make] [--datasets packages-de,...] [--methods rstc,...] [--seeds 1]

With --make, the sets are first made in DIR as CSV files with the columns label and text, from Debian's package lists;
this needs apt and a network.

- packages-XX: the first lines of translated package descriptions, by section (`packages-zh` by more sections, because
  few descriptions are translated).
- paragraphs-XX: whole descriptions, whose length is that of short news.
- fortunes-de: quotes, jokes, recipes, letters and dictionary entries of the package fortunes-de, by file.

At most 1,000 texts of each are drawn by the seed. All methods get the number of classes, except `rstc-auto`, which
estimates it, and BERTopic, which reduces its topics to that number. Methods ending in `-multilingual` use the encoder
"multilingual", the others the bundled English one; `rstc-both` uses the English encoder with the embeddings of the
other as `features`. `rstc-uncentred` is rstc without centring and without the test for collapse, for comparison.

Rows are written to results/languages.json; rows that are present are skipped, and so are methods whose encoder is not
installed. Runs of rstc leave out the repeated searches, which do not change the clusters.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from measuring import ResultFile, default_encoder, embed, fit_bertopic, make_parser, score
from rstc import RSTC
from rstc.errors import InputError
from rstc.representation.encoder import Encoder
from rstc.representation.loading import load_encoder

MAX_TEXTS = 1000
MAX_CHARACTERS = 600  # of a paragraph
MIN_TEXTS_PER_LABEL = 20
SECTIONS = [
    *("database", "editors", "electronics", "fonts", "games", "graphics", "hamradio"),
    *("mail", "math", "science", "sound", "vcs", "video", "web"),
]
MORE_SECTIONS = [*SECTIONS, "admin", "net", "text", "x11", "gnome", "kde", "devel", "libs"]
DEBIAN_LANGUAGES = {
    "de": "de",
    "fr": "fr",
    "es": "es",
    "it": "it",
    "pt": "pt_BR",
    "ru": "ru",
    "ja": "ja",
    "zh": "zh_CN",
}
PARAGRAPHS = ("de", "fr", "it", "ja")
FORTUNES = [
    *("computer", "fussball", "hauptgericht", "infodrom", "linuxtag", "mathematiker", "ms"),
    *("namen", "regeln", "sprueche", "stilblueten", "witze", "woerterbuch", "zitate"),
]
MAX_FORTUNES = 150  # of a file, because one of them is larger than the others together
DATASETS = [
    *(f"packages-{language}" for language in DEBIAN_LANGUAGES),
    *(f"paragraphs-{language}" for language in PARAGRAPHS),
    "fortunes-de",
]

ENGLISH = "all-MiniLM-L6-v2"  # named, because rstc takes another encoder for other languages by itself
CACHE = tempfile.TemporaryDirectory()  # of embeddings, which several methods use

Method = Callable[[list[str], int, int], np.ndarray]  # texts, number of clusters, seed


def make_sets(folder: Path) -> None:
    """Make the sets from Debian's package lists, by way of a temporary folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        lists, cache_folder = Path(temporary, "lists"), Path(temporary, "cache")
        for subfolder in (lists / "partial", cache_folder / "archives" / "partial"):
            subfolder.mkdir(parents=True)
        options = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache_folder}"]
        languages = "Acquire::Languages=" + ",".join(["en", *DEBIAN_LANGUAGES.values()])
        subprocess.run(["apt-get", "update", "-qq", "-o", languages, *options], check=True)
        sections = read_sections(lists)
        for language, debian_name in DEBIAN_LANGUAGES.items():
            table = read_descriptions(lists, debian_name, sections)
            known = table[table["section"].isin(MORE_SECTIONS if language == "zh" else SECTIONS)]
            write_set(folder / f"packages-{language}.csv", known["section"], known["line"])
            if language in PARAGRAPHS:
                write_set(folder / f"paragraphs-{language}.csv", known["section"], known["paragraph"])
        subprocess.run(["apt-get", "download", "-qq", *options, "fortunes-de"], check=True, cwd=temporary)
        package = next(Path(temporary).glob("fortunes-de_*.deb"))
        subprocess.run(["dpkg-deb", "-x", package, "package"], check=True, cwd=temporary)
        labels, texts = zip(*read_fortunes(Path(temporary, "package/usr/share/games/fortunes/de")), strict=True)
        write_set(folder / "fortunes-de.csv", pd.Series(labels), pd.Series(texts))


def read_paragraphs(lists: Path, pattern: str) -> list[str]:
    """Return the paragraphs, one for each package, of the largest of apt's lists that match."""
    path = max(lists.glob(pattern), key=lambda path: path.stat().st_size)
    command = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode().split("\n\n")


def read_sections(lists: Path) -> dict[tuple[str, str], str]:
    """Return the section of each package and checksum of its description."""
    sections = {}
    for paragraph in read_paragraphs(lists, "*_debian_dists_*_main_binary-*_Packages*"):
        fields = dict(re.findall(r"^(Package|Section|Description-md5): (.*)$", paragraph, re.MULTILINE))
        if len(fields) == 3:
            sections[fields["Package"], fields["Description-md5"]] = fields["Section"]
    return sections


def read_descriptions(lists: Path, language: str, sections: dict[tuple[str, str], str]) -> pd.DataFrame:
    """Return the section, the first line and the whole text of each description in a language."""
    rows = []
    quoted = language.replace("_", "%5f")
    for paragraph in read_paragraphs(lists, f"*_debian_dists_*_main_i18n_Translation-{quoted}.*"):
        pattern = r"^Package: (.*)\nDescription-md5: (.*)\nDescription-\S+: (.*)((?:\n .*)*)"
        if match := re.search(pattern, paragraph):
            name, checksum, line, rest = match.groups()
            lines = [line.strip() for line in rest.strip().split("\n") if line.strip() != "."]
            rows.append((sections.get((name, checksum), ""), line.strip(), " ".join(lines)[:MAX_CHARACTERS]))
    return pd.DataFrame(rows, columns=["section", "line", "paragraph"])


def read_fortunes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each fortune."""
    for name in FORTUNES:
        entries = (folder / name).read_text(encoding="utf-8", errors="replace").split("\n%\n")
        texts = [" ".join(entry.split()) for entry in entries]
        texts = sorted({text for text in texts if 20 < len(text) < MAX_CHARACTERS})
        for row in np.random.default_rng(0).permutation(len(texts))[:MAX_FORTUNES]:
            yield name, texts[row]


def write_set(path: Path, labels: pd.Series, texts: pd.Series) -> None:
    """Write the different texts of the labels that have enough of them."""
    table = pd.DataFrame({"label": labels, "text": texts})
    table = table[table["text"] != ""].drop_duplicates("text").sort_values(["label", "text"])
    sizes = table["label"].map(table["label"].value_counts())
    table[sizes >= MIN_TEXTS_PER_LABEL].to_csv(path, index=False)


def draw_texts(path: Path, seed: int) -> tuple[list[str], list[str]]:
    """Return a sample of a set, and its labels."""
    table = pd.read_csv(path)
    table = table.sample(min(MAX_TEXTS, len(table)), random_state=seed)
    return table["text"].tolist(), table["label"].tolist()


@cache
def load_multilingual_encoder() -> Encoder:
    return load_encoder("multilingual", "auto", "auto")


@cache
def embed_english(texts: tuple[str, ...]) -> np.ndarray:
    return embed(list(texts), default_encoder())


@cache
def embed_multilingual(texts: tuple[str, ...]) -> np.ndarray:
    return embed(list(texts), load_multilingual_encoder())


def make_kmeans(embed_texts: Callable[[tuple[str, ...]], np.ndarray]) -> Method:
    def kmeans(texts: list[str], k: int, seed: int) -> np.ndarray:
        from sklearn.cluster import KMeans

        return KMeans(k, n_init=10, random_state=seed).fit_predict(embed_texts(tuple(texts)))

    return kmeans


def make_bertopic(embed_texts: Callable[[tuple[str, ...]], np.ndarray]) -> Method:
    return lambda texts, k, seed: fit_bertopic(texts, embed_texts(tuple(texts)), seed, nr_topics=k + 1)


def rstc(texts: list[str], k: int | str, seed: int, encoder: str = ENGLISH) -> np.ndarray:
    return RSTC(k, encoder=encoder, repeats=0, random_state=seed).fit(texts, cache=CACHE.name).labels_


def rstc_uncentred(texts: list[str], k: int, seed: int) -> np.ndarray:
    with ExitStack() as patches:
        patches.enter_context(patch("rstc.pseudo_labels.features.center_if_alike", lambda X, rows: X))
        patches.enter_context(patch("rstc.pseudo_labels.linkage.MIN_EFFECTIVE_SHARE", 0.0))
        return rstc(texts, k, seed)


def rstc_both(texts: list[str], k: int, seed: int) -> np.ndarray:
    model = RSTC(k, encoder=ENGLISH, repeats=0, random_state=seed)
    return model.fit(texts, features=embed_multilingual(tuple(texts)), cache=CACHE.name).labels_


METHODS: dict[str, Method] = {
    "kmeans": make_kmeans(embed_english),
    "bertopic": make_bertopic(embed_english),
    "rstc-uncentred": rstc_uncentred,
    "rstc": rstc,
    "rstc-auto": lambda texts, k, seed: rstc(texts, "auto", seed),
    "kmeans-multilingual": make_kmeans(embed_multilingual),
    "bertopic-multilingual": make_bertopic(embed_multilingual),
    "rstc-multilingual": lambda texts, k, seed: rstc(texts, k, seed, "multilingual"),
    "rstc-both": rstc_both,
}


def largest_share(labels: np.ndarray) -> float:
    """Return the share of the largest cluster in percent."""
    return round(100 * float(np.unique(labels, return_counts=True)[1].max() / len(labels)), 1)


def main() -> None:
    parser = make_parser(__doc__, datasets=DATASETS, seeds=1)
    parser.add_argument("--make", action="store_true", help="make the sets first")
    parser.add_argument("--methods", type=lambda names: names.split(","), default=list(METHODS), metavar="A,B")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.make:
        make_sets(options.data)
    results = ResultFile("languages", ("dataset", "method", "seed"), packages=("bertopic",))
    for seed in range(options.seeds):
        for name in options.datasets:
            texts, labels = draw_texts(options.data / f"{name}.csv", seed)
            k = len(set(labels))
            for method in options.methods:
                key = {"dataset": name, "method": method, "seed": seed}
                if results.has(**key):
                    continue
                start = time.perf_counter()
                try:
                    found = METHODS[method](texts, k, seed)
                except InputError as error:
                    print(f"{method} is skipped: {error}", flush=True)
                    continue
                seconds = round(time.perf_counter() - start, 1)
                sizes = {"texts": len(texts), "classes": k, "largest_class": largest_share(np.array(labels))}
                scores = score(labels, found) | {"largest": largest_share(found), "seconds": seconds}
                results.add(key | sizes | scores)


if __name__ == "__main__":
    main()
