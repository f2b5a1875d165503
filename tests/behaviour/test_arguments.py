"""Arguments: strict first, a few mistakes repaired and reported, the rest refused with errors a model can act on."""

from typing import Any

import pytest

from pentad.kernel.json_patch import json_patch
from tests.behaviour.clients import HTTP_MODERN, MEMORY, SESSION, STDIO, wire_name
from tests.behaviour.connecting import Connect

pytestmark = pytest.mark.anyio

WIRES = pytest.mark.parametrize("wire", [MEMORY, STDIO, SESSION, HTTP_MODERN], ids=wire_name)


@WIRES
@pytest.mark.requirement("mcp:arguments:strict")
async def test_arguments_that_fit_are_taken_without_a_word(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("choose", {"numbers": [1, 2], "limit": 3, "ratio": 0.25, "exact": True})).result
    assert result["structuredContent"] == {"numbers": [1, 2], "limit": 3, "ratio": 0.25, "exact": True}
    assert "pentad/repairs" not in result.get("_meta", {})


@WIRES
@pytest.mark.parametrize(
    ("given", "taken", "repair"),
    [
        ({"limit": "7"}, {"limit": 7}, {"path": "/limit", "received": "7", "taken_as": 7}),
        ({"limit": 7.0}, {"limit": 7}, {"path": "/limit", "received": 7.0, "taken_as": 7}),
        ({"ratio": "0.75"}, {"ratio": 0.75}, {"path": "/ratio", "received": "0.75", "taken_as": 0.75}),
        ({"exact": "true"}, {"exact": True}, {"path": "/exact", "received": "true", "taken_as": True}),
        ({"numbers": 4}, {"numbers": [4]}, {"path": "/numbers", "received": 4, "taken_as": "a list"}),
        ({"numbers": "[1, 2]"}, {"numbers": [1, 2]}, {"path": "/numbers", "received": "[1, 2]", "taken_as": "a list"}),
        ({"numbers": [1, "2"]}, {"numbers": [1, 2]}, {"path": "/numbers/1", "received": "2", "taken_as": 2}),
        (
            {"filter": '{"word": "x"}'},
            {"word": "x"},
            {"path": "/filter", "received": '{"word": "x"}', "taken_as": "an object"},
        ),
    ],
)
@pytest.mark.requirement("mcp:arguments:repaired", "mcp:arguments:repair-reported")
async def test_a_slip_is_mended_and_reported(
    connect: Connect, given: dict[str, Any], taken: dict[str, Any], repair: dict[str, Any]
) -> None:
    client = await connect()
    result = (await client.call("choose", given)).result
    assert result["isError"] is False, result
    assert taken.items() <= result["structuredContent"].items()
    assert result["_meta"]["pentad/repairs"] == [repair]


@WIRES
@pytest.mark.parametrize(
    "given", [{"limit": "seven"}, {"limit": "7.5"}, {"limit": None}, {"limit": True}, {"exact": "maybe"}, {"ratio": []}]
)
@pytest.mark.requirement("mcp:arguments:wrong-type")
async def test_what_is_no_slip_is_refused_with_what_was_received(connect: Connect, given: dict[str, Any]) -> None:
    client = await connect()
    result = (await client.call("choose", given)).result
    assert result["isError"] is True
    (name,) = given
    text = result["content"][0]["text"]
    assert f"Argument {name!r}" in text
    assert "received" in text
    problem = result["_meta"]["pentad/error"]["details"]["problems"][0]
    assert problem["path"] == f"/{name}"
    assert problem["rule"]


@WIRES
@pytest.mark.requirement("mcp:arguments:unknown")
async def test_an_unknown_argument_is_refused_with_the_valid_names_and_the_nearest(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("choose", {"limt": 3})).result
    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert "Unknown argument 'limt'. Did you mean 'limit'?" in text
    assert "Valid arguments: numbers, limit, ratio, exact, filter." in text


@WIRES
@pytest.mark.requirement("mcp:arguments:patch")
async def test_a_misspelled_argument_can_be_corrected_by_applying_the_patch_of_the_error(connect: Connect) -> None:
    client = await connect()
    given = {"numbers": [1, 2], "limt": 3, "Exact": True}
    refused = (await client.call("choose", given)).result
    problems = refused["_meta"]["pentad/error"]["details"]["problems"]
    assert [(one["path"], one["suggestions"], one["certain"]) for one in problems] == [
        ("/limt", ["limit"], True),
        ("/Exact", ["exact"], True),
    ]
    corrected = json_patch(given, [operation for one in problems for operation in one["patch"]])
    result = (await client.call("choose", corrected)).result
    assert result["structuredContent"] == {"numbers": [1, 2], "limit": 3, "ratio": 0.5, "exact": True}


@WIRES
@pytest.mark.requirement("mcp:arguments:patch")
async def test_an_argument_like_no_other_gets_no_patch(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("choose", {"zzz": 3})).result
    (problem,) = result["_meta"]["pentad/error"]["details"]["problems"]
    assert problem["valid"] == ["numbers", "limit", "ratio", "exact", "filter"]
    assert not {"suggestions", "patch", "certain"} & problem.keys()


@WIRES
@pytest.mark.requirement("mcp:arguments:missing")
async def test_every_missing_argument_is_named_at_once(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("add", {})).result
    assert result["isError"] is True
    assert "Missing argument 'a'." in result["content"][0]["text"]
    assert "Missing argument 'b'." in result["content"][0]["text"]


@WIRES
@pytest.mark.requirement("mcp:arguments:none-taken")
async def test_a_tool_without_arguments_refuses_any(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("nothing", {"text": "x"})).result
    assert result["isError"] is True
    assert "takes no arguments" in result["content"][0]["text"]


@WIRES
@pytest.mark.parametrize("arguments", [[], "text", 7, True])
@pytest.mark.parametrize("name", ["echo", "nothing"])
@pytest.mark.requirement("mcp:arguments:not-an-object")
async def test_arguments_that_are_no_object_are_refused(connect: Connect, name: str, arguments: object) -> None:
    client = await connect()
    result = (await client.request("tools/call", {"name": name, "arguments": arguments})).result
    assert result["isError"] is True
    assert "object" in result["content"][0]["text"]


@WIRES
@pytest.mark.requirement("mcp:arguments:strict")
async def test_null_arguments_are_none_at_all(connect: Connect) -> None:
    client = await connect()
    assert (await client.request("tools/call", {"name": "nothing", "arguments": None})).result["isError"] is False
    assert (await client.request("tools/call", {"name": "choose", "arguments": None})).result["isError"] is False


@WIRES
@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": None}, {"arguments": {}}])
@pytest.mark.requirement("mcp:params:invalid")
async def test_a_call_without_a_name_is_an_invalid_request(connect: Connect, params: dict[str, Any]) -> None:
    client = await connect()
    assert (await client.request("tools/call", params)).error["code"] == -32602
