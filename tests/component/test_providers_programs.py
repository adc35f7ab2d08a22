"""Bundled providers and their hooks as programs: the same answers as inside a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.api_server import Api, api_server, call
from project import Project, hs
from providing import KEY, payload

from bridoon.catalog.sources import ROOT
from bridoon.model.message import Message, Text, ToolCall, ToolResult, Usage
from bridoon.session import store

PLUGINS = Path(ROOT) / "plugins"
PROVIDERS = [
    "anthropic/providers/anthropic",
    "openai/providers/openai",
    "scripted/providers/scripted",
    "local/providers/local",
]


@pytest.fixture
def api() -> Iterator[Api]:
    with api_server() as served:
        yield served
    assert served.problems == []


def run(project: Project, file: str, *flags: str, given: Any = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a bundled drop-in as a program."""
    return subprocess.run(
        [hs(), "py", str(PLUGINS / file), *flags],
        input=json.dumps(given) if given is not None else "",
        env={**project.env, **env},
        cwd=project.dir,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


@pytest.mark.parametrize("file", PROVIDERS)
def test_a_provider_answers_every_flag(project: Project, file: str) -> None:
    described = run(project, file, "--describe")
    assert (described.returncode, len(described.stdout.splitlines())) == (0, 1)
    assert all("=" in line for line in run(project, file, "--defaults").stdout.splitlines())
    assert run(project, file, "--env").stdout.strip()


@pytest.mark.parametrize(
    ("file", "env", "ready"),
    [
        ("anthropic/providers/anthropic", {}, False),
        ("anthropic/providers/anthropic", {"ANTHROPIC_API_KEY": "k"}, True),
        ("openai/providers/openai", {}, False),
        ("openai/providers/openai", {"OPENAI_BASE_URL": "http://localhost:1/v1"}, True),
        ("scripted/providers/scripted", {}, False),  # it says nothing: used only when it is named
        ("local/providers/local", {}, False),
        ("local/providers/local", {"HARNESS_LOCAL_MODEL": "/no/such/file.gguf"}, False),
    ],
)
def test_a_provider_says_whether_it_can_be_used(project: Project, file: str, env: dict[str, str], ready: bool) -> None:
    done = run(project, file, "--ready", **env)
    assert (done.returncode == 0, done.stdout) == (ready, "")


def test_a_stored_key_makes_a_program_ready(project: Project) -> None:
    home = project.home / ".harness"
    home.mkdir(exist_ok=True)
    (home / ".auth.json").write_text(json.dumps({"anthropic": [{"key": "stored"}]}), "utf-8")
    assert run(project, PROVIDERS[0], "--ready", HARNESS_SOURCES=str(home)).returncode == 0


@pytest.mark.parametrize("streams", [True, False])
def test_a_provider_program_prints_the_response_and_tells_events_only_when_asked(
    project: Project, api: Api, tmp_path: Path, streams: bool
) -> None:
    api.say("hello there", [call("bash", command="ls")])
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_API_URL": api.anthropic_url, "HARNESS_SESSION": str(tmp_path)}
    flags = ["--stream"] if streams else []
    done = run(project, "anthropic/providers/anthropic", *flags, given=payload(), **env)
    assert done.returncode == 0, done.stderr
    assert [block["type"] for block in json.loads(done.stdout)["content"]] == ["text", "tool_use"]
    told = (tmp_path / ".stream").read_text("utf-8").splitlines() if (tmp_path / ".stream").exists() else []
    kinds = [json.loads(line)["type"] for line in told]
    assert (kinds[:1] + kinds[-1:]) == (["text", "tool_start"] if streams else [])


def test_a_failing_provider_program_says_why_and_prints_nothing(project: Project) -> None:
    done = run(project, "openai/providers/openai", given=payload())
    assert done.returncode != 0
    assert "OPENAI_API_KEY is not set" in done.stderr
    assert done.stdout == ""


@pytest.fixture
def session(project: Project) -> store.Session:
    """A session with one turn in it."""
    made = store.create(str(project.sessions), cwd=str(project.dir), provider="openai", model="m")
    made.append(Message("user", (Text("go"),)))
    calls = (Text("I look."), ToolCall("c1", "bash", {"command": "ls"}))
    made.append(Message("assistant", calls, provider="openai", stop="tool_calls", usage=Usage(1, 1)))
    made.append(Message("tool_result", (ToolResult("c1", "bash", "a.txt"),)))
    return made


@pytest.mark.parametrize(
    ("pack", "env", "protocol", "roles"),
    [
        ("anthropic", {}, "anthropic", ["user", "assistant", "user"]),
        ("openai", {}, "openai", ["user", "assistant", "tool"]),
        ("openai", {"OPENAI_API": "responses"}, "openai-responses", ["user", "assistant", None, None]),
    ],
)
def test_the_messages_hook_is_a_program(
    project: Project, session: store.Session, pack: str, env: dict[str, str], protocol: str, roles: list[str]
) -> None:
    surroundings = {"HARNESS_SESSION": session.dir, "HARNESS_PROVIDER": pack, **env}
    done = run(project, f"{pack}/hooks.d/assemble/10-messages", given={"mine": 1}, **surroundings)
    answer = json.loads(done.stdout)
    assert (answer["mine"], answer["protocol"]) == (1, protocol)
    assert [message.get("role") for message in answer["messages"]] == roles


@pytest.mark.parametrize("pack", ["anthropic", "openai"])
def test_the_save_hook_is_a_program(project: Project, session: store.Session, pack: str) -> None:
    blocks = [
        {"type": "text", "text": "Done."},
        {"type": "tool_use", "id": "c1", "name": "bash", "input": {}},
    ]
    raw = {
        "content": blocks,
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 2},
        "model": "m-1",
    }
    surroundings = {"HARNESS_SESSION": session.dir, "HARNESS_PROVIDER": pack}
    done = run(project, f"{pack}/hooks.d/receive/10-save", given=raw, **surroundings)
    # The id was used before: the call gets another one.
    assert json.loads(done.stdout) == {
        "next_state": "tool_exec",
        "tool_calls": [{"id": "c1_4", "name": "bash", "input": {}}],
        "output": "Done.",
    }
    saved = store.open_session(session.dir, repair=False).messages()[-1]
    assert (saved.text, saved.model, saved.provider, saved.usage) == ("Done.", "m-1", pack, Usage(5, 2))
    (line,) = Path(session.dir, ".stream").read_text("utf-8").splitlines()
    assert json.loads(line)["type"] == "stop"
    assert json.loads(line)["seq"] == 4


@pytest.mark.parametrize(
    ("given", "settings", "env", "expected"),
    [
        ({"provider": "", "model": ""}, {"provider": "scripted", "model": "x"}, {}, ("scripted", "x")),
        (
            {"provider": "openai", "model": ""},
            {"provider": "scripted", "model": "x"},
            {},
            ("openai", "gpt-5.5"),
        ),
        ({"provider": "", "model": "mine"}, {"model": "x"}, {"GROQ_API_KEY": "k"}, ("groq", "mine")),
        ({"provider": "", "model": ""}, {"model": "x"}, {"GROQ_API_KEY": "k"}, ("groq", "x")),
        ({"provider": "", "model": ""}, {}, {"GROQ_API_KEY": "k"}, ("groq", "openai/gpt-oss-120b")),
        ({"provider": "anthropic", "model": ""}, {}, {}, ("anthropic", "claude-sonnet-5-5")),
    ],
)
def test_the_resolve_hooks_fill_in_provider_and_model(
    project: Project,
    given: dict[str, str],
    settings: dict[str, str],
    env: dict[str, str],
    expected: tuple[str, str],
) -> None:
    if settings:
        project.settings(**settings)
    value: Any = given
    for name in ("10-settings", "20-detect", "30-defaults"):
        done = run(project, f"core/hooks.d/resolve/{name}", given=value, **env)
        assert done.returncode == 0, done.stderr
        value = json.loads(done.stdout)
    assert (value["provider"], value["model"]) == expected
