"""Languages in sentences: their English names, and the shares of several."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rstc.language.detection import DEFAULT_LANGUAGE

MAX_NAMED = 5  # languages in a sentence

# English names by ISO 639 code, of languages that are detected; a rarer one is named by its code.
_NAMES = """
    af:Afrikaans am:Amharic ar:Arabic ary:Arabic arz:Arabic az:Azerbaijani be:Belarusian bg:Bulgarian bn:Bengali
    br:Breton bs:Bosnian ca:Catalan cs:Czech cy:Welsh da:Danish de:German el:Greek en:English eo:Esperanto
    es:Spanish et:Estonian eu:Basque fa:Persian fi:Finnish fo:Faroese fr:French fy:Frisian ga:Irish gd:Gaelic
    gl:Galician gu:Gujarati ha:Hausa he:Hebrew hi:Hindi hr:Croatian ht:Haitian hu:Hungarian hy:Armenian
    id:Indonesian ig:Igbo is:Icelandic it:Italian ja:Japanese jv:Javanese ka:Georgian kk:Kazakh km:Khmer
    kn:Kannada ko:Korean ku:Kurdish ky:Kyrgyz la:Latin lb:Luxembourgish lo:Lao lt:Lithuanian lv:Latvian
    mg:Malagasy mk:Macedonian ml:Malayalam mn:Mongolian mr:Marathi ms:Malay mt:Maltese my:Burmese ne:Nepali
    nl:Dutch nn:Norwegian no:Norwegian oc:Occitan or:Odia pa:Punjabi pl:Polish ps:Pashto pt:Portuguese
    qu:Quechua ro:Romanian ru:Russian rw:Kinyarwanda sa:Sanskrit sd:Sindhi si:Sinhala sk:Slovak sl:Slovenian
    sn:Shona so:Somali sq:Albanian sr:Serbian st:Sotho sv:Swedish sw:Swahili ta:Tamil te:Telugu tg:Tajik th:Thai
    tk:Turkmen tl:Tagalog tr:Turkish tt:Tatar ug:Uyghur uk:Ukrainian ur:Urdu uz:Uzbek vi:Vietnamese wuu:Chinese
    xh:Xhosa yi:Yiddish yo:Yoruba yue:Cantonese zh:Chinese zu:Zulu
"""
_CODE = re.compile(r"[a-z]{2,3}")
NAMES = dict(pair.split(":") for pair in _NAMES.split())


def are_language_codes(codes: Any) -> bool:
    """Return whether a value that was given, or read from a file, is a list of ISO 639 codes.

    >>> are_language_codes(["en", "wuu"]), are_language_codes(["English"])
    (True, False)
    """
    return isinstance(codes, list) and all(isinstance(code, str) and _CODE.fullmatch(code) for code in codes)


def name_language(code: str) -> str:
    """Return the English name of a language.

    >>> name_language("ja"), name_language("lij")
    ('Japanese', "'lij'")
    """
    return NAMES.get(code) or f"'{code}'"


def describe_languages(shares: Mapping[str, float]) -> str:
    """Describe the languages of texts by their shares, the most frequent first; empty where there are none.

    >>> describe_languages({"de": 0.62, "en": 0.38}), describe_languages({"ja": 1.0})
    ('German 62 %, English 38 %', 'Japanese')
    """
    named: dict[str, float] = {}  # several codes may have one name
    for code, share in shares.items():
        named[name_language(code)] = named.get(name_language(code), 0.0) + share
    if len(named) == 1:
        return next(iter(named))
    shown = sorted(named.items(), key=lambda item: -item[1])
    parts = [f"{name} {100 * share:.0f} %" for name, share in shown[:MAX_NAMED]]
    more = [f"{len(shown) - MAX_NAMED} more"] if len(shown) > MAX_NAMED else []
    return ", ".join([*parts, *more])


def are_english(shares: Mapping[str, float]) -> bool:
    """Return whether all texts that have a language are English.

    >>> are_english({"en": 1.0}), are_english({"en": 0.97, "fr": 0.03}), are_english({})
    (True, False, True)
    """
    return set(shares) <= {DEFAULT_LANGUAGE}
