"""When the platform refuses, breaks or stalls, the rest is answered, the problem is reported, and no secret leaks."""

import logging
from typing import Any

import msgspec
import pytest

from pentad.rooms.metrics.engine.query_engine import Answer
from pentad.rooms.metrics.metric_keys import select
from tests.anypoint.engine import APP, USER, PlatformEngine, platform_engine
from tests.anypoint.faults import Fault
from tests.anypoint.logins import APPS, USERS
from tests.anypoint.server import Behaviour, Platform
from tests.anypoint.world import CANARY, Size, World

pytestmark = pytest.mark.anyio
SECRETS = (CANARY, "CANARY", *APPS.values(), *USERS.values())


def applications(answer: Answer) -> dict[str, Any]:
    return answer.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]["applications"]


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_one_forbidden_environment_of_four_leaves_three_good_ones() -> None:
    world = World()
    lost = world.environments(world.root)[2]
    platform = Platform(world, faults=[Fault("applications", status=403, where=lost["id"])])
    async with platform_engine(platform) as one:
        answer = await one.ask("ch")
        details = applications(answer)["sandbox"]["details"]
        assert [entry["applicationsTotal"] for entry in details] == [None, 2, 2]
        assert [entry.get("state") for entry in details] == ["no_permission", None, None]
        assert applications(answer)["sandbox"]["applicationsTotal"] == 4
        assert answer.snapshot.tree[0]["states"]["applications.sandbox.applicationsTotal"] == "partial"
        assert (answer.snapshot.coverage.failed, answer.snapshot.coverage.planned) == (1, 7)
        (problem,) = answer.snapshot.problems
        assert (problem.kind, problem.http, problem.scope) == ("permission", 403, f"{world.root}/{lost['id']}")
        assert "applications.sandbox.vcoresUsed" in problem.affects
        assert len(answer.snapshot.tree[0]["errors"]) == 1


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_a_group_whose_environments_are_forbidden_has_no_zeros() -> None:
    platform = Platform(World(), faults=[Fault("environments", status=403)])
    async with platform_engine(platform) as one:
        answer = await one.ask("osv2")
        assert answer.snapshot.tree[0]["osV2Metrics"]["stats"]["production"]["requestCount"] is None
        assert {sample.state for sample in answer.snapshot.samples} == {"no_permission"}


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_what_is_asked_by_key_keeps_its_state() -> None:
    world = World()
    lost = world.environments(world.root)[2]
    platform = Platform(world, faults=[Fault("applications", status=403, where=lost["id"])])
    async with platform_engine(platform) as one:
        answer = await one.ask("ch", "applicationsTotal")
    (pruned,), matches = select(answer.snapshot.tree, answer.info, ("applicationsTotal",))
    sandbox = pruned["runtimeManagerMetrics"]["cloudhub"]["applications"]["sandbox"]
    named = {"environmentName": lost["name"], "environmentType": "Sandbox"}
    assert sandbox["details"][0] == {**named, "applicationsTotal": None, "state": "no_permission"}
    assert pruned["states"] == {"applications.sandbox.applicationsTotal": "partial"}
    assert {match.path.rsplit(".", 1)[-1] for match in matches} == {"applicationsTotal"}, "a state is no figure"


@pytest.mark.requirement("metrics:lists:complete")
@pytest.mark.parametrize(
    ("route", "collector", "key"),
    [("members", "core", "users.total"), ("apis", "apm", "apis.production.total"), ("clients", "apc", "clients")],
)
async def test_a_list_with_fewer_entries_than_its_total_is_a_problem_and_no_smaller_figure(
    route: str, collector: str, key: str
) -> None:
    platform = Platform(World(), faults=[Fault(route, "ends-early")])
    async with platform_engine(platform, USER) as one:
        answer = await one.ask(collector, key)
    assert {(sample.value, sample.state) for sample in answer.snapshot.samples} == {(None, "failed")}
    assert all("The list ends after" in problem.message for problem in answer.snapshot.problems)
    assert answer.snapshot.problems


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_design_center_without_a_list_is_a_problem_and_no_zero() -> None:
    platform = Platform(World(), faults=[Fault("projects", "invalid-json")])
    async with platform_engine(platform) as one:
        before = await one.ask("dc", "designCenterMetrics.total")
        platform.faults.set([{"route": "projects", "kind": "wrong-types"}])
        after = await one.ask("dc", "designCenterMetrics.total")
    for answer in (before, after):
        assert {(sample.value, sample.state) for sample in answer.snapshot.samples} == {(None, "failed")}
        assert answer.snapshot.problems


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_one_refused_policy_call_makes_its_figures_partial() -> None:
    platform = Platform(World(), faults=[Fault("policies", status=403, times=1)])
    async with platform_engine(platform) as one:
        answer = await one.ask("apm")
        states = answer.snapshot.tree[0]["states"]
        assert set(states.values()) == {"partial"}
        assert not any(key.endswith(("contracts", "apiInstances")) for key in states)


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_an_expired_token_is_refreshed_once() -> None:
    platform = Platform(World(), faults=[Fault("applications", "expired", times=1)])
    async with platform_engine(platform) as one:
        answer = await one.ask("ch")
        assert platform.journal.counts["login-app"] == 2
        assert answer.snapshot.coverage.failed == 0


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_requests_that_are_refused_whatever_token_they_have_are_one_refresh_and_no_more() -> None:
    platform = Platform(World(Size(groups=3)), faults=[Fault("applications", status=401)])
    async with platform_engine(platform) as one:
        answer = await one.ask("ch")
        assert (platform.journal.counts["login-app"], answer.snapshot.coverage.failed) == (2, 12)
        assert all(problem.kind == "permission" for problem in answer.snapshot.problems)


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_a_login_that_is_refused_is_not_tried_once_for_each_request() -> None:
    platform = Platform(World(Size(groups=3)))
    async with platform_engine(platform) as one:
        await one.ask("core", "environments.total")
        platform.logins.apps.clear()
        platform.logins.expire()
        answer = await one.ask("ch")
        assert platform.journal.counts["login-app"] == 2
        assert answer.snapshot.coverage.failed == answer.snapshot.coverage.planned - answer.snapshot.coverage.cached


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_an_expired_token_of_exchange_is_refreshed_once() -> None:
    platform = Platform(World(), faults=[Fault("assets", "expired", times=1)])
    async with platform_engine(platform) as one:
        answer = await one.ask("ex", "exchangeMetrics.total")
        assert platform.journal.counts["login-app"] == 2
        assert answer.snapshot.tree[0]["exchangeMetrics"]["total"] == 4


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_an_empty_503_with_a_reset_is_waited_for() -> None:
    platform = Platform(World(), faults=[Fault("usage", status=503, seconds=0.3, times=1)])
    async with platform_engine(platform) as one:
        answer = await one.ask("ch", "networking")
        assert answer.snapshot.coverage.failed == 0
        assert platform.journal.counts["usage"] == 2


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_a_rate_limit_is_kept_to() -> None:
    platform = Platform(World(), behaviour=Behaviour(rate_limit=4, window=0.5))
    async with platform_engine(platform) as one:
        answer = await one.ask("ch", seconds=20)
        assert answer.snapshot.coverage.failed == 0


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_the_deadline_gives_what_is_there() -> None:
    platform = Platform(World(), faults=[Fault("usage", "slow", seconds=30)])
    async with platform_engine(platform) as one:
        await one.ask("ch", "applications")  # so that all but what is slow is there, however busy this machine is
        answer = await one.ask("ch", seconds=0.5)
        assert answer.is_partial
        network = answer.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]["networking"]
        assert (network["vpcsUsed"], network["vpcsTotal"]) == (None, 8)
        assert applications(answer)["production"]["applicationsTotal"] == 2


@pytest.mark.requirement("metrics:anypoint:faults")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("applications", "html"), "parse"),
        (Fault("applications", "truncated"), "parse"),
        (Fault("applications", "invalid-json"), "parse"),
        (Fault("applications", "reset"), "network"),
        (Fault("applications", status=404), "unsupported"),
        (Fault("applications", status=500), "server"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
async def test_strange_answers_are_problems(fault: Fault, kind: str) -> None:
    async with platform_engine(Platform(World(), faults=[fault])) as one:
        one.engine.pool.tries = 2
        answer = await one.ask("ch")
        assert {problem.kind for problem in answer.snapshot.problems} == {kind}
        assert applications(answer)["production"]["applicationsTotal"] is None
        assert answer.snapshot.tree[0]["runtimeManagerMetrics"]["cloudhub"]["networking"]["vpcsUsed"] is not None


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_a_wrong_secret_is_a_problem_of_the_login() -> None:
    async with platform_engine(Platform(World()), {**APP, "anypoint_client_secret": f"wrong-{CANARY}"}) as one:
        answer = await one.ask("ch")
        assert answer.snapshot.tree == []
        (problem,) = answer.snapshot.problems
        assert (problem.kind, problem.http) == ("permission", 401)
        assert_no_secret(answer, one)


@pytest.mark.requirement("metrics:anypoint:faults")
async def test_a_group_of_somebody_else_is_forbidden() -> None:
    world = World()
    platform = Platform(world)
    platform.logins.tops["app-1"] = "somebody-else"
    async with platform_engine(platform) as one:
        answer = await one.ask("core")
        assert answer.snapshot.problems[0].http == 403


@pytest.mark.requirement("metrics:anypoint:faults")
@pytest.mark.parametrize("settings", [APP, USER], ids=["app", "user"])
@pytest.mark.parametrize("raw", [False, True], ids=["figures", "raw"])
async def test_no_secret_is_in_any_answer_cache_or_log(
    settings: dict[str, str], raw: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [Fault("applications", "truncated", times=1), Fault("usage", status=500), Fault("clients", "html")]
    async with platform_engine(Platform(World(), faults=faults), settings) as one:
        one.engine.pool.tries = 1
        for collector in one.engine.catalogue.ids():
            answer = await one.ask(collector, raw=raw)
            assert answer.snapshot.tree
            assert_no_secret(answer, one)
    mine = [record.getMessage() for record in caplog.records if not record.name.startswith("aiohttp")]
    assert not any(secret in text for secret in SECRETS for text in mine)


def assert_no_secret(answer: Answer, one: PlatformEngine) -> None:
    kept = [repr(fact) + repr(value) for fact, value in answer.facts.items()]
    shelf = repr([known.value for known in one.engine.cache._facts._entries.values()])
    text = msgspec.json.encode(answer.snapshot).decode() + repr(answer.snapshot) + "".join(kept) + shelf
    assert not [secret for secret in SECRETS if secret in text]
