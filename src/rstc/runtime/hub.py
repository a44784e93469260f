"""The hub of models: which names it may know, and whether it can be reached."""

from __future__ import annotations

import re
from pathlib import Path

PREFIX = "hub:"  # of a name that means a model on the hub, whatever folders there are
MODEL_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.-]*")  # a model, or OWNER/MODEL


def find_hub_name(source: str) -> str | None:
    """Return the name of the model on the hub that a source means; None if it means a folder.

    A name without the prefix is that of a folder if it is written like a path, or if it begins with a folder that
    exists: a folder that was mistyped or removed must not become a download.

    Examples
    --------
    >>> find_hub_name("hub:owner/model"), find_hub_name("intfloat/multilingual-e5-small"), find_hub_name("./model")
    ('owner/model', 'intfloat/multilingual-e5-small', None)
    """
    name = source.removeprefix(PREFIX)
    if not MODEL_NAME.fullmatch(name):
        return None
    if source.startswith(PREFIX):
        return name
    return None if Path(name).parts and Path(Path(name).parts[0]).exists() else name


def is_hub_reachable() -> bool:
    """Whether the hub's host name can be resolved; otherwise its client would retry for a minute."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies

    from huggingface_hub.constants import ENDPOINT, HF_HUB_OFFLINE

    if HF_HUB_OFFLINE or getproxies():
        return not HF_HUB_OFFLINE
    try:
        socket.getaddrinfo(urlsplit(ENDPOINT).hostname, 443)
    except OSError:
        return False
    return True
