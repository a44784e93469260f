"""The HTTP interface: what it predicts, what it refuses, and what it says of itself."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from rstc import InputError
from rstc.pipelines.predict import predict_file
from rstc.service.openapi import build_document
from rstc.service.options import ServiceOptions, read_token
from running_service import TOKEN, Service, run_service

LIMITS = ("--max-texts", "20", "--max-chars", "2000", "--max-body", "30000", "--client-seconds", "2")


@pytest.fixture(scope="module")
def service(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with run_service(exported, tmp_path_factory.mktemp("rest"), "--workers", "2", *LIMITS) as service:
        yield service


@pytest.fixture(scope="module")
def labelled(
    exported: Path, texts_and_topics: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory
) -> pd.DataFrame:
    """Predict a file by the command's pipeline."""
    folder = tmp_path_factory.mktemp("predicted")
    texts = [*texts_and_topics[0], "soup refund parcel", "xyz"]
    pd.DataFrame({"text": texts}).to_csv(folder / "texts.csv", index=False)
    predict_file(exported, str(folder / "texts.csv"), folder / "out.csv")
    return pd.read_csv(folder / "out.csv")


def to_rows(labelled: pd.DataFrame) -> list[dict[str, object]]:
    names = ["cluster", "cluster_name", "confidence", "confidence_level"]
    rows = labelled[names].rename(columns={"cluster_name": "name"}).to_dict("records")
    return [{**row, "outlier": False} for row in rows]


def test_it_predicts_what_rstc_predict_writes(service: Service, labelled: pd.DataFrame) -> None:
    texts, expected = labelled["text"].tolist(), to_rows(labelled)
    for size in (1, 3, 20):
        for start in range(0, 40, size):
            answer = service.predict(texts[start : start + size])
            assert (answer.status, answer.content["predictions"]) == (200, expected[start : start + size])


def test_requests_of_many_clients_at_once_get_their_own_predictions(service: Service, labelled: pd.DataFrame) -> None:
    texts, expected = labelled["text"].tolist(), to_rows(labelled)
    with ThreadPoolExecutor(16) as clients:
        answers = list(clients.map(lambda row: service.predict(texts[row : row + 2]), range(0, 100)))
    assert [answer.status for answer in answers] == [200] * 100
    assert [answer.content["predictions"] for answer in answers] == [expected[row : row + 2] for row in range(100)]


def test_rows_without_a_text_have_no_cluster(service: Service) -> None:
    answer = service.predict([None, " ", "late parcel"])
    empty = {"cluster": None, "name": None, "confidence": None, "confidence_level": None, "outlier": False}
    assert answer.content["predictions"][:2] == [empty, empty]
    assert answer.content["predictions"][2]["cluster"] is not None
    assert service.predict([]).content["predictions"] == []


def test_clusters_and_model_are_described(service: Service, exported: Path) -> None:
    model = service.send("GET", "/v1/model").content
    assert (model["kind"], model["n_clusters"]) == ("onnx", 4)
    assert str(exported) not in str(model)
    clusters = service.send("GET", "/v1/clusters").content
    assert clusters["model"] == model["checksum"]
    assert [entry["cluster"] for entry in clusters["clusters"]] == [0, 1, 2, 3]
    assert sum(entry["share"] for entry in clusters["clusters"]) == pytest.approx(1, abs=1e-4)
    assert service.send("GET", "/health/live").content == {"status": "live"}
    assert service.send("GET", "/health/ready").content["status"] == "ready"


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("{", 400, "not JSON"),
        ("[" * 10_000, 400, "not JSON"),
        ('{"texts": "late"}', 422, "list of strings"),
        ('{"texts": [1]}', 422, "list of strings"),
        ("[]", 422, "list of strings"),
        ('{"texts": [], "more": 1}', 422, "no entry but"),
        ({"texts": ["a"] * 21}, 422, "at most 20 texts"),
        ({"texts": ["a" * 2001]}, 422, "at most 2000 characters"),
        ("x" * 30_001, 413, "at most 30000 bytes"),
    ],
)
def test_wrong_bodies_are_refused(service: Service, body: object, status: int, message: str) -> None:
    answer = service.send("POST", "/v1/predict", body)
    assert (answer.status, message in answer.content["error"]) == (status, True)


def test_other_requests_are_refused(service: Service) -> None:
    assert service.send("GET", "/v1/nothing").status == 404
    assert service.send("GET", "/v1/predict").status == 405
    assert service.send("POST", "/v1/predict", "{}", {"Content-Type": "text/plain"}).status == 415
    assert service.send("GET", "/v1/model", headers={"Host": "evil.example"}).status == 403
    assert service.send("POST", "/v1/predict", "{}", {"Origin": "http://evil.example"}).status == 403
    answer = service.predict(["late"])
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_chunked_body_that_is_too_long_is_refused(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as client:
        head = "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        client.sendall((head + "Transfer-Encoding: chunked\r\n\r\n").encode())
        client.sendall((f"{20_000:x}\r\n" + "x" * 20_000 + "\r\n").encode() * 2)
        assert client.recv(1000).startswith(b"HTTP/1.1 413")


def test_metrics_count_what_happened(service: Service) -> None:
    texts, refused = service.metric("rstc_texts_total"), service.metric('rstc_rejected_total{reason="json"}')
    requests = service.metric('rstc_requests_total{path="/v1/predict"')
    service.predict(["late", "parcel"])
    service.send("POST", "/v1/predict", "{")
    assert service.metric("rstc_texts_total") == texts + 2
    assert service.metric('rstc_rejected_total{reason="json"}') == refused + 1
    assert service.metric('rstc_requests_total{path="/v1/predict"') == requests + 2
    assert service.metric("rstc_resident_memory_bytes") > 10e6
    checksum = service.send("GET", "/v1/model").content["checksum"]
    assert service.metric(f'rstc_model_info{{checksum="{checksum}"') == 2  # a worker each


def test_no_text_is_logged(service: Service) -> None:
    service.predict(["my secret is 12345"])
    service.send("POST", "/v1/predict", '{"texts": ["my secret is 12345", 1]}')
    assert "secret" not in service.log.read_text()


def test_the_document_has_the_limits(service: Service) -> None:
    document = service.send("GET", "/openapi.json").content
    assert set(document["paths"]) > {"/v1/predict", "/v1/clusters", "/v1/model", "/metrics"}
    schema = document["paths"]["/v1/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["texts"]["maxItems"] == 20
    assert schema["properties"]["texts"]["items"]["maxLength"] == 2000
    secured = build_document(ServiceOptions(Path("run"), "0.0.0.0", TOKEN))
    assert secured["security"] == [{"token": []}]


def test_a_token_is_needed_where_there_is_one(exported: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    with run_service(exported, tmp_path, "--token-file", str(tmp_path / "token")) as service:
        assert service.predict(["late"]).status == 401
        assert service.predict(["late"], Authorization="Bearer wrong").status == 401
        assert service.send("GET", "/metrics").status == 401
        assert service.send("GET", "/health/ready").status == 200
        assert service.predict(["late"], Authorization=f"Bearer {TOKEN}").status == 200
        command_line = Path(f"/proc/{service.process.pid}/cmdline").read_bytes()
        assert TOKEN.encode() not in command_line + service.log.read_bytes()


def test_a_token_is_read_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_token(None) is None
    monkeypatch.setenv("RSTC_TOKEN", TOKEN)
    assert read_token(None) == TOKEN
    (tmp_path / "short").write_text("short")
    with pytest.raises(InputError, match="at least 16"):
        read_token(tmp_path / "short")
    with pytest.raises(InputError, match="cannot be read"):
        read_token(tmp_path / "none")
    with pytest.raises(InputError, match="needs a token"):
        ServiceOptions(tmp_path, "0.0.0.0")


def test_a_slow_head_ends_the_connection(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=40) as client:
        client.sendall(b"POST /v1/predict HTTP/1.1\r\nHost: 127")
        begin = time.monotonic()
        assert client.recv(100) == b""
        assert 1 < time.monotonic() - begin < 35


def test_a_slow_body_is_answered_by_a_timeout(service: Service) -> None:
    with socket.create_connection(("127.0.0.1", service.port), timeout=40) as client:
        head = "POST /v1/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        client.sendall((head + "Content-Length: 100\r\n\r\n{").encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 408")
