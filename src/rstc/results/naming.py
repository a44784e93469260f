"""Name clusters: by their best keywords, or by a short typical text where keywords do not say what they are about."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rstc.results.describe import ClusterDescription
    from rstc.results.keywords import Keyword

WORDS_PER_NAME = 3  # keywords
MAX_NAME_LENGTH = 200  # characters of any name
MAX_FOUND_LENGTH = 40  # characters of a name that is made here
MIN_COVERED = 0.2  # share of a cluster's texts that hold a keyword of its name; with less, the name is a typical text
MIN_SHARE = 0.25  # of a further keyword in a name, as a part of the share of the most frequent one


def fill_names(names: Sequence[str | None] | None, n_clusters: int) -> list[str]:
    """Return a name for each cluster, its number where it has none.

    >>> fill_names(["late parcels", None], 2), fill_names(None, 1)
    (['late parcels', 'cluster 1'], ['cluster 0'])
    """
    return [name or f"cluster {cluster}" for cluster, name in enumerate(names or [None] * n_clusters)]


def are_names(names: Any, n_clusters: int, max_length: int = MAX_NAME_LENGTH) -> bool:
    """Return whether a value that was read from a file holds a name or None for each cluster."""
    return (
        isinstance(names, list)
        and len(names) == n_clusters
        and all(name is None or (isinstance(name, str) and len(name) <= max_length) for name in names)
    )


def is_found_name(name: str, keywords: Sequence[str]) -> bool:
    """Return whether a cluster's name was made of its keywords, of a text or of its number, not given by a person.

    >>> is_found_name("refund, late", ["late", "refund"]), is_found_name("“Hi!” (3)", [])
    (True, True)
    >>> is_found_name("cluster 3", []), is_found_name("late refunds", ["late", "refund"])
    (True, False)
    """
    base = re.sub(r" \(\d+(?:, \d+)?\)$", "", name)
    is_quote = base.startswith("“") and base.endswith("”")
    return is_quote or re.fullmatch(r"cluster \d+", base) is not None or set(base.split(", ")) <= set(keywords)


def name_clusters(
    descriptions: Sequence[ClusterDescription],
    texts: Sequence[str],
    given_names: Sequence[Any] | None = None,
    taken: Collection[str] = (),
) -> list[str]:
    """Name each cluster, differently from all others.

    Parameters
    ----------
    descriptions : sequence of ClusterDescription
        The clusters, with row indices into `texts`.
    texts : sequence of str
        The texts.
    given_names : sequence, optional
        A name or None for each cluster number; names that are not None are used as they are.
    taken : collection of str, default=()
        Names of further clusters.

    Returns
    -------
    list of str
        A name for each description.

    Examples
    --------
    >>> from rstc.results.describe import ClusterDescription
    >>> from rstc.results.keywords import Keyword
    >>> refund, late = Keyword("refund", 0.9, 0.5, 0.9), Keyword("late", 0.5, 0.9, 1.0)
    >>> parcel, rare = Keyword("parcel", 0.7, 0.9, 0.7), Keyword("aadan", 0.1, 1.0, 0.1)
    >>> clusters = [[refund, late], [refund, parcel], [rare]]
    >>> name_clusters([ClusterDescription(i, 9, 0.9, words, [0], [], []) for i, words in enumerate(clusters)], ["Hi!"])
    ['refund, late', 'refund, parcel', '“Hi!”']
    """
    given = [None if given_names is None else given_names[item.cluster] for item in descriptions]
    wanted = [name_by_keywords(item.keywords) for item in descriptions]
    used = {name.casefold() for name in taken} | {str(name).casefold() for name in given if name is not None}
    names: list[str] = []
    for i, item in enumerate(descriptions):
        if given[i] is not None:
            names.append(str(given[i]))
            continue
        rivals = [
            descriptions[j].keywords
            for j in range(len(wanted))
            if j != i and given[j] is None and wanted[j] == wanted[i]
        ]
        candidates = _propose_names(item.keywords, rivals, [texts[row] for row in item.typical], item.cluster)
        names.append(next(name for name in candidates if name.casefold() not in used))
        used.add(names[-1].casefold())
    return names


def name_by_keywords(keywords: Sequence[Keyword]) -> str | None:
    """Return a name of one to three keywords; None if too few texts hold them.

    The first keyword is followed by those that are not much rarer, as long as the name is short.

    >>> from rstc.results.keywords import Keyword
    >>> name_by_keywords([Keyword("Hibernate", 0.8, 0.9, 0.8), Keyword("mapping", 0.1, 0.5, 0.82)])
    'Hibernate'
    """
    name, largest, covered = "", 0.0, 0.0
    for keyword in keywords[:WORDS_PER_NAME]:
        longer = f"{name}, {keyword.text}" if name else keyword.text
        if keyword.share < MIN_SHARE * largest:
            break
        if len(longer) > MAX_FOUND_LENGTH:
            continue
        name, largest, covered = longer, max(largest, keyword.share), keyword.covered
    return name if name and covered >= MIN_COVERED else None


def quote_text(text: str, max_length: int = MAX_FOUND_LENGTH) -> str:
    """Return a text in quotes, on one line and cut after a word.

    >>> quote_text("where is\\n my parcel"), quote_text("where is my parcel that I ordered", 20)
    ('“where is my parcel”', '“where is my…”')
    """
    from rstc.language.tokens import strip_markup

    line = "".join(character if character.isprintable() else " " for character in strip_markup(text, " "))
    line = " ".join(line.split()) or " ".join(text.split())
    room = max_length - 2
    if len(line) > room:
        head = line[: room - 1]
        head = head if line[room - 1] == " " or " " not in head else head[: head.rindex(" ")]
        line = head.rstrip(" ,;:.-–(") + "…"
    return f"“{line}”"


def _propose_names(
    keywords: Sequence[Keyword], rivals: Sequence[Sequence[Keyword]], texts: Sequence[str], cluster: int
) -> Iterator[str]:
    """Yield names for a cluster without end, best first.

    Parameters
    ----------
    keywords : sequence of Keyword
        Keywords of the cluster, best first.
    rivals : sequence of sequence of Keyword
        Keywords of the clusters that would have the same name: words that they lack tell the clusters apart.
    texts : sequence of str
        Typical texts.
    cluster : int
        Number of the cluster.
    """
    name = name_by_keywords(keywords)
    if name is not None:
        if not rivals:
            yield name
        elsewhere = {keyword.text.casefold() for rival in rivals for keyword in rival}
        first, *further = keywords
        telling = [keyword for keyword in further if keyword.text.casefold() not in elsewhere]
        for keyword in (*telling, *further):
            if keyword.text not in name.split(", "):
                yield from _skip_long(f"{name}, {keyword.text}")
            yield from _skip_long(f"{first.text}, {keyword.text}")
    short = [text for text in texts if len(text) <= MAX_FOUND_LENGTH - 2]
    for text in (*short[:1], *texts):
        yield quote_text(text)
    if name is None and keywords:
        yield from _skip_long(", ".join(keyword.text for keyword in keywords[:WORDS_PER_NAME]))
    if name is None and not texts:
        yield f"cluster {cluster}"
    base = name or (quote_text(texts[0]) if texts else "cluster")
    yield f"{base} ({cluster})"
    for number in count(2):
        yield f"{base} ({cluster}, {number})"


def _skip_long(name: str) -> Iterator[str]:
    """Yield a name unless it is too long."""
    if len(name) <= MAX_FOUND_LENGTH:
        yield name
