"""Fetching from real servers on loopback, opened by the policy."""

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pentad.kernel.errors import DeadlineExceeded, Forbidden, InvalidInput, LimitExceeded, Unavailable
from pentad.kernel.trace import RequestMark, request_mark
from pentad.net.addresses import Address, networks
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from tests.net.certificates import certificate_for

LOOPBACK = networks("127.0.0.0/8")


class Names:
    """A name server that says what the test wrote."""

    def __init__(self, **hosts: str) -> None:
        self._hosts = {name.replace("_", "."): address for name, address in hosts.items()}

    async def resolve(self, host: str) -> Sequence[Address]:
        if host not in self._hosts:
            raise OSError("unknown name")
        return [ip_address(self._hosts[host])]


@asynccontextmanager
async def answering(handler: Any, tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """A web server whose every path is answered by `handler`; the port it listens on."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@asynccontextmanager
async def fetching(
    *, hosts: Names | None = None, tls: ssl.SSLContext | None = None, **policy: Any
) -> AsyncGenerator[Any]:
    given: dict[str, Any] = {"allow_networks": LOOPBACK, "allow_http": True, **policy}
    fetcher = HttpFetcher(FetchPolicy(**given), resolver=hosts or Names(), tls=tls)
    try:
        yield fetcher.fetch
    finally:
        await fetcher.close()


async def echo(request: web.Request) -> web.Response:
    return web.json_response(
        {
            "method": request.method,
            "path": request.raw_path,
            "headers": {name.lower(): value for name, value in request.headers.items()},
            "body": (await request.read()).decode(),
        }
    )


@pytest.mark.anyio
async def test_an_answer_comes_back_with_status_headers_body_and_url():
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=404, text="nothing", headers={"X-Odd": "yes"})

    async with answering(handler) as port, fetching() as fetch:
        answer = await fetch(f"http://127.0.0.1:{port}/a?b#c")
    assert (answer.status, answer.body, answer.url) == (404, b"nothing", f"http://127.0.0.1:{port}/a?b")
    assert answer.headers["x-odd"] == "yes"


@pytest.mark.anyio
async def test_the_request_is_sent_as_asked_with_the_trace_and_the_name():
    async with answering(echo) as port, fetching(hosts=Names(agent_example="127.0.0.1")) as fetch:
        answer = await fetch(
            f"http://agent.example:{port}/x%2Fy",
            method="POST",
            headers={"Traceparent": "00-1-2-01", "Content-Type": "application/json"},
            body=b'{"a":1}',
        )
    seen = json.loads(answer.body)
    assert (seen["method"], seen["path"], seen["body"]) == ("POST", "/x%2Fy", '{"a":1}')
    assert seen["headers"]["host"] == f"agent.example:{port}"
    assert seen["headers"]["traceparent"] == "00-1-2-01"
    assert seen["headers"]["content-type"] == "application/json"
    assert seen["headers"]["user-agent"] == "pentad"


@pytest.mark.anyio
@pytest.mark.requirement("net:fetch:trace")
async def test_the_trace_of_the_request_being_served_is_passed_on():
    trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    mark = request_mark.set(RequestMark("1", trace, f"00-{trace}-{span}-01"))
    try:
        async with answering(echo) as port, fetching() as fetch:
            seen = json.loads((await fetch(f"http://127.0.0.1:{port}/")).body)["headers"]["traceparent"]
    finally:
        request_mark.reset(mark)
    assert seen.startswith(f"00-{trace}-")
    assert seen.endswith("-01")
    assert span not in seen


@pytest.mark.anyio
async def test_cookies_and_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    seen: list[str | None] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Cookie"))
        return web.Response(headers={"Set-Cookie": "a=b"})

    async with answering(handler) as port, fetching() as fetch:
        await fetch(f"http://127.0.0.1:{port}/")
        await fetch(f"http://127.0.0.1:{port}/")
    assert seen == [None, None]


@pytest.mark.anyio
async def test_a_proxy_of_the_policy_is_sent_the_checked_address():
    seen: list[tuple[str, str]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.headers["Host"], request.raw_path))
        return web.Response(text="by proxy")

    async with (
        answering(handler) as port,
        fetching(hosts=Names(agent_example="8.8.8.8"), proxy=f"http://127.0.0.1:{port}") as fetch,
    ):
        assert (await fetch("http://agent.example/x")).body == b"by proxy"
    assert seen == [("agent.example", "http://8.8.8.8/x")]


@pytest.mark.anyio
async def test_compressed_answers_are_unfolded():
    async def handler(request: web.Request) -> web.Response:
        assert request.headers["Accept-Encoding"] == "gzip, deflate"
        return web.Response(body=gzip.compress(b"hello" * 100), headers={"Content-Encoding": "gzip"})

    async with answering(handler) as port, fetching() as fetch:
        answer = await fetch(f"http://127.0.0.1:{port}/")
    assert answer.body == b"hello" * 100
    assert "content-encoding" not in answer.headers
    assert "content-length" not in answer.headers


@pytest.mark.anyio
@pytest.mark.requirement("net:fetch:bounds")
async def test_an_answer_without_end_is_stopped_at_the_cap():
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 10_000)

    async with answering(handler) as port, fetching(max_bytes=100_000) as fetch:
        with pytest.raises(LimitExceeded, match="100000"):
            await fetch(f"http://127.0.0.1:{port}/")
        with pytest.raises(LimitExceeded, match="5 bytes"):
            await fetch(f"http://127.0.0.1:{port}/", max_bytes=5)
        with pytest.raises(LimitExceeded, match="100000"):
            await fetch(f"http://127.0.0.1:{port}/", max_bytes=10**9)


@pytest.mark.anyio
async def test_an_answer_that_does_not_come_ends_with_the_budget():
    async def handler(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with answering(handler) as port, fetching() as fetch:
        with pytest.raises(DeadlineExceeded, match=r"0\.05 s"):
            await fetch(f"http://127.0.0.1:{port}/", timeout=0.05)


@pytest.mark.anyio
async def test_a_drip_of_bytes_does_not_stretch_the_budget():
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.01)

    async with answering(handler) as port, fetching(timeout=0.1) as fetch:
        with pytest.raises(DeadlineExceeded):
            await fetch(f"http://127.0.0.1:{port}/", timeout=100)


@pytest.mark.anyio
async def test_redirects_are_followed_and_the_last_url_is_told():
    async def handler(request: web.Request) -> web.Response:
        left = int(request.query["left"])
        if left:
            raise web.HTTPFound(f"/?left={left - 1}")
        return web.Response(text="there")

    async with answering(handler) as port, fetching() as fetch:
        answer = await fetch(f"http://127.0.0.1:{port}/?left=5")
        assert (answer.body, answer.url) == (b"there", f"http://127.0.0.1:{port}/?left=0")
        with pytest.raises(LimitExceeded, match="5 times"):
            await fetch(f"http://127.0.0.1:{port}/?left=6")


@pytest.mark.anyio
@pytest.mark.requirement("oauth:document:rules")
async def test_a_caller_that_wants_no_redirects_gets_the_first_answer_and_nobody_else_is_asked():
    seen: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append(request.path)
        raise web.HTTPFound("http://169.254.169.254/latest/")

    async with answering(handler) as port, fetching() as fetch:
        answer = await fetch(f"http://127.0.0.1:{port}/client.json", follow_redirects=False)
    assert (answer.status, answer.redirected, seen) == (302, False, ["/client.json"])


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "method", "arrives"),
    [(303, "PUT", "GET"), (302, "POST", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT")],
)
async def test_a_redirect_keeps_or_drops_the_body_as_its_status_says(status: int, method: str, arrives: str):
    seen: list[tuple[str, bytes]] = []

    async def handler(request: web.Request) -> web.Response:
        if request.path == "/first":
            return web.Response(status=status, headers={"Location": "/second"})
        seen.append((request.method, await request.read()))
        return web.Response()

    async with answering(handler) as port, fetching() as fetch:
        await fetch(f"http://127.0.0.1:{port}/first", method=method, body=b"data")
    assert seen == [(arrives, b"data" if arrives == method else b"")]


@pytest.mark.anyio
async def test_credentials_stay_with_their_origin():
    seen: list[dict[str, str]] = []

    async def second(request: web.Request) -> web.Response:
        seen.append({name.lower(): value for name, value in request.headers.items()})
        return web.Response()

    async with answering(second) as other:

        async def first(request: web.Request) -> web.Response:
            if request.path == "/same":
                seen.append({name.lower(): value for name, value in request.headers.items()})
                raise web.HTTPFound(f"http://127.0.0.1:{other}/")
            raise web.HTTPFound("/same")

        async with answering(first) as port, fetching() as fetch:
            secrets = {"Authorization": "Bearer s", "X-Api-Key": "s", "Cookie": "s"}
            await fetch(f"http://127.0.0.1:{port}/", headers={**secrets, "traceparent": "00-1-2-01", "Accept": "a/b"})
    same, elsewhere = seen
    assert {"authorization", "x-api-key", "cookie"} <= same.keys()
    assert not {"authorization", "x-api-key", "cookie"} & elsewhere.keys()
    assert (elsewhere["traceparent"], elsewhere["accept"]) == ("00-1-2-01", "a/b")


@pytest.mark.anyio
@pytest.mark.parametrize(("status", "arrives"), [(302, 1), (303, 1), (307, 0), (308, 0)])
async def test_what_was_sent_stays_with_its_origin(status: int, arrives: int):
    seen: list[bytes] = []

    async def second(request: web.Request) -> web.Response:
        seen.append(await request.read())
        return web.Response()

    async with answering(second) as other:

        async def first(request: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": f"http://127.0.0.1:{other}/"})

        async with answering(first) as port, fetching() as fetch:
            posting = fetch(f"http://127.0.0.1:{port}/", method="POST", body=b"client_secret=s")
            if arrives:
                await posting
            else:
                with pytest.raises(Forbidden, match="another server"):
                    await posting
    assert seen == [b""] * arrives


@pytest.mark.anyio
@pytest.mark.parametrize(
    "location", ["http://10.0.0.1/", "http://169.254.169.254/latest/", "http://[::1]:8000/", "http://inside.example/"]
)
@pytest.mark.requirement("net:fetch:private-addresses")
async def test_a_redirect_into_the_private_network_is_refused(location: str):
    async def handler(request: web.Request) -> web.Response:
        raise web.HTTPFound(location)

    async with answering(handler) as port, fetching(hosts=Names(inside_example="10.9.8.7")) as fetch:
        with pytest.raises(Forbidden, match="public internet") as caught:
            await fetch(f"http://127.0.0.1:{port}/")
    assert "10.9.8.7" not in caught.value.sentence()
    assert "fetch.allow_networks" in caught.value.sentence()


@pytest.mark.anyio
@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.com/", "http://u:p@127.0.0.1/"])
async def test_a_redirect_to_what_is_no_plain_web_address_is_refused(location: str):
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": location})

    async with answering(handler) as port, fetching() as fetch:
        with pytest.raises(Forbidden):
            await fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.anyio
async def test_a_named_host_may_live_in_the_private_network():
    async with answering(echo) as port:
        inside = Names(inside_example="127.0.0.1")
        async with fetching(hosts=inside, allow_networks=(), allow_hosts=frozenset({"Inside.Example."})) as fetch:
            assert (await fetch(f"http://inside.example:{port}/")).status == 200
            with pytest.raises(Forbidden):
                await fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.anyio
async def test_only_accepted_content_types_come_in():
    async def handler(request: web.Request) -> web.Response:
        return web.Response(text="<html>", content_type=request.query["type"])

    async with answering(handler) as port, fetching(content_types=frozenset({"application/json"})) as fetch:
        assert (await fetch(f"http://127.0.0.1:{port}/?type=application/json")).status == 200
        with pytest.raises(Forbidden, match="text/html"):
            await fetch(f"http://127.0.0.1:{port}/?type=text/html")


@pytest.mark.anyio
async def test_plain_http_and_odd_ports_need_a_setting():
    async with fetching(allow_http=False) as fetch:
        with pytest.raises(Forbidden, match="Plain http"):
            await fetch("http://127.0.0.1/")
        for port in (22, 25, 6379, 6667):
            with pytest.raises(Forbidden, match=f"Port {port}"):
                await fetch(f"https://127.0.0.1:{port}/")
    async with fetching(ports=frozenset({443})) as fetch:
        with pytest.raises(Forbidden, match="Port 8443"):
            await fetch("https://127.0.0.1:8443/")


@pytest.mark.anyio
@pytest.mark.parametrize("headers", [{"X": "a\r\nb: c"}, {"X y": "a"}, {"Host": "a"}, {"Transfer-Encoding": "chunked"}])
async def test_headers_that_would_change_the_request_are_refused(headers: dict[str, str]):
    async with fetching() as fetch:
        with pytest.raises(InvalidInput):
            await fetch("http://127.0.0.1:9/", headers=headers)


@pytest.mark.anyio
async def test_an_unknown_name_and_a_closed_port_are_unavailable():
    async with answering(echo) as port:
        pass
    async with fetching() as fetch:
        with pytest.raises(Unavailable, match="nowhere"):
            await fetch("http://nowhere.example/")
        with pytest.raises(Unavailable, match="refuses"):
            await fetch(f"http://127.0.0.1:{port}/")


@pytest.mark.anyio
async def test_a_server_that_does_not_speak_http_is_unavailable():
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server, fetching() as fetch:
        with pytest.raises(Unavailable, match="valid HTTP"):
            await fetch(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")


@pytest.mark.anyio
async def test_connections_are_pooled():
    peers: list[Any] = []

    async def handler(request: web.Request) -> web.Response:
        peers.append(request.transport.get_extra_info("peername") if request.transport else None)
        return web.Response(text="x")

    async with answering(handler) as port, fetching() as fetch:
        await fetch(f"http://127.0.0.1:{port}/")
        await fetch(f"http://127.0.0.1:{port}/")
    assert peers[0] == peers[1]


@pytest.mark.anyio
async def test_tls_speaks_to_the_name_though_it_connects_to_the_address(tmp_path: Path):
    certificate = certificate_for("agent.example", tmp_path)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    names: list[str | None] = []
    serving.sni_callback = lambda connection, name, context: names.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate))
    hosts = Names(agent_example="127.0.0.1", other_example="127.0.0.1")
    async with answering(echo, serving) as port, fetching(hosts=hosts, tls=trusting) as fetch:
        answer = await fetch(f"https://agent.example:{port}/")
        assert f'"host": "agent.example:{port}"'.encode() in answer.body
        with pytest.raises(Unavailable, match="TLS connection to other"):
            await fetch(f"https://other.example:{port}/")
    assert names == ["agent.example", "other.example"]


@pytest.mark.anyio
async def test_a_redirect_from_https_to_http_is_refused(tmp_path: Path):
    certificate = certificate_for("agent.example", tmp_path)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))

    async def handler(request: web.Request) -> web.Response:
        raise web.HTTPFound("http://agent.example/")

    hosts = Names(agent_example="127.0.0.1")
    async with answering(handler, serving) as port, fetching(hosts=hosts, tls=trusting) as fetch:
        with pytest.raises(Forbidden, match="https to http"):
            await fetch(f"https://agent.example:{port}/")
