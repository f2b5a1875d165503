"""Prompts and completion."""

from typing import Any

import pytest

from tests.behaviour.clients import EVERY_REVISION, HTTP_MODERN, MEMORY, SESSION, STDIO, Wire, wire_name
from tests.behaviour.connecting import Connect

pytestmark = pytest.mark.anyio

WIRES = pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION, HTTP_MODERN], ids=wire_name)


@WIRES
@pytest.mark.requirement("mcp:prompts:list")
async def test_a_prompt_lists_its_arguments_with_what_is_required(connect: Connect) -> None:
    client = await connect()
    entries = {entry["name"]: entry for entry in await client.everything("prompts/list", "prompts")}
    assert entries["greeting"]["arguments"] == [
        {"name": "name", "description": "Whom to greet.", "required": True},
        {"name": "style", "description": "", "required": False},
    ]


@WIRES
@pytest.mark.requirement("mcp:prompts:get")
async def test_a_prompt_is_made_from_its_arguments(connect: Connect) -> None:
    client = await connect()
    result = (await client.request("prompts/get", {"name": "greeting", "arguments": {"name": "Ada"}})).result
    assert result["description"] == "Greets somebody."
    text = {"type": "text", "text": "Greet Ada in a plain way."}
    assert result["messages"] == [{"role": "user", "content": text}]


@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:prompts:content-kinds")
async def test_messages_are_said_in_the_words_of_the_revision(connect: Connect, wire: Wire) -> None:
    client = await connect()
    messages = (await client.request("prompts/get", {"name": "exchange"})).result["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user", "user"]
    kinds = [message["content"]["type"] for message in messages]
    sound = "audio" if wire.revision >= "2025-03-26" else "resource"
    link = "resource_link" if wire.revision >= "2025-06-18" else "text"
    assert kinds == ["text", "image", sound, link]


@WIRES
@pytest.mark.parametrize(
    ("arguments", "named"), [({}, "'name'"), ({"name": "Ada", "stile": "x"}, "'style'"), ({"name": ["Ada"]}, "'name'")]
)
@pytest.mark.requirement("mcp:prompts:bad-arguments")
async def test_wrong_arguments_are_refused_in_words(connect: Connect, arguments: dict[str, Any], named: str) -> None:
    client = await connect()
    error = (await client.request("prompts/get", {"name": "greeting", "arguments": arguments})).error
    assert error["code"] == -32602
    assert named in error["message"]


@WIRES
@pytest.mark.requirement("mcp:prompts:unknown")
async def test_an_unknown_prompt_is_refused_with_the_nearest(connect: Connect) -> None:
    client = await connect()
    error = (await client.request("prompts/get", {"name": "greetings"})).error
    assert error["code"] == -32602
    assert "'greeting'" in error["message"]


async def complete(connect: Connect, ref: dict[str, Any], name: str, value: str, context: Any = None) -> Any:
    client = await connect()
    params = {"ref": ref, "argument": {"name": name, "value": value}, **({"context": context} if context else {})}
    return await client.request("completion/complete", params)


PROMPT = {"type": "ref/prompt", "name": "greeting"}
TEMPLATE = {"type": "ref/resource", "uri": "lab://notes/{name}"}


@WIRES
@pytest.mark.requirement("mcp:completion:prompt")
async def test_a_prompts_argument_is_completed(connect: Connect) -> None:
    completion = (await complete(connect, PROMPT, "style", "po")).result["completion"]
    assert completion == {"values": ["polite"], "total": 1, "hasMore": False}


@WIRES
@pytest.mark.requirement("mcp:completion:context")
async def test_other_arguments_help_to_complete(connect: Connect) -> None:
    reply = await complete(connect, PROMPT, "style", "for", {"arguments": {"name": "Ada"}})
    assert reply.result["completion"]["values"] == ["for-Ada"]


@WIRES
@pytest.mark.requirement("mcp:completion:template")
async def test_a_templates_variable_is_completed(connect: Connect) -> None:
    assert (await complete(connect, TEMPLATE, "name", "ga")).result["completion"]["values"] == ["gamma"]


@WIRES
@pytest.mark.requirement("mcp:completion:at-most-100")
async def test_at_most_a_hundred_values_are_shown_and_the_rest_counted(connect: Connect) -> None:
    completion = (await complete(connect, PROMPT, "name", "x")).result["completion"]
    assert len(completion["values"]) == 100
    assert completion["total"] == 250
    assert completion["hasMore"] is True


@WIRES
@pytest.mark.requirement("mcp:completion:nobody-completes")
async def test_an_argument_nobody_completes_has_no_values(connect: Connect) -> None:
    reply = await complete(connect, {"type": "ref/resource", "uri": "lab://files/{+path}"}, "path", "x")
    assert reply.result["completion"] == {"values": [], "total": 0, "hasMore": False}


@WIRES
@pytest.mark.parametrize(
    ("ref", "argument"),
    [
        ({"type": "ref/prompt", "name": "nope"}, "name"),
        (PROMPT, "nope"),
        ({"type": "ref/resource", "uri": "lab://nope/{x}"}, "x"),
        (TEMPLATE, "nope"),
        ({"type": "ref/other", "name": "greeting"}, "name"),
        ({"type": "ref/prompt"}, "name"),
    ],
)
@pytest.mark.requirement("mcp:completion:unknown")
async def test_completing_what_is_unknown_is_refused(connect: Connect, ref: dict[str, Any], argument: str) -> None:
    assert (await complete(connect, ref, argument, "")).error["code"] == -32602
