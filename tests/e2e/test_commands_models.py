"""`hs models` and `hs providers` through the installed `hs`, against a small model server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from project import Project

KEY = "sk-0123456789abcdefghijkl"


class Server(ThreadingHTTPServer):
    """Answers every GET with one text; remembers what it was asked, and with which headers."""

    daemon_threads = True

    def __init__(self, answer: str, status: int, silent: bool) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.answer, self.status = answer, status
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.wait = threading.Event()
        if not silent:
            self.wait.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/chat/completions"


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.server.wait.wait(20)
        data = self.server.answer.encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(data)))
        with suppress(ConnectionError):  # who gave up is gone
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving(answer: str, status: int = 200, *, silent: bool = False) -> Iterator[Server]:
    server = Server(answer, status, silent)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.wait.set()
        server.shutdown()
        thread.join()
        server.server_close()


def models(*names: str) -> str:
    return json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]})


def conf(project: Project, server: Server, *lines: str) -> None:
    project.provider("mine.conf", "\n".join(["protocol=openai", f"url={server.url}", *lines]) + "\n")


def test_the_models_of_a_server_on_this_machine_are_listed(project: Project) -> None:
    with serving(models("tiny-1", "tiny-2")) as server:
        conf(project, server)
        shown = project.run("models", env={"HARNESS_DETECT_LOCAL": "on"}).stdout.splitlines()
    assert [line.split()[:2] for line in shown if "tiny-2" in line] == [["mine", "tiny-2"]]
    assert {path for path, _ in server.asked} == {"/v1/models"}


def test_the_model_that_a_run_would_use_is_marked(project: Project) -> None:
    with serving(models("tiny-1", "tiny-2")) as server:
        conf(project, server)
        shown = project.run("-p", "mine", "-m", "tiny-2", "models").stdout.splitlines()
    assert [line.split()[:3] for line in shown if line.startswith("*")] == [["*", "mine", "tiny-2"]]


def test_default_models_of_ready_providers_are_listed_without_asking_anybody(project: Project) -> None:
    with serving(models("other"), 500) as server:
        env = {"GROQ_API_KEY": KEY, "HTTPS_PROXY": server.url.removesuffix("/v1/chat/completions")}
        shown = project.run("models", env=env).stdout
    assert "* groq             openai/gpt-oss-120b" in shown
    assert server.asked == []


def test_a_provider_that_is_named_is_asked_with_its_key(project: Project) -> None:
    with serving(models("big", "small")) as server:
        conf(project, server, "model=small", "auth_env=MINE_KEY")
        shown = project.run("models", "mine", env={"MINE_KEY": KEY})
    assert "big" in shown.stdout
    assert [line.split() for line in shown.stdout.splitlines() if "small" in line] == [
        ["*", "mine", "small", "default"]
    ]
    assert [headers["authorization"] for _, headers in server.asked] == [f"Bearer {KEY}"]


def test_models_as_json_tells_which_one_is_used(project: Project) -> None:
    with serving(models("a", "b")) as server:
        conf(project, server, "model=b", "auth_env=MINE_KEY")
        value = json.loads(project.run("models", "mine", "--json", env={"MINE_KEY": KEY}).stdout)
    assert [(each["name"], each["used"]) for each in value["models"]] == [("a", False), ("b", True)]
    assert (value["used"]["provider"], value["used"]["model"]) == ("mine", "b")


def test_a_service_that_refuses_is_reported_without_the_key(project: Project) -> None:
    with serving(json.dumps({"error": {"message": f"bad key {KEY}"}}), 401) as server:
        conf(project, server, "auth_env=MINE_KEY")
        result = project.run("models", "mine", env={"MINE_KEY": KEY})
    assert result.code == 3
    assert "answered 401" in result.stderr
    assert KEY not in result.stdout + result.stderr


def test_a_service_that_is_silent_is_given_up_after_five_seconds(project: Project) -> None:
    with serving("", silent=True) as server:
        conf(project, server, "model=x")
        result = project.run("models", "mine", timeout=15)
    assert result.code == 1
    assert "5 s" in result.stderr


def test_an_answer_that_is_no_list_is_reported(project: Project) -> None:
    with serving("<html>hello</html>") as server:
        conf(project, server, "model=x")
        result = project.run("models", "mine")
    assert result.code == 1
    assert "answered no JSON" in result.stderr


def test_a_provider_that_is_not_there_is_an_error_with_a_hint(project: Project) -> None:
    result = project.run("models", "antropic")
    assert result.code == 1
    assert "did you mean anthropic?" in result.stderr


def test_a_provider_without_a_key_says_how_to_give_one(project: Project) -> None:
    result = project.run("models", "groq")
    assert result.code == 3
    assert "hs auth set groq" in result.stderr


def test_without_anything_there_are_no_models_and_the_ways_out_are_named(project: Project) -> None:
    result = project.run("models")
    assert (result.code, result.stdout) == (0, "(no models)\n")
    assert "hs auth set" in result.stderr


def test_names_of_models_cannot_disturb_the_terminal(project: Project) -> None:
    with serving(models("evil\x1b[2J", "fine")) as server:
        conf(project, server, "model=fine")
        assert "\x1b" not in project.run("models", "mine").stdout


# ---- providers


def test_providers_says_what_each_one_lacks(project: Project) -> None:
    shown = project.run("providers", env={"GROQ_API_KEY": KEY}).stdout
    assert "* groq " in shown
    assert "GROQ_API_KEY is set" in shown
    assert "needs ANTHROPIC_API_KEY, or: hs auth set anthropic" in shown
    assert KEY not in shown


def test_providers_as_json_masks_keys_and_names_where_they_come_from(project: Project) -> None:
    result = project.run("providers", "--json", env={"GROQ_API_KEY": KEY})
    assert KEY not in result.stdout
    found = {each["name"]: each for each in json.loads(result.stdout)["providers"]}
    assert found["groq"]["ready"] is True
    assert found["groq"]["key_from"] == "environment: GROQ_API_KEY"
    assert found["anthropic"]["ready"] is False
    assert found["ollama"]["local"] is True


def test_a_program_hides_a_variant_of_its_name_and_a_broken_variant_is_named(project: Project) -> None:
    program = project.provider("two", "echo '{}'")
    project.provider("two.conf", "protocol=openai\n")
    broken = project.provider("broken.conf", "url=http://127.0.0.1:1/\n")
    shown = project.run("providers").stdout
    assert [line for line in shown.splitlines() if line.split()[:1] == ["two"]] == [
        f"  two                  (no description) (use it with -p)  [{program}]"
    ]
    assert f"  {broken}: no protocol= line" in shown


def test_a_key_that_a_variant_of_a_checkout_may_not_have_makes_it_not_ready(project: Project) -> None:
    project.provider("evil.conf", "protocol=openai\nurl=https://evil.example.com/v1\nauth_env=GROQ_API_KEY\n")
    found = json.loads(project.run("providers", "--json", env={"GROQ_API_KEY": KEY}).stdout)["providers"]
    evil = next(each for each in found if each["name"] == "evil")
    assert evil["ready"] is False
    assert "evil.example.com" in evil["why"]
