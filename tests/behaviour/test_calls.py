"""Calling tools: results in every shape, and how failures read."""

import base64
import json
import logging

import pytest

from tests.behaviour.clients import (
    EVERY_REVISION,
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    SESSION,
    STATELESS,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import AppMaker, Connect, connect_http
from tests.behaviour.room import CANARY

STRUCTURED = ("2025-06-18", "2025-11-25", "2026-07-28")


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:text")
async def test_a_text_comes_back_as_one_text_block(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("echo", {"text": 'snow ❄ and \u0000 and \\ "'})).result
    assert result["content"] == [{"type": "text", "text": 'snow ❄ and \u0000 and \\ "'}]
    assert result["isError"] is False
    assert "structuredContent" not in result


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:structured", "mcp:tools:call:text-twin")
async def test_a_model_comes_back_as_data_and_as_its_text_twin(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("add", {"a": 2, "b": 3})).result
    assert result["structuredContent"] == {"total": 5}, "a field that is None is left out"
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    entries = {entry["name"]: entry for entry in await client.everything("tools/list", "tools")}
    assert entries["add"]["outputSchema"]["required"] == ["total"]


@pytest.mark.anyio
@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:revisions:structured-content")
async def test_structured_content_is_only_sent_to_revisions_that_know_it(connect: Connect, wire: Wire) -> None:
    client = await connect()
    for name, arguments in (("add", {"a": 2, "b": 3}), ("composed", {})):
        result = (await client.call(name, arguments)).result
        assert ("structuredContent" in result) == (wire.revision in STRUCTURED)
        assert json.loads(result["content"][0]["text"]), "the text twin is there for everybody"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:alias")
async def test_a_tool_answers_to_its_other_name(connect: Connect) -> None:
    client = await connect()
    assert json.loads((await client.call("plus", {"a": 1, "b": 1})).text) == {"total": 2}


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:composed")
async def test_a_composed_result_keeps_its_data_its_verdict_and_its_meta(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("composed")).result
    assert result["isError"] is True
    assert result["structuredContent"] == {"rows": [1, 2]}
    assert result["_meta"]["lab/rows"] == 2


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:literal")
async def test_a_room_may_promise_a_shape_the_protocol_does_not_know(connect: Connect) -> None:
    client = await connect()
    assert (await client.call("verbatim")).result["content"] == [{"type": "text", "text": "plain", "audience": []}]
    result = (await client.call("literal")).result
    assert result["greeting"] == "hello"
    assert "content" not in result


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:nothing")
async def test_nothing_is_an_empty_list_of_blocks(connect: Connect) -> None:
    client = await connect()
    assert (await client.call("nothing")).result["content"] == []
    no_arguments = await client.request("tools/call", {"name": "nothing"})
    assert no_arguments.result["isError"] is False


@pytest.mark.anyio
@pytest.mark.parametrize("wire", EVERY_REVISION, ids=wire_name)
@pytest.mark.requirement("mcp:tools:call:content-kinds", "mcp:revisions:content-kinds")
async def test_blocks_are_said_in_the_words_of_the_revision(connect: Connect, wire: Wire) -> None:
    client = await connect()
    text, image, sound, embedded, link = (await client.call("shapes")).result["content"]
    knows_audio, knows_links = wire.revision > "2024-11-05", wire.revision > "2025-03-26"
    assert image == {"type": "image", "data": base64.b64encode(b"png").decode(), "mimeType": "image/png"}
    assert embedded["type"] == "resource"
    assert embedded["resource"]["text"] == "inside"
    if knows_audio:
        assert sound == {"type": "audio", "data": base64.b64encode(b"wav").decode(), "mimeType": "audio/wav"}
    else:
        assert sound["type"] == "resource"
        assert sound["resource"]["blob"] == base64.b64encode(b"wav").decode()
    if knows_links:
        assert link["type"] == "resource_link"
        assert link["uri"] == "lab://static/text"
        assert text["_meta"] == {"lab/block": 1}
        assert embedded["resource"]["_meta"] == {"lab/inner": 1}
        assert text["annotations"]["lastModified"] == "2026-01-01T00:00:00Z"
    else:
        assert link == {"type": "text", "text": "Static text: lab://static/text"}
        assert text == {"type": "text", "text": "words", "annotations": {"audience": ["user"], "priority": 0.5}}
        assert embedded["resource"].keys() == {"uri", "mimeType", "text"}


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:refusal")
async def test_what_cannot_be_fulfilled_is_a_result_the_model_can_read(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("refuse", {"key": "moon"})).result
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "There is no 'moon' here. Try another key."}]
    error = result["_meta"]["pentad/error"]
    assert error == {
        "code": "invalid_input",
        "message": "There is no 'moon' here.",
        "hint": "Try another key.",
        "details": {"key": "moon"},
    }


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:unknown-tool")
async def test_an_unknown_tool_is_a_protocol_error_that_names_the_nearest(connect: Connect, wire: Wire) -> None:
    client = await connect()
    reply = await client.call("ecco", {"text": "x"})
    assert reply.error["code"] == -32602
    assert "'echo'" in reply.error["message"]
    if reply.http is not None:
        assert reply.http.status == (400 if wire.modern else 200)


@pytest.mark.anyio
@pytest.mark.requirement("mcp:methods:unknown")
async def test_an_unknown_method_is_refused_by_its_code_with_the_nearest(connect: Connect, wire: Wire) -> None:
    client = await connect()
    reply = await client.request("tools/lits")
    assert reply.error["code"] == -32601
    assert "'tools/list'" in reply.error["message"]
    if reply.http is not None:
        assert reply.http.status == (404 if wire.modern else 200)


@pytest.mark.anyio
@pytest.mark.parametrize("request_id", [0, -7, 2**53, "text", "", "ünï"])
@pytest.mark.requirement("mcp:jsonrpc:id-echo")
async def test_an_answer_carries_the_id_of_its_request_value_and_type(connect: Connect, request_id: object) -> None:
    client = await connect()
    for method in ("tools/list", "no/such"):
        final = (await client.request(method, request_id=request_id)).final
        assert final["id"] == request_id
        assert type(final["id"]) is type(request_id)


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:crash", "access:secrets:no-leak")
async def test_a_crash_tells_the_caller_an_incident_and_nothing_else(
    connect: Connect, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    client = await connect()
    with caplog.at_level(logging.ERROR, "pentad"):
        reply = await client.call("crash", {"key": "argument-canary"})
    result = reply.result
    assert result["isError"] is True
    shown = json.dumps(reply.final)
    for secret in (CANARY, "argument-canary", "RuntimeError", "Traceback", "room.py", "/tests/"):
        assert secret not in shown
    incident = result["content"][0]["text"].split()[-1].rstrip(".")
    if wire.transport != "stdio":
        assert incident in caplog.text, "the operator finds it in the log"
        assert CANARY in caplog.text
    assert (await client.call("echo", {"text": "still here"})).text == "still here"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:crash")
async def test_a_result_nobody_can_encode_is_an_incident_too(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("garble")).result
    assert result["isError"] is True
    assert "incident" in result["content"][0]["text"]


@pytest.mark.anyio
@pytest.mark.requirement("access:secrets:no-leak")
async def test_a_resource_that_crashes_tells_an_incident_and_nothing_else(connect: Connect, wire: Wire) -> None:
    client = await connect()
    reply = await client.request("resources/read", {"uri": "lab://static/broken"})
    assert reply.error["code"] == -32603
    assert CANARY not in json.dumps(reply.final)
    assert "incident" in reply.error["message"]
    if reply.http is not None and wire.modern:
        assert reply.http.status == 500


@pytest.mark.anyio
@pytest.mark.requirement("mcp:limits:result-bytes")
async def test_a_result_over_the_limit_is_refused_with_what_to_do(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("large")).result
    assert result["isError"] is True
    assert "limit" in result["content"][0]["text"]
    assert len(json.dumps(result)) < 2000


@pytest.mark.anyio
@pytest.mark.parametrize("wire", [MEMORY, MEMORY_MODERN, SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:limits:deadline")
async def test_a_call_past_its_deadline_is_stopped_and_said_so(connect: Connect) -> None:
    client = await connect()
    result = (await client.call("late")).result
    assert result["isError"] is True
    assert "0.05 seconds" in result["content"][0]["text"]
    assert result["_meta"]["pentad/error"]["code"] == "deadline_exceeded"
    assert (await client.call("echo", {"text": "on"})).text == "on"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:tools:call:context")
async def test_a_tool_knows_who_calls_on_what_wire(connect: Connect, wire: Wire) -> None:
    client = await connect()
    who = json.loads((await client.call("whoami")).text)
    assert who["principal"] == "local"
    assert who["revision"] == wire.revision
    assert who["transport"] == ("http" if wire.http else wire.transport)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.anyio
@pytest.mark.requirement("mcp:trace:passed-on")
async def test_trace_context_reaches_the_tool(connect: Connect, wire: Wire) -> None:
    client = await connect()
    assert json.loads((await client.call("whoami", meta={"traceparent": TRACE})).text)["trace"] == TRACE


@pytest.mark.anyio
@pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:trace:passed-on")
async def test_trace_context_may_come_in_a_header(make_app: AppMaker, wire: Wire) -> None:
    client = await connect_http(await make_app(), wire, traceparent=TRACE)
    assert json.loads((await client.call("whoami")).text)["trace"] == TRACE
    await client.close()


@pytest.mark.anyio
@pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("mcp:http:headers")
async def test_a_tool_may_read_the_headers_of_its_request(make_app: AppMaker, wire: Wire) -> None:
    app = await make_app()
    client = await connect_http(app, wire, None, **{"x-lab": "open"})
    assert json.loads((await client.call("whoami")).text)["header"] == "open"
    without = await connect_http(app, wire)
    assert json.loads((await without.call("whoami")).text)["header"] is None
    await client.close()
    await without.close()
