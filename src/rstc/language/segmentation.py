"""Words of texts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese), found in the texts themselves.

No dictionary is needed: a sequence of characters is taken for a word if

- several texts hold it,
- its parts occur together more often than by chance: count(ab) T / (count(a) count(b)) is large for every division ab,
- it is not usually part of one longer sequence (maximal extension): "ancelled" is always part of "cancelled".

A text is then divided such that the product of the words' probabilities is largest (Viterbi). Stop words of the
language take part, so that they do not stick to their neighbours, and characters that belong to no word stand alone.
In Japanese, katakana and kanji are never joined to what another script writes before them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rstc.language.characters import HAN, HIRAGANA, KATAKANA, SOUTH_EAST_ASIAN, split_clusters

MAX_CLUSTERS = 6  # characters with their marks that a word has at most
MAX_CLUSTERS_OF_LETTERS = 10  # the same for Thai, Lao, Khmer and Burmese, whose characters are sounds
MAX_RUN_CLUSTERS = 500  # of a run, beyond which it is divided anywhere
MIN_OCCURRENCES = 3  # of a word
MIN_ASSOCIATION = 8.0  # how much more often than by chance the parts of a word occur together
MIN_TOGETHER = 0.8  # share of the occurrences of both parts that are together, which is enough in few texts
MAX_EXTENDED = 0.8  # share of a sequence's occurrences inside one longer sequence, beyond which it is no word
MAX_LEARNED_RUNS = 100_000  # that words are learned from
STOP_WORD_OCCURRENCES = 3  # that a stop word of the list has at least

# Kanji with the kana that end it may be one word; before kanji, between kana and katakana and so on, a word begins.
_JAPANESE_PARTS = re.compile(f"[{HAN}]+[{HIRAGANA}]*|[{KATAKANA}]+|[{HIRAGANA}]+|.", re.DOTALL)
_KANA = re.compile(f"[{HIRAGANA}{KATAKANA}]")
_IS_LETTERS = re.compile(f"[{SOUTH_EAST_ASIAN}]")
_KATAKANA_WORD = re.compile(f"[{KATAKANA}]+")


Clusters = tuple[str, ...]


@dataclass(frozen=True)
class Lexicon:
    """The words of a set of texts without spaces, with their costs: -log of their probabilities.

    Attributes
    ----------
    costs : dict of str to float
        Words and single characters.
    unknown : float
        Cost of a character that is none of them.
    """

    costs: dict[str, float]
    unknown: float

    def split(self, run: str) -> list[str]:
        """Split a run of letters into words at the smallest total cost.

        >>> Lexicon({"取消": 2.0, "订单": 2.0, "取": 3.0, "消": 3.0, "订": 3.0, "单": 3.0}, 9.0).split("取消订单了")
        ['取消', '订单', '了']
        """
        return [word for part in split_parts(run) for word in self._split_part(part)]

    def _split_part(self, part: str) -> list[str]:
        if _KATAKANA_WORD.fullmatch(part):
            return [part]
        clusters, longest = split_clusters(part), _find_longest(part)
        n = len(clusters)
        best, begins = [0.0] + [math.inf] * n, [0] * (n + 1)
        for end in range(1, n + 1):
            word = ""
            for begin in range(end - 1, max(end - longest, 0) - 1, -1):
                word = clusters[begin] + word
                cost = self.costs.get(word)
                if cost is None:
                    if begin != end - 1:
                        continue
                    cost = self.unknown
                if best[begin] + cost < best[end]:
                    best[end], begins[end] = best[begin] + cost, begin
        words: list[str] = []
        end = n
        while end:
            words.append("".join(clusters[begins[end] : end]))
            end = begins[end]
        return words[::-1]


def split_parts(run: str) -> list[str]:
    """Divide a run of letters where a word begins in any case.

    >>> split_parts("荷物がまだ届きません"), split_parts("我的包裹")
    (['荷物がまだ', '届きません'], ['我的包裹'])
    """
    parts = _JAPANESE_PARTS.findall(run) if _KANA.search(run) else [run]
    return [part[i : i + MAX_RUN_CLUSTERS] for part in parts for i in range(0, len(part), MAX_RUN_CLUSTERS)]


def learn_lexicon(runs: Sequence[str], stop_words: Collection[str] = ()) -> Lexicon:
    """Learn the words of texts without spaces.

    Parameters
    ----------
    runs : sequence of str
        The texts' runs of letters, of which at most `MAX_LEARNED_RUNS` at even distances are read.
    stop_words : collection of str
        Words of the language that are known.

    Returns
    -------
    Lexicon

    Examples
    --------
    >>> runs = ["我想取消订单", "取消会员", "订单没到", "怎么取消", "订单取消了吗", "我的订单"]
    >>> learn_lexicon(runs).split("会员取消订单")
    ['会', '员', '取消', '订单']
    """
    runs = runs[:: max(-(-len(runs) // MAX_LEARNED_RUNS), 1)]
    parts = Counter(part for run in runs for part in split_parts(run) if not _KATAKANA_WORD.fullmatch(part))
    counts = _count_sequences(parts)
    total = sum(count for sequence, count in counts.items() if len(sequence) == 1)
    n_clusters = max(sum(count * len(split_clusters(part)) for part, count in parts.items()), 1)
    words = {
        sequence: count
        for sequence, count in counts.items()
        if count >= MIN_OCCURRENCES and len(sequence) > 1 and _is_associated(sequence, count, counts, n_clusters)
    }
    for sequence in _find_extended(words, counts):
        del words[sequence]
    used = {"".join(sequence): count for sequence, count in words.items()}
    used |= {sequence[0]: count for sequence, count in counts.items() if len(sequence) == 1}
    for word in stop_words:
        count = counts[tuple(split_clusters(word))]
        if count:
            used[word] = max(count, STOP_WORD_OCCURRENCES)
    costs = {word: math.log(n_clusters / count) for word, count in used.items()}
    return Lexicon(costs, math.log(max(total, 1)) + 1.0)


def _find_longest(part: str) -> int:
    return MAX_CLUSTERS_OF_LETTERS if _IS_LETTERS.match(part) else MAX_CLUSTERS


def _count_sequences(parts: Counter[str]) -> Counter[Clusters]:
    """Count the sequences of characters that may be words."""
    counts: Counter[Clusters] = Counter()
    for part, count in parts.items():
        clusters, longest = tuple(split_clusters(part)), _find_longest(part)
        n = len(clusters)
        for begin in range(n):
            for end in range(begin + 1, min(begin + longest, n) + 1):
                counts[clusters[begin:end]] += count
    return counts


def _is_associated(sequence: Clusters, count: int, counts: Counter[Clusters], total: int) -> bool:
    """Return whether the parts of every division of a sequence occur together more often than by chance, or always."""
    return all(
        count * total >= MIN_ASSOCIATION * a * b or count >= MIN_TOGETHER * max(a, b)
        for a, b in ((counts[sequence[:i]], counts[sequence[i:]]) for i in range(1, len(sequence)))
    )


def _find_extended(words: Iterable[Clusters], counts: Counter[Clusters]) -> set[Clusters]:
    """Return the sequences that are mostly part of one longer word."""
    known, extended = set(words), set[Clusters]()
    for word in words:
        for part in (word[1:], word[:-1]):
            if part in known and counts[word] >= MAX_EXTENDED * counts[part]:
                extended.add(part)
    return extended
