"""The server of `rstc explore`: requests over loopback, from its own page and from elsewhere."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rstc import InputError
from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.name_clusters import rename_clusters
from rstc.pipelines.server import ExploreServer
from rstc.results.edits import read_log


@pytest.fixture
def server(run_folder: Path) -> Iterator[ExploreServer]:
    with ExploreServer(EditSession(run_folder)) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def send(
    server: ExploreServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    try:
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, data, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response.status, response.read().decode(), response.headers
    finally:
        connection.close()


def post_edit(server: ExploreServer, body: Any) -> tuple[int, dict[str, Any]]:
    status, content, _ = send(server, "POST", f"/{server.token}/edits", body, X_Token=server.token)
    return status, json.loads(content)


def test_page_is_served_at_the_address_with_the_token(server: ExploreServer) -> None:
    status, html, headers = send(server, "GET", f"/{server.token}/")
    assert status == 200
    assert server.token in html
    assert "connect-src 'self'" in html
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


def test_corrections_are_made_saved_and_undone(server: ExploreServer, run_folder: Path) -> None:
    status, content = post_edit(server, {"do": "merge", "cluster": 1, "into": 0})
    assert (status, content["edits"]) == (200, 1)
    assert [cluster["id"] for cluster in content["clusters"]] == [0, 2, 3]
    assert all(cluster == 0 for _, cluster in content["rows"])
    name = content["clusters"][0]["name"]
    assert read_log(run_folder).edits == ({"do": "merge", "cluster": 1, "into": 0, "name": name},)
    status, content = post_edit(server, {"do": "noise", "rows": [5]})
    assert [5, None] in content["rows"]
    post_edit(server, {"do": "undo"})
    status, content = post_edit(server, {"do": "undo"})
    assert (content["rows"], content["edits"]) == ([], 0)
    assert read_log(run_folder).edits == ()


def test_split_separates_two_merged_clusters_again(server: ExploreServer, run_folder: Path) -> None:
    _, merged = post_edit(server, {"do": "merge", "cluster": 3, "into": 2})  # recipes into refunds
    expected = {row for row, _ in merged["rows"]}
    status, content = post_edit(server, {"do": "split", "cluster": 2})
    assert status == 200
    split_off = set(read_log(run_folder).edits[1]["rows"])
    new = content["clusters"][-1]
    assert new["id"] == 4
    assert new["name"].split(", ")[0] == new["keywords"][0]
    assert len(split_off & expected) >= 0.8 * len(split_off | expected), "the two merged clusters are separated again"


def test_new_session_shows_saved_corrections(server: ExploreServer, run_folder: Path) -> None:
    post_edit(server, {"do": "rename", "cluster": 0, "name": "parcels"})
    state = EditSession(run_folder).state()
    assert state["edits"] == 1
    assert state["clusters"][0]["name"] == "parcels"


def test_invalid_correction_is_refused_and_changes_nothing(server: ExploreServer, run_folder: Path) -> None:
    for body in (
        {"do": "merge", "cluster": 0, "into": 99},
        {"do": "undo"},
        {},
        [],
        "no json",
        {"do": "split", "cluster": 9},
    ):
        status, content = post_edit(server, body)
        assert status == 400, body
        assert content["problem"]
    assert read_log(run_folder).edits == ()


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", "/wrong/edits", "/../../etc/passwd", "//edits", "/{token}/../summary.json"]
)
def test_other_paths_are_not_found(path: str, server: ExploreServer) -> None:
    status, content, _ = send(server, "GET", path.replace("{token}", server.token), X_Token=server.token)
    assert status == 404
    assert server.token not in content


def test_correction_without_the_token_header_is_refused(server: ExploreServer, run_folder: Path) -> None:
    body = {"do": "merge", "cluster": 1, "into": 0}
    for headers in ({}, {"X_Token": "wrong"}, {"X_Token": "ünknown".encode().decode("latin-1")}):
        assert send(server, "POST", f"/{server.token}/edits", body, **headers)[0] == 404
    assert send(server, "POST", "/wrong/edits", body, X_Token=server.token)[0] == 404
    assert read_log(run_folder).edits == ()


def test_foreign_host_header_is_refused(server: ExploreServer) -> None:
    port = server.server_address[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1"):
        assert send(server, "GET", f"/{server.token}/", Host=host)[0] == 404
    assert send(server, "GET", f"/{server.token}/", Host=f"localhost:{port}")[0] == 200


def test_foreign_origin_is_refused(server: ExploreServer, run_folder: Path) -> None:
    port, body = server.server_address[1], {"do": "merge", "cluster": 1, "into": 0}
    for origin in ("https://evil.example", f"http://evil.example:{port}", "null", f"https://127.0.0.1:{port}"):
        request_headers = {"X_Token": server.token, "Origin": origin}
        assert send(server, "POST", f"/{server.token}/edits", body, **request_headers)[0] == 404
        status, _, headers = send(server, "OPTIONS", f"/{server.token}/edits", **request_headers)
        assert status >= 400, "a preflight request gets no permission"
        assert not any(name.lower().startswith("access-control") for name in dict(headers))
    assert read_log(run_folder).edits == ()
    own = {"X_Token": server.token, "Origin": f"http://127.0.0.1:{port}"}
    assert send(server, "POST", f"/{server.token}/edits", body, **own)[0] == 200


def test_wildcard_host_is_refused(run_folder: Path) -> None:
    with pytest.raises(InputError, match="means every address"):
        ExploreServer(EditSession(run_folder), "0.0.0.0")


def test_correction_that_cannot_be_saved_is_not_shown(server: ExploreServer, run_folder: Path) -> None:
    (run_folder / "edits.json").mkdir()  # the log cannot be written
    assert post_edit(server, {"do": "rename", "cluster": 0, "name": "lost"})[0] == 400
    (run_folder / "edits.json").rmdir()
    assert server.session.state()["edits"] == 0


def test_corrections_of_another_process_are_not_overwritten(server: ExploreServer, run_folder: Path) -> None:
    rename_clusters(run_folder, lambda cluster: f"name {cluster['cluster']}")
    status, content = post_edit(server, {"do": "rename", "cluster": 0, "name": "mine"})
    assert (status, "another process" in content["problem"]) == (400, True)
    assert len(read_log(run_folder).edits) == 4
    state = server.session.state()  # as the page requests it on reload
    assert (state["edits"], state["clusters"][0]["name"]) == (4, "name 0")
    assert post_edit(server, {"do": "rename", "cluster": 0, "name": "mine"})[0] == 200


def test_too_large_request_is_refused_before_it_is_read(server: ExploreServer) -> None:
    length = {"Content_Length": str(10**12)}
    status, content, _ = send(server, "POST", f"/{server.token}/edits", "{}", X_Token=server.token, **length)
    assert (status, "too large" in content) == (413, True)


def test_closing_writes_the_corrections_to_the_report(server: ExploreServer, run_folder: Path) -> None:
    post_edit(server, {"do": "rename", "cluster": 0, "name": "a name of mine"})
    server.session.close()
    assert "a name of mine" in (run_folder / "report.html").read_text(encoding="utf-8")
