"""A fetch that fails is in the log: who asked, which host, why; and the error has the number of that line."""

import asyncio
import logging
from typing import Any

import pytest
from aiohttp import web

from pentad.kernel.errors import DeadlineExceeded, Forbidden, InvalidInput, LimitExceeded, PentadError, Unavailable
from pentad.kernel.incidents import Incidents
from pentad.kernel.trace import RequestMark, request_mark
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from tests.net.test_fetch import LOOPBACK, Names, answering

pytestmark = pytest.mark.anyio

LOG = logging.getLogger("tests.fetch")


def fetcher(**policy: Any) -> HttpFetcher:
    names = Names(hidden_example="10.0.0.1")
    return HttpFetcher(FetchPolicy(allow_http=True, **policy), resolver=names, incidents=Incidents(LOG))


async def failing(made: HttpFetcher, url: str, **options: Any) -> PentadError:
    with pytest.raises(PentadError) as caught:
        await made.fetch(url, **options)
    await made.close()
    return caught.value


def line(caplog: pytest.LogCaptureFixture) -> Any:
    (found,) = [record for record in caplog.records if record.name == LOG.name]
    return found


@pytest.mark.requirement("net:fetch:noted")
async def test_a_host_that_is_not_public_is_refused_with_a_line_that_says_who_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    mark = request_mark.set(RequestMark("1", principal="user:mallory"))
    try:
        error = await failing(fetcher().for_room("agents"), "http://hidden.example/secret-path?key=canary")
    finally:
        request_mark.reset(mark)
    told = line(caplog)
    assert isinstance(error, Forbidden)
    assert error.details["incident"] == told.incident
    assert (told.host, told.reason, told.room, told.principal) == (
        "hidden.example",
        "refused",
        "agents",
        "user:mallory",
    )
    assert "secret-path" not in str(vars(told))
    assert "canary" not in str(vars(told))


@pytest.mark.requirement("net:fetch:noted")
async def test_a_scheme_that_is_not_fetched_is_noted_without_the_address(caplog: pytest.LogCaptureFixture) -> None:
    error = await failing(fetcher(), "file:///etc/canary")
    assert error.details["incident"] == line(caplog).incident
    assert "canary" not in str(vars(line(caplog)))


@pytest.mark.requirement("net:fetch:noted")
async def test_a_check_of_such_a_host_is_noted_too(caplog: pytest.LogCaptureFixture) -> None:
    made = fetcher()
    with pytest.raises(Forbidden) as caught:
        await made.check("http://hidden.example/")
    assert caught.value.details["incident"] == line(caplog).incident


@pytest.mark.requirement("net:fetch:noted")
@pytest.mark.parametrize(
    ("reason", "kind"),
    [("too-large", LimitExceeded), ("timeout", DeadlineExceeded), ("unreachable", Unavailable)],
)
async def test_what_is_too_large_too_slow_or_away_is_noted(
    caplog: pytest.LogCaptureFixture, reason: str, kind: type[PentadError]
) -> None:
    asked = asyncio.Event()

    async def handler(_request: web.Request) -> web.Response:
        if reason == "timeout":
            asked.set()
            await asyncio.Event().wait()
        return web.Response(text="x" * 1_000)

    async with answering(handler) as port:
        made = fetcher(allow_networks=LOOPBACK)
        url = f"http://127.0.0.1:{port}/" if reason != "unreachable" else "http://nowhere.example/"
        error = await failing(made, url, max_bytes=100, timeout=0.2 if reason == "timeout" else 5)
    assert isinstance(error, kind)
    assert (line(caplog).reason, line(caplog).incident) == (reason, error.details["incident"])


@pytest.mark.requirement("net:fetch:noted")
async def test_a_storm_of_refused_fetches_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    made = fetcher()
    errors = [await failing(made, f"http://hidden.example/{n}") for n in range(20)]
    assert {error.details["incident"] for error in errors} == {line(caplog).incident}


async def test_a_mistake_of_the_caller_and_a_library_without_a_log_are_not_noted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert isinstance(await failing(fetcher(), "http://hidden.example/", method="get"), InvalidInput)
    bare = HttpFetcher(FetchPolicy(allow_http=True), resolver=Names(hidden_example="10.0.0.1"))
    assert (await failing(bare, "http://hidden.example/")).details == {}
    assert not caplog.records


async def test_the_rooms_share_connections_and_not_their_names() -> None:
    made = fetcher(allow_networks=LOOPBACK)

    async def handler(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    async with answering(handler) as port:
        await made.for_room("agents").fetch(f"http://127.0.0.1:{port}/")
        assert made._fetch_pool() is made.for_room("metrics")._fetch_pool()
        await made.close()
