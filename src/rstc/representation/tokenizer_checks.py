"""Checks of tokenizer.json: known components only, and none that could take endless time or memory for a text.

A normalizer can replace each letter by a thousand others, a regular expression can take exponential time, a template
can add a million tokens to each text, and a setting can pad each text to any length. The libraries that open the file
would run all of that. The checks read the file and run nothing of it, so that opening a model does not take longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rstc.errors import InputError

MAX_REGEX_LENGTH = 500
MAX_UNBOUNDED_QUANTIFIERS = 3  # of one alternative of a regular expression: its time is a power of their number
MAX_QUANTIFIERS = 6  # bounded ones included
MAX_REPETITION = 1000  # in {n,m} of a regular expression
MAX_GROUP_REPETITION = 3
MAX_REPLACEMENT_LENGTH = 8  # characters that take the place of a match
MAX_REPLACEMENTS = 16  # normalizers that can make a text longer
MAX_GROWTH = 64  # times that all of them together can make a text longer
MAX_TEMPLATE_TOKENS = 64  # that are added to each text
MAX_PADDED_LENGTH = 2**16
MAX_WORD_LENGTH = 1000  # characters of a word that WordPiece tries all parts of
MAX_ADDED_TOKENS = 20_000
MAX_COMPONENTS = 100
MAX_DEPTH = 10

_COMPONENTS = {
    "model": frozenset({"BPE", "Unigram", "WordLevel", "WordPiece"}),
    "normalizer": frozenset(
        {
            *("BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt", "Precompiled"),
            *("Prepend", "Replace", "Sequence", "Strip", "StripAccents"),
        }
    ),
    "pre_tokenizer": frozenset(
        {
            *("BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace", "Punctuation"),
            *("Sequence", "Split", "UnicodeScripts", "Whitespace", "WhitespaceSplit"),
        }
    ),
    "post_processor": frozenset({"BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing"}),
}
_QUANTIFIER = re.compile(r"[*+?]|\{(\d*),?(\d*)\}")


def check_tokenizer(path: Path, content: Any) -> None:
    """Raise an error unless the tokenizer in a tokenizer.json can be used for any text.

    Parameters
    ----------
    path : Path
        The file, for messages.
    content : JSON value
        Its content.

    Raises
    ------
    InputError
        If the tokenizer is refused.
    """
    if not isinstance(content, dict) or not isinstance(content.get("model"), dict):
        raise InputError(f"{path} is not a tokenizer")
    n_growing, growth = 0, 1.0
    for part in _COMPONENTS:
        for component in _list_components(path, part, content.get(part)):
            for regex in _list_regexes(component):
                _check_regex(path, regex)
            component_growth = _measure_growth(path, component)
            n_growing, growth = n_growing + (component_growth > 1), growth * component_growth
    if n_growing > MAX_REPLACEMENTS or growth > MAX_GROWTH:
        raise InputError(f"{path} can make a text more than {MAX_GROWTH} times as long")
    _check_model(path, content["model"])
    _check_template(path, content.get("post_processor"))
    _check_lengths(path, content)


def _list_components(path: Path, part: str, value: Any) -> Iterator[dict[str, Any]]:
    """Yield the components of a part of the tokenizer, those of sequences included, after checking their types."""
    stack, n_found = [(value, 0)], 0
    while stack:
        component, depth = stack.pop()
        if component is None:
            continue
        n_found += 1
        if not isinstance(component, dict) or depth > MAX_DEPTH or n_found > MAX_COMPONENTS:
            raise InputError(f"{path} has a {part} that no tokenizer has")
        kind = component.get("type", "BPE" if part == "model" and "merges" in component else None)
        if kind is None and part == "model":  # of files of early versions, which do not name it
            kind = "WordPiece" if "continuing_subword_prefix" in component else "WordLevel"
        if not isinstance(kind, str) or kind not in _COMPONENTS[part]:
            raise InputError(f"{path} has a {part} of an unknown kind: {str(kind)[:40]!r}")
        yield component
        for key in ("normalizers", "pretokenizers", "processors"):
            children = component.get(key, [])
            if not isinstance(children, list):
                raise InputError(f"{path} has a {part} that no tokenizer has")
            stack += [(child, depth + 1) for child in children]


def _list_regexes(component: dict[str, Any]) -> Iterator[str]:
    """Yield the regular expressions of a component."""
    pattern = component.get("pattern")
    if isinstance(pattern, dict) and "Regex" in pattern:
        yield str(pattern["Regex"])


def _check_regex(path: Path, regex: str) -> None:
    """Refuse a regular expression whose time could grow faster than a small power of the length of a text.

    Groups that are repeated without bound, references to groups and recursion can take exponential time. Without them
    the time of an alternative is a power of the number of its quantifiers.
    """
    shown = repr(regex[:60])
    if len(regex) > MAX_REGEX_LENGTH:
        raise InputError(f"{path} has a regular expression of {len(regex):,} characters: {shown}")
    plain = _drop_classes(regex)
    if re.search(r"\\[1-9kg]|\(\?[&RP0-9]|\(\?\(", plain):
        raise InputError(f"{path} has a regular expression that can take endless time: {shown}")
    n_unbounded = [0]  # of the current alternative of each open group
    position = n_quantifiers = 0
    while position < len(plain):
        character = plain[position]
        if character == "\\":
            position += 2
            continue
        if character == "(":
            n_unbounded.append(0)
            position += 2 if plain.startswith("(?", position) else 1
            continue
        elif character == ")" and len(n_unbounded) > 1:
            inner = n_unbounded.pop()
            quantifier = _QUANTIFIER.match(plain, position + 1)
            if quantifier and (_is_unbounded(quantifier) or _find_bound(quantifier) > MAX_GROUP_REPETITION):
                raise InputError(f"{path} has a regular expression that can take endless time: {shown}")
            n_unbounded[-1] += inner
        elif character == "|" and len(n_unbounded) == 1:
            n_unbounded[-1] = n_quantifiers = 0
        elif quantifier := _QUANTIFIER.match(plain, position):
            n_unbounded[-1] += _is_unbounded(quantifier)
            n_quantifiers += 1
            if _find_bound(quantifier) > MAX_REPETITION:
                raise InputError(f"{path} has a regular expression that can take endless time: {shown}")
            position = quantifier.end() - 1
        if sum(n_unbounded) > MAX_UNBOUNDED_QUANTIFIERS or n_quantifiers > MAX_QUANTIFIERS:
            raise InputError(f"{path} has a regular expression that can take endless time: {shown}")
        position += 1


def _drop_classes(regex: str) -> str:
    """Return a regular expression with one letter in place of each class such as [a-z] or \\p{L}."""
    regex = re.sub(r"\\[pPxu]\{[^}]*\}", "a", regex)
    without, depth, position = [], 0, 0
    while position < len(regex):
        character = regex[position]
        if character == "\\":
            without += [regex[position : position + 2]] if not depth else []
            position += 2
            continue
        if character == "[":
            depth += 1
        elif character == "]" and depth:
            depth -= 1
            without += ["a"] if not depth else []
        elif not depth:
            without.append(character)
        position += 1
    return "".join(without)


def _is_unbounded(quantifier: re.Match[str]) -> bool:
    """Whether a quantifier has no upper bound: *, + or {n,}."""
    text = quantifier[0]
    return text in "*+" or text.endswith(",}")


def _find_bound(quantifier: re.Match[str]) -> int:
    """Return the largest number in a quantifier such as {2,5}, 0 if it has none."""
    return max((int(bound[:9]) for bound in quantifier.groups() if bound), default=0)


def _measure_growth(path: Path, component: dict[str, Any]) -> float:
    """Return how many times as long a normalizer can make a text, at most."""
    kind = component.get("type")
    if kind == "Replace":
        content, pattern = component.get("content"), component.get("pattern")
        literal = pattern.get("String") if isinstance(pattern, dict) else None
        if not isinstance(content, str) or literal == "" or len(content) > MAX_REPLACEMENT_LENGTH:
            raise InputError(f"{path} has a normalizer that replaces by a text of more than {MAX_REPLACEMENT_LENGTH}")
        return max(1.0, len(content) / len(literal) if isinstance(literal, str) else float(len(content)))
    if kind == "Prepend" and len(str(component.get("prepend"))) > MAX_REPLACEMENT_LENGTH:
        raise InputError(f"{path} has a normalizer that adds a text of more than {MAX_REPLACEMENT_LENGTH}")
    return 1.0


def _check_model(path: Path, model: dict[str, Any]) -> None:
    """Refuse a model that draws random numbers, or tries all parts of words of any length."""
    if model.get("dropout"):
        raise InputError(f"{path} has a tokenizer that drops merges at random")
    longest = model.get("max_input_chars_per_word", 0)
    if not isinstance(longest, int) or longest > MAX_WORD_LENGTH:
        raise InputError(f"{path} has a tokenizer for words of {longest} characters")


def _check_template(path: Path, processor: Any) -> None:
    """Refuse a template that adds many tokens to each text."""
    n_added = 0
    for component in _list_components(path, "post_processor", processor):
        for key in ("single", "pair"):
            pieces = component.get(key)
            n_added = max(n_added, len(pieces) if isinstance(pieces, list) else 0)
        special = component.get("special_tokens")
        if isinstance(special, dict):
            for entry in special.values():
                ids = entry.get("ids") if isinstance(entry, dict) else None
                n_added = max(n_added, len(ids) if isinstance(ids, list) else 0)
    if n_added > MAX_TEMPLATE_TOKENS:
        raise InputError(f"{path} adds {n_added:,} tokens to each text")


def _check_lengths(path: Path, content: dict[str, Any]) -> None:
    """Refuse padding to an extreme length, and an extreme number of added tokens."""
    padding = content.get("padding")
    if isinstance(padding, dict):
        strategy, multiple = padding.get("strategy"), padding.get("pad_to_multiple_of")
        fixed = strategy.get("Fixed") if isinstance(strategy, dict) else None
        for length in (fixed, multiple):
            if length is not None and not (isinstance(length, int) and 0 <= length <= MAX_PADDED_LENGTH):
                raise InputError(f"{path} pads each text to {str(length)[:20]} tokens")
    added = content.get("added_tokens")
    if isinstance(added, list) and len(added) > MAX_ADDED_TOKENS:
        raise InputError(f"{path} has {len(added):,} added tokens")
