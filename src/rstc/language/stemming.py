"""The stem that the forms of a word share, by language."""

from __future__ import annotations

import re
from collections.abc import Callable

# Names of the Snowball stemmers, by ISO 639-1 code.
STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}

IS_HANGUL = re.compile("[가-힣]")
# Particles after a Korean noun of at least two syllables.
_KOREAN_PARTICLE = re.compile(
    "(?<=[가-힣]{2})(?:에서는|에서도|으로는|에게서|에서|에게|으로|까지|부터|처럼|보다|이나|은|는|이|가|을|를|에|의|로|와|과|도|만)$"
)


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
    >>> stemmer_for("ko")(["주문을", "주문이", "주문"])
    ['주문', '주문', '주문']
    """
    if language == "ko":
        return strip_korean_particles
    import snowballstemmer

    if STEMMERS.get(language) not in snowballstemmer.algorithms():  # older versions know fewer languages
        return list
    stem: Callable[[list[str]], list[str]] = snowballstemmer.stemmer(STEMMERS[language]).stemWords
    return stem


def strip_korean_particles(words: list[str]) -> list[str]:
    """Return Korean words without the particles that show their part in the sentence.

    >>> strip_korean_particles(["고객센터에서", "회의", "환불을"])
    ['고객센터', '회의', '환불']
    """
    return [_KOREAN_PARTICLE.sub("", word) for word in words]
