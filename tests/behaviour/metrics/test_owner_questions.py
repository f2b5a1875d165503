"""Fifteen questions of owners: at most two calls and 4,000 tokens each, right by recomputation from the platform's
own data."""

from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs_src.metrics_questions import QUESTIONS, Question
from pentad.app import App, open_app
from pentad.rooms.metrics.collectors.anypoint.business_groups import SECURITY
from pentad.rooms.metrics.engine.response_budget import CHARACTERS_PER_TOKEN
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.anypoint.engine import APP
from tests.anypoint.server import Platform, serving
from tests.anypoint.world import Size, World
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http
from tests.rooms.metrics.sources import TurnedClock

pytestmark = pytest.mark.anyio

MOST_TOKENS = 4_000
MOST_CALLS = 2
DAY = 86_400
POLL = {"host": 0, "pentad": 0}


class Orchard(World):
    """An organisation whose groups differ: the second reuses nothing and has no static IP left."""

    stopped_more = False

    def __init__(self) -> None:
        super().__init__(
            Size(groups=3, environments=2, applications=7, assets=12, api_assets=3, destinations=4, regions=2)
        )
        self.now = 0.0

    def hierarchy(self, org: str) -> dict[str, Any]:
        found = super().hierarchy(org)
        place = self.orgs.index(org)
        found["entitlements"] |= {
            "staticIps": {"assigned": place * 3 if place != 1 else 1, "reassigned": 0},
            "vCoresProduction": {"assigned": 4 - place * 2 or 1, "reassigned": 0},
        }
        return found

    def usage(self, org: str) -> dict[str, Any]:
        return super().usage(org) | {"staticIpsConsumed": 1 if self.orgs.index(org) == 1 else 0}

    def members(self, org: str) -> list[dict[str, Any]]:
        recent = datetime.fromtimestamp(self.now - 3 * DAY, UTC).isoformat()
        return [
            {**one, "lastLogin": recent if number == 0 else one["lastLogin"]}
            for number, one in enumerate(super().members(org))
        ]

    def dependencies(self, org: str, asset: str) -> dict[str, Any]:
        found = super().dependencies(org, asset)
        return {**found, "dependencies": None} if self.orgs.index(org) == 1 else found

    def applications(self, env: str) -> list[dict[str, Any]]:
        found = super().applications(env)
        if self.stopped_more and env == self.live(0):
            found[0]["status"] = "UNDEPLOYED"
        return found

    def queue_stats(self, env: str, region: str, queue: str) -> dict[str, Any]:
        sent = {"date": "2024-03-01T12:00:00.000+0000", "value": self.sent(env, region, queue)}
        return {**super().queue_stats(env, region, queue), "messagesSent": [sent]}

    def sent(self, env: str, region: str, queue: str) -> int:
        return self.dice("sent", env, region, queue).randint(1, 10_000)

    def analytics(self, env: str) -> dict[str, Any]:
        rows = [
            {str(api): {"count": self.dice("asked", env, str(api)).randint(1, 10_000)}} for api in (7000, 7003, 9999)
        ]
        return {"success": True, "response": [{"api_id": rows}, {"client_id": []}]}

    def places(self) -> list[tuple[str, dict[str, Any]]]:
        """All groups with each of their environments, except design."""
        return [(org, env) for org in self.orgs for env in self.environments(org) if env["type"] != "design"]

    def live(self, place: int) -> str:
        return next(env["id"] for env in self.environments(self.orgs[place]) if env["isProduction"])

    def name(self, org: str) -> str:
        return self.hierarchy(org)["name"]


@pytest.fixture(scope="module")
async def world() -> Orchard:
    return Orchard()


@pytest.fixture(scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory, world: Orchard) -> AsyncIterator[App]:
    """The room in front of the organisation, with one recording ten days old and a current one."""
    clock = TurnedClock(1_720_000_000.0)
    world.now = clock.now()
    async with serving(platform := Platform(world)):
        table = {"anypoint_url": platform.url, "anypoint_org": world.root, "poll": POLL, **APP}
        settings = Settings(
            data=tmp_path_factory.mktemp("questions"), rooms=("metrics",), auth="none", room_tables={"metrics": table}
        )
        async with open_app(settings, clock=clock) as opened:
            metrics: Metrics = opened.rooms[0].service
            for collector in ("ch", "core"):
                await metrics.poll(collector)
            clock.turn(10 * DAY)
            world.now, world.stopped_more = clock.now(), True
            await metrics.poll("ch")
            yield opened


def applications(world: Orchard, *, started: bool | None = None) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (world.name(org), env["name"], one)
        for org, env in world.places()
        for one in world.applications(env["id"])
        if started in (None, one["status"] == "STARTED")
    ]


def vcores(world: Orchard, org: str, *, production: bool) -> float:
    """In tenths, so that integers are added."""
    tenths = sum(
        one["workers"]["amount"]
        for group, env in world.places()
        if group == org and env["isProduction"] is production
        for one in world.applications(env["id"])
        if one["status"] == "STARTED"
    )
    return tenths / 10


def apis(world: Orchard) -> list[tuple[str, dict[str, Any], str, list[str]]]:
    """Every API instance: group, environment, name, policies."""
    return [
        (world.name(org), env, f"{asset['assetId']} {one['productVersion']}",
         [policy["template"]["assetId"] for policy in world.policies(env["id"], str(one["id"]))["policies"]])
        for org, env in world.places()
        for asset in world.apis(org, env["id"])
        for one in asset["apis"]
    ]  # fmt: skip


def rows(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**answer.get("common", {}), **row} for row in answer["rows"]]


def places_of(answer: dict[str, Any]) -> Counter[tuple[str, str, str]]:
    return Counter((row["businessGroup"], row["environmentName"], row["name"]) for row in rows(answer))


def check_vpns(world: Orchard, answers: list[dict[str, Any]]) -> None:
    found, answer = answers
    assert "networking.vpnsAvailable" in [one["key"] for one in found["keys"]], "the key is among the first three"
    left = sum(
        world.hierarchy(org)["entitlements"]["vpns"]["assigned"] - world.usage(org)["vpnsConsumed"]
        for org in world.orgs
    )
    assert [row["sum"] for row in rows(answer)] == [left]


def check_static_ips(world: Orchard, answers: list[dict[str, Any]]) -> None:
    empty = {
        world.name(org)
        for org in world.orgs
        if world.hierarchy(org)["entitlements"]["staticIps"]["assigned"] <= world.usage(org)["staticIpsConsumed"]
    }
    assert empty
    assert len(empty) < len(world.orgs)
    assert {row["businessGroup"] for row in rows(answers[0])} == empty


def check_most_vcores(world: Orchard, answers: list[dict[str, Any]]) -> None:
    used = sorted((vcores(world, org, production=True) for org in world.orgs), reverse=True)
    assert [row["sum"] for row in rows(answers[0])] == used[:2]
    assert answers[0]["total"] == len(world.orgs)


def check_half(world: Orchard, answers: list[dict[str, Any]]) -> None:
    full = {
        (world.name(org), kind, vcores(world, org, production=kind == "Production"))
        for org in world.orgs
        for kind in ("Production", "Sandbox")
        if vcores(world, org, production=kind == "Production")
        > world.hierarchy(org)["entitlements"][f"vCores{kind}"]["assigned"] / 2
    }
    assert full
    assert {(row["businessGroup"], row["environmentType"], row["value"]) for row in rows(answers[0])} == full


def check_stopped(world: Orchard, answers: list[dict[str, Any]]) -> None:
    stopped = Counter((group, env, one["domain"]) for group, env, one in applications(world, started=False))
    assert places_of(answers[0]) == stopped
    assert answers[0]["total"] == sum(stopped.values())


def check_versions(world: Orchard, answers: list[dict[str, Any]]) -> None:
    used = Counter(one["muleVersion"]["version"] for _, _, one in applications(world))
    assert {row["runtime"]: row["count"] for row in rows(answers[0])} == dict(used)


def check_old_runtime(world: Orchard, answers: list[dict[str, Any]]) -> None:
    old = Counter(
        (group, env, one["domain"])
        for group, env, one in applications(world, started=True)
        if one["muleVersion"]["version"].startswith("4.4")
    )
    assert places_of(answers[0]) == old


def check_without_policy(world: Orchard, answers: list[dict[str, Any]]) -> None:
    bare = Counter(
        (group, env["name"], name) for group, env, name, policies in apis(world) if env["isProduction"] and not policies
    )
    assert bare
    assert places_of(answers[0]) == bare


def check_without_security(world: Orchard, answers: list[dict[str, Any]]) -> None:
    lacking = Counter(env["name"] for _, env, _, policies in apis(world) if not SECURITY & set(policies))
    assert {row["environmentName"]: row["sum"] for row in rows(answers[0])} == dict(lacking)


def check_requests(world: Orchard, answers: list[dict[str, Any]]) -> None:
    counted = [
        (count["count"], world.name(org), env["name"], api)
        for org, env in world.places()
        for row in world.analytics(env["id"])["response"][0]["api_id"]
        for api, count in row.items()
    ]
    names = {"7000": "asset-0 v1", "7003": "asset-1 v2", "9999": "9999"}
    most = sorted(counted, reverse=True)[:3]
    assert [
        (row["requests"], row["businessGroup"], row["environmentName"], row["name"]) for row in rows(answers[0])
    ] == [(count, group, env, names[api]) for count, group, env, api in most]


def check_reuse(world: Orchard, answers: list[dict[str, Any]]) -> None:
    assert [row["businessGroup"] for row in rows(answers[0])] == [world.name(world.orgs[1])]


def check_unused(world: Orchard, answers: list[dict[str, Any]]) -> None:
    unused: Counter[tuple[str, str]] = Counter()
    for org in world.orgs:
        own = [one for one in world.assets(org) if not one["isGenerated"]]
        used = [
            dependency["assetId"]
            for one in own
            if one["type"] == "rest-api"
            for dependency in world.dependencies(org, one["assetId"])["dependencies"] or ()
        ]
        unused.update(
            (world.name(org), one["assetId"])
            for one in own
            if one["type"] == "raml-fragment" and one["assetId"] not in used
        )
    assert Counter((row["businessGroup"], row["name"]) for row in rows(answers[0])) == unused


def check_queues(world: Orchard, answers: list[dict[str, Any]]) -> None:
    sent = [
        (world.sent(env["id"], region["regionId"], one["queueId"]), one["queueId"], region["regionId"])
        for _, env in world.places()
        for region in world.regions(env["id"])
        for one in world.destinations(env["id"], region["regionId"])
        if one["type"] == "queue"
    ]
    most = sorted(sent, reverse=True)[:3]
    assert [(row["messagesSent"], row["name"], row["region"]) for row in rows(answers[0])] == most


def check_people(world: Orchard, answers: list[dict[str, Any]]) -> None:
    assert [row["sum"] for row in rows(answers[0])] == [len(world.orgs)], "one of each group was there three days ago"


def check_changes(world: Orchard, answers: list[dict[str, Any]]) -> None:
    (answer,) = answers
    (stopped,) = [one for one in answer["changes"] if one["key"] == "applications.production.applicationsStopped"]
    assert stopped["labels"]["environmentName"] == "Live", "the environment, not the total that it explains"
    assert stopped["labels"]["businessGroup"] == world.name(world.root)
    assert (stopped["collector"], stopped["delta"]) == ("ch", 1)


CHECKS = {
    "How many VPNs are left?": check_vpns,
    "Which groups have no static IP left?": check_static_ips,
    "Which groups use the most vCores in production?": check_most_vcores,
    "Who uses more than half of the licensed vCores?": check_half,
    "Which applications are stopped?": check_stopped,
    "Which Mule versions are in use, and by how many applications?": check_versions,
    "Which applications still run on Mule 4.4?": check_old_runtime,
    "Which APIs in production have no policy?": check_without_policy,
    "How many APIs lack a security policy, by environment?": check_without_security,
    "Which APIs get the most requests?": check_requests,
    "Which groups reuse nothing?": check_reuse,
    "Which fragments does nobody use?": check_unused,
    "Which queues get the most messages?": check_queues,
    "How many people were active in the last 30 days?": check_people,
    "What changed since last week?": check_changes,
}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text)
@pytest.mark.requirement("metrics:questions:owners")
async def test_an_owners_question_takes_two_calls_and_few_tokens(app: App, world: Orchard, question: Question) -> None:
    assert len(question.calls) <= MOST_CALLS
    client = await connect_http(app, HTTP_MODERN)
    answers: list[dict[str, Any]] = []
    for tool, arguments in question.calls:
        result = (await client.call(tool, arguments)).result
        assert result["isError"] is False, result
        answers.append(result["structuredContent"])
    size = sum(len(msgspec.json.encode(answer)) for answer in answers)
    assert size <= MOST_TOKENS * CHARACTERS_PER_TOKEN
    CHECKS[question.text](world, answers)


@pytest.mark.requirement("metrics:questions:owners")
def test_fifteen_questions_are_on_the_page_with_their_calls() -> None:
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert len(QUESTIONS) == len(CHECKS) == 15
    for question in QUESTIONS:
        assert f"| {question.text} |" in page, question.text
        for tool, arguments in question.calls:
            shown = msgspec.json.encode(arguments).decode()
            assert f"`{tool}` `{shown}`" in page, f"`{tool}` `{shown}`"
