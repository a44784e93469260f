"""Text files: opened for reading with their encoding detected and gzip unpacked, and opened for writing."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from rstc.errors import InputError
from rstc.io.remote import hide_secrets, open_file

STANDARD_INPUT = "-"
DEFAULT_ENCODING = "utf-8"
MAX_LINE_BYTES = 2**31  # that a line of a gzip file may unpack to
MAX_UNPACKED_RATIO = 500  # texts are seldom packed to less than a hundredth of their size
MIN_CHECKED_BYTES = 2**28  # of unpacked data, from which on the ratio is checked

BUFFER_BYTES = 2**16

_HEAD_BYTES = 4096  # at the beginning of a file, by which its encoding is detected
_GZIP_MAGIC = b"\x1f\x8b"
_CODEC_OF_MARK = {  # the longer marks first: that of UTF-32 begins as that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}


def source_name(path: str) -> str:
    """Return how messages name a path: "standard input" for "-", and a URL without what is secret in it."""
    return "standard input" if path == STANDARD_INPUT else hide_secrets(path)


def is_default_encoding(encoding: str) -> bool:
    """Return whether an encoding is UTF-8, in any of its spellings."""
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def open_text_source(path: str, encoding: str, is_gzip: bool = False) -> IO[str]:
    """Open a file, a URL or standard input as text, without its byte order mark.

    Lines keep their ends. Where lines end with line feeds, a lone carriage return is a character as any other; where
    there are more carriage returns than line feeds, it ends a line, too.

    Parameters
    ----------
    path : str
        A path, a URL or "-" for standard input.
    encoding : str
        The encoding; a byte order mark takes precedence over UTF-8.
    is_gzip : bool, default=False
        Whether the file is compressed by gzip.

    Raises
    ------
    InputError
        If the encoding does not exist, or if the file is obviously something else than it is read as.
    """
    if not encoding.strip() or "\0" in encoding:
        raise InputError(f"there is no encoding {encoding!r}")
    file = sys.stdin.buffer if path == STANDARD_INPUT else open_file(path, "rb")
    raw: Any = _UnpackedFile(file, source_name(path)) if is_gzip else file
    stream = io.BufferedReader(raw, BUFFER_BYTES)
    try:
        head = stream.peek(_HEAD_BYTES)
        codec = _detect_codec(head[:_HEAD_BYTES], encoding, source_name(path))
        text = io.TextIOWrapper(stream, encoding=codec, newline="\n")
        if _ends_lines_with_carriage_returns(head, codec):
            text.reconfigure(newline="")
        return text
    except LookupError:
        stream.close()
        raise InputError(f"there is no encoding {encoding!r}") from None
    except BaseException:
        stream.close()
        raise


def _detect_codec(head: bytes, encoding: str, name: str) -> str:
    """Return the codec of a file by its first bytes and the encoding that was given."""
    if head.startswith(_GZIP_MAGIC):
        raise InputError(f"{name} is compressed by gzip: let its name end in .gz, or give a --format such as csv.gz")
    mark = next((mark for mark in _CODEC_OF_MARK if head.startswith(mark)), None)
    if mark is not None and (is_default_encoding(encoding) or encoding.lower().startswith("utf")):
        return _CODEC_OF_MARK[mark]
    if is_default_encoding(encoding) and (guess := _guess_utf_16(head)):
        raise InputError(f"{name} seems to be UTF-16 text without a byte order mark; give --encoding {guess}")
    return encoding


def _guess_utf_16(head: bytes) -> str | None:
    """Return the encoding in which every other byte is mostly NUL; None if it is not UTF-16.

    >>> _guess_utf_16("late again".encode("utf-16-le")), _guess_utf_16(b"late again")
    ('utf-16-le', None)
    """
    n_pairs, zeros = len(head) // 2, (head[0::2].count(0), head[1::2].count(0))
    if n_pairs < 2 or 2 * max(zeros) < n_pairs or 10 * min(zeros) > n_pairs:
        return None
    return "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"


def _ends_lines_with_carriage_returns(head: bytes, codec: str) -> bool:
    r"""Return whether lone carriage returns end lines, by the beginning of a file.

    >>> _ends_lines_with_carriage_returns(b"a\rb\r", "utf-8"), _ends_lines_with_carriage_returns(b"a\rb\n", "utf-8")
    (True, False)
    """
    text = codecs.getincrementaldecoder(codec)("ignore").decode(head)
    return text.count("\r") - text.count("\r\n") > text.count("\n")


def strip_line_end(line: str) -> str:
    """Return a line without its end."""
    return line.removesuffix("\n").removesuffix("\r")


class _CountedFile:
    """A file that counts the bytes that are read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.n_read = file, 0

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self.n_read += len(content)
        return content


class _UnpackedFile(io.RawIOBase):
    """The unpacked bytes of a gzip file.

    A few bytes can stand for gigabytes. An InputError is raised where they do, or where a line, which is read as a
    whole, would not fit into memory.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._packed = _CountedFile(file)
        self._gzip = gzip.GzipFile(fileobj=cast(IO[bytes], self._packed), mode="rb")
        self._n_unpacked = self._n_line = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._gzip.read(len(buffer))
        buffer[: len(content)] = content
        self._check_size(content)
        return len(content)

    def close(self) -> None:
        if not self.closed:
            self._gzip.close()
            self._file.close()
        super().close()

    def _check_size(self, content: bytes) -> None:
        """Raise an error if the file, or its present line, unpacks to too much."""
        self._n_unpacked += len(content)
        newline = content.rfind(b"\n")
        self._n_line = len(content) - newline - 1 if newline >= 0 else self._n_line + len(content)
        if self._n_unpacked > max(MIN_CHECKED_BYTES, MAX_UNPACKED_RATIO * self._packed.n_read):
            raise InputError(f"{self._name} unpacks to more than {MAX_UNPACKED_RATIO} times its size")
        if self._n_line > MAX_LINE_BYTES:
            raise InputError(f"{self._name} unpacks to a line of more than {MAX_LINE_BYTES / 1e9:.1f} GB")


@contextmanager
def open_text_target(target: Path | IO[str], is_gzip: bool = False) -> Iterator[IO[str]]:
    """Open a text file for writing in UTF-8, and flush it to the disk at the end; a stream is written as it is."""
    if not isinstance(target, Path):
        yield target
        target.flush()
        return
    with target.open("wb") as raw:
        # Without name and time in it, the same content makes the same file.
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if is_gzip else raw
        with io.TextIOWrapper(packed, encoding="utf-8", newline="") as file:
            yield file
            file.flush()
            if not is_gzip:
                os.fsync(raw.fileno())
        if is_gzip:  # its end is written when it is closed
            raw.flush()
            os.fsync(raw.fileno())
