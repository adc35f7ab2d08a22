"""The kept form of a conversation: what is converted again, and what is not."""

from __future__ import annotations

from typing import Any

from providing import assistant, bash, result, user

from bridoon.model.message import Message, Text
from bridoon.providers import anthropic, history
from bridoon.providers.history import History, Protocol


class Counted:
    """A protocol that counts what is converted."""

    def __init__(self) -> None:
        self.converted: list[int] = []
        self.protocol = Protocol(self.pieces, anthropic.build)

    def pieces(self, message: Message) -> tuple[str, list[Any]]:
        self.converted.append(message.seq)
        return anthropic.pieces(message)


def talk(turns: int) -> list[Message]:
    view = [user("go")]
    for turn in range(turns):
        view += [assistant(bash("ls", f"c{turn}")), result("out", f"c{turn}")]
    return [message._replace(seq=number) for number, message in enumerate(view, 1)]


def test_only_new_messages_are_converted() -> None:
    counted, view = Counted(), talk(3)
    kept = History(counted.protocol)
    kept.update(view[:5])
    counted.converted.clear()
    kept.update(view)
    assert counted.converted == [6, 7]


def test_what_did_not_change_is_the_same_object_and_is_encoded_once() -> None:
    kept, view = History(anthropic.protocol("p")), talk(3)
    before = kept.update(view[:5])
    history.join(before)
    after = kept.update(view)
    assert [one is other for one, other in zip(before, after, strict=False)] == [True] * 5
    assert all(history._encoded[id(message)][1] is not None for message in after[:5])


def test_a_message_that_grows_is_a_new_object() -> None:
    kept = History(anthropic.protocol("p"))
    first = kept.update([user("a")])
    second = kept.update([view := user("a"), user("b")])
    assert second == [{"role": "user", "content": [{"type": "text", "text": t} for t in "ab"]}]
    assert first == [{"role": "user", "content": "a"}]
    assert view.text == "a"


def test_a_message_that_a_hook_put_in_is_encoded_as_it_is() -> None:
    kept = History(anthropic.protocol("p"))
    said = kept.update([user("a")])
    said.append({"role": "assistant", "content": "é"})
    said[0] = {**said[0], "content": "changed"}
    assert history.join(said) == '[{"role":"user","content":"changed"},{"role":"assistant","content":"é"}]'.encode()


def test_a_shortened_conversation_is_converted_from_where_it_differs() -> None:
    counted, view = Counted(), talk(4)
    kept = History(counted.protocol)
    kept.update(view)
    counted.converted.clear()
    shorter = [view[0], Message("user", (Text("summary"),), seq=99), *view[5:]]
    assert kept.update(shorter) == anthropic.messages(shorter, "p")
    assert counted.converted == [99, *(message.seq for message in view[5:])]


def test_forgotten_conversations_leave_nothing_behind() -> None:
    before = len(history._encoded)
    for number in range(history.KEPT * 3):
        history.join(history.history(f"/s{number}", "a", anthropic.protocol("p")).update(talk(2)))
    assert len(history._histories) <= history.KEPT
    assert len(history._encoded) <= before + history.KEPT * 5
