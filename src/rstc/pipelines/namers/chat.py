"""Ask a language model behind an OpenAI-compatible address: chat completions over HTTP, with retries.

The key goes to the given host only: redirects are not followed, and no message, log line or file holds it.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from rstc.errors import InputError

TIMEOUT = 120.0  # seconds: a local model may have to be loaded first
MAX_ATTEMPTS = 5
FIRST_DELAY = 1.0  # seconds, doubled after each attempt
MAX_DELAY = 60.0
MAX_RESPONSE_BYTES = 2**20
_UNSUPPORTED = (400, 422)  # may refuse a parameter that other servers need
# Not every server and model accepts them; they are left out if one is refused.
_OPTIONAL_PARAMETERS = {"temperature": 0, "response_format": {"type": "json_object"}}


@dataclass
class ChatNamer:
    """A language model behind an OpenAI-compatible address.

    Parameters
    ----------
    url : str
        The address, such as http://localhost:11434/v1, to which /chat/completions is added.
    model : str
        Name of the model.
    key : str, optional
        Sent as a bearer token; not to an http address of another machine unless `sends_key_unencrypted`.
    key_variable : str
        Where the key comes from, for messages.
    sends_key_unencrypted : bool
        Whether the key is sent over http to other machines.
    timeout : float
        Seconds to wait for the server.
    wait : callable
        Waits for seconds before another attempt.
    """

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    key_variable: str = "OPENAI_API_KEY"
    sends_key_unencrypted: bool = False
    timeout: float = TIMEOUT
    wait: Callable[[float], None] = field(default=time.sleep, repr=False)
    needs_json: bool = field(default=True, init=False)
    _endpoint: str = field(init=False, repr=False)
    _parameters: Mapping[str, Any] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parts = _split_url(self.url)
        if not self.model.strip():
            raise InputError("the name of the model is empty")
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and " " not in self.key):
            raise InputError(f"the key in {self.key_variable} holds characters that no key has")
        base = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self._endpoint = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._parameters = _OPTIONAL_PARAMETERS

    @property
    def host(self) -> str:
        """The host that gets the texts, with its port."""
        return urlsplit(self._endpoint).netloc

    @property
    def receiver(self) -> str:
        """Who gets the texts, in words."""
        return f"{self.model} at {self.host}"

    @property
    def identity(self) -> str:
        """Address and model, which the cached answers belong to."""
        return f"{self._endpoint} {self.model}"

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine."""
        name = urlsplit(self._endpoint).hostname or ""
        if name == "localhost" or name.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection is encrypted."""
        return self._endpoint.startswith("https://")

    @property
    def sends_key(self) -> bool:
        """Whether requests carry the key."""
        return self.key is not None and (self.is_encrypted or self.is_local or self.sends_key_unencrypted)

    def ask(self, prompt: str) -> str:
        """Return the answer to a prompt.

        Raises
        ------
        InputError
            If the server cannot be reached, refuses the request, or is still busy after `MAX_ATTEMPTS` attempts.
        """
        delay = FIRST_DELAY
        for attempt in range(1, MAX_ATTEMPTS + 1):
            try:
                return self._post(prompt)
            except HTTPError as error:
                with error:
                    if error.code in _UNSUPPORTED and self._parameters:
                        self._parameters = {}
                        continue
                    if (error.code != 429 and error.code < 500) or attempt == MAX_ATTEMPTS:
                        raise InputError(self._explain(error)) from None
                    asked = _read_retry_after(error.headers.get("Retry-After"))
                if asked > MAX_DELAY:
                    raise InputError(
                        f"the server {self.host} asks to wait for {asked:,.0f} seconds; try again later"
                    ) from None
                self.wait(max(asked, delay))
            except (URLError, OSError) as error:
                reason = error.reason if isinstance(error, URLError) else error
                is_timeout = isinstance(reason, TimeoutError)
                if not (is_timeout or isinstance(reason, ConnectionResetError)) or attempt == MAX_ATTEMPTS:
                    what = f"did not answer within {self.timeout:g} seconds" if is_timeout else "cannot be reached"
                    why = "" if is_timeout else f": {self._redact(str(getattr(reason, 'strerror', None) or reason))}"
                    raise InputError(f"the server {self.host} {what}{why}") from None
                self.wait(delay)
            delay = min(2 * delay, MAX_DELAY)
        raise InputError(f"the server {self.host} refused the request")

    def _post(self, prompt: str) -> str:
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}], "stream": False}
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "rstc"}
        if self.sends_key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = Request(self._endpoint, json.dumps({**body, **self._parameters}).encode(), headers, method="POST")
        with self._open().open(request, timeout=self.timeout) as response:
            content = response.read(MAX_RESPONSE_BYTES)
        try:
            answer = json.loads(content)["choices"][0]["message"]["content"]
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            raise InputError(f"{self._endpoint} answered with something that is no chat completion") from None
        return answer if isinstance(answer, str) else ""

    def _open(self) -> OpenerDirector:
        # A proxy of the environment would get the texts that are meant for this machine.
        return build_opener(_NoRedirect, *([ProxyHandler({})] if self.is_local else []))

    def _explain(self, error: HTTPError) -> str:
        """Return in one sentence why the server refused a request."""
        if error.code in (401, 403):
            if self.sends_key:
                return f"the server {self.host} refused the key in {self.key_variable} ({error.code})"
            if self.key is not None:
                return (
                    f"the server {self.host} needs a key ({error.code}), which is not sent over http to another "
                    "machine unless --send-key-unencrypted is given"
                )
            return f"the server {self.host} needs a key ({error.code}); put it in the variable {self.key_variable}"
        if 300 <= error.code < 400:
            return f"the server {self.host} redirects to another address ({error.code}); give that address"
        message = _read_message(error.read(MAX_RESPONSE_BYTES))
        return f"the server {self.host} answered {error.code}{': ' if message else ''}{self._redact(message)}"

    def _redact(self, message: str) -> str:
        return message.replace(self.key, "***") if self.key else message


class _NoRedirect(HTTPRedirectHandler):
    """Raises HTTPError for a redirect, which would take texts and key to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Return no request to follow."""
        return


def _split_url(url: str) -> Any:
    """Return the parts of an address, or raise InputError."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that is no number
    except ValueError:
        raise InputError(f"url={url!r} is not an address") from None
    if "@" in parts.netloc:
        raise InputError(
            "the address must not hold a password; put the key in a variable and name it by --key-variable"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise InputError(f"url={url!r} is not an address such as http://localhost:11434/v1")
    return parts


def _read_retry_after(value: str | None) -> float:
    """Return the seconds of a Retry-After header, which holds seconds or a date; 0 if there is none.

    >>> _read_retry_after("7"), _read_retry_after(None), _read_retry_after("Thu, 01 Jan 1970 00:00:00 GMT")
    (7.0, 0.0, 0.0)
    """
    if not value:
        return 0.0
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _read_message(content: bytes) -> str:
    """Return the message in the body of an error, on one line and cut."""
    try:
        error = json.loads(content)["error"]
        message = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    printable = "".join(character if character.isprintable() else " " for character in message.replace("\n", " "))
    return " ".join(printable.split())[:200]
