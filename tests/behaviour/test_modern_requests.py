"""What a request of the stateless era must declare, and what its headers must repeat."""

import json

import pytest

from tests.behaviour.clients import (
    META,
    MODERN,
    Object,
)
from tests.behaviour.connecting import Connect
from tests.behaviour.http_wire import send
from tests.behaviour.plain_http import ECHO, ON_MODERN, http, told

pytestmark = pytest.mark.anyio


@ON_MODERN
@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities", None])
@pytest.mark.requirement("mcp:2026:meta-required")
async def test_a_modern_request_without_its_meta_is_invalid(connect: Connect, missing: str | None) -> None:
    client = await http(connect)
    request = client.message("tools/list", {}, 7, None)
    if missing is None:
        del request["params"]["_meta"]
    else:
        del request["params"]["_meta"][META + missing]
    status, body = await told(client.post(request, client.headers(request)))
    assert status == 400
    assert body["error"]["code"] == -32602
    assert body["id"] == 7


@ON_MODERN
@pytest.mark.requirement("mcp:2026:unsupported-version")
async def test_an_unknown_modern_version_is_refused_with_the_known_ones(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("tools/list", {}, 1, {META + "protocolVersion": "v999"})
    headers = {**client.headers(request), "mcp-protocol-version": "v999"}
    status, body = await told(client.post(request, headers))
    assert status == 400
    assert body["error"]["code"] == -32022
    assert body["error"]["data"] == {"supported": [MODERN], "requested": "v999"}


@ON_MODERN
@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-protocol-version", "v999"),
        ("mcp-protocol-version", None),
        ("mcp-method", "TOOLS/CALL"),
        ("mcp-method", "tools/list"),
        ("mcp-method", None),
        ("mcp-name", "add"),
        ("mcp-name", None),
        ("mcp-name", "=?base64?ZWNo?="),
        ("mcp-name", "=?base64?ZW!!Nobw==?="),
    ],
)
@pytest.mark.requirement("mcp:2026:header-mismatch")
async def test_headers_that_do_not_say_what_the_body_says_are_refused(
    connect: Connect, header: str, value: str | None
) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    headers = {name: text for name, text in {**client.headers(request), header: value}.items() if text is not None}
    status, body = await told(client.post(request, headers))
    assert status == 400
    assert body["error"]["code"] == -32020


@ON_MODERN
@pytest.mark.parametrize("name", ["echo", "  echo  ", "\techo", "=?base64?ZWNobw==?=", " =?base64?ZWNobw==?= "])
@pytest.mark.requirement("mcp:2026:header-forms", "access:headers:whitespace")
async def test_a_name_may_be_padded_or_wrapped(connect: Connect, name: str) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    status, _ = await told(client.post(request, {**client.headers(request), "mcp-name": name}))
    assert status == 200


@ON_MODERN
@pytest.mark.requirement("mcp:2026:header-repeated")
async def test_a_repeated_protocol_header_is_refused(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    pairs = [*client.headers(request).items(), ("mcp-name", "echo")]
    answer = send(client.app, "POST", "/mcp", pairs, json.dumps(request).encode())
    status, body = await told(answer)
    assert status == 400
    assert body["error"]["code"] == -32020


@ON_MODERN
@pytest.mark.parametrize(
    ("arguments", "headers", "status"),
    [
        ({"region": "eu"}, {"mcp-param-region": "eu"}, 200),
        ({"region": "eu"}, {"mcp-param-region": " eu "}, 200),
        ({"region": "eu"}, {"mcp-param-region": "=?base64?ZXU=?="}, 200),
        ({"region": "eu"}, {}, 400),
        ({"region": "eu"}, {"mcp-param-region": "us"}, 400),
        ({"region": "eu"}, {"mcp-param-region": "EU"}, 400),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "42.0"}, 200),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "43"}, 400),
        ({"region": "eu", "count": None}, {"mcp-param-region": "eu"}, 200),
    ],
)
@pytest.mark.requirement("mcp:2026:param-headers")
async def test_mirrored_arguments_must_agree_with_their_headers(
    connect: Connect, arguments: Object, headers: dict[str, str], status: int
) -> None:
    client = await http(connect)
    request = client.message("tools/call", {"name": "route", "arguments": arguments}, 1, None)
    got, body = await told(client.post(request, {**client.headers(request), **headers}))
    assert got == status
    if status == 400:
        assert body["error"]["code"] == -32020


@ON_MODERN
@pytest.mark.requirement("mcp:2026:era-by-meta")
async def test_meta_alone_makes_a_request_modern(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("initialize", {}, 1, None)
    headers = {**client.headers(request)}
    del headers["mcp-protocol-version"]
    status, body = await told(client.post(request, headers))
    assert status == 400
    assert body["error"]["code"] == -32020, "the missing header is what is wrong with it"
    status, body = await told(client.post(request, client.headers(request)))
    assert (status, body["error"]["code"]) == (404, -32601)


@ON_MODERN
@pytest.mark.requirement("mcp:2026:stateless")
async def test_session_and_event_ids_mean_nothing_to_the_modern_era(connect: Connect) -> None:
    client = await http(connect)
    request = client.message("tools/call", ECHO, 1, None)
    headers = {**client.headers(request), "mcp-session-id": "unknown", "last-event-id": "x.1"}
    answer = client.post(request, headers)
    assert (await told(answer))[0] == 200
    assert "mcp-session-id" not in answer.headers
