"""Queries: what is fetched and what is not, how often, how much at once, and what an answer reports."""

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.net.fetch import HttpFetcher
from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.engine.query_engine import build_query
from pentad.rooms.metrics.interface.presentation import explanations
from pentad.rooms.metrics.models import Fact, Query
from tests.rooms.metrics.sources import Request, Response, TurnedClock, http_source
from tests.rooms.metrics.toys import Toy, engine_of, refused
from tests.waiting import PATIENCE


def question(toy: Toy, clock: Clock | None = None, **more: Any) -> Query:
    return build_query(toy.info(), clock or SystemClock(), **more)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:demand")
async def test_twenty_identical_questions_at_once_fetch_each_fact_once():
    toy = Toy(5)
    engine = engine_of(toy)
    answers = await asyncio.gather(*(engine.answer("toy", question(toy)) for _ in range(20)))
    assert set(toy.fetched.values()) == {1}
    assert len(toy.fetched) == 6
    assert all(answer.snapshot.tree == answers[0].snapshot.tree for answer in answers)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:demand")
async def test_a_second_identical_question_fetches_nothing():
    toy = Toy(5)
    engine = engine_of(toy)
    first = await engine.answer("toy", question(toy))
    second = await engine.answer("toy", question(toy))
    assert sum(toy.fetched.values()) == 6
    assert (first.source, second.source) == ("live", "cache")
    assert second.snapshot.coverage.cached == 6


@pytest.mark.anyio
async def test_a_fact_is_fetched_anew_once_its_time_is_over_and_not_before():
    toy, clock = Toy(1, ttl=30.0), TurnedClock()
    engine = engine_of(toy, clock=clock)
    for seconds, fetched in ((0.0, 2), (29.9, 2), (0.2, 4)):
        clock.turn(seconds)
        await engine.answer("toy", question(toy, clock))
        assert sum(toy.fetched.values()) == fetched


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:demand")
async def test_one_key_fetches_only_its_facts():
    toy = Toy(5)
    await engine_of(toy).answer("toy", question(toy, keys="groups"))
    assert list(toy.fetched) == [Fact("groups")]


@pytest.mark.anyio
async def test_a_dry_run_fetches_what_the_plan_needs_and_counts_the_rest():
    toy = Toy(5)
    engine = engine_of(toy)
    plan = await engine.dry_run("toy", question(toy))
    assert list(toy.fetched) == [Fact("groups")]
    assert (plan.to_fetch, plan.known, plan.facts) == (5, 1, {"groups": 1, "size": 5})
    await engine.answer("toy", question(toy))
    plan = await engine.dry_run("toy", question(toy))
    assert (plan.to_fetch, plan.calls) == (0, 0)


@pytest.mark.anyio
@pytest.mark.parametrize("limit", [1, 3, 16])
async def test_no_question_has_more_facts_under_way_than_twice_the_limit(limit: int):
    async def slow(fact: Fact, upstream: Upstream):
        await asyncio.sleep(0.001)

    toy = Toy(60, fetching=slow)
    await engine_of(toy, limit=limit).answer("toy", question(toy))
    assert toy.peak <= 2 * limit
    assert toy.peak == min(60, 2 * limit)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:states")
async def test_a_failed_fact_keeps_its_siblings_and_is_never_a_zero():
    async def broken(fact: Fact, upstream: Upstream):
        if fact.scope == ("g1",):
            raise refused()

    toy = Toy(4, fetching=broken)
    snapshot = (await engine_of(toy).answer("toy", question(toy))).snapshot
    sizes = {dict(sample.labels)["id"]: sample for sample in snapshot.samples if sample.key == "size"}
    assert [sizes[name].value for name in ("g0", "g1", "g2", "g3")] == [2, None, 2, 2]
    assert sizes["g1"].state == "no_permission"
    assert (snapshot.coverage.planned, snapshot.coverage.ok, snapshot.coverage.failed) == (5, 4, 1)
    assert [(problem.scope, problem.kind, problem.affects) for problem in snapshot.problems] == [
        ("g1", "permission", ("size",))
    ]


@pytest.mark.anyio
async def test_an_answer_of_another_shape_is_a_problem_and_not_a_crash():
    async def surprising(fact: Fact, upstream: Upstream):
        if fact.scope == ("g0",):
            raise KeyError("secret-canary")

    toy = Toy(2, fetching=surprising)
    snapshot = (await engine_of(toy).answer("toy", question(toy))).snapshot
    assert [problem.kind for problem in snapshot.problems] == ["parse"]
    assert "canary" not in str(snapshot)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:deadline")
async def test_the_deadline_returns_what_is_there_and_says_what_is_not():
    never = asyncio.Event()

    async def stuck(fact: Fact, upstream: Upstream):
        if fact.scope in (("g1",), ("g2",)):
            await never.wait()

    toy = Toy(3, fetching=stuck)
    engine = engine_of(toy)
    answer = await engine.answer("toy", question(toy, seconds=0.05))
    assert answer.is_partial
    assert answer.snapshot.coverage.failed == 2
    assert {problem.kind for problem in answer.snapshot.problems} == {"timeout"}
    values = {sample.labels: (sample.value, sample.state) for sample in answer.snapshot.samples if sample.key == "size"}
    assert values[("id", "g0"),] == (2, "ok")
    assert values[("id", "g1"),] == (None, "failed")
    assert len(engine.coalescer) == 0


@pytest.mark.anyio
async def test_who_gives_up_does_not_take_the_others_answer_along():
    go = asyncio.Event()

    async def waits(fact: Fact, upstream: Upstream):
        await go.wait()

    toy = Toy(1, fetching=waits)
    engine = engine_of(toy)
    hasty = asyncio.create_task(engine.answer("toy", question(toy)))
    patient = asyncio.create_task(engine.answer("toy", question(toy)))
    while not toy.busy:
        await asyncio.sleep(0)
    hasty.cancel()
    await asyncio.gather(hasty, return_exceptions=True)
    go.set()
    assert (await patient).snapshot.tree["groups"] == 1
    assert set(toy.fetched.values()) == {1}


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:deadline")
async def test_who_has_more_time_gets_the_answer_that_came_too_late_for_another():
    began, never = asyncio.Event(), asyncio.Event()

    async def slow_at_first(asked: Request) -> Response:
        if asked.path == "/size" and not began.is_set():
            began.set()
            await never.wait()
        return Response(json=7)

    async with http_source(slow_at_first) as source:

        async def over_http(fact: Fact, upstream: Upstream):
            return await upstream.get(f"{source.url}/size") if fact.name == "size" else None

        toy = Toy(1, fetching=over_http)
        engine = engine_of(toy)
        engine.pool.trusted.add(("http", source.url.removeprefix("http://")))
        # As much time as twenty requests take here: too little for the slow one, enough to send it.
        start = time.monotonic()
        assert (await engine.pool.fetcher.fetch(f"{source.url}/other", trusted=True)).status == 200
        enough = max(1.0, 20 * (time.monotonic() - start))
        first = asyncio.create_task(engine.answer("toy", question(toy, seconds=enough)))
        await asyncio.wait_for(began.wait(), PATIENCE)
        patient = await engine.answer("toy", question(toy, seconds=enough + PATIENCE))
        hasty = await first
        never.set()
        assert isinstance(engine.pool.fetcher, HttpFetcher)
        await engine.pool.fetcher.close()
    assert hasty.is_partial
    assert (patient.is_partial, patient.snapshot.tree["each"]) == (False, [{"id": "g0", "size": 7}])


@pytest.mark.anyio
async def test_a_plan_is_made_again_only_after_facts_that_lead_to_others():
    class Leading(Toy):
        def info(self):
            return structs.replace(super().info(), leads=("groups",))

    toy = Leading(300)
    answer = await engine_of(toy, limit=4).answer("toy", question(toy))
    assert len(answer.facts) == 301
    assert toy.plans <= 3


@pytest.mark.anyio
async def test_when_nobody_waits_any_more_the_fetch_ends():
    never = asyncio.Event()

    async def waits(fact: Fact, upstream: Upstream):
        await never.wait()

    toy = Toy(1, fetching=waits)
    engine = engine_of(toy)
    task = asyncio.create_task(engine.answer("toy", question(toy)))
    while not toy.busy:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert toy.busy == 0


@pytest.mark.anyio
async def test_who_asks_while_a_fetch_is_being_ended_gets_a_new_one():
    go = asyncio.Event()

    async def waits(fact: Fact, upstream: Upstream):
        await go.wait()

    toy = Toy(1, fetching=waits)
    engine = engine_of(toy)
    task = asyncio.create_task(engine.answer("toy", question(toy)))
    while not toy.busy:
        await asyncio.sleep(0)
    task.cancel()
    go.set()
    async with asyncio.timeout(60):
        answer = await engine.answer("toy", question(toy))
    assert answer.snapshot.tree["groups"] == 1
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.anyio
@pytest.mark.requirement("metrics:engine:states")
async def test_an_older_value_stands_in_for_a_source_that_fails_and_is_called_stale():
    broken = False

    async def sometimes(fact: Fact, upstream: Upstream):
        if broken and fact.name == "size":
            raise refused("server")

    toy, clock = Toy(1, ttl=10.0, fetching=sometimes), TurnedClock()
    engine = engine_of(toy, clock=clock)
    await engine.answer("toy", question(toy, clock))
    broken = True
    clock.turn(60)
    answer = await engine.answer("toy", question(toy, clock))
    (sample,) = [sample for sample in answer.snapshot.samples if sample.key == "size"]
    assert (sample.value, sample.state, sample.as_of) == (2, "stale", clock.now() - 60)
    assert [problem.kind for problem in answer.snapshot.problems] == ["server"]


@pytest.mark.anyio
async def test_what_was_forbidden_is_not_asked_for_again_for_a_while():
    async def forbidden(fact: Fact, upstream: Upstream):
        if fact.name == "size":
            raise refused()

    toy, clock = Toy(1, ttl=1.0, fetching=forbidden), TurnedClock()
    engine = engine_of(toy, clock=clock)
    for seconds, times in ((0, 1), (200, 1), (101, 2)):
        clock.turn(seconds)
        await engine.answer("toy", question(toy, clock))
        assert toy.fetched[Fact("size", ("g0",))] == times


@pytest.mark.anyio
async def test_other_credentials_share_no_facts():
    toy = Toy(1)
    engine = engine_of(toy)
    for credentials in (None, {"user": "ada"}, {"user": "bob"}, {"user": "ada"}):
        await engine.answer("toy", question(toy, credentials=credentials))
    assert set(toy.fetched.values()) == {3}


@pytest.mark.anyio
async def test_what_was_fetched_with_a_callers_credentials_is_kept_no_longer_than_it_is_good():
    toy, clock = Toy(1, ttl=10.0), TurnedClock()
    engine = engine_of(toy, clock=clock)
    await engine.answer("toy", question(toy, clock, credentials={"user": "ada"}))
    await engine.answer("toy", question(toy, clock))
    assert len(engine.cache) == 4
    clock.turn(11)
    engine.cache.sweep()
    assert len(engine.cache) == 2
    clock.turn(90_000)
    engine.cache.sweep()
    assert len(engine.cache) == 0


@pytest.mark.anyio
async def test_progress_ends_with_everything_done():
    told = []

    async def progress(done: float, total: float | None, message: str | None):
        told.append((done, total))

    toy = Toy(9)
    await engine_of(toy).answer("toy", question(toy), progress)
    assert told[-1] == (10, 10)


@pytest.mark.anyio
async def test_a_number_is_explained_by_its_facts():
    async def broken(fact: Fact, upstream: Upstream):
        if fact.scope == ("g1",):
            raise refused()

    toy = Toy(2, fetching=broken)
    engine = engine_of(toy)
    await engine.answer("toy", question(toy))
    (said,) = explanations(await engine.answer("toy", question(toy)), ["size"])
    assert [fact["fact"] for fact in said["facts"]] == ["size(g0)", "size(g1)"]
    assert {fact["source"] for fact in said["facts"]} == {"cache"}
    assert [missing["kind"] for missing in said["missing"]] == ["permission"]
    assert [value["state"] for value in said["values"]] == ["ok", "no_permission"]


def test_a_collector_is_found_by_any_of_its_names():
    catalogue = engine_of(Toy()).catalogue
    assert {catalogue.find(name).id for name in ("toy", "TOY", " Toy ", "plaything")} == {"toy"}
    with pytest.raises(NotFound, match="Did you mean 'toy'"):
        catalogue.find("toi")


def test_time_for_an_answer_is_bounded():
    with pytest.raises(InvalidInput):
        question(Toy(), seconds=0)


@settings(max_examples=25, deadline=None)
@given(groups=st.integers(0, 40), limit=st.integers(1, 8), broken=st.sets(st.integers(0, 39)))
def test_coverage_adds_up_whatever_fails(groups: int, limit: int, broken: set[int]):
    async def run():
        async def fetching(fact: Fact, upstream: Upstream):
            if fact.scope and int(fact.scope[0][1:]) in broken:
                raise refused()

        toy = Toy(groups, fetching=fetching)
        return (await engine_of(toy, limit=limit).answer("toy", question(toy))).snapshot.coverage

    coverage = asyncio.run(run())
    failed = len([number for number in broken if number < groups])
    assert (coverage.planned, coverage.ok, coverage.failed) == (groups + 1, groups + 1 - failed, failed)
