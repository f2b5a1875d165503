"""The client's own model drafts, in both eras of the protocol; a client without one is told what to do instead."""

import pytest

from tests.behaviour.clients import MEMORY, MEMORY_MODERN, Wire, wire_name
from tests.behaviour.connecting import AppMaker, connected_in_memory, make_app
from tests.behaviour.test_client_requests import answered

__all__ = ["make_app"]

pytestmark = pytest.mark.anyio
ROOM = "tests.rooms.avatars.answers.drafting_room:ROOM"
CALL = {"name": "draft_twice", "arguments": {}}
WIRES = pytest.mark.parametrize("wire", [MEMORY, MEMORY_MODERN], ids=wire_name)


@WIRES
async def test_the_clients_model_is_asked_for_the_draft_and_for_the_repair(make_app: AppMaker, wire: Wire):
    app = await make_app(rooms=(ROOM,))
    async with connected_in_memory(app, wire, {"sampling": {}}) as client:
        reply, asked = await answered(client, "tools/call", CALL)
    assert reply.text == "moo, moo"
    assert [question["method"] for question in asked] == ["sampling/createMessage"] * 2
    assert asked[0]["params"]["systemPrompt"] == "Be exact."
    assert asked[1]["params"]["messages"][0]["content"]["text"] == "Mend moo."


@WIRES
async def test_a_client_without_a_model_is_told_of_the_other_ways(make_app: AppMaker, wire: Wire):
    app = await make_app(rooms=(ROOM,))
    async with connected_in_memory(app, wire, {}) as client:
        reply = await client.request("tools/call", CALL)
    assert "verify_response" in reply.text
