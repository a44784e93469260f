"""Detection of the languages of texts: a character model scores each text, and the other texts take part.

A short text alone is often undecided: "refund please" is good English and possible Dutch. The languages of the other
texts tell which is likelier. With p_il the probability of text i under language l by the model (py3langid: naive Bayes
on byte n-grams), the shares s_l of the languages are estimated by expectation maximisation,

    r_il = s_l p_il / sum_k s_k p_ik,        s_l = (max(sum_i r_il - c, 0) + a_l) / (sum over l of the same),

where a is a weak prior that favours English and widespread languages, and c takes away what many doubtful texts
together lend to a language that none of them is clearly in.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rstc.language.tokens import strip_markup

DEFAULT_LANGUAGE = "en"
MAX_TEXTS = 2000  # that decide on the languages of a file
MAX_CHARACTERS = 300  # of a text that are read
MIN_SHARE = 0.1  # of the texts that a language has, to count beside the most frequent one
MIN_LISTED = 0.01  # of the texts that a language has, to be listed
MAIN_SHARE = 0.1  # of the texts that a main language has

OTHER_SCRIPT = 1e-6  # factor of the score of a language that is not written in the letters of a text

_NO_LANGUAGE = "zxx"  # the model's code for numbers, markup and identifiers
_WIDESPREAD = """
    af ar bg bn ca cs da de el en es et eu fa fi fr gl he hi hr hu hy id it ja ko lt lv mr ms nl no pl pt ro ru sk sl so
    sr st sv sw ta te th tl tr uk ur vi zh
"""
# Languages that are not written in Latin letters: texts in Latin letters have another one, and the other way round.
_NOT_LATIN = """
    am ar ary arz as ba be bg bn dz el fa grc gu hbo he hi hy ja ka kk km kn ko ky lo mk ml mn mr my ne or pa ps ru sa
    sd sdh si ta te tg th tt ug uk ur wuu yue zh
"""
_PRIOR_RARE, _PRIOR_WIDESPREAD, _PRIOR_DEFAULT = 1e-5, 2e-3, 2e-2  # a_l, in texts
_DOUBTFUL_TEXTS, _DOUBTFUL_SHARE = 0.5, 0.004  # c: in texts, and as a share of them
_ROUNDS = 20
_LETTER = re.compile(r"[^\W\d_]")
_LATIN_LETTER = re.compile(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_lock = threading.Lock()

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TextLanguages:
    """The languages of N texts.

    Attributes
    ----------
    codes : tuple of str or None
        ISO 639 code of each text's language; None for a text that is in none, such as a number.
    shares : dict of str to float
        Share of each language among the texts that have one, the most frequent first.
    """

    codes: tuple[str | None, ...]
    shares: dict[str, float]


def find_languages(texts: Sequence[str]) -> tuple[str, ...]:
    """Find the languages of texts, of which at most `MAX_TEXTS` at even distances are read.

    Parameters
    ----------
    texts : sequence of str
        The texts.

    Returns
    -------
    tuple of str
        ISO 639-1 codes, the language of most texts first, then those of at least a tenth of the texts; English for
        texts without words.

    Examples
    --------
    >>> find_languages(["where is my parcel", "I want a refund"]), find_languages(["wo ist mein Paket", "ich warte"])
    (('en',), ('de',))
    >>> find_languages(["parcel late", "refund"]), find_languages(["包裹在哪里"])
    (('en',), ('zh',))
    """
    return choose_languages(measure_languages(texts))


def choose_languages(shares: Mapping[str, float]) -> tuple[str, ...]:
    """Return the languages whose rules texts are read by: those of at least a tenth of them, the main one first.

    >>> choose_languages({"de": 0.9, "en": 0.06, "fr": 0.04}), choose_languages({})
    (('de',), ('en',))
    """
    return tuple(code for code, share in shares.items() if share >= MIN_SHARE) or (DEFAULT_LANGUAGE,)


def measure_languages(texts: Sequence[str]) -> dict[str, float]:
    """Return the share of each language in texts, of which at most `MAX_TEXTS` at even distances are read.

    Parameters
    ----------
    texts : sequence of str
        The texts.

    Returns
    -------
    dict of str to float
        By ISO 639 code, the most frequent first; languages of less than `MIN_LISTED` are left out.

    Examples
    --------
    >>> measure_languages(["where is my parcel", "wo ist mein Paket", "I want my money back", "123"])
    {'en': 0.667, 'de': 0.333}
    """
    step = max(-(-len(texts) // MAX_TEXTS), 1)
    return dict(_measure_sample(tuple(texts[::step])))


def list_main_languages(shares: Mapping[str, float]) -> list[str]:
    """Return the codes of the languages of at least a tenth of the texts, by the shares of `measure_languages`.

    >>> list_main_languages({"en": 0.7, "de": 0.28, "fr": 0.02})
    ['en', 'de']
    """
    return [code for code, share in shares.items() if share >= MAIN_SHARE]


@lru_cache(maxsize=4)  # keywords, messages and the summary of a run ask for the same texts
def _measure_sample(texts: tuple[str, ...]) -> dict[str, float]:
    shares = detect_languages(texts).shares
    return {code: share for code, share in shares.items() if share >= MIN_LISTED}


def detect_languages(texts: Sequence[str]) -> TextLanguages:
    """Detect the language of each text, given the others.

    Parameters
    ----------
    texts : sequence of str
        N texts; one that stands alone is decided alone.

    Returns
    -------
    TextLanguages

    Examples
    --------
    >>> detect_languages(["wo ist mein Paket", "Paket", "12:30"]).codes
    ('de', 'de', None)
    """
    scores = _score_texts(texts)
    has_words = scores.sum(axis=1) > 0
    labels = _model().labels
    shares = _estimate_shares(scores[has_words], labels)
    best = (scores * shares).argmax(1)
    codes = tuple(
        labels[i] if known and labels[i] != _NO_LANGUAGE else None
        for i, known in zip(best.tolist(), has_words.tolist(), strict=True)
    )
    return TextLanguages(codes, _count(codes))


def _count(codes: Sequence[str | None]) -> dict[str, float]:
    """Return the share of each language among the texts that have one, the most frequent first."""
    known = [code for code in codes if code]
    values, counts = np.unique(np.array(known, dtype=object), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return {str(values[i]): round(float(counts[i] / len(known)), 3) for i in order}


def _score_texts(texts: Sequence[str]) -> Floats:
    """Return the probability of each text's languages by the model, (N, L); zeros for a text without letters."""
    model = _model()
    column = {label: i for i, label in enumerate(model.labels)}
    scores = np.zeros((len(texts), len(column)))
    is_latin = np.array([label not in _NOT_LATIN.split() for label in model.labels])
    known: dict[str, Mapping[str, float]] = {}
    for row, text in enumerate(texts):
        read = strip_markup(text, " ")[:MAX_CHARACTERS].strip()
        n_letters, n_latin = len(_LETTER.findall(read)), len(_LATIN_LETTER.findall(read))
        if not n_letters:
            continue
        ranked = known.get(read)
        if ranked is None:
            ranked = known[read] = dict(model.rank(read))
        for label, score in ranked.items():
            scores[row, column[label]] = score
        if n_latin == n_letters or not n_latin:
            scores[row, is_latin != bool(n_latin)] *= OTHER_SCRIPT
    return scores


def _estimate_shares(scores: Floats, labels: Sequence[str]) -> Floats:
    """Estimate the share of each language, (L,), by expectation maximisation over the texts' scores (N, L)."""
    widespread = frozenset(_WIDESPREAD.split())
    weights = {DEFAULT_LANGUAGE: _PRIOR_DEFAULT}
    prior = np.array([weights.get(x, _PRIOR_WIDESPREAD if x in widespread else _PRIOR_RARE) for x in labels])
    shares = prior / prior.sum()
    doubtful = min(_DOUBTFUL_TEXTS, len(scores) / 10) + _DOUBTFUL_SHARE * len(scores)
    for _ in range(_ROUNDS):
        weighted = scores * shares
        responsibility = weighted / np.maximum(weighted.sum(1, keepdims=True), 1e-300)  # (N, L)
        shares = np.maximum(responsibility.sum(0) - doubtful, 0) + prior
        shares /= shares.sum()
    return np.asarray(shares)


@cache
def _model() -> Any:
    """Load the model of py3langid, which its package carries."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    with _lock:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
