"""Answers that are handed on while they come: the guards of a fetch, and a limit on silence."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from pentad.kernel.errors import DeadlineExceeded, Forbidden, LimitExceeded, Unavailable
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from tests.net.test_fetch import LOOPBACK, Names, answering, echo

PATIENCE = 60.0


@asynccontextmanager
async def streaming(**policy: Any) -> AsyncGenerator[HttpFetcher]:
    given: dict[str, Any] = {"allow_networks": LOOPBACK, "allow_http": True, **policy}
    fetcher = HttpFetcher(FetchPolicy(**given), resolver=Names(hidden_example="10.0.0.1"))
    try:
        yield fetcher
    finally:
        await fetcher.close()


async def begun(request: web.Request, **headers: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **headers})
    await response.prepare(request)
    return response


@pytest.mark.anyio
async def test_chunks_are_handed_on_before_the_answer_is_complete():
    more = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = await begun(request)
        await response.write(b"one")
        await asyncio.wait_for(more.wait(), PATIENCE)
        await response.write(b"two")
        return response

    async with (
        answering(handler) as port,
        streaming() as fetcher,
        fetcher.stream(f"http://127.0.0.1:{port}/s") as answer,
    ):
        assert (answer.status, answer.url) == (200, f"http://127.0.0.1:{port}/s")
        assert answer.headers["content-type"] == "text/event-stream"
        chunks = [await anext(answer.chunks)]
        more.set()
        chunks += [chunk async for chunk in answer.chunks]
    assert chunks == [b"one", b"two"]


@pytest.mark.anyio
async def test_a_stream_is_asked_for_as_given_and_uncompressed():
    async with (
        answering(echo) as port,
        streaming() as fetcher,
        fetcher.stream(
            f"http://127.0.0.1:{port}/", method="POST", headers={"Accept": "text/event-stream"}, body=b"{}"
        ) as answer,
    ):
        body = b"".join([chunk async for chunk in answer.chunks])
    assert b'"method": "POST"' in body
    assert b'"accept": "text/event-stream"' in body
    assert b'"accept-encoding": "identity"' in body


@pytest.mark.anyio
async def test_a_silent_stream_ends_with_an_error():
    async def handler(request: web.Request) -> web.StreamResponse:
        response = await begun(request)
        await response.write(b"one")
        await asyncio.Event().wait()
        return response

    async with (
        answering(handler) as port,
        streaming() as fetcher,
        fetcher.stream(f"http://127.0.0.1:{port}/", idle=0.05) as answer,
    ):
        assert await anext(answer.chunks) == b"one"
        with pytest.raises(DeadlineExceeded, match=r"sent nothing for 0\.05 s"):
            await anext(answer.chunks)


@pytest.mark.anyio
async def test_a_stream_that_breaks_off_says_so():
    async def handler(request: web.Request) -> web.StreamResponse:
        response = await begun(request, **{"Content-Length": "100"})
        await response.write(b"one")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with (
        answering(handler) as port,
        streaming() as fetcher,
        fetcher.stream(f"http://127.0.0.1:{port}/") as answer,
    ):
        with pytest.raises(Unavailable, match="closed the stream early"):
            _ = [chunk async for chunk in answer.chunks]


@pytest.mark.anyio
async def test_an_answer_that_does_not_begin_in_time_is_given_up():
    async def handler(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    async with answering(handler) as port, streaming() as fetcher:
        with pytest.raises(DeadlineExceeded, match="did not respond"):
            async with fetcher.stream(f"http://127.0.0.1:{port}/", timeout=0.05):
                pass


@pytest.mark.anyio
async def test_a_stream_goes_only_where_a_fetch_may_go():
    fetcher = HttpFetcher(resolver=Names(hidden_example="10.0.0.1"))
    with pytest.raises(Forbidden):
        async with fetcher.stream("https://hidden.example/"):
            pass
    with pytest.raises(Forbidden):
        async with fetcher.stream("http://169.254.169.254/", trusted=True):
            pass
    async with answering(echo) as port:
        with pytest.raises(Forbidden):
            async with fetcher.stream(f"http://127.0.0.1:{port}/"):
                pass
        async with fetcher.stream(f"http://127.0.0.1:{port}/", trusted=True) as answer:
            assert answer.status == 200
    await fetcher.close()


@pytest.mark.anyio
async def test_redirects_of_a_stream_are_followed_and_judged():
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path == "/here":
            raise web.HTTPTemporaryRedirect("/there")
        if request.path == "/round":
            raise web.HTTPTemporaryRedirect("/round")
        if request.path == "/away":
            raise web.HTTPTemporaryRedirect("http://hidden.example/")
        return await echo(request)

    async with answering(handler) as port, streaming() as fetcher:
        async with fetcher.stream(f"http://127.0.0.1:{port}/here", method="POST", body=b"kept") as answer:
            body = b"".join([chunk async for chunk in answer.chunks])
            assert answer.url.endswith("/there")
            assert b'"body": "kept"' in body
        with pytest.raises(LimitExceeded):
            async with fetcher.stream(f"http://127.0.0.1:{port}/round"):
                pass
        with pytest.raises(Forbidden):
            async with fetcher.stream(f"http://127.0.0.1:{port}/away"):
                pass


@pytest.mark.anyio
async def test_a_stream_in_an_encoding_nobody_asked_for_is_refused():
    async def handler(request: web.Request) -> web.Response:
        return web.Response(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})

    async with answering(handler) as port, streaming() as fetcher:
        with pytest.raises(Unavailable, match="encoding"):
            async with fetcher.stream(f"http://127.0.0.1:{port}/"):
                pass


@pytest.mark.anyio
async def test_open_streams_never_keep_a_fetch_waiting():
    async def handler(request: web.Request) -> web.StreamResponse:
        if request.path == "/quick":
            return web.Response(text="done")
        response = await begun(request)
        await response.write(b"one")
        await asyncio.Event().wait()
        return response

    async with (
        answering(handler) as port,
        streaming(connections=1, timeout=PATIENCE) as fetcher,
        fetcher.stream(f"http://127.0.0.1:{port}/slow") as answer,
    ):
        await anext(answer.chunks)
        assert (await fetcher.fetch(f"http://127.0.0.1:{port}/quick")).body == b"done"
        with pytest.raises(DeadlineExceeded):
            async with fetcher.stream(f"http://127.0.0.1:{port}/slow", timeout=0.05):
                pass


@pytest.mark.anyio
async def test_a_stream_left_early_frees_its_connection():
    async def handler(request: web.Request) -> web.StreamResponse:
        response = await begun(request)
        await response.write(b"one")
        await asyncio.Event().wait()
        return response

    async with answering(handler) as port, streaming(connections=1) as fetcher:
        for _ in range(3):
            async with fetcher.stream(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
                assert await anext(answer.chunks) == b"one"
