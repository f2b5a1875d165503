"""Every message of Pentad, checked against the wire models of the official types, revision by revision."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.room import ROOM
from tests.conformance.server import Served
from tests.conformance.wire import MODERN, PREFIX, Modern, Session, Wire

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

ABLE = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}
WATCHED = {"uri": "test://watched-resource"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "test_echo": {"text": "x"},
    "test_add": {"a": 1, "b": 2},
    "test_big_result": {"characters": 100},
    "test_custom_headers": {"region": "r"},
    "test_sampling": {"prompt": "?"},
    "test_elicitation": {"message": "?"},
}
ANSWERS: dict[str, Any] = {
    "sampling/createMessage": {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"},
    "elicitation/create": {"action": "decline"},
    "roots/list": {"roots": []},
}
WAITING = {"test_hold", "test_held"}
TOOLS = [tool.name for tool in ROOM.tools if tool.name not in WAITING]
Request = tuple[str, dict[str, Any]]


def requests() -> Iterator[Request]:
    """Every method with every fixture, and every usual mistake."""
    for name in TOOLS:
        yield "tools/call", {"name": name, "arguments": ARGUMENTS.get(name, {}), "_meta": {"progressToken": "p"}}
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        yield method, {}
    for uri in ("static-text", "static-binary", "template/1/data", "numbered/1", "watched-resource", "asking/it"):
        yield "resources/read", {"uri": f"test://{uri}"}
    for name in ("test_simple_prompt", "test_prompt_with_image", "test_input_required_result_prompt"):
        yield "prompts/get", {"name": name}
    yield "prompts/get", {"name": "test_prompt_with_arguments", "arguments": {"arg1": "1", "arg2": "2"}}
    yield "prompts/get", {"name": "test_prompt_with_embedded_resource", "arguments": {"resourceUri": "test://x"}}
    for name, key in (("test_prompt_with_arguments", "arg1"), ("test_prompt_with_embedded_resource", "resourceUri")):
        reference = {"type": "ref/prompt", "name": name}
        yield "completion/complete", {"ref": reference, "argument": {"name": key, "value": ""}}
    yield "tools/call", {"name": "nobody"}
    yield "tools/call", {}
    yield "tools/call", {"name": "test_add", "arguments": {"a": "x"}}
    yield "tools/call", {"name": "test_add", "arguments": {"a": "1", "b": 2}}
    yield "prompts/get", {"name": "nobody"}
    yield "resources/read", {"uri": "test://nowhere"}
    yield "unknown/method", {}


def modern_messages(wire: Wire) -> Iterator[tuple[str, Any]]:
    client = Modern(wire, ABLE)
    for method, params in [*requests(), ("server/discover", {})]:
        meta = {**params.get("_meta", {}), PREFIX + "logLevel": "debug"}
        headers = {"Mcp-Param-Region": "r"} if params.get("name") == "test_custom_headers" else {}
        for message in client.call(method, params, meta=meta, headers=headers).messages:
            yield method, message
    wanted = {"toolsListChanged": True, "resourceSubscriptions": [WATCHED["uri"]]}
    with client.open("subscriptions/listen", {"notifications": wanted}) as stream:
        yield "subscriptions/listen", stream.next_message()
        for name in ("test_trigger_tool_change", "test_trigger_resource_update"):
            client.tool(name)
            yield "subscriptions/listen", stream.next_message()


def legacy_messages(wire: Wire, version: str) -> Iterator[tuple[str, Any]]:
    session = Session.start(wire, version, ABLE)
    yield "initialize", session.initialized.final
    extra: list[Request] = [
        ("ping", {}),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", WATCHED),
        ("resources/unsubscribe", WATCHED),
    ]
    for method, params in [*extra, *requests()]:
        if params.get("name") == "test_reconnection":
            continue
        with session.open(method, params) as stream:
            if not stream.headers["content-type"].startswith("text/event-stream"):
                yield method, json.loads(stream.read())
                continue
            for event in stream.events():
                if event.data:
                    yield method, event.message
                    if "id" in event.message and "method" in event.message:
                        session.respond(event.message["id"], ANSWERS[event.message["method"]])
    with session.listen() as stream:
        session.tool("test_trigger_tool_change")
        yield "GET", stream.next_message()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", MODERN])
@pytest.mark.requirement("mcp:interop:wire-schema")
def test_every_message_fits_the_models_of_its_revision(served: Served, sdk: Path, version: str) -> None:
    wire = Wire(served.port)
    said = list(modern_messages(wire) if version == MODERN else legacy_messages(wire, version))
    lines = [json.dumps({"version": version, "method": method, "message": message}) for method, message in said]
    script = Path(__file__).with_name("check_messages.py")
    checked = subprocess.run(
        [sdk, script], input="\n".join(lines), capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert len(said) > len(TOOLS)
    assert checked.stdout == ""
