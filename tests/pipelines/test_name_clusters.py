"""Names from functions, commands and a language model behind an address: what is sent, stored, cached and refused."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rstc.cli.app import app
from rstc.errors import InputError
from rstc.pipelines.name_clusters import name_by_prompts, plan_naming, rename_clusters
from rstc.pipelines.namers.answers import NameAnswer, read_answer
from rstc.pipelines.namers.cache import AnswerCache
from rstc.pipelines.namers.chat import ChatNamer
from rstc.pipelines.namers.command import CommandNamer
from rstc.pipelines.namers.prompt import cut_text, write_prompt
from rstc.report.html.content import build_cluster_content
from rstc.results.corrected_run import CorrectedRun
from rstc.results.edits import EditLog, read_log
from rstc.results.run_files import NAME_ANSWERS

KEY = "sk-secret-0123456789"
Answer = tuple[int, dict[str, str], str]  # status, headers, content of the message or body of the error


@dataclass
class FakeServer:
    """A chat server that records requests and answers as it is told."""

    respond: Callable[[int, dict[str, Any]], Answer]
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][0]["content"] for _, _, body in self.requests]


def name_by_first_keyword(n: int, body: dict[str, Any]) -> Answer:
    keyword = body["messages"][0]["content"].split("Keywords: ")[1].split(",")[0].split("\n")[0]
    return 200, {}, json.dumps({"name": f"About {keyword}", "description": f"Texts on {keyword}."})


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer(name_by_first_keyword)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.requests.append((self.path, dict(self.headers), body))
            status, headers, content = fake.respond(len(fake.requests), body)
            payload = (
                {"choices": [{"message": {"content": content}}]} if status == 200 else {"error": {"message": content}}
            )
            data = json.dumps(payload).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield fake
    http.shutdown()
    http.server_close()
    thread.join()


def chat(server: FakeServer, **settings: Any) -> ChatNamer:
    return ChatNamer(server.url, "tiny", **{"wait": lambda seconds: None, **settings})


def invoke(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def listed_texts(prompt: str) -> list[str]:
    return [line[2:] for line in prompt.splitlines() if line.startswith("- ")]


def test_function_names_the_clusters(run_folder: Path) -> None:
    run = rename_clusters(run_folder, lambda cluster: f"about {cluster['keywords'][0]}")
    assert [edit["do"] for edit in read_log(run_folder).edits] == ["rename"] * 4
    assert all(entry.name == f"about {entry.keywords[0]}" for entry in run.entries())
    assert "about " in (run_folder / "report.html").read_text(encoding="utf-8")


def test_given_name_stays_unless_clusters_are_named_again(run_folder: Path) -> None:
    run = CorrectedRun.read(run_folder)
    run.correct({"do": "rename", "cluster": 0, "name": "mine"})
    run.save(run_folder)
    assert [entry.name for entry in rename_clusters(run_folder, lambda _: "theirs").entries()].count("mine") == 1
    names = [entry.name for entry in rename_clusters(run_folder, lambda _: "new", again=True).entries()]
    assert all(name.startswith("new") for name in names)
    assert len(set(names)) == 4, "names are unique"


@pytest.mark.parametrize("answer", [{"name": "N", "description": "D."}, '{"name": "N", "description": "D."}'])
def test_a_description_is_stored_and_shown(answer: Any, run_folder: Path) -> None:
    rename_clusters(run_folder, lambda _: answer)
    run = CorrectedRun.read(run_folder)
    assert {entry.description for entry in run.entries()} == {"D."}
    assert {cluster["description"] for cluster in build_cluster_content(run)} == {"D."}
    assert run.entries()[0].to_json()["description"] == "D."
    assert "D." in invoke("names", run_folder).stdout
    run.undo()
    assert None in {entry.description for entry in run.entries()}


def test_command_names_the_clusters(run_folder: Path) -> None:
    program = "import sys; prompt = sys.stdin.read(); print(prompt.split('Keywords: ')[1].split(',')[0].upper())"
    result = name_by_prompts(plan_naming(run_folder), CommandNamer(f'{sys.executable} -c "{program}"'))
    assert [entry.name for entry in result.run.entries()] == [e.keywords[0].upper() for e in result.run.entries()]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program", "did not run"),
        (f"{sys.executable} -c 'exit(3)'", "code 3"),
        ("true", "got no name"),
        (" ", "empty"),
    ],
)
def test_failing_command_changes_nothing(command: str, message: str, run_folder: Path) -> None:
    with pytest.raises(InputError, match=message):
        name_by_prompts(plan_naming(run_folder), CommandNamer(command))
    assert read_log(run_folder) == EditLog()


def test_model_names_and_describes_every_cluster(
    run_folder: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    done = invoke("names", run_folder, "--url", server.url, "--model", "tiny", "--key-variable", "MY_KEY", "--texts", 2)
    assert done.exit_code == 0, done.output
    assert "About " in done.stdout
    assert "Texts on " in done.stdout
    assert [path for path, _, _ in server.requests] == ["/v1/chat/completions"] * 4
    assert all(headers["Authorization"] == f"Bearer {KEY}" for _, headers, _ in server.requests)
    assert all(body["model"] == "tiny" for _, _, body in server.requests)
    said = re.search(r"sending (\d+) texts and the keywords of 4 clusters to tiny at 127.0.0.1", done.stderr)
    assert said is not None, done.stderr
    sent = [text for prompt in server.prompts for text in listed_texts(prompt)]
    assert len(sent) == int(said[1]) <= 2 * 4
    everything = done.output + "".join(
        path.read_bytes().decode("utf-8", "replace") for path in run_folder.iterdir() if path.is_file()
    )
    assert KEY not in everything


def test_a_second_call_sends_nothing(run_folder: Path, server: FakeServer) -> None:
    command = ["names", run_folder, "--url", server.url, "--model", "tiny", "--again"]
    first, second = invoke(*command), invoke(*command)
    assert "4 requests sent, 0 answers from the cache" in first.stderr
    assert "0 requests sent, 4 answers from the cache" in second.stderr
    assert "sending 0 texts" in second.stderr
    assert len(server.requests) == 4
    assert first.stdout == second.stdout
    other = invoke(*command[:4], "--model", "other", "--again")
    assert "4 requests sent" in other.stderr, "another model answers otherwise"
    assert "4 requests sent" in invoke(*command, "--no-cache").stderr
    cached = json.loads((run_folder / NAME_ANSWERS).read_text(encoding="utf-8"))
    assert all(len(key) == 64 for key in cached["answers"]), "hashes, no prompts"


def test_dry_run_prints_the_prompts_and_sends_nothing(run_folder: Path, server: FakeServer) -> None:
    done = invoke("names", run_folder, "--url", server.url, "--model", "tiny", "--texts", 1, "--dry-run")
    assert done.stdout.count("Keywords: ") == 4
    assert len(listed_texts(done.stdout)) == 4
    assert "would send 4 texts" in done.stderr
    assert server.requests == []
    assert read_log(run_folder) == EditLog()


def test_no_texts_are_sent_if_none_are_wanted(run_folder: Path, server: FakeServer) -> None:
    name_by_prompts(plan_naming(run_folder, 0), chat(server))
    assert [listed_texts(prompt) for prompt in server.prompts] == [[]] * 4


def test_texts_are_cut_and_on_one_line() -> None:
    assert cut_text("a\n- b" + "c" * 500) == "a - b" + "c" * 195
    assert write_prompt([], [cut_text("x\ny")]).endswith("- x y\n")


def test_names_are_unique_over_the_run(run_folder: Path, server: FakeServer) -> None:
    server.respond = lambda n, body: (
        200,
        {},
        json.dumps({"name": f"Name {n}" if "are taken" in body["messages"][0]["content"] and n < 6 else "Same"}),
    )
    result = name_by_prompts(plan_naming(run_folder), chat(server))
    names = [entry.name for entry in result.run.entries()]
    assert names[:3] == ["Same", "Name 3", "Name 5"]
    assert names[3].startswith("Same ("), "asked again with the taken names, then a word is appended"
    assert result.n_requests == 7
    assert '"Same", "Name 3", "Name 5"' in server.prompts[-1]


@pytest.mark.parametrize(
    "content",
    [
        'Here it is:\n```json\n{"name": "Late", "description": "They wait."}\n```\nAnything else?',
        '<think>{"name": "no"}</think>{"name": "Late", "description": "They wait."}',
        '{"thought": 1} {"name": " **Late** ", "description": "They\\nwait."}',
    ],
)
def test_words_around_the_answer_are_ignored(content: str) -> None:
    assert read_answer(content, needs_json=True) == NameAnswer("Late", "They wait.")


@pytest.mark.parametrize("content", ["", "Sure! Which texts?", '{"name": ', '{"name": ""}', "[1]", '{"name": 3}'])
def test_an_answer_without_a_name_is_asked_for_again_and_then_refused(
    content: str, run_folder: Path, server: FakeServer
) -> None:
    server.respond = lambda n, body: (200, {}, content)
    with pytest.raises(InputError, match="got no name: the answer was"):
        name_by_prompts(plan_naming(run_folder), chat(server))
    assert len(server.requests) == 2
    assert read_log(run_folder) == EditLog()


def test_busy_server_is_asked_again_after_the_time_it_names(server: FakeServer) -> None:
    waits: list[float] = []
    replies = [(429, {"Retry-After": "7"}, "slow down"), (503, {}, ""), (500, {}, ""), (200, {}, "done")]
    server.respond = lambda n, body: replies[n - 1]
    assert chat(server, wait=waits.append).ask("hello") == "done"
    assert waits == [7, 2, 4]


def test_errors_are_one_sentence(server: FakeServer) -> None:
    namer = chat(server, key=KEY)
    server.respond = lambda n, body: (503, {}, "overloaded")
    with pytest.raises(InputError, match=r"^the server 127.0.0.1:\d+ answered 503: overloaded$"):
        namer.ask("hello")
    assert len(server.requests) == 5
    server.respond = lambda n, body: (404, {}, f"no model for\n{KEY}")
    with pytest.raises(InputError, match=r"answered 404: no model for \*\*\*$"):
        namer.ask("hello")
    server.respond = lambda n, body: (401, {}, f"wrong key {KEY}")
    with pytest.raises(InputError, match=r"refused the key in OPENAI_API_KEY \(401\)$"):
        namer.ask("hello")
    with pytest.raises(InputError, match="put it in the variable OPENAI_API_KEY"):
        chat(server).ask("hello")
    server.respond = lambda n, body: (429, {"Retry-After": "3600"}, "")
    with pytest.raises(InputError, match="asks to wait for 3,600 seconds"):
        namer.ask("hello")


def test_redirects_are_not_followed(server: FakeServer) -> None:
    server.respond = lambda n, body: (302, {"Location": "http://127.0.0.1:1/v1"}, "")
    with pytest.raises(InputError, match="redirects to another address"):
        chat(server, key=KEY).ask("hello")


def test_parameters_that_a_model_refuses_are_left_out(server: FakeServer) -> None:
    server.respond = lambda n, body: (400, {}, "no temperature") if "temperature" in body else (200, {}, "done")
    namer = chat(server)
    assert [namer.ask("hello"), namer.ask("again")] == ["done", "done"]
    assert len(server.requests) == 3


def test_no_server_is_said_at_once() -> None:
    with pytest.raises(InputError, match=r"^the server 127.0.0.1:1 cannot be reached: "):
        ChatNamer("http://127.0.0.1:1/v1", "tiny", wait=lambda seconds: pytest.fail("waited")).ask("hello")


@pytest.mark.parametrize(
    ("url", "allowed", "sends"),
    [
        ("https://api.example/v1", False, True),
        ("http://localhost:11434/v1", False, True),
        ("http://[::1]:8000/v1", False, True),
        ("http://api.example/v1", False, False),
        ("http://localhost.api.example/v1", False, False),
        ("http://api.example/v1", True, True),
    ],
)
def test_the_key_is_not_sent_unencrypted_to_other_machines(url: str, allowed: bool, sends: bool) -> None:
    namer = ChatNamer(url, "tiny", KEY, sends_key_unencrypted=allowed)
    assert namer.sends_key is sends
    assert KEY not in repr(namer)


@pytest.mark.parametrize(
    "url", ["ftp://a/v1", "localhost:11434", "http://", "http://a:b/v1", "https://u:p@a/v1", "http://a/?k=1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="address"):
        ChatNamer(url, "tiny")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--url", "http://localhost/v1"], "--url and --model are used together"),
        (["--model", "tiny"], "--url and --model are used together"),
        (["--command", "true", "--function", "a:b"], "cannot be used together"),
        (["--dry-run"], "--dry-run needs"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: list[str], message: str, tmp_path: Path) -> None:
    done = invoke("names", tmp_path, *options)
    assert isinstance(done.exception, InputError)
    assert message in str(done.exception)


def test_a_cache_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    (tmp_path / NAME_ANSWERS).write_text("[", encoding="utf-8")
    cache = AnswerCache(tmp_path, "server")
    assert cache.find("prompt") is None
    cache.store("prompt", NameAnswer("Late"))
    assert AnswerCache(tmp_path, "server").find("prompt") == NameAnswer("Late")
    assert AnswerCache(tmp_path, "other").find("prompt") is None
    assert AnswerCache(tmp_path, "server", reads=False).find("prompt") is None
