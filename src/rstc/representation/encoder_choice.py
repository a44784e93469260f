"""The choice of an encoder by the languages of the texts, where the user names none, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rstc.language.names import describe_languages
from rstc.representation.multilingual_files import MULTILINGUAL_LANGUAGES, MULTILINGUAL_NAME, is_multilingual_installed

BUNDLED_NAME = "all-MiniLM-L6-v2"
BUNDLED_TITLE = f"{BUNDLED_NAME} (bundled)"  # as commands show it
BUNDLED_LANGUAGE = "en"  # what the bundled encoder was trained on
# Of the texts. The bundled encoder is better on English texts, the multilingual one on others: the larger part decides.
MIN_FOREIGN = 0.5
MIN_UNKNOWN = 0.1  # of the texts in languages that an encoder was not trained on, to be mentioned


@dataclass(frozen=True)
class EncoderChoice:
    """Which encoder was taken, and why.

    Attributes
    ----------
    encoder : str or None
        As in the setting `encoder`: None for the bundled one.
    reason : str
        A sentence.
    """

    encoder: str | None
    reason: str


def choose_encoder(shares: Mapping[str, float]) -> EncoderChoice:
    """Choose the bundled encoder or, for texts that are mostly not English, the multilingual one if it is installed.

    Parameters
    ----------
    shares : mapping
        The share of each language among the texts, by ISO 639 code, as `rstc.language.detection.measure_languages`
        returns it.

    Returns
    -------
    EncoderChoice

    Examples
    --------
    >>> choose_encoder({"en": 0.9, "de": 0.1}).reason
    'Encoder: all-MiniLM-L6-v2, because the texts are mostly in English (English 90 %, German 10 %).'
    """
    languages = describe_languages(shares)
    if not is_mostly_foreign(shares):
        because = f"the texts are mostly in English ({languages})" if shares else "no language was recognised"
        return EncoderChoice(None, f"Encoder: {BUNDLED_NAME}, because {because}.")
    because = f"more than half of the texts are not in English ({languages})"
    if is_multilingual_installed():
        return EncoderChoice(MULTILINGUAL_NAME, f"Encoder: {MULTILINGUAL_NAME}, because {because}.")
    return EncoderChoice(
        None,
        f"Encoder: {BUNDLED_NAME}, although {because}, because the multilingual one is not installed.",
    )


def is_most(shares: Mapping[str, float]) -> bool:
    """Whether some languages are those of more than half of the texts."""
    return sum(shares.values()) > MIN_FOREIGN


def is_mostly_foreign(shares: Mapping[str, float]) -> bool:
    """Whether more than half of the texts are not in English.

    >>> is_mostly_foreign({"en": 0.5, "fr": 0.5}), is_mostly_foreign({"ru": 0.6, "en": 0.4}), is_mostly_foreign({})
    (False, True, False)
    """
    return is_most({code: share for code, share in shares.items() if code != BUNDLED_LANGUAGE})


def find_unknown_languages(shares: Mapping[str, float]) -> dict[str, float]:
    """Return the languages that the multilingual encoder was not trained on, if they are a tenth of the texts.

    >>> find_unknown_languages({"sv": 0.6, "de": 0.3, "hi": 0.1}), find_unknown_languages({"de": 0.95, "sv": 0.05})
    ({'sv': 0.6, 'hi': 0.1}, {})
    """
    unknown = {code: share for code, share in shares.items() if code not in MULTILINGUAL_LANGUAGES}
    return unknown if sum(unknown.values()) >= MIN_UNKNOWN else {}
