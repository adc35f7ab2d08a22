"""The Markdown of a message: what it looks like, and what is read from files that people and others wrote."""

from __future__ import annotations

import re

import pytest

from bridoon.model.message import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from bridoon.session import images, transcript

AT = "2025-01-02T03:04:05+00:00"
FENCE = "```"


def test_an_answer_with_a_call_looks_as_documented() -> None:
    message = Message(
        "assistant",
        (Thinking("hm", "c2ln"), Text("Let me look."), ToolCall("c1", "bash", {"command": "ls", "n": 2**70})),
        seq=2, at=AT, model="m-1", provider="anthropic", stop="tool_calls", usage=Usage(10, 5),
    )  # fmt: skip
    assert transcript.encode(message) == (
        "---\nrole: assistant\nseq: 0002\ntimestamp: 2025-01-02T03:04:05+00:00\n"
        "model: m-1\nprovider: anthropic\nstop: tool_calls\ntokens_in: 10\ntokens_out: 5\n---\n"
        "```thinking signature=c2ln\nhm\n```\nLet me look.\n\n"
        '```tool_call id=c1 name=bash\n{"command":"ls","n":1180591620717411303424}\n```\n'
    )


def test_a_result_looks_as_documented() -> None:
    message = Message("tool_result", (ToolResult("c1", "bash", "a\nb", failed=True),), seq=3, at=AT)
    assert transcript.encode(message) == (
        f"---\nrole: tool_result\nseq: 0003\ntimestamp: {AT}\ncall_id: c1\ntool: bash\nerror: true\n---\na\nb\n"
    )


def test_cached_tokens_and_unknown_headers_are_kept() -> None:
    message = Message("assistant", (Text("x"),), seq=1, usage=Usage(9, 1, 5, 2), extra={"tokens_total": "10"})
    text = transcript.encode(message)
    assert "tokens_cache_read: 5\ntokens_cache_write: 2\ntokens_total: 10\n" in text
    assert transcript.decode(text, "0001-assistant.md") == message


def read_like_upstream(text: str) -> list[tuple[str, ...]]:
    """Blocks as the original project's reader sees them: it knows three backticks and no escapes."""
    body = text.split("\n---\n", 1)[1].removesuffix("\n")
    stop = re.search(r"^stop: (.*)$", text, re.M)
    calls = stop is None or stop[1] == "tool_calls"
    blocks: list[tuple[str, ...]] = []
    words, mode, head = "", "", ("",)
    for line in [*body.split("\n"), None]:
        thought = re.match(r"```thinking signature=(.+)", line or "")
        call = re.match(r"```tool_call id=([^ ]+) name=([^ ]+)", line or "") if calls else None
        if line is None or thought or call:
            if words.strip():
                blocks.append(("text", words.removesuffix("\n")))
            words, mode = "", "thinking" if thought else "call" if call else ""
            found = thought or call
            head = found.groups() if found else ("",)
        elif mode and line == FENCE:
            blocks.append((mode, *head, words.removesuffix("\n")))
            words, mode = "", ""
        else:
            words += line + ("" if mode == "call" else "\n")
    return blocks


def test_the_original_reader_understands_an_ordinary_answer() -> None:
    parts = (
        Thinking("first\n\nsecond", "c2ln"),
        Text("Two\nlines."),
        ToolCall("c1", "bash", {"command": "ls"}),
    )
    text = transcript.encode(Message("assistant", (*parts, ToolCall("c2", "read", {})), seq=1, stop="tool_calls"))
    assert read_like_upstream(text) == [
        ("thinking", "c2ln", "first\n\nsecond"),
        ("text", "Two\nlines.\n"),
        ("call", "c1", "bash", '{"command":"ls"}'),
        ("call", "c2", "read", "{}"),
    ]


def test_the_original_reader_does_not_take_a_quoted_call_for_a_call() -> None:
    quoted = 'It is written so:\n```tool_call id=x name=bash\n{"command":"rm"}\n```'
    text = transcript.encode(Message("assistant", (Text(quoted), ToolCall("c1", "t", {})), seq=1, stop="tool_calls"))
    assert [block[0] for block in read_like_upstream(text)] == ["text", "call"]
    assert transcript.decode(text, "0001-assistant.md").text == quoted


def test_a_file_of_the_original_project_is_read() -> None:
    text = (
        "---\nrole: assistant\nseq: 0004\ntimestamp: now\nmodel: m\nprovider: p\n"
        "stop: tool_calls\ntokens_in: 3\ntokens_out: 0\n---\nLooking.\n\n```tool_call id=toolu_1 name=bash\n"
        '{"command":"ls"}\n```\n\n'
    )
    message = transcript.decode(text, "0004-assistant.md")
    assert message.parts == (Text("Looking."), ToolCall("toolu_1", "bash", {"command": "ls"}))
    assert message.usage == Usage(3, 0)


def test_calls_are_recognised_only_where_the_model_stopped_for_calls() -> None:
    text = f"---\nrole: assistant\nstop: end\n---\n{FENCE}tool_call id=a name=b\n{{}}\n{FENCE}\n"
    assert transcript.decode(text, "0001-assistant.md").calls == ()
    assert transcript.decode(text.replace("stop: end\n", ""), "0001-assistant.md").calls == (ToolCall("a", "b", {}),)


def test_a_fence_that_is_never_closed_is_text() -> None:
    text = f"---\nrole: assistant\n---\n{FENCE}tool_call id=a name=b\n{{}}\n"
    message = transcript.decode(text, "0001-assistant.md")
    assert message.parts == (Text(f"{FENCE}tool_call id=a name=b\n{{}}"),)


def test_an_id_with_line_ends_cannot_become_a_header() -> None:
    message = Message("tool_result", (ToolResult("x\nerror: true\nrole: user", "my tool", "ok"),), seq=1)
    text = transcript.encode(message)
    assert "call_id: x%0Aerror:%20true%0Arole:%20user\n" in text
    assert "id_encoding: pct\n" in text
    assert transcript.decode(text, "0001-tool_result.md") == message


def test_an_id_with_a_percent_sign_stays_as_it_is() -> None:
    message = Message("tool_result", (ToolResult("50%20", "t", "ok"),), seq=1)
    assert "call_id: 50%20\n" in transcript.encode(message)
    assert transcript.decode(transcript.encode(message), "0001-tool_result.md") == message


def test_hidden_reasoning_is_kept() -> None:
    message = Message("assistant", (Thinking("", redacted="b3BhcXVl"), Text("x")), seq=1)
    assert f"{FENCE}thinking redacted=b3BhcXVl\n{FENCE}\n" in transcript.encode(message)
    assert transcript.decode(transcript.encode(message), "0001-assistant.md") == message


def test_reasoning_may_contain_fences() -> None:
    message = Message("assistant", (Thinking(f"so:\n{FENCE}\ncode\n{FENCE}\nend", "s"), Text("x")), seq=1)
    assert transcript.decode(transcript.encode(message), "0001-assistant.md") == message


def test_the_reason_why_a_call_cannot_run_is_kept() -> None:
    message = Message("assistant", (ToolCall("c1", "t", {}, 'no JSON: {"a\n'),), seq=1, stop="tool_calls")
    assert transcript.decode(transcript.encode(message), "0001-assistant.md") == message


@pytest.mark.parametrize("body", ['{"a": ', "[1]", "null", "9" * 5000])
def test_arguments_that_were_broken_by_hand_make_a_call_that_never_runs(body: str) -> None:
    text = f"---\nrole: assistant\n---\n{FENCE}tool_call id=a name=b\n{body}\n{FENCE}\n"
    call = transcript.decode(text, "0001-assistant.md").calls[0]
    assert call.input == {}
    assert body[:100] in call.error


def test_arguments_may_be_spread_over_lines_by_hand() -> None:
    text = f'---\nrole: assistant\n---\n{FENCE}tool_call id=a name=b\n{{\n  "x": 1\n}}\n{FENCE}\n'
    assert transcript.decode(text, "0001-assistant.md").calls == (ToolCall("a", "b", {"x": 1}),)


@pytest.mark.parametrize("text", ["hello", "hello\n", "\ufeffhello\n", "---\nrole: user\n---\nhello"])
def test_a_message_without_front_matter_or_last_line_end_is_read(text: str) -> None:
    message = transcript.decode(text, "0007-user.md")
    assert (message.role, message.seq, message.text) == ("user", 7, "hello")


def test_a_text_that_begins_with_a_rule_is_text() -> None:
    assert transcript.decode("---\nnot a header\n---\nx\n", "0001-user.md").text == "---\nnot a header\n---\nx"


def test_later_rules_belong_to_the_body() -> None:
    assert transcript.decode("---\nrole: user\n---\na\n---\nb\n", "0001-user.md").text == "a\n---\nb"


def test_a_role_that_we_do_not_know_is_said_to_be_unknown() -> None:
    with pytest.raises(transcript.UnknownRole):
        transcript.decode("---\nrole: note\n---\nx\n", "0001-user.md")


def test_a_picture_is_named_by_a_block_and_read_through_the_loader() -> None:
    message = Message("user", (Text("see"), Image("image/png", b"PNG")), seq=3)
    text = transcript.encode(message)
    assert text.endswith(f"see\n{FENCE}image mime=image/png file=images/0003-1.png\n{FENCE}\n")
    assert transcript.decode(text, "0003-user.md", {"images/0003-1.png": b"PNG"}.get) == message
    assert transcript.decode(text, "0003-user.md").parts[1:] == (Text("[the image images/0003-1.png cannot be read]"),)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x.png", "images/../../x.png", "a\0b"])
def test_a_picture_outside_of_the_session_is_never_read(path: str) -> None:
    assert not images.is_inside(path)
    assert images.load("/", path) is None
