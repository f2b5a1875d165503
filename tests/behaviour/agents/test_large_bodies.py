"""A body that is too large gets an error in the sender's dialect, not a broken connection."""

import json
from typing import Any

import pytest

from tests.behaviour.agents.conftest import Wire
from tests.net.raw_http import running

pytestmark = pytest.mark.anyio

LARGE = {"mcp_context": {"items": {"a": {"content": "x" * 5 * 1024 * 1024, "mediaType": "text/plain"}}}}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": {"message": {"metadata": LARGE}}}


async def told_on_a_socket(wire: Wire, path: str, *, chunked: bool) -> tuple[bytes, Any]:
    """Status line and body, from a server that receives the whole request before its answer is read."""
    body = json.dumps(CALL).encode()
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: %d" % len(body)
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%b\r\n\r\n" % (
        path.encode(),
        length,
    )
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if chunked else body
    async with running(wire.front) as server:
        peer = await server.connect()
        await peer.send(head + sent)
        answer = await peer.until(b"\r\n\r\n")
        size = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length"))
        told = json.loads(await peer.some(int(size.split(b":")[1])))
        # the connection stays open
        await peer.send(b"GET /agents/tck HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in (await peer.until(b"\r\n"))
    return answer.split(b"\r\n")[0], told


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("path", ["/agents/tck", "/a2a", "/av"])
async def test_json_rpc_hears_of_a_body_that_is_too_large(wire: Wire, path: str, chunked: bool) -> None:
    status, told = await told_on_a_socket(wire, path, chunked=chunked)

    assert b" 413 " in status
    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, -32602)
    assert "4194304 bytes" in told["error"]["message"]
    assert ("data" in told["error"]) == (path != "/av")


async def test_http_json_hears_of_a_body_that_is_too_large(wire: Wire) -> None:
    status, told = await told_on_a_socket(wire, "/agents/tck/message:send", chunked=False)

    assert b" 413 " in status
    assert told["error"]["code"] == 413
    assert "4194304 bytes" in told["error"]["message"]


async def test_a_body_that_says_it_is_enormous_is_answered_unread(wire: Wire) -> None:
    answer = wire.post(b"{}", content_length=str(10**10))

    assert "error" in await answer.json()
    assert answer.status == 413
