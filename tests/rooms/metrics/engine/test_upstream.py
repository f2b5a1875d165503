"""Requests to sources over real HTTP: retries, pauses, deadlines, concurrency, and error messages."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pentad.kernel.clock import SystemClock
from pentad.net.fetch import HttpFetcher
from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.engine import upstream
from pentad.rooms.metrics.engine.upstream import UpstreamPool, UpstreamSession, requested_pause
from pentad.rooms.metrics.models import FetchError, Problem
from tests.rooms.metrics.sources import Handler, HttpSource, Request, Response, http_source

CANARY = "canary-5e1f"


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(upstream, "FIRST_PAUSE", 0.001)


@asynccontextmanager
async def asking(
    answering: Handler, *, limit: int = 64, trusts: bool = True, seconds: float | None = None
) -> AsyncGenerator[tuple[HttpSource, UpstreamSession]]:
    fetcher = HttpFetcher()
    clock = SystemClock()
    async with http_source(answering) as source:
        trusted = {("http", source.url.removeprefix("http://"))} if trusts else set()
        deadline = None if seconds is None else clock.monotonic() + seconds
        try:
            yield source, UpstreamSession(UpstreamPool(fetcher, clock, limit=limit, trusted=trusted), deadline=deadline)
        finally:
            await fetcher.close()


class FixedClock(SystemClock):
    """Stands still."""

    def now(self) -> float:
        return 1_700_000_000.0


class Turns:
    """Answers in their order; the last one again and again."""

    def __init__(self, *responses: Response):
        self._responses = list(responses)

    async def __call__(self, asked: Request) -> Response:
        return self._responses.pop(0) if len(self._responses) > 1 else self._responses[0]


async def failing(question: UpstreamSession, url: str, **more: Any) -> Problem:
    with pytest.raises(FetchError) as failed:
        await question.get(url, **more)
    return failed.value.problem


@pytest.mark.anyio
async def test_an_answer_is_read_with_its_query_and_headers():
    async with asking(Turns(Response(json={"a": [1]}))) as (source, question):
        assert await question.get(f"{source.url}/x", params={"q": "a b", "n": 3}, headers={"X-Env": "1"}) == {"a": [1]}
        assert source.asked[0].query == "q=a+b&n=3"
        assert source.asked[0].headers["x-env"] == "1"
        assert question.calls == 1


@pytest.mark.anyio
async def test_json_and_forms_are_posted_as_what_they_are():
    async with asking(Turns(Response(json={}))) as (source, question):
        await question.post(f"{source.url}/j", json={"a": 1})
        await question.post(f"{source.url}/f", form={"a": "1 2"})
        assert [(asked.headers["content-type"], asked.body) for asked in source.asked] == [
            ("application/json", b'{"a":1}'),
            ("application/x-www-form-urlencoded", b"a=1+2"),
        ]


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:limits")
async def test_never_more_requests_under_way_than_the_limit():
    async def slow(asked: Request) -> Response:
        await asyncio.sleep(0.005)
        return Response(json=1)

    async with asking(slow, limit=7) as (source, question):
        await asyncio.gather(*(question.get(f"{source.url}/{number}") for number in range(60)))
        assert source.peak <= 7
        assert sum(source.calls.values()) == 60


@pytest.mark.anyio
@pytest.mark.parametrize("first", [
    Response(500), Response(502), Response(503, body=b"sorry"), Response(429),
    Response(503, body=b""), Response(raw=b""), Response(raw=b"HTTP/1"),
])  # fmt: skip
async def test_what_may_pass_is_asked_again(first: Response):
    async with asking(Turns(first, Response(json="good"))) as (source, question):
        assert await question.get(f"{source.url}/x") == "good"


@pytest.mark.anyio
@pytest.mark.parametrize(("response", "kind", "http"), [
    (Response(403, body=CANARY.encode()), "permission", 403),
    (Response(404), "unsupported", 404),
    (Response(400), "server", 400),
    (Response(200, body=b"<html>log in " + CANARY.encode(), headers={"content-type": "text/html"}), "parse", 200),
    (Response(200, body=b'{"a": "' + CANARY.encode()), "parse", 200),
    (Response(200, body=b"[" * 100_000), "parse", 200),
])  # fmt: skip
async def test_what_does_not_pass_is_asked_once_and_said_without_its_content(response: Response, kind: str, http: int):
    async with asking(Turns(response)) as (source, question):
        problem = await failing(
            question, f"{source.url}/x?token={CANARY}", headers={"authorization": CANARY}, scope="g", affects=("k",)
        )
        assert (problem.kind, problem.http, problem.scope, problem.affects) == (kind, http, "g", ("k",))
        assert source.calls["/x"] == 1
        assert CANARY not in str(problem)
        assert problem.call == "GET /x"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("response", "kind"),
    [(Response(500), "server"), (Response(429), "rate"), (Response(raw=b""), "network")],
)
async def test_what_never_passes_ends_after_four_tries(response: Response, kind: str):
    async with asking(Turns(response)) as (source, question):
        assert (await failing(question, f"{source.url}/x")).kind == kind
        assert source.calls["/x"] >= 4


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:limits")
async def test_a_host_that_names_its_reset_is_left_alone_by_everybody_until_then():
    until = []

    async def limited(asked: Request) -> Response:
        if not until:
            until.append(time.monotonic() + 0.3)
            return Response(503, body=b"", headers={"retry-after": "0.3"})
        return Response(json=time.monotonic() >= until[0] - 0.02)

    async with asking(limited, limit=1) as (source, question):
        answers = await asyncio.gather(*(question.get(f"{source.url}/{number}") for number in range(5)))
        assert answers == [True] * 5
        assert sum(source.calls.values()) == 6


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:limits")
async def test_many_requests_that_wait_for_few_places_all_come_through_in_time():
    """Three in each window of a tenth of a second: whoever is too late four times and more is not given up."""
    windows = Counter()

    async def limited(asked: Request) -> Response:
        window = int(time.time() * 10)
        windows[window] += 1
        if windows[window] > 3:
            return Response(429, headers={"x-ratelimit-reset": f"{(window + 1) / 10:.3f}"})
        return Response(json="in")

    async with asking(limited, limit=20, seconds=30) as (source, question):
        answers = await asyncio.gather(*(question.get(f"{source.url}/{number}") for number in range(30)))
        assert answers == ["in"] * 30


@pytest.mark.anyio
async def test_a_reset_beyond_the_deadline_is_not_waited_for():
    async with asking(Turns(Response(429, headers={"retry-after": "60"})), seconds=5) as (source, question):
        assert (await failing(question, f"{source.url}/x")).kind == "rate"
        assert source.calls["/x"] == 1


@pytest.mark.anyio
async def test_the_deadline_ends_a_request_that_hangs():
    never = asyncio.Event()

    async def stuck(asked: Request) -> Response:
        await never.wait()
        return Response()

    async with asking(stuck, seconds=0.05) as (source, question):
        assert (await failing(question, f"{source.url}/x")).kind == "timeout"
        assert (await failing(question, f"{source.url}/y")).kind == "timeout"
        assert source.calls["/y"] == 0
        never.set()


@pytest.mark.anyio
async def test_an_address_the_operator_did_not_name_meets_the_guard():
    async with asking(Turns(Response(json=1)), trusts=False) as (source, question):
        assert (await failing(question, f"{source.url}/x")).kind == "unsupported"
        assert not source.asked


class Token:
    key = "one"

    def __init__(self):
        self.made = 0
        self.token = None

    async def headers(self, upstream: Upstream) -> dict[str, str]:
        if self.token is None:
            self.made += 1
            self.token = f"t{self.made}"
        return {"authorization": self.token}

    def refused(self, headers: Mapping[str, str]) -> None:
        if headers["authorization"] == self.token:
            self.token = None


@pytest.mark.anyio
async def test_an_expired_login_is_renewed_once():
    async def fresh(asked: Request) -> Response:
        return Response(json="in") if asked.headers["authorization"] == "t2" else Response(401)

    async with asking(fresh) as (source, question):
        login = Token()
        assert await question.get(f"{source.url}/x", login=login) == "in"
        assert login.made == 2


@pytest.mark.anyio
async def test_a_login_that_stays_refused_is_no_permission():
    async with asking(Turns(Response(401))) as (source, question):
        problem = await failing(question, f"{source.url}/x", login=Token())
        assert (problem.kind, source.calls["/x"]) == ("permission", 2)


@pytest.mark.parametrize(("headers", "seconds"), [
    ({"retry-after": "7"}, 7.0), ({"x-ratelimit-reset": "1700000012"}, 12.0), ({"ratelimit-reset": "3"}, 3.0),
    ({"retry-after": "Tue, 14 Nov 2023 22:13:30 GMT"}, 10.0), ({"retry-after": "soon"}, None),
    ({"retry-after": "nan"}, None), ({}, None), ({"x-ratelimit-reset": "1600000000"}, 0.0),
    ({"x-ratelimit-reset": "2023-11-14T22:14Z"}, 40.0),
])  # fmt: skip
def test_a_reset_is_read_however_it_is_written(headers: Mapping[str, str], seconds: float | None):
    assert requested_pause(headers, FixedClock()) == seconds
