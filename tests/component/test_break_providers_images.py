"""A conversation with images goes on when its model turns out to see none."""

from __future__ import annotations

import json

import pytest
from fakes.api_server import api_server, status
from providing import Watched, ask_chat, ask_responses, assistant, result, user

from bridoon.model.message import Image, ToolCall
from bridoon.providers import generic

ASKS = {
    "chat": (ask_chat, "chat_url", "openai"),
    "responses": (ask_responses, "responses_url", "openai-responses"),
}


@pytest.mark.parametrize(
    "refusal",
    [
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (404, "No endpoints found that support image input"),
        (400, "Invalid content type. image_url is not supported by this model"),
        (400, "unknown/model does not support image inputs"),
    ],
)
@pytest.mark.parametrize("name", ["chat", "responses"])
def test_a_conversation_with_images_goes_on_with_a_model_that_sees_none(name: str, refusal: tuple[int, str]) -> None:
    picture = Image("image/png", b"png")
    view = [
        user("look", picture),
        assistant(ToolCall("c", "shot", {})),
        result("seen", "c", images=(picture,)),
    ]
    function, url, protocol = ASKS[name]
    said = generic.protocol_module(protocol).messages(view)
    with api_server() as api:
        code, words = refusal
        api.then(status(code, {"error": {"message": words}}))
        context = Watched()
        function(getattr(api, url), context, *said)
        first, second = (json.dumps(body) for body in api.bodies)
        assert api.problems == []
    assert first.count("image") > 1
    assert "base64" not in second
    assert second.count("cannot see") == 2
    assert context.text == "ok"
    assert len(context.notices) == 1
