"""A model behind an endpoint over real HTTP, in both forms."""

import json
from typing import Any

import pytest
from aiohttp import web

from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.net.fetch import HttpFetcher
from pentad.rooms.avatars.answers.drafting.drafter import Prompt
from pentad.rooms.avatars.answers.drafting.endpoint import Endpoint, EndpointDrafter, Kind, endpoint_of
from pentad.rooms.avatars.settings import AvatarsSettings
from tests.net.test_fetch import answering
from tests.room_settings import room_settings

pytestmark = pytest.mark.anyio
PROMPT = Prompt("be exact", "what?")


class Model:
    """Answers in the form of its kind; first, whatever the test wants said."""

    def __init__(self, kind: Kind, *first: web.Response) -> None:
        self.kind: Kind = kind
        self.first = list(first)
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append((request.path, dict(request.headers), await request.json()))
        if self.first:
            return self.first.pop(0)
        if self.kind == "openai":
            return web.json_response({"choices": [{"message": {"content": "said"}}]})
        return web.json_response({"content": [{"type": "thinking"}, {"type": "text", "text": "said"}]})

    async def say(self) -> str:
        fetcher = HttpFetcher()
        try:
            async with answering(self.answer) as port:
                endpoint = Endpoint(self.kind, f"http://127.0.0.1:{port}/v1/", "m", "sk-secret")
                return await EndpointDrafter(fetcher, endpoint, pause=0.0).say("draft", PROMPT)
        finally:
            await fetcher.close()


async def test_an_openai_compatible_model_is_asked_for_a_chat_completion():
    model = Model("openai")
    assert await model.say() == "said"
    (path, headers, body) = model.asked[0]
    assert path == "/v1/chat/completions"
    assert headers["Authorization"] == "Bearer sk-secret"
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert body["temperature"] == 0


async def test_an_anthropic_model_is_asked_for_messages():
    model = Model("anthropic")
    assert await model.say() == "said"
    (path, headers, body) = model.asked[0]
    assert path == "/v1/messages"
    assert headers["x-api-key"] == "sk-secret"
    assert headers["anthropic-version"]
    assert body["system"] == "be exact"
    assert body["messages"] == [{"role": "user", "content": "what?"}]


async def test_a_busy_model_is_asked_again():
    model = Model("openai", web.Response(status=429, headers={"retry-after": "0"}), web.Response(status=503))
    assert await model.say() == "said"
    assert len(model.asked) == 3


@pytest.mark.parametrize(
    "reply",
    [
        web.Response(status=401, text="sk-secret is wrong"),
        web.Response(text="not json"),
        web.Response(text=json.dumps({"choices": []}), content_type="application/json"),
        web.Response(text=json.dumps({"choices": [{"message": {"content": None}}]}), content_type="application/json"),
    ],
    ids=["refused", "no json", "no choice", "no text"],
)
async def test_a_model_that_does_not_answer_is_unavailable_and_nothing_secret_is_said(reply: web.Response):
    with pytest.raises(Unavailable) as error:
        await Model("openai", reply).say()
    assert "sk-secret" not in error.value.sentence()


def test_settings_name_the_model():
    assert endpoint_of(AvatarsSettings()) is None
    made = endpoint_of(AvatarsSettings(model_url="https://api.anthropic.com/v1", model_name="m"))
    assert made is not None
    assert (made.kind, made.address) == ("anthropic", "https://api.anthropic.com/v1/messages")
    for wrong in ({"model_url": "https://x"}, {"model_url": "https://x", "model_name": "m", "model_kind": "z"}):
        with pytest.raises(Misconfigured):
            endpoint_of(room_settings("avatars", **wrong))
