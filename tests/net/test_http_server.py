"""The way in, attacked with raw sockets: every behaviour that uvicorn alone does not give, or might change."""

import asyncio
import logging
import signal
import socket
from pathlib import Path
from typing import Any, cast

import pytest

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.net.http_server import serve
from pentad.net.request_body import ClientDisconnected, read_body
from tests.net.raw_http import HONEST, PATIENCE, Peer, answer, running


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop the server is run on in earnest."""
    return "asyncio", {"use_uvloop": True}


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Reads its body within 1000 bytes and says how many came; any error is its status."""
    headers = dict(scope["headers"])
    declared = headers.get(b"content-length")
    try:
        body = await read_body(
            receive, int(declared) if declared else None, limit=1000, floor_bytes_per_second=1000, grace_seconds=0.3
        )
    except PentadError as error:
        return await answer(send, error.http_status, error.message.encode())
    except ClientDisconnected:
        return None
    return await answer(send, 200, b"%s %d" % (scope["method"].encode(), len(body)))


async def honest_call(peer: Peer) -> bytes:
    await peer.send(HONEST)
    head = await peer.until(b"\r\n\r\n")
    return head + await peer.until(b"GET 0")


@pytest.mark.anyio
async def test_an_honest_call_is_answered_again_and_again_on_one_connection():
    async with running(app) as server:
        peer = await server.connect()
        for _ in range(3):
            assert (await honest_call(peer)).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.anyio
@pytest.mark.requirement("trace:request-id")
@pytest.mark.parametrize("more_body", [False, True])
async def test_the_answer_says_under_which_id_the_application_knows_the_request(more_body: bool):
    numbers = iter(("order-1", "order-2"))

    async def known(scope: Any, receive: Any, send: Any) -> None:
        scope["request_id"] = next(numbers)
        length = [] if more_body else [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": b"hello", "more_body": more_body})
        if more_body:
            await send({"type": "http.response.body", "body": b""})

    async with running(known) as server:
        peer = await server.connect()
        for number in (b"order-1", b"order-2"):
            await peer.send(HONEST)
            head = await peer.until(b"\r\n\r\n")
            assert b"\r\nx-request-id: %b\r\n" % number in head
            await peer.until(b"0\r\n\r\n" if more_body else b"hello")


@pytest.mark.anyio
async def test_the_answer_names_no_server_and_carries_the_date():
    async with running(app) as server:
        peer = await server.connect()
        head = (await honest_call(peer)).lower()
        assert b"\r\nserver:" not in head
        assert b"\r\ndate:" in head


@pytest.mark.anyio
@pytest.mark.requirement("access:limits:slow-clients")
async def test_two_hundred_half_open_sockets_do_not_stop_an_honest_call_and_are_closed():
    half_header = b"GET / HTTP/1.1\r\nHost: te"
    half_body = b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf"
    async with running(app, header_seconds=0.5, keep_alive_seconds=0.5) as server:
        slow = [await server.connect(half_header if turn % 2 else half_body) for turn in range(200)]
        honest = await server.connect()
        assert b"200 OK" in await honest_call(honest)
        endings = await asyncio.gather(*(peer.rest() for peer in slow))
        assert {ending[:13] for ending in endings} == {b"HTTP/1.1 408 "}


@pytest.mark.anyio
async def test_a_silent_connection_is_closed_without_a_word():
    async with running(app, header_seconds=0.2) as server:
        peer = await server.connect()
        assert await peer.rest() == b""


@pytest.mark.anyio
@pytest.mark.requirement("access:limits:header")
async def test_a_header_that_comes_byte_by_byte_does_not_stretch_the_deadline():
    async with running(app, header_seconds=0.4) as server:
        peer = await server.connect(b"GET / HTTP/1.1\r\n")

        async def drip() -> None:
            while True:
                peer.writer.write(b"X")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert (await peer.rest()).startswith(b"HTTP/1.1 408 ")
        dripping.cancel()


@pytest.mark.anyio
async def test_the_deadline_holds_for_the_second_request_of_a_connection():
    async with running(app, header_seconds=0.3, keep_alive_seconds=60) as server:
        peer = await server.connect()
        await honest_call(peer)
        await peer.send(b"GET / HT")
        assert (await peer.rest()).startswith(b"HTTP/1.1 408 ")


@pytest.mark.anyio
async def test_an_idle_connection_is_closed_even_if_it_sends_line_breaks():
    async with running(app, keep_alive_seconds=0.4) as server:
        peer = await server.connect()
        await honest_call(peer)

        async def drip() -> None:
            while True:
                peer.writer.write(b"\r\n")
                await asyncio.sleep(0.02)

        dripping = asyncio.create_task(drip())
        assert await peer.rest() == b""
        dripping.cancel()


@pytest.mark.anyio
@pytest.mark.parametrize("pieces", [1, 40])
@pytest.mark.requirement("access:limits:header")
async def test_headers_beyond_the_cap_are_refused(pieces: int):
    request = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 80) for i in range(100)) + b"\r\n"
    async with running(app, header_bytes=4096) as server:
        peer = await server.connect()
        size = len(request) // pieces
        for start in range(0, len(request), size):
            peer.writer.write(request[start : start + size])
            await asyncio.sleep(0)
        assert (await peer.rest()).startswith(b"HTTP/1.1 413 ")


@pytest.mark.anyio
async def test_headers_at_the_cap_pass():
    request = b"GET / HTTP/1.1\r\nX: " + b"y" * (4096 - 23) + b"\r\n\r\n"
    assert len(request) == 4096
    async with running(app, header_bytes=4096) as server:
        peer = await server.connect(request)
        assert b"200 OK" in await peer.until(b"\r\n\r\n")


@pytest.mark.anyio
async def test_a_large_body_does_not_count_as_header():
    async with running(app, header_bytes=512) as server:
        peer = await server.connect()
        for _ in range(2):
            body = b"z" * 1000
            await peer.send(b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n" + body)
            assert await peer.until(b"POST 1000")


@pytest.mark.anyio
async def test_pipelined_requests_are_all_answered():
    async with running(app, header_bytes=100) as server:
        peer = await server.connect(HONEST * 20)
        for _ in range(20):
            await peer.until(b"GET 0")


@pytest.mark.anyio
async def test_trailers_are_read_but_not_kept():
    seen: list[Any] = []

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        await app(scope, receive, send)
        seen.append(scope.get("headers"))

    async with running(noting) as server:
        head = b"POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
        peer = await server.connect(head + b"3\r\nabc\r\n0\r\nX-Admin: yes\r\n\r\n")
        await peer.until(b"POST 3")
    assert [name for name, _ in seen[0]] == [b"host", b"transfer-encoding"]


@pytest.mark.anyio
async def test_a_body_beyond_the_limit_gets_its_413_and_then_the_end():
    async with running(app, header_seconds=0.4) as server:
        peer = await server.connect(
            b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 500_000
        )
        assert b"413" in await peer.until(b"\r\n\r\n")
        assert (await peer.rest()).endswith(b"1000 bytes.")


@pytest.mark.anyio
async def test_a_reader_that_stops_reading_is_cut_off():
    ended = asyncio.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        waiting = asyncio.create_task(receive_end(receive))
        while not waiting.done():
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
            await asyncio.sleep(0)
        ended.set()
        return

    async def receive_end(receive: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async with running(endless, write_seconds=0.3) as server:
        peer = await server.connect(HONEST)
        cast("asyncio.Transport", peer.writer.transport).pause_reading()
        await asyncio.wait_for(ended.wait(), PATIENCE)


@pytest.mark.anyio
async def test_a_slow_but_steady_reader_gets_everything():
    size = 12_000_000

    async def large(scope: Any, receive: Any, send: Any) -> None:
        return await answer(send, 200, b"x" * size)

    async with running(large, write_seconds=0.3, keep_alive_seconds=0.2) as server:
        peer = await server.connect(HONEST, receive_buffer=65_536)
        await peer.until(b"\r\n\r\n")
        received = 0
        while chunk := await peer.some(size - received):
            received += len(chunk)
            await asyncio.sleep(0.01)
        assert received == size


@pytest.mark.anyio
async def test_one_address_holds_only_so_many_connections():
    async with running(app, connections_per_address=3) as server:
        held = [await server.connect() for _ in range(3)]
        for peer in held:
            await honest_call(peer)
        surplus = await server.connect()
        assert (await surplus.rest()).startswith(b"HTTP/1.1 429 ")
        await held[0].send(b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        await held[0].rest()
        following = await server.connect()
        assert b"200 OK" in await honest_call(following)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "data",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9.9\r\n\r\n", b"G\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\n\r\n"],
)
async def test_what_is_not_http_gets_a_plain_400(data: bytes, caplog: pytest.LogCaptureFixture):
    async with running(app) as server:
        peer = await server.connect(data)
        ends = await peer.rest()
        assert ends.startswith(b"HTTP/1.1 400 ")
        assert b"Traceback" not in ends
    assert caplog.records == []


@pytest.mark.anyio
async def test_an_offered_upgrade_is_answered_as_plain_http(caplog: pytest.LogCaptureFixture):
    async with running(app) as server:
        peer = await server.connect(
            b"POST / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
            b"HTTP2-Settings: AA\r\nContent-Length: 3\r\n\r\nabc"
        )
        await peer.until(b"POST 3")
    assert caplog.records == []


@pytest.mark.anyio
async def test_a_tunnel_is_refused():
    async with running(app) as server:
        peer = await server.connect(b"CONNECT inside:22 HTTP/1.1\r\nHost: inside:22\r\n\r\n")
        assert (await peer.until(b"\r\n")).startswith(b"HTTP/1.1 400 ")


@pytest.mark.anyio
async def test_an_error_of_the_application_is_a_bare_500_and_goes_to_the_log(caplog: pytest.LogCaptureFixture):
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("the cause")

    async with running(failing) as server:
        peer = await server.connect(HONEST)
        ends = await peer.rest()
    assert ends.startswith(b"HTTP/1.1 500 ")
    assert b"the cause" not in ends
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.anyio
@pytest.mark.parametrize("asked_by", ["event", signal.SIGTERM, signal.SIGINT])
async def test_stopping_lets_an_event_stream_end(asked_by: str | signal.Signals):
    happened: list[str] = []
    stopping_seen: list[asyncio.Event] = []

    async def streaming(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: first\n\n", "more_body": True})
        await stopping_seen[0].wait()
        await send({"type": "http.response.body", "body": b"data: last\n\n"})
        happened.append("stream ended")

    async with running(streaming) as server:
        stopping_seen.append(server.stopping)
        peer = await server.connect(HONEST)
        await peer.until(b"data: first\n\n")
        if isinstance(asked_by, signal.Signals):
            signal.raise_signal(asked_by)
        else:
            server.stopping.set()
        assert b"data: last\n\n" in await peer.rest()
    assert happened == ["stream ended"]


@pytest.mark.anyio
async def test_a_second_interrupt_does_not_wait_for_streams_and_logs_nothing(caplog: pytest.LogCaptureFixture):
    async def stubborn(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        await asyncio.Event().wait()

    async with running(stubborn, grace_seconds=600) as server:
        peer = await server.connect(HONEST)
        await peer.until(b"begun")
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(server.stopping.wait(), PATIENCE)
        signal.raise_signal(signal.SIGINT)
        await peer.rest()
    assert not caplog.records


@pytest.mark.anyio
async def test_what_ignores_the_stop_is_cut_off_after_the_grace(caplog: pytest.LogCaptureFixture):
    cancelled = asyncio.Event()

    async def stubborn(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with running(stubborn, grace_seconds=1) as server:
        peer = await server.connect(HONEST)
        await peer.until(b"begun")
        server.stopping.set()
        await peer.rest()
    assert cancelled.is_set()
    assert caplog.records


@pytest.mark.anyio
async def test_a_taken_port_is_a_clear_error():
    async with running(app) as server:
        with pytest.raises(Misconfigured, match="already in use"):
            await serve(app, port=server.port, limits=Limits())


@pytest.mark.anyio
async def test_a_unix_socket_serves_and_is_cleaned_up_even_after_a_crash(tmp_path: Path):
    path = tmp_path / "pentad.sock"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(path))
    stopping, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(
        serve(app, uds=str(path), limits=Limits(), ready=lambda port: ready.set(), stopping=stopping)
    )
    await asyncio.wait_for(ready.wait(), PATIENCE)
    peer = Peer(*await asyncio.open_unix_connection(str(path)))
    assert b"200 OK" in await honest_call(peer)
    await peer.close()
    stopping.set()
    await asyncio.wait_for(task, PATIENCE)
    assert not path.exists()
