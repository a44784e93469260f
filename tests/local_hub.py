"""A stand-in of the model hub: the requests that its client sends to upload and to download a model, kept in memory."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

FORBIDDEN = "somebody/forbidden"  # a repository that takes no commits


class LocalHub:
    """What the hub holds, and what it was asked.

    Attributes
    ----------
    files : dict
        The content of each file, by repository and path.
    created : list of dict
        The requests to create a repository.
    commits : list of tuple
        The repository and the operations of each commit.
    tokens : set of str
        The values of the header that authorizes.
    address : str
        Where it listens.
    """

    def __init__(self) -> None:
        self.files: dict[str, dict[str, bytes]] = {}
        self.created: list[dict[str, Any]] = []
        self.commits: list[tuple[str, list[dict[str, Any]]]] = []
        self.blobs: dict[str, bytes] = {}
        self.tokens: set[str | None] = set()
        self.address = ""

    def find_commit(self) -> str:
        """Return the name of the latest commit."""
        return f"{len(self.commits):040x}"

    def commit(self, repo: str, lines: list[dict[str, Any]]) -> None:
        """Carry out the operations of a commit."""
        files, operations = self.files[repo], [line for line in lines if line["key"] != "header"]
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                files[value["path"]] = self.blobs[value["oid"]]
            elif operation["key"] == "deletedFile":
                del files[value["path"]]
            else:
                raise ValueError(operation["key"])
        self.commits.append((repo, operations))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: LocalHub

    def log_message(self, *_: Any) -> None:
        """Write nothing to standard error."""

    def read(self) -> bytes:
        self.hub.tokens.add(self.headers.get("Authorization"))
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, content: Any = None, status: int = 200, headers: dict[str, str] | None = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self) -> None:
        body, path, hub = self.read(), urlsplit(self.path).path, self.hub
        if path == "/api/repos/create":
            request = json.loads(body)
            repo = f"{request['organization']}/{request['name']}"
            if repo in hub.files:
                return self.answer({"error": "exists", "url": f"{hub.address}/{repo}"}, 409)
            hub.created.append(request)
            hub.files[repo] = {".gitattributes": b"*.safetensors filter=lfs\n"}
            return self.answer({"url": f"{hub.address}/{repo}", "name": repo})
        if path == "/api/validate-yaml":
            return self.answer({"warnings": [], "errors": []})
        if found := re.fullmatch(r"/api/models/(.+)/preupload/main", path):
            files = json.loads(body)["files"]
            return self.answer(
                {
                    "files": [
                        {
                            "path": file["path"],
                            "uploadMode": "lfs" if file["path"].endswith(".safetensors") else "regular",
                            "shouldIgnore": False,
                        }
                        for file in files
                    ]
                }
            )
        if re.fullmatch(r"/(.+)\.git/info/lfs/objects/batch", path):
            objects = [
                {**one, "actions": {"upload": {"href": f"{hub.address}/blobs/{one['oid']}"}}}
                for one in json.loads(body)["objects"]
            ]
            return self.answer({"transfer": "basic", "objects": objects})
        if found := re.fullmatch(r"/api/models/(.+)/commit/main", path):
            if found[1] == FORBIDDEN:
                return self.answer({"error": "You have no right to write here"}, 403)
            hub.commit(found[1], [json.loads(line) for line in body.splitlines()])
            address = f"{hub.address}/{found[1]}/commit/{hub.find_commit()}"
            return self.answer({"commitUrl": address, "commitOid": hub.find_commit(), "pullRequestUrl": None})
        return self.answer({"error": path}, 404)

    def do_PUT(self) -> None:
        content, oid = self.read(), self.path.rpartition("/")[2]
        assert hashlib.sha256(content).hexdigest() == oid
        self.hub.blobs[oid] = content
        self.answer()

    def do_GET(self) -> None:
        self.read()
        path, hub = unquote(urlsplit(self.path).path), self.hub
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)(?:/revision/[^/]+)?", path):
            names = [{"rfilename": name} for name in sorted(hub.files.get(found[1], ()))]
            if found[1] in hub.files:
                return self.answer({"id": found[1], "sha": hub.find_commit(), "siblings": names, "private": True})
        if found := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+", path):
            return self.answer(
                [
                    {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                    for name, content in sorted(hub.files.get(found[1], {}).items())
                ]
            )
        if found := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            content = hub.files.get(found[1], {}).get(found[2])
            if content is not None:
                tag = hashlib.sha256(content).hexdigest()
                headers = {"X-Repo-Commit": hub.find_commit(), "ETag": f'"{tag}"', "Content-Type": "text/plain"}
                return self.answer(content, headers=headers)
        return self.answer({"error": "not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    def do_HEAD(self) -> None:
        self.do_GET()


@contextmanager
def run_local_hub() -> Iterator[LocalHub]:
    """Run a hub on a free port of this machine."""
    hub = LocalHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
