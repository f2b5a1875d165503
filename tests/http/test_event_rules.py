"""Rules: each matching event starts one task, or is delivered, with its owner's current rights."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import Any

import pytest

from pentad.administration.event_rules import JOB, LONGEST_CHAIN, MOST_FAILURES
from pentad.app import open_app
from pentad.jobs.job import JobRun, LeaseLost
from pentad.jobs.signed_webhooks import signature, signing_key
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import Principal
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.http.conftest import UNHURRIED
from tests.http.test_administration import PASSWORD, basic
from tests.http.test_events import ROOMS, Site
from tests.receiving import receiving
from tests.stores import app_database
from tests.waiting import until

pytestmark = pytest.mark.anyio

ADA = Principal("user:ada", "ada", frozenset())
LOCAL_HOSTS = FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True)


@pytest.fixture(params=["sqlite", "postgres"])
async def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(app_database(request, ROOMS))
        settings = Settings(
            data=tmp_path_factory.mktemp("site"), database=database, rooms=ROOMS, limits=UNHURRIED, fetch=LOCAL_HOSTS,
            agent=("tests.http.copying_agent:copier",),
        )  # fmt: skip
        app = await stack.enter_async_context(open_app(settings))
        await app.users.add("root", PASSWORD, role="admin")
        await app.users.add("ada", PASSWORD, role="writer")
        await app.users.add("rita", PASSWORD, role="reader")
        yield Site(app)


async def ask(site: Site, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    headers = {**basic(who), "content-type": "application/json"}
    answer = send(
        front_of(site.app),
        method,
        f"/api/events/rules{path}",
        headers,
        b"" if body is None else json.dumps(body).encode(),
    )
    content = await answer.body()
    return answer.status, json.loads(content) if content else None


def review(agent: str = "echo", **more: Any) -> dict[str, Any]:
    return {"name": "review", "kind": ["object.created"], "task": {"agent": agent, "text": "Review this."}, **more}


async def tasks(site: Site) -> list[tuple[str, str]]:
    return await site.app.database.read(
        lambda rows: [(owner, agent) for owner, agent in rows.all("SELECT owner, agent FROM agent_tasks ORDER BY id")]
    )


@pytest.mark.requirement("events:rules")
async def test_each_event_that_fits_starts_one_task_in_its_trace(site: Site) -> None:
    permits = await site.permits("ada")
    await permits.create("before the rule")
    status, rule = await ask(site, "ada", "POST", "", review())
    assert (status, rule["enabled"]) == (201, True)
    for name in ("one", "two", "three"):
        await permits.create(name)
    await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: found[1]["done"] == 3)
    assert await tasks(site) == [("user:ada", "echo")] * 3
    assert [one["id"] for one in (await ask(site, "ada", "GET", ""))[1]["rules"]] == [rule["id"]]
    assert (await ask(site, "root", "GET", f"/{rule['id']}"))[0] == 404
    assert (await ask(site, "ada", "DELETE", f"/{rule['id']}"))[0] == 204
    await permits.create("after the rule")
    assert (await ask(site, "ada", "GET", ""))[1]["rules"] == []
    assert len(await tasks(site)) == 3


@pytest.mark.requirement("events:rules")
async def test_a_process_that_dies_before_the_cursor_moves_starts_no_second_task(site: Site) -> None:
    permits = await site.permits("ada")
    _, rule = await ask(site, "ada", "POST", "", review())
    cursor = await site.app.database.read(lambda rows: rows.value("SELECT cursor FROM event_rules"))
    await permits.create("one")
    await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: found[1]["done"] == 1)

    def move_back(tx: Transaction) -> bool:
        if tx.value("SELECT 1 FROM jobs WHERE name = ? AND state = 'running'", JOB):
            return False  # a run that has not ended would advance the cursor again
        tx.run("UPDATE event_rules SET cursor = ?", cursor)
        site.app.jobs.enqueue(tx, JOB, key=rule["id"])
        return True

    await until(lambda: site.app.database.write(move_back))
    await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: found[1]["done"] == 2)
    assert await tasks(site) == [("user:ada", "echo")]


@pytest.mark.requirement("events:rules")
async def test_two_processes_at_the_same_event_start_one_task(site: Site) -> None:
    permits = await site.permits("ada")
    _, rule = await ask(site, "ada", "POST", "", review())
    await permits.create("one")
    with suppress(LeaseLost):  # it seemed dead, and continues
        await site.app.rules.run(JobRun(0, JOB, rule["id"], None, 1, 1, "another", 0.0))
    await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: found[1]["done"] == 1)
    assert await tasks(site) == [("user:ada", "echo")]


@pytest.mark.requirement("jobs:needs")
async def test_a_process_without_the_rooms_of_a_rule_leaves_it_to_one_that_has_them(site: Site) -> None:
    permits = await site.permits("ada")
    async with open_app(replace(site.app.settings, rooms=("registers",), agent=())) as command:
        few = command.jobs.rooms
    whole, site.app.jobs.rooms = site.app.jobs.rooms, few
    async with receiving(lambda _number: "200 OK") as receiver:
        hook = {"webhook": {"url": receiver.url}}
        rules = (review(), {"name": "all rooms", **hook}, {"name": "registers", "room": ["registers"], **hook})
        ids = [(await ask(site, "ada", "POST", "", given))[1]["id"] for given in rules]
        await permits.create("one")
        await receiver.until(1)

        async def waiting() -> set[tuple[str | None, str, int]]:
            return {(one.key, one.state, one.attempt) for one in await site.app.jobs.stored(name=JOB)}

        await until(waiting, lambda found: found == {(ids[0], "queued", 0), (ids[1], "queued", 0)})
        site.app.jobs.rooms = whole
        for rule in ids[:2]:
            _, found = await until(
                lambda rule=rule: ask(site, "ada", "GET", f"/{rule}"), lambda one: one[1]["done"] > 0
            )
            assert "problem" not in found


@pytest.mark.requirement("events:rules")
async def test_a_rule_is_not_started_by_what_it_caused_itself(site: Site) -> None:
    permits = await site.permits("ada")
    given = review() | {"kind": ["task.*", "object.created"]}
    _, rule = await ask(site, "ada", "POST", "", given)
    await permits.create("one")
    await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: found[1]["done"] >= 1)
    await until(lambda: site.told("ada", "?kind=task.completed"), lambda found: len(found) >= 1)
    await site.app.database.write(lambda tx: site.app.jobs.enqueue(tx, JOB, key=rule["id"]))
    await until(lambda: site.app.jobs.is_pending(JOB, rule["id"]), lambda pending: not pending)
    assert len(await tasks(site)) == 1


@pytest.mark.requirement("events:rules:circles")
async def test_what_the_agent_of_a_rule_writes_does_not_start_the_rule_again(site: Site) -> None:
    permits = await site.permits("ada")
    _, rule = await ask(site, "ada", "POST", "", review("copier"))
    await permits.create("one")
    await until(lambda: site.told("ada", "?kind=object.created"), lambda found: len(found) == 2)
    await settled(site)
    assert await tasks(site) == [("user:ada", "copier")]
    assert "problem" not in (await ask(site, "ada", "GET", f"/{rule['id']}"))[1]


@pytest.mark.requirement("events:rules:circles")
async def test_two_rules_that_start_one_another_are_stopped_and_say_so(site: Site) -> None:
    permits = await site.permits("ada")
    rules = [(await ask(site, "ada", "POST", "", review("copier", name=name)))[1]["id"] for name in ("ping", "pong")]
    await permits.create("one")

    async def problems() -> list[str]:
        return [(await ask(site, "ada", "GET", f"/{rule}"))[1].get("problem", "") for rule in rules]

    found = await until(problems, all)
    assert all("have started one another" in problem for problem in found)
    await settled(site)
    assert len(await tasks(site)) == 2 * LONGEST_CHAIN
    await permits.create("two")  # what begins anew is carried out
    await until(lambda: tasks(site), lambda made: len(made) == 4 * LONGEST_CHAIN)
    assert [one["enabled"] for one in (await ask(site, "ada", "GET", ""))[1]["rules"]] == [True, True]
    assert all(await problems())
    assert "problem" not in (await ask(site, "ada", "POST", f"/{rules[0]}/resume"))[1]


async def settled(site: Site) -> None:
    """Wait until no rule and no task has anything left to do."""
    sql = "SELECT count(*) FROM jobs WHERE name IN ('events.rules', 'agents.turn') AND state <> 'dead'"
    for rule in await site.app.database.read(lambda rows: rows.all("SELECT id FROM event_rules")):
        await site.app.database.write(lambda tx, key=rule[0]: site.app.jobs.enqueue(tx, JOB, key=key))
    await until(lambda: site.app.database.read(lambda rows: rows.value(sql)), lambda left: left == 0)


@pytest.mark.requirement("events:rules", "events:rights")
async def test_a_rule_ends_with_the_rights_of_its_owner(site: Site) -> None:
    assert (await ask(site, "rita", "POST", "", review()))[0] == 403
    permits = await site.permits("root")
    _, rule = await ask(site, "ada", "POST", "", review())
    await site.app.users.remove("ada")
    await permits.create("one")
    sql = "SELECT is_enabled, problem FROM event_rules WHERE id = ?"

    async def read() -> list[tuple[Any, ...]]:
        return await site.app.database.read(lambda rows: rows.all(sql, rule["id"]))

    [(_, problem)] = await until(read, lambda found: not found[0][0])
    assert "gone" in problem
    assert await tasks(site) == []


@pytest.mark.requirement("events:rules")
async def test_a_rule_that_fails_too_often_is_disabled_and_can_be_resumed(site: Site) -> None:
    permits = await site.permits("ada")
    _, rule = await ask(site, "ada", "POST", "", review("nobody-of-that-name"))
    await permits.create("one")
    await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: found[1]["failures"] >= 1)
    sql = "UPDATE event_rules SET failures = ?"
    await site.app.database.write(lambda tx: tx.run(sql, MOST_FAILURES))
    await site.app.database.write(
        lambda tx: tx.run("UPDATE jobs SET run_at = 0 WHERE name = ? AND state = 'queued'", JOB)
    )
    found = await until(lambda: ask(site, "ada", "GET", f"/{rule['id']}"), lambda found: not found[1]["enabled"])
    assert "nobody-of-that-name" in found[1]["problem"]
    assert (await ask(site, "ada", "POST", f"/{rule['id']}/resume"))[1]["enabled"]


@pytest.mark.requirement("events:webhook")
async def test_a_webhook_gets_each_event_signed_and_again_until_it_is_taken(site: Site) -> None:
    permits = await site.permits("ada")
    async with receiving(lambda number: "503 Busy" if number == 0 else "200 OK") as receiver:
        given = {"name": "hook", "room": ["registers"], "webhook": {"url": receiver.url}}
        status, rule = await ask(site, "ada", "POST", "", given)
        assert status == 201, rule
        assert "secret" not in (await ask(site, "ada", "GET", f"/{rule['id']}"))[1]["webhook"]
        uri = await permits.create("one")
        first, second = await receiver.until(2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert (second.json["type"], second.json["subject"]) == ("registers.object.created", uri)
    stamp = int(second.headers["webhook-timestamp"])
    signed = signature(signing_key(rule["secret"]), second.headers["webhook-id"], stamp, second.body)
    assert second.headers["webhook-signature"] == signed
    assert second.headers["traceparent"].startswith("00-")


@pytest.mark.requirement("events:rules")
@pytest.mark.parametrize(
    "given",
    [
        {"name": "x"},
        review(webhook={"url": "https://example.org"}),
        review(kind=["object.creatd"]),
        review(cursor="nonsense"),
        {"name": "x", "webhook": {"url": "ftp://example.org"}},
        {"name": "x", "webhook": {"url": "https://example.org", "secret": "whsec_?"}},
    ],
)
async def test_a_rule_that_cannot_work_is_refused(site: Site, given: dict[str, Any]) -> None:
    status, answer = await ask(site, "ada", "POST", "", given)
    assert status in (403, 422), answer
    assert (await ask(site, "ada", "GET", ""))[1]["rules"] == []


@pytest.mark.requirement("events:rules:wires")
async def test_rules_are_made_and_kept_over_mcp_by_their_owner_alone(site: Site) -> None:
    async def call(who: str, path: str = "/mcp", **arguments: Any) -> Any:
        client = await connect_http(site.app, HTTP_MODERN, path=path, authorization=basic(who)["authorization"])
        return (await client.call("event_rules", arguments)).result

    permits = await site.permits("ada")
    made = (await call("ada", action="add", rule=review()))["structuredContent"]
    await permits.create("one")
    await until(lambda: call("ada", action="get", id=made["id"]), lambda found: found["structuredContent"]["done"] == 1)
    assert (await call("root", action="list"))["structuredContent"] == {"rules": []}
    for action in ("get", "remove", "resume"):
        assert (await call("root", action=action, id=made["id"]))["isError"], "not the owner's"
    for action in ("remove", "resume"):
        refused = await call("ada", "/mcp/read-only", action=action, id=made["id"])
        assert "read-only" in refused["content"][0]["text"]
    assert "read-only" in (await call("ada", "/mcp/read-only", action="add", rule=review()))["content"][0]["text"]
    assert (await call("rita", action="add", rule=review()))["isError"], "a reader may not send tasks"
    assert (await call("ada", action="resume", id=made["id"]))["structuredContent"]["enabled"] is True
    assert (await call("ada", action="remove", id=made["id"]))["structuredContent"] == {"removed": made["id"]}
    assert (await call("ada", action="list"))["structuredContent"] == {"rules": []}


@pytest.mark.requirement("events:rules:wires")
async def test_an_incomplete_call_says_what_is_missing(site: Site) -> None:
    client = await connect_http(site.app, HTTP_MODERN, authorization=basic("ada")["authorization"])
    for arguments, missing in (
        ({"action": "add"}, "add needs a rule"),
        ({"action": "remove"}, "remove needs the id"),
        ({"action": "list", "id": "x"}, "does not take id"),
        ({"action": "add", "rule": {"name": "x"}}, "either a task or a webhook"),
    ):
        result = (await client.call("event_rules", arguments)).result
        assert missing in result["content"][0]["text"]


@pytest.mark.requirement("events:rules:wires")
async def test_a_read_only_server_keeps_rules_as_they_are(site: Site) -> None:
    _, rule = await ask(site, "ada", "POST", "", review())
    async with open_app(replace(site.app.settings, read_only=True)) as app:
        reading = Site(app)
        for method, path, body in (
            ("DELETE", f"/{rule['id']}", None),
            ("POST", f"/{rule['id']}/resume", None),
            ("POST", "", review()),
        ):
            status, refusal = await ask(reading, "ada", method, path, body)
            assert status == 403, (method, path)
            assert "read-only" in json.dumps(refusal)
        assert [one["id"] for one in (await ask(reading, "ada", "GET", ""))[1]["rules"]] == [rule["id"]]
