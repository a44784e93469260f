"""Files by path or by URL: local paths are opened directly, URLs such as s3://bucket/part.parquet by fsspec."""

from __future__ import annotations

import base64
import hashlib
import posixpath
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import fsspec
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from rstc.errors import InputError, first_line

Result = TypeVar("Result")

_OBJECT_STORES = frozenset(("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci", "cos", "obs", "r2"))
_CONTENT_TAGS = ("ETag", "etag", "md5Hash", "md5", "checksum")  # of a file's description by its store
_BLOCK_BYTES = 2**20
_SECRETS = re.compile(r"(?<=://)[^/@?]*@|(?<=\?).+")  # of an address: who logs in, and the query, which may be signed


def is_url(path: str) -> bool:
    """Return whether a path is a URL of fsspec.

    >>> is_url("s3://bucket/a.parquet"), is_url("data/a.parquet"), is_url("C:/data")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)", path) is not None


def to_local_path(path: str) -> str:
    """Return the path of an address of this machine; any other path or URL as it is.

    >>> to_local_path("file:///data/a.csv"), to_local_path("s3://bucket/a.csv"), to_local_path("a.csv")
    ('/data/a.csv', 's3://bucket/a.csv', 'a.csv')
    """
    return str(LocalFileSystem._strip_protocol(path)) if re.match(r"(file|local)://", path) else path


def hide_secrets(path: str) -> str:
    """Return a path or URL as messages show it.

    >>> hide_secrets("ftp://me:password@host/a.csv"), hide_secrets("https://host/a.csv?signature=1"), hide_secrets("a?")
    ('ftp://...@host/a.csv', 'https://host/a.csv?...', 'a?')
    """
    return _SECRETS.sub(lambda match: "...@" if match[0].endswith("@") else "...", path) if "://" in path else path


def open_file(path: str, mode: str, **options: Any) -> Any:
    """Open a file, as `open` does.

    Parameters
    ----------
    path : str
        A path or a URL.
    mode : str
        As of `open`.
    **options
        Further arguments of `open`, such as `encoding`.
    """
    if not is_url(path):
        return open(path, mode, **options)
    return _access(path, lambda: fsspec.open(path, mode, **options).open())


def is_file(path: str) -> bool:
    """Return whether a path or URL is an existing file."""
    if not is_url(path):
        return Path(path).is_file()
    return bool(_access(path, lambda: _call("isfile", path)))


def exists(path: str) -> bool:
    """Return whether a path or URL exists."""
    if not is_url(path):
        return Path(path).exists()
    return bool(_access(path, lambda: _call("exists", path)))


def describe_content(path: str) -> dict[str, str | int]:
    """Return the size of a file and what identifies its content: the tag that its store computes of it, or the sha256.

    Parameters
    ----------
    path : str
        A path or a URL of an existing file.
    """

    def describe() -> dict[str, str | int]:
        filesystem, name = url_to_fs(path)
        info = filesystem.info(name)
        tag = next((info[key] for key in _CONTENT_TAGS if info.get(key)), None)
        if tag is not None and info.get("size") is not None:
            return {"bytes": int(info["size"]), "tag": str(tag)}
        digest, size = hashlib.sha256(), 0
        with filesystem.open(name, "rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
                size += len(block)
        return {"bytes": size, "sha256": digest.hexdigest()}

    return _access(path, describe)


def put_file(local: Path, url: str) -> None:
    """Upload a local file; folders on the way are made, and the URL names the complete file or what it named before.

    A file system gets the file under a temporary name, which is then changed. An object store shows an object once it
    is complete; afterwards its size and its content are compared with those of the local file.
    """

    def upload() -> None:
        filesystem, name = url_to_fs(url)
        folder = posixpath.dirname(name)
        filesystem.makedirs(folder, exist_ok=True)
        if _is_object_store(filesystem):
            _upload_and_compare(filesystem, local, name)
            return
        temporary = posixpath.join(folder, f".{posixpath.basename(name)}.{secrets.token_hex(4)}.tmp")
        try:
            filesystem.put_file(str(local), temporary)
            _compare_size(filesystem, local, temporary)
            try:
                filesystem.mv(temporary, name)
            except NotImplementedError:
                _upload_and_compare(filesystem, local, name)
            _compare_size(filesystem, local, name)
        finally:
            with suppress(Exception):  # it has been moved, or the store is gone
                filesystem.rm_file(temporary)

    _access(url, upload)


def _is_object_store(filesystem: Any) -> bool:
    """Return whether an object appears once it is complete, and cannot be renamed without a copy."""
    protocols = [filesystem.protocol] if isinstance(filesystem.protocol, str) else filesystem.protocol
    return not _OBJECT_STORES.isdisjoint(protocols)


def _upload_and_compare(filesystem: Any, local: Path, name: str) -> None:
    """Upload a file and compare what the store holds with it; remove it if that is something else."""
    try:
        filesystem.put_file(str(local), name)
        _compare_size(filesystem, local, name)
        stored = {str(filesystem.info(name).get(key, "")).strip('"') for key in ("ETag", "etag", "md5Hash")}
        digest = _digest(local.open("rb"), "md5")
        if stored & {digest.hex(), base64.b64encode(digest).decode()}:
            return
        # Stores tag what they received in parts, or encrypt, in other ways.
        if _digest(filesystem.open(name, "rb"), "sha256") != _digest(local.open("rb"), "sha256"):
            raise OSError("what the store holds differs from what was uploaded")
    except BaseException:
        with suppress(Exception):
            filesystem.rm_file(name)
        raise


def _compare_size(filesystem: Any, local: Path, name: str) -> None:
    """Raise an error if a remote file has another size than a local one."""
    filesystem.invalidate_cache(posixpath.dirname(name))
    size, expected = filesystem.info(name).get("size"), local.stat().st_size
    if size != expected:
        raise OSError(f"{size} bytes arrived of {expected}")


def _digest(file: Any, algorithm: str) -> bytes:
    """Return the checksum of an open file, and close it."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.digest()


def glob_files(pattern: str) -> tuple[str, list[str]]:
    """Find the files that match a pattern, or all files of a folder.

    Parameters
    ----------
    pattern : str
        A path or URL with ``*``, ``**`` or ``?`` in it, or a folder.

    Returns
    -------
    root : str
        The folder before the first wildcard.
    names : list of str
        The files relative to `root`, sorted.
    """

    def find() -> tuple[str, list[str]]:
        filesystem, name = url_to_fs(pattern)
        prefix = re.split(r"[*?\[]", name, maxsplit=1)[0]
        if prefix == name and filesystem.isdir(name):
            root, paths = name, filesystem.find(name)
        else:
            root = posixpath.dirname(prefix)
            paths = [path for path in filesystem.glob(name) if filesystem.isfile(path)]
        names = sorted(posixpath.relpath(path, root or ".") for path in paths)
        return (filesystem.unstrip_protocol(root) if is_url(pattern) else root), names

    return _access(pattern, find)


def join_path(root: str, name: str) -> str:
    """Return the path or URL of a name under a root."""
    return posixpath.join(root, name)


def _call(method: str, url: str) -> Any:
    """Call a method of the URL's file system with the path in it."""
    filesystem, path = url_to_fs(url)
    return getattr(filesystem, method)(path)


def _access(path: str, operation: Callable[[], Result]) -> Result:
    """Return the result of an operation on a file system; its errors become an InputError that names the path."""
    try:
        return operation()
    except (InputError, MemoryError):
        raise
    except Exception as problem:  # each file system has errors of its own
        reason = hide_secrets(first_line(problem))
        if isinstance(problem, ImportError) and "://" in path:
            reason = f"a package is missing: {reason}"
        raise InputError(f"{hide_secrets(path)} cannot be reached: {reason}") from problem
