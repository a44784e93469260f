"""The stem that the forms of a word share, by language."""

from __future__ import annotations

from collections.abc import Callable

# Names of the Snowball stemmers, by ISO 639-1 code.
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
