"""The hub of models: which names it may know, and whether it can be reached."""

from __future__ import annotations

import re

MODEL_NAME = re.compile(r"(\w[\w.-]*/)?\w[\w.-]*")  # a model, or OWNER/MODEL
OWNED_MODEL_NAME = re.compile(r"[\w.-]+/[\w.-]+")


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
