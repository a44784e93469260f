"""Options of the HTTP service: what it serves, where, to whom, and its limits."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path

from rstc.errors import InputError

TOKEN_VARIABLE = "RSTC_TOKEN"
MIN_TOKEN_LENGTH = 16  # characters; shorter ones can be guessed


@dataclass(frozen=True)
class ServiceOptions:
    """What each worker process of the service is started with.

    Attributes
    ----------
    folder : Path
        A run, a saved model or an exported model.
    host : str
        The address that the service listens on.
    token : str or None
        What requests have to carry; None only on a loopback address.
    device : str
        Where the model computes.
    n_workers : int
        Number of worker processes.
    threads : int
        Number of threads that a worker computes with.
    max_body_bytes : int
        Largest body of a request.
    max_texts : int
        Largest number of texts in a request.
    max_chars : int
        Largest number of characters of a text.
    max_requests : int
        Number of predictions that a worker works on or has waiting; further ones are refused.
    client_seconds : float
        Seconds that a client may take to send a request.
    answer_seconds : float
        Seconds that a request may wait for its prediction.
    stop_seconds : float
        Seconds that a stopping service takes for the requests it has accepted.
    poll_seconds : float
        Seconds between two looks at the model folder.
    """

    folder: Path
    host: str = "127.0.0.1"
    token: str | None = None
    device: str = "auto"
    n_workers: int = 1
    threads: int = 1
    max_body_bytes: int = 8 * 2**20
    max_texts: int = 1_000
    max_chars: int = 20_000
    max_requests: int = 64
    client_seconds: float = 10.0
    answer_seconds: float = 60.0
    stop_seconds: float = 30.0
    poll_seconds: float = 1.0

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"host {self.host!r} can be reached by other machines, which needs a token: --token-file or the "
                f"environment variable {TOKEN_VARIABLE}"
            )
        for name in ("n_workers", "threads", "max_body_bytes", "max_texts", "max_chars", "max_requests"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)} must be at least 1")


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached by this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_token(path: Path | None) -> str | None:
    """Return the token of a file, or else of the environment variable `TOKEN_VARIABLE`; None without either."""
    if path is None:
        source, token = f"the environment variable {TOKEN_VARIABLE}", os.environ.get(TOKEN_VARIABLE)
        if token is None:
            return None
    else:
        source = str(path)
        try:
            token = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"the token file {path} cannot be read") from problem
    token = token.strip()
    if len(token) < MIN_TOKEN_LENGTH or not (token.isascii() and token.isprintable()) or " " in token:
        raise InputError(
            f"the token in {source} needs at least {MIN_TOKEN_LENGTH} printable ASCII characters, no space"
        )
    return token
