"""Conversion of a SentencePiece model with unigram pieces to a tokenizer of the package `tokenizers`.

A SentencePiece model is a protocol buffer. What is needed of it is read here: the pieces with their scores, and the
table of character replacements. The converted tokenizer is written with a saved or exported model, which then needs no
further package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from transformers import PreTrainedTokenizerFast

SPACE = "▁"
_PIECES, _NORMALIZER = 1, 3  # fields of the model
_PIECE, _SCORE, _KIND = 1, 2, 3  # fields of a piece
_REPLACEMENTS = 2  # field of the normalizer
_NORMAL = 1  # the kind of pieces that stand for characters of a text
_UNKNOWN, _BEGIN, _END = 0, 1, 2  # ids of special pieces


@dataclass(frozen=True)
class UnigramModel:
    """The parts of a SentencePiece model.

    Attributes
    ----------
    pieces : list of (str, float)
        Each piece with its log probability, by id; those that stand for no characters have names that no text holds.
    replacements : bytes
        The table of character replacements, in the format that `tokenizers.normalizers.Precompiled` reads.
    """

    pieces: list[tuple[str, float]]
    replacements: bytes


def parse_sentencepiece(content: bytes) -> UnigramModel:
    """Parse a SentencePiece model; an error of some kind is raised for content that is none."""
    pieces: list[tuple[str, float]] = []
    replacements = b""
    for field, value in _iter_fields(content):
        if field == _PIECES and isinstance(value, bytes):
            entry = dict(_iter_fields(value))
            text, score = bytes(entry[_PIECE]).decode(), entry.get(_SCORE, bytes(4))
            is_normal = entry.get(_KIND, _NORMAL) == _NORMAL
            # The table removes NUL from texts, so that a text with "<s>" does not hold the special piece.
            pieces.append((text if is_normal else f"\0{text}", struct.unpack("<f", bytes(score))[0]))
        elif field == _NORMALIZER and isinstance(value, bytes):
            replacements = bytes(dict(_iter_fields(value)).get(_REPLACEMENTS, b""))
    return UnigramModel(pieces, replacements)


def convert_unigram(model: UnigramModel) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a model; it puts the special pieces for begin and end around each text."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(model.pieces, unk_id=_UNKNOWN, byte_fallback=False))
    replace = [normalizers.Precompiled(model.replacements)] if model.replacements else []
    tokenizer.normalizer = normalizers.Sequence(
        [*replace, normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always", split=True)
    ends = [(model.pieces[number][0], number) for number in (_BEGIN, _END)]
    tokenizer.post_processor = processors.TemplateProcessing(single=[ends[0][0], "$A", ends[1][0]], special_tokens=ends)
    # Padding is masked, so that any piece serves for it. It is no added token, which texts would be searched for.
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def _iter_fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field of a message."""
    position = 0
    while position < len(content):
        tag, position = _read_integer(content, position)
        kind, size = tag & 7, {1: 8, 5: 4}.get(tag & 7)
        if kind == 0:
            number, position = _read_integer(content, position)
            yield tag >> 3, number
            continue
        if kind == 2:
            size, position = _read_integer(content, position)
        if size is None or position + size > len(content):
            raise ValueError(f"a field of kind {kind} at byte {position}")
        yield tag >> 3, content[position : position + size]
        position += size


def _read_integer(content: bytes, position: int) -> tuple[int, int]:
    """Return the integer at a position, seven bits to a byte, and the position behind it."""
    value = shift = 0
    while content[position] & 128:
        value |= (content[position] & 127) << shift
        position, shift = position + 1, shift + 7
    return value | content[position] << shift, position + 1
