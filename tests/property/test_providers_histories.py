"""Any conversation becomes requests that three APIs accept; turn by turn or at once is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from providing import wrong_with

from bridoon.model.message import Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from bridoon.providers import anthropic, history, openai_chat, openai_responses, outcome
from bridoon.providers.values import encoded
from bridoon.session.view import valid_view

TEXTS = st.sampled_from(["", " \n", "hello", "é 😀", "```tool_call id=x name=y", "\ud83d", "a\u2028b"])
IDS = st.sampled_from(["", "a", "a", "call_1", "functions.bash:0", "x y", "é", "z" * 80])
NAMES = st.sampled_from(["bash", "read_file", "x-1"])
INPUTS = st.sampled_from([{}, {"command": "ls"}, {"n": 9007199254740993, "f": 1.0, "deep": [{"é": None}]}])
PICTURES = st.just(Image("image/png", b"\x89PNG\r\n"))
MODULES = [anthropic, openai_chat, openai_responses]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """What a session may hold: messages of people, answers of APIs, results in any number and order."""
    messages: list[Message] = []
    used: set[str] = set()
    for turn in range(draw(st.integers(1, 5))):
        pictures = draw(st.lists(PICTURES, max_size=1))
        messages.append(Message("user", (Text(draw(TEXTS) or "go"), *pictures)))
        for _ in range(draw(st.integers(0, 2))):
            parts = draw(st.lists(_answer_parts(), max_size=4))
            stop = draw(st.sampled_from(["end", "tool_calls", "length", "refusal"]))
            protocol = draw(st.sampled_from(["anthropic", "openai"]))
            answer = outcome.Answer(protocol, tuple(parts), stop, "m", Usage())
            saved, _ = outcome.message(answer, "p", turn, frozenset(used))
            messages.append(saved)
            used |= {call.id for call in saved.calls}
            for call in draw(st.permutations(saved.calls)):
                if draw(st.booleans()) or draw(st.booleans()):
                    images = tuple(draw(st.lists(PICTURES, max_size=1)))
                    result = ToolResult(call.id, call.name, draw(TEXTS), draw(st.booleans()), images)
                    messages.append(Message("tool_result", (result,)))
    messages.append(Message("user", (Text("and now?"),)))
    return [message._replace(seq=number) for number, message in enumerate(messages, 1)]


def _answer_parts() -> st.SearchStrategy[Part]:
    return st.one_of(
        TEXTS.map(Text),
        st.builds(Thinking, TEXTS, st.sampled_from(["", "sig", "reasoning_content", "rs_1|blob"])),
        st.builds(ToolCall, IDS, NAMES, INPUTS),
    )


@pytest.mark.parametrize("module", MODULES)
@given(conversations())
@settings(max_examples=60, deadline=None)
def test_any_conversation_is_accepted(module: Any, conversation: list[Message]) -> None:
    view = valid_view(tuple(conversation))
    for provider in ("p", "other"):
        said = json.loads(history.join(module.messages(view, provider)))
        assert wrong_with(said, module.NAME) == []


@pytest.mark.parametrize("module", MODULES)
@given(conversations(), st.lists(st.integers(0, 40), max_size=5))
@settings(max_examples=40, deadline=None)
def test_turn_by_turn_is_the_same_as_at_once(module: Any, conversation: list[Message], stops: list[int]) -> None:
    kept = history.History(module.protocol("p"))
    for stop in [*(stop % (len(conversation) + 1) for stop in stops), len(conversation)]:
        view = conversation[:stop]
        said = kept.update(view)
        assert said == module.messages(view, "p")
        assert history.join(said) == encoded(said)
    kept.clear()


@given(st.lists(IDS, max_size=8), st.sets(IDS, max_size=4))
def test_every_call_gets_an_id_of_its_own(given_ids: list[str], used: set[str]) -> None:
    claims = outcome.Claims(3, used)
    got = [claims.claim(each) for each in given_ids]
    assert len(set(got)) == len(got)
    assert not set(got) & used - {""}
    assert "" not in got
