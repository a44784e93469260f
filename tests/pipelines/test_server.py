"""The server of `rstc explore`: requests over loopback, from its own page and from elsewhere."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rstc import InputError
from rstc.pipelines.edit_session import EditSession
from rstc.pipelines.name_clusters import rename_clusters
from rstc.pipelines.server import ExploreServer
from rstc.results.edits import read_log
from rstc.results.points import read_embeddings, read_points
from rstc.results.run_files import TEXT_EMBEDDINGS
from rstc.results.run_folder import read_summary, write_summary


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


def test_split_of_a_run_without_embeddings_asks_the_model(server: ExploreServer, run_folder: Path) -> None:
    (run_folder / TEXT_EMBEDDINGS).unlink()  # as in runs of earlier versions
    status, content = post_edit(server, {"do": "split", "cluster": 0})
    assert (status, content["edits"]) == (200, 1)


def test_halves_of_a_split_have_typical_texts_of_their_own(server: ExploreServer, run_folder: Path) -> None:
    post_edit(server, {"do": "merge", "cluster": 3, "into": 2})
    _, content = post_edit(server, {"do": "split", "cluster": 2})
    points, E = read_points(run_folder), read_embeddings(run_folder, 120)
    assert E is not None
    clusters = server.session.run.clusters
    for cluster in (2, 4):
        typical = next(entry["typical"] for entry in content["clusters"] if entry["id"] == cluster)
        members = np.flatnonzero(clusters == cluster)
        similarity = E[members].astype(np.float32) @ E[members].astype(np.float32).mean(0)
        assert set(typical) <= set(members.tolist())
        assert points.texts[typical[0]] == points.texts[members[similarity.argmax()]]
        assert len({points.texts[row] for row in typical}) == len(typical) == 5


def test_identical_texts_cannot_be_split(run_folder: Path) -> None:
    E = read_embeddings(run_folder, 120)
    np.save(run_folder / TEXT_EMBEDDINGS, np.ones_like(E))
    write_summary(run_folder, read_summary(run_folder))  # with their checksum
    with pytest.raises(InputError, match="all have the same embedding"):
        EditSession(run_folder).correct({"do": "split", "cluster": 0})


def test_embeddings_of_other_texts_are_not_used(run_folder: Path) -> None:
    E = read_embeddings(run_folder, 120)
    assert E is not None
    np.save(run_folder / TEXT_EMBEDDINGS, E[1:])
    assert read_embeddings(run_folder, 120) is None
    (run_folder / TEXT_EMBEDDINGS).write_bytes(b"damaged")
    assert read_embeddings(run_folder, 120) is None


def get_progress(server: ExploreServer) -> dict[str, Any]:
    status, content, _ = send(server, "GET", f"/{server.token}/apply", X_Token=server.token)
    assert status == 200
    return dict(json.loads(content))


def post_apply(server: ExploreServer) -> tuple[int, dict[str, Any]]:
    status, content, _ = send(server, "POST", f"/{server.token}/apply", {}, X_Token=server.token)
    return status, json.loads(content)


def wait_until_applied(server: ExploreServer) -> dict[str, Any]:
    deadline = time.monotonic() + 60
    while (progress := get_progress(server))["status"] == "running" and time.monotonic() < deadline:
        time.sleep(0.05)
    return progress


def test_corrections_are_applied_and_none_is_made_meanwhile(server: ExploreServer, run_folder: Path) -> None:
    assert get_progress(server)["status"] == "idle"
    post_edit(server, {"do": "merge", "cluster": 1, "into": 0})
    status, content = post_apply(server)
    assert (status, content["status"]) == (202, "running")
    status, content = post_edit(server, {"do": "rename", "cluster": 0, "name": "too early"})
    assert (status, "being applied" in content["problem"]) == (400, True)
    assert post_apply(server)[0] == 400, "once is enough"
    progress = wait_until_applied(server)
    assert progress["status"] == "done", progress
    assert progress["message"] == "1 correction applied: clusters.csv, the model and report.html have 3 clusters"
    assert set(pd.read_csv(run_folder / "clusters.csv")["cluster"]) == {0, 2, 3}
    assert post_edit(server, {"do": "rename", "cluster": 0, "name": "now"})[0] == 200


def test_applied_corrections_can_be_undone_and_applied_again(server: ExploreServer, run_folder: Path) -> None:
    post_edit(server, {"do": "merge", "cluster": 1, "into": 0})
    post_apply(server)
    wait_until_applied(server)
    _, content = post_edit(server, {"do": "undo"})
    assert (content["edits"], content["can_apply"]) == (0, True)
    post_apply(server)
    assert wait_until_applied(server)["status"] == "done"
    assert set(pd.read_csv(run_folder / "clusters.csv")["cluster"]) == {0, 1, 2, 3}


def test_problem_of_applying_is_told_in_one_sentence(server: ExploreServer, run_folder: Path) -> None:
    status, content = post_apply(server)
    assert (status, content["problem"]) == (400, "there is no correction to apply")
    post_edit(server, {"do": "merge", "cluster": 1, "into": 0})
    (run_folder / "clusters.csv").rename(run_folder / "sorted.csv")
    post_apply(server)
    progress = wait_until_applied(server)
    assert progress["status"] == "failed"
    assert "clusters.csv" in progress["message"]
    (run_folder / "sorted.csv").rename(run_folder / "clusters.csv")
    assert post_apply(server)[0] == 202
    assert wait_until_applied(server)["status"] == "done"


def send_raw(server: ExploreServer, request: bytes, *, reset: bool = False) -> bytes:
    """Send bytes and return the answer; with `reset`, close the connection at once, as a closed tab does."""
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=10) as connection:
        connection.sendall(request)
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return b""
        return connection.recv(65536)


def build_request(server: ExploreServer, length: str, body: bytes = b"") -> bytes:
    head = f"POST /{server.token}/edits HTTP/1.1\r\nHost: 127.0.0.1:{server.server_address[1]}\r\n"
    return f"{head}X-Token: {server.token}\r\nContent-Length: {length}\r\n\r\n".encode("latin-1") + body


@pytest.mark.parametrize(("length", "status"), [("\u00b2", 400), ("-1", 400), ("", 400), ("9" * 5000, 413)])
def test_length_that_is_no_number_or_too_large_is_refused(
    length: str, status: int, server: ExploreServer, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = send_raw(server, build_request(server, length, b"{}"))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert capfd.readouterr().err == ""


def test_closed_tab_leaves_no_traceback(
    server: ExploreServer, run_folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    body = json.dumps({"do": "rename", "cluster": 0, "name": "saved all the same"}).encode()
    send_raw(server, build_request(server, str(len(body)), body), reset=True)
    send_raw(server, build_request(server, "100", b"{"), reset=True)
    deadline = time.monotonic() + 10
    while not (read_log(run_folder).edits and threading.active_count() <= 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert capfd.readouterr().err == ""


def test_other_errors_of_a_request_are_shown(server: ExploreServer, caplog: pytest.LogCaptureFixture) -> None:
    server.session.run = None  # type: ignore[assignment]
    with pytest.raises((http.client.HTTPException, OSError)):
        post_edit(server, {"do": "undo"})
    assert "AttributeError" in caplog.text
