"""The server of corrections: real requests over loopback, those of its page and those of others."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rstc import InputError
from rstc.pipelines.server import Exploration, ExploreServer
from rstc.pipelines.name_clusters import rename_clusters
from rstc.results.edits import read_log


@pytest.fixture
def server(run_folder: Path) -> Iterator[ExploreServer]:
    with ExploreServer(Exploration(run_folder)) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield serving
        serving.shutdown()
        thread.join()


def ask(
    server: ExploreServer, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, str, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    try:
        sent = body if body is None or isinstance(body, str) else json.dumps(body)
        connection.request(method, path, sent, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        connection.close()


def edit(server: ExploreServer, body: Any) -> tuple[int, dict[str, Any]]:
    status, said, _ = ask(server, "POST", f"/{server.token}/edits", body, X_Token=server.token)
    return status, json.loads(said)


def test_the_page_is_at_the_address_with_the_token(server: ExploreServer) -> None:
    status, html, headers = ask(server, "GET", f"/{server.token}/")
    assert status == 200
    assert server.token in html
    assert "connect-src 'self'" in html
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


def test_corrections_are_made_kept_and_undone(server: ExploreServer, run_folder: Path) -> None:
    status, said = edit(server, {"do": "merge", "cluster": 1, "into": 0})
    assert (status, said["edits"]) == (200, 1)
    assert [one["id"] for one in said["clusters"]] == [0, 2, 3]
    assert all(cluster == 0 for _, cluster in said["rows"])
    assert read_log(run_folder).edits == ({"do": "merge", "cluster": 1, "into": 0},)
    status, said = edit(server, {"do": "noise", "rows": [5]})
    assert [5, None] in said["rows"]
    edit(server, {"do": "undo"})
    status, said = edit(server, {"do": "undo"})
    assert (said["rows"], said["edits"]) == ([], 0)
    assert read_log(run_folder).edits == ()


def test_a_cluster_is_split_in_two_that_differ(server: ExploreServer, run_folder: Path) -> None:
    _, merged = edit(server, {"do": "merge", "cluster": 3, "into": 2})  # recipes into refunds
    expected = {row for row, _ in merged["rows"]}
    status, said = edit(server, {"do": "split", "cluster": 2})
    assert status == 200
    gone = set(read_log(run_folder).edits[1]["rows"])
    new = said["clusters"][-1]
    assert new["id"] == 4
    assert new["name"] == ", ".join(new["keywords"][:3])
    assert len(gone & expected) >= 0.8 * len(gone | expected), "the two that were merged come apart again"


def test_corrections_are_there_when_the_server_starts_again(server: ExploreServer, run_folder: Path) -> None:
    edit(server, {"do": "rename", "cluster": 0, "name": "parcels"})
    again = Exploration(run_folder).state()
    assert again["edits"] == 1
    assert again["clusters"][0]["name"] == "parcels"


def test_a_mistake_is_told_and_changes_nothing(server: ExploreServer, run_folder: Path) -> None:
    for body in (
        {"do": "merge", "cluster": 0, "into": 99},
        {"do": "undo"},
        {},
        [],
        "no json",
        {"do": "split", "cluster": 9},
    ):
        status, said = edit(server, body)
        assert status == 400, body
        assert said["problem"]
    assert read_log(run_folder).edits == ()


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", "/wrong/edits", "/../../etc/passwd", "//edits", "/{token}/../summary.json"]
)
def test_other_addresses_lead_nowhere(path: str, server: ExploreServer) -> None:
    status, said, _ = ask(server, "GET", path.replace("{token}", server.token), X_Token=server.token)
    assert status == 404
    assert server.token not in said


def test_a_correction_needs_the_token_in_a_header(server: ExploreServer, run_folder: Path) -> None:
    body = {"do": "merge", "cluster": 1, "into": 0}
    for headers in ({}, {"X_Token": "wrong"}, {"X_Token": "ünknown".encode().decode("latin-1")}):
        assert ask(server, "POST", f"/{server.token}/edits", body, **headers)[0] == 404
    assert ask(server, "POST", "/wrong/edits", body, X_Token=server.token)[0] == 404
    assert read_log(run_folder).edits == ()


def test_another_name_for_this_machine_is_refused(server: ExploreServer) -> None:
    port = server.server_address[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1"):
        assert ask(server, "GET", f"/{server.token}/", Host=host)[0] == 404
    assert ask(server, "GET", f"/{server.token}/", Host=f"localhost:{port}")[0] == 200


def test_a_page_of_another_site_is_refused(server: ExploreServer, run_folder: Path) -> None:
    port, body = server.server_address[1], {"do": "merge", "cluster": 1, "into": 0}
    for origin in ("https://evil.example", f"http://evil.example:{port}", "null", f"https://127.0.0.1:{port}"):
        asked = {"X_Token": server.token, "Origin": origin}
        assert ask(server, "POST", f"/{server.token}/edits", body, **asked)[0] == 404
        status, _, headers = ask(server, "OPTIONS", f"/{server.token}/edits", **asked)
        assert status >= 400, "a browser that asks first is not encouraged"
        assert not any(name.lower().startswith("access-control") for name in dict(headers))
    assert read_log(run_folder).edits == ()
    own = {"X_Token": server.token, "Origin": f"http://127.0.0.1:{port}"}
    assert ask(server, "POST", f"/{server.token}/edits", body, **own)[0] == 200


def test_an_address_that_means_all_of_them_is_refused(run_folder: Path) -> None:
    with pytest.raises(InputError, match="no address to ask for"):
        ExploreServer(Exploration(run_folder), "0.0.0.0")


def test_what_cannot_be_kept_is_not_shown_as_made(server: ExploreServer, run_folder: Path) -> None:
    (run_folder / "edits.json").mkdir()  # where the log should go
    assert edit(server, {"do": "rename", "cluster": 0, "name": "lost"})[0] == 400
    (run_folder / "edits.json").rmdir()
    assert server.exploration.state()["edits"] == 0


def test_corrections_made_elsewhere_are_not_overwritten(server: ExploreServer, run_folder: Path) -> None:
    rename_clusters(run_folder, lambda one: f"name {one['cluster']}")
    status, said = edit(server, {"do": "rename", "cluster": 0, "name": "mine"})
    assert (status, "somebody else" in said["problem"]) == (400, True)
    assert len(read_log(run_folder).edits) == 4
    state = server.exploration.state()  # as a reload asks for it
    assert (state["edits"], state["clusters"][0]["name"]) == (4, "name 0")
    assert edit(server, {"do": "rename", "cluster": 0, "name": "mine"})[0] == 200


def test_a_request_that_is_too_large_is_refused_before_it_is_read(server: ExploreServer) -> None:
    length = {"Content_Length": str(10**12)}
    status, said, _ = ask(server, "POST", f"/{server.token}/edits", "{}", X_Token=server.token, **length)
    assert (status, "too large" in said) == (413, True)


def test_the_page_as_a_file_shows_the_corrections_afterwards(server: ExploreServer, run_folder: Path) -> None:
    edit(server, {"do": "rename", "cluster": 0, "name": "a name of mine"})
    server.exploration.close()
    assert "a name of mine" in (run_folder / "report.html").read_text(encoding="utf-8")
