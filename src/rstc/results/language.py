"""The language of texts: how it is found, its stop words, and the stem that the forms of a word share.

`find_languages` compares the words of the texts with the stop words of each language. It is the only place that decides
on a language; whatever replaces it has to return codes that `stop_words_for` and `stemmer_for` know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

DEFAULT_LANGUAGE = "en"
MAX_TEXTS = 2000  # that are searched for stop words
MIN_STOP_WORDS = 0.2  # share of a text's words that a language other than the default has to explain
MIN_TEXTS = 0.1  # share of the texts that a language has, to count beside the most frequent one

# Languages that are looked for, by ISO 639-1 code, with the name of their Snowball stemmer.
STEMMERS = {
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}

# Words of the lists that tickets, queries and titles are about.
_NOT_STOP_WORDS = {
    "de": "ernst jahr jahre jahren mann mensch menschen morgen offen ordnung startseite suche tag tage tagen teil uhr "
    "zeit",
    "en": "amount back bill bottom call computer cry detail empty fill fire front full interest mill move name show "
    "side system thick thin top",
    "es": "acuerdo conocer cuenta dia dias día días empleo horas lugar pais país tiempo trabaja trabajar trabajo valor",
    "fr": "essai gens ouvert ouverte ouverts parole pièce sujet valeur",
    "it": "anni anno attesa caso citta città comprare consiglio forza gente giorni giorno gruppo luogo mesi mondo nome "
    "ora ore paese persone piedi posto press registrazione scola tempo titolo uomo vita",
    "nl": "klaar missen",
    "pt": "ano anos apoio caminho conselho desligado dia grupo hora horas inicio ligado local lugar meses mês noite "
    "nome número obra pegar pessoas ponto pontos povo relação sistema tempo tipo trabalhar trabalho valor viagem",
}
# Rests of markup whose brackets and semicolons were stripped, which are words of no language.
_MARKUP = frozenset({"amp", "apos", "gt", "lt", "nbsp", "quot"})
# "l'adresse", "dell'ordine", "qu'il": the article is no part of the word.
_ELISIONS = {
    "ca": r"(?:[dlmnst])",
    "fr": r"(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)",
    "it": r"(?:[cdlmnstv]|un|gl|(?:d|ne|su|co|a|da|que|be)ll|quest|sant|tutt)",
}


def find_languages(texts: Sequence[str]) -> tuple[str, ...]:
    """Find the languages of texts by the share of their words that are stop words of each language.

    Parameters
    ----------
    texts : sequence of str
        The texts, of which at most `MAX_TEXTS` at even distances are read.

    Returns
    -------
    tuple of str
        ISO 639-1 codes, the language of most texts first; English for texts without stop words.

    Examples
    --------
    >>> find_languages(["where is my parcel", "I want a refund"]), find_languages(["wo ist mein Paket", "ich warte"])
    (('en',), ('de',))
    >>> find_languages(["parcel late", "refund"])
    ('en',)
    """
    codes = list(STEMMERS)
    sample = texts[:: max(len(texts) // MAX_TEXTS, 1)]
    found = np.zeros((len(sample), len(codes)))  # share of the words of each text that are stop words
    for row, text in enumerate(sample):
        words = re.findall(r"[^\W\d_]+", text[:1000].lower())
        for word in words:
            for column in _languages_by_word().get(word, ()):
                found[row, column] += 1 / len(words)
    default = codes.index(DEFAULT_LANGUAGE)
    totals = found.sum(0)
    # A text that two languages explain equally well has the one that explains more of the others.
    best = (found + 1e-6 * totals / max(totals.max(), 1e-9)).argmax(1)
    best[found[np.arange(len(found)), best] < MIN_STOP_WORDS] = -1
    counts = np.bincount(best[best >= 0], minlength=len(codes))
    if not counts.any():
        return (codes[default],)
    order = np.argsort(-counts, kind="stable")
    if counts.sum() < MIN_TEXTS * len(sample):  # keywords without grammar: a few chance hits decide nothing
        return (codes[default],)
    return tuple(codes[i] for i in order if counts[i] >= MIN_TEXTS * counts.sum())


@cache
def stop_words_for(language: str) -> frozenset[str]:
    """Return the stop words of a language, in lower case; none for a language without a list.

    Parameters
    ----------
    language : str
        ISO 639-1 code.

    Returns
    -------
    frozenset of str

    Examples
    --------
    >>> {"the", "don't", "dont"} <= stop_words_for("en"), "bill" in stop_words_for("en"), "und" in stop_words_for("de")
    (True, False, True)
    """
    from stopwordsiso import stopwords

    listed = {word.replace("’", "'") for word in stopwords(language)}
    if language == "en":  # its own list holds too many words that texts are about, such as "order", "page" and "web"
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        contracted = {word for word in listed if "'" in word}
        negated = {word for word in contracted if word.endswith("n't")}
        listed = ENGLISH_STOP_WORDS | contracted | {word.replace("'", "") for word in negated}
        # "don" and "ll" are what other programs leave of "don't" and "we'll"; "won" is a word of its own.
        listed |= {word.removesuffix("'t") for word in negated} - {"won"} | {"ll", "ve", "re"}
        listed |= {
            "im",
            "ive",
            "thats",
            "whats",
            "youre",
            "theyre",
            "did",
            "does",
            "doing",
            "just",
            "let",
            "lets",
            "ok",
        }
    return frozenset(listed - set(_NOT_STOP_WORDS.get(language, "").split()) | _MARKUP)


def stemmer_for(language: str) -> Callable[[list[str]], list[str]]:
    """Return a function from words to the stems that group their inflected forms; the identity if there is none.

    Parameters
    ----------
    language : str
        ISO 639-1 code.

    Examples
    --------
    >>> stemmer_for("en")(["orders", "ordered", "cancelled", "canceled"]), stemmer_for("zu")(["umuntu"])
    (['order', 'order', 'cancel', 'cancel'], ['umuntu'])
    """
    if language not in STEMMERS:
        return list
    import snowballstemmer

    stem: Callable[[list[str]], list[str]] = snowballstemmer.stemmer(STEMMERS[language]).stemWords
    return stem


def elision_pattern(languages: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern of articles that are written together with the next word; None if the languages have none."""
    patterns = [_ELISIONS[language] for language in languages if language in _ELISIONS]
    return re.compile(rf"^(?:{'|'.join(patterns)})['’](?=\w\w)", re.IGNORECASE) if patterns else None


@cache
def _languages_by_word() -> dict[str, tuple[int, ...]]:
    """Return for each stop word the indices in `STEMMERS` of the languages that have it."""
    words: dict[str, tuple[int, ...]] = {}
    for column, language in enumerate(STEMMERS):
        for word in stop_words_for(language) - _MARKUP:
            words[word] = (*words.get(word, ()), column)
    return words
