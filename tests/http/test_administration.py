"""REST for administrators and accounts: who may do what, what the trail records, and what never leaves the server."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.access.oauth.grants import Consent
from pentad.app import App, open_app
from pentad.cli.checks import server_health
from pentad.http.administration import ROUTES
from pentad.http.front import Front
from pentad.kernel.clock import iso
from pentad.settings.model import Settings
from tests.access.oauth.opening import CHALLENGE, VERIFIER
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.http.browsing import Browser
from tests.http.conftest import PAGES, UNHURRIED
from tests.http.grant_maker import REDIRECT, Granted, make_grant
from tests.stores import app_database

pytestmark = pytest.mark.anyio

PASSWORD = "correct horse battery"
NEW_PASSWORD = "another long password"


@dataclass
class House:
    """A server with a user of each kind, and keys."""

    app: App
    front: Front
    headers: dict[str, dict[str, str]]

    async def ask(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = dict(self.headers[who])
        if body is not None:
            headers["content-type"] = "application/json"
        answer = send(self.front, method, path, headers, b"" if body is None else json.dumps(body).encode())
        content = await answer.body()
        is_json = answer.headers["content-type"] in ("application/json", "application/problem+json")
        return answer.status, json.loads(content) if is_json else content

    async def events(self, tool: str) -> list[tuple[str, str, str]]:
        await self.app.audit.flush()
        return [(one.principal, one.target, one.outcome) for one in await self.app.audit.recent(tool=tool)]


def basic(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


@pytest.fixture(params=["sqlite", "postgres"])
async def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(app_database(request, (PAGES,)))
        settings = Settings(data=tmp_path_factory.mktemp("house"), database=database, rooms=(PAGES,), limits=UNHURRIED)
        app = await stack.enter_async_context(open_app(settings))
        await app.users.add("root", PASSWORD, role="admin")
        await app.users.add("wren", PASSWORD, role="writer")
        await app.users.add("rita", PASSWORD)
        await app.users.add("clerk", PASSWORD, scopes=["access:admin"])
        await app.users.add("auditor", PASSWORD, scopes=["audit:admin"])
        keys = {
            "admin key": await app.api_keys.create("k", owner="root", scopes=["*:*"]),
            "read key of root": await app.api_keys.create("k", owner="root"),
            "key of rita": await app.api_keys.create("k", owner="rita", scopes=["*:*"]),
            "loose key": await app.api_keys.create("k", scopes=["*:read", "*:write"]),
        }
        headers = {name: basic(name) for name in ("root", "wren", "rita", "clerk", "auditor")}
        headers |= {name: {"authorization": f"Bearer {made.token}"} for name, made in keys.items()}
        yield House(app, front_of(app), {**headers, "anonymous": {}})


ADMIN_ROUTES = [(route.method, route.path) for route in ROUTES if route.path.startswith("/api/admin")]
ADMIN_ROUTES.append(("GET", "/api/admin/health"))
ACCOUNT_ROUTES = [(route.method, route.path) for route in ROUTES if route.path.startswith("/api/account")]


def filled(path: str) -> str:
    return (
        path.replace("{name}", "rita").replace("{id:int}", "999").replace("{id:path}", "abc").replace("{id}", "a" * 16)
    )


@pytest.mark.requirement("admin:rights")
async def test_every_route_of_administration_refuses_everybody_without_the_right(house: House) -> None:
    bodies = {"POST": {}, "PUT": {}, "PATCH": {}}
    for method, path in ADMIN_ROUTES:
        for who in ("wren", "rita", "read key of root", "key of rita", "loose key"):
            status, answer = await house.ask(who, method, filled(path), bodies.get(method))
            scope = "audit:admin" if "audit" in path else "access:admin"
            assert (status, answer["error"]["details"]["required_scope"]) == (403, scope), (who, method, path)
        assert (await house.ask("anonymous", method, filled(path), bodies.get(method)))[0] == 401, (method, path)
    assert await house.app.users.find("rita") is not None


@pytest.mark.requirement("admin:rights")
async def test_every_changing_route_refuses_a_valid_body_too(house: House) -> None:
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/admin/users", {"name": "x", "password": PASSWORD}),
        ("PATCH", "/api/admin/users/rita", {"role": "admin"}),
        ("PUT", "/api/admin/users/root/password", {"password": NEW_PASSWORD}),
        ("POST", "/api/admin/keys", {"label": "x"}),
    ]
    for who in ("wren", "rita", "auditor", "read key of root", "key of rita", "loose key"):
        for method, path, body in calls:
            assert (await house.ask(who, method, path, body))[0] == 403, (who, path)
    for method, path, body in calls:
        assert (await house.ask("anonymous", method, path, body))[0] == 401
    assert [user.name for user in await house.app.users.all()] == ["auditor", "clerk", "rita", "root", "wren"]


@pytest.mark.requirement("admin:rights")
async def test_an_administrator_may_call_every_route(house: House) -> None:
    for who in ("root", "admin key"):
        for method, path in ADMIN_ROUTES:
            if method == "GET":
                assert (await house.ask(who, method, filled(path)))[0] == 200, path


@pytest.mark.requirement("admin:rights")
async def test_the_two_rights_are_apart(house: House) -> None:
    assert (await house.ask("clerk", "GET", "/api/admin/users"))[0] == 200
    assert (await house.ask("clerk", "GET", "/api/admin/audit"))[0] == 403
    assert (await house.ask("auditor", "GET", "/api/admin/audit"))[0] == 200
    assert (await house.ask("auditor", "GET", "/api/admin/users"))[0] == 403


@pytest.mark.requirement("admin:rights")
async def test_nobody_gives_more_than_they_have(house: House) -> None:
    attempts: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/admin/users", {"name": "x", "password": PASSWORD, "role": "admin"}),
        ("POST", "/api/admin/users", {"name": "x", "password": PASSWORD, "role": "writer"}),
        ("POST", "/api/admin/users", {"name": "x", "password": PASSWORD, "scopes": ["audit:admin"]}),
        ("POST", "/api/admin/users", {"name": "x", "password": PASSWORD, "scopes": ["*:*"]}),
        ("POST", "/api/admin/users", {"name": "x", "password": PASSWORD, "scopes": ["access:*"]}),
        ("PATCH", "/api/admin/users/clerk", {"role": "admin"}),
        ("PATCH", "/api/admin/users/clerk", {"scopes": ["*:admin"]}),
        ("PATCH", "/api/admin/users/root", {"role": "reader"}),
        ("PATCH", "/api/admin/users/auditor", {"scopes": []}),
        ("PUT", "/api/admin/users/root/password", {"password": NEW_PASSWORD}),
        ("POST", "/api/admin/keys", {"label": "x", "scopes": ["*:write"]}),
        ("POST", "/api/admin/keys", {"label": "x", "owner": "root"}),
        ("POST", "/api/admin/keys", {"label": "x", "owner": "rita", "scopes": ["*:admin"]}),
        ("POST", "/api/admin/keys", {"label": "x", "scopes": ["pages:*"]}),
    ]
    for method, path, body in attempts:
        assert (await house.ask("clerk", method, path, body))[0] == 403, (path, body)
    assert (await house.ask("clerk", "DELETE", "/api/admin/users/root"))[0] == 403
    added = {"name": "x", "password": PASSWORD, "scopes": ["access:admin"]}
    assert (await house.ask("clerk", "POST", "/api/admin/users", added))[0] == 201
    assert (await house.ask("clerk", "POST", "/api/admin/keys", {"label": "k", "owner": "rita"}))[0] == 201
    assert (await house.ask("admin key", "POST", "/api/admin/keys", {"label": "k", "scopes": ["*:*"]}))[0] == 201


@pytest.mark.requirement("admin:last-admin")
async def test_the_last_administrator_can_be_neither_demoted_nor_removed(house: House) -> None:
    status, answer = await house.ask("root", "PATCH", "/api/admin/users/root", {"role": "writer"})
    assert (status, "last administrator" in answer["error"]["message"]) == (409, True)
    assert (await house.ask("root", "DELETE", "/api/admin/users/root"))[0] == 409
    for name in ("wren", "rita", "clerk", "auditor"):
        assert (await house.ask("root", "DELETE", f"/api/admin/users/{name}"))[0] == 200
    assert (await house.ask("root", "DELETE", "/api/admin/users/root"))[0] == 409
    body = {"name": "second", "password": PASSWORD, "role": "admin"}
    assert (await house.ask("root", "POST", "/api/admin/users", body))[0] == 201
    assert (await house.ask("root", "PATCH", "/api/admin/users/root", {"role": "reader"}))[0] == 200
    assert (await house.ask("root", "GET", "/api/admin/users"))[0] == 403, "the change counts at once"


@pytest.mark.requirement("admin:events", "access:audit:every-call")
async def test_every_action_is_an_event_and_a_call(house: House) -> None:
    await house.ask("root", "POST", "/api/admin/users", {"name": "Zoe", "password": PASSWORD, "scopes": ["a:read"]})
    await house.ask("root", "PATCH", "/api/admin/users/zoe", {"role": "writer"})
    await house.ask("root", "PUT", "/api/admin/users/zoe/password", {"password": NEW_PASSWORD})
    _, key = await house.ask("root", "POST", "/api/admin/keys", {"label": "k", "owner": "zoe", "days": 0})
    await house.ask("root", "DELETE", f"/api/admin/keys/{key['id']}")
    await house.ask("admin key", "DELETE", "/api/admin/users/zoe")
    await house.ask("rita", "DELETE", "/api/admin/users/root")
    for event, target in {
        "user added": "user:zoe",
        "user changed": "user:zoe",
        "password set": "user:zoe",
        "key created": f"key:{key['id']}",
        "key revoked": f"key:{key['id']}",
        "user removed": "user:zoe",
    }.items():
        assert await house.events(event) == [("user:root", target, "ok")], event
    refused = await house.app.audit.recent(tool="DELETE /api/admin/users/{name}", outcome="failed")
    assert [(one.principal, one.outcome, one.room) for one in refused] == [("user:rita", "403", "access")]
    whole = json.dumps([one._asdict() for one in await house.app.audit.recent(1000)])
    assert PASSWORD not in whole
    assert NEW_PASSWORD not in whole
    assert key["token"] not in whole
    assert key["token"].split("_")[2] not in whole


async def test_errors_never_quote_a_password(house: House) -> None:
    for body in (
        {"name": "x", "password": ["hunter2 canary"]},
        {"name": "x", "pasword": "hunter2 canary"},
        {"name": "x", "password": "hunter2 canary" * 200},
    ):
        status, answer = await house.ask("root", "POST", "/api/admin/users", body)
        assert status == 422
        assert "canary" not in json.dumps(answer)
    headers = {**house.headers["root"], "content-type": "application/json"}
    answer = send(house.front, "POST", "/api/admin/users", headers, b'{"password": "hunter2 canary"')
    assert b"canary" not in await answer.body()
    assert answer.status == 422


@pytest.mark.requirement("admin:account")
async def test_everybody_sees_and_changes_their_own_account_alone(house: House) -> None:
    status, me = await house.ask("rita", "GET", "/api/account")
    assert (status, me["user"], me["scopes"]) == (200, "rita", ["*:read"])
    status, made = await house.ask("rita", "POST", "/api/account/keys", {"label": "mine"})
    assert (status, made["owner"], made["scopes"]) == (201, "rita", ["*:read"])
    _, listed = await house.ask("rita", "GET", "/api/account/keys")
    assert {key["label"] for key in listed["keys"]} == {"mine", "k"}
    assert "token" not in json.dumps(listed)
    assert (await house.ask("wren", "DELETE", f"/api/account/keys/{made['id']}"))[0] == 404
    assert (await house.ask("root", "DELETE", f"/api/account/keys/{made['id']}"))[0] == 404
    assert (await house.ask("rita", "DELETE", f"/api/account/keys/{made['id']}"))[0] == 200
    for method, path in ACCOUNT_ROUTES:
        body = {} if method in ("POST", "PUT") else None
        assert (await house.ask("anonymous", method, filled(path), body))[0] == 401, path


@pytest.mark.requirement("admin:account")
async def test_a_key_makes_no_key_and_changes_no_password(house: House) -> None:
    for who in ("key of rita", "admin key", "loose key"):
        assert (await house.ask(who, "POST", "/api/account/keys", {"label": "next"}))[0] == 403
        body = {"current": PASSWORD, "password": NEW_PASSWORD}
        assert (await house.ask(who, "PUT", "/api/account/password", body))[0] == 403
    assert (await house.ask("rita", "POST", "/api/account/keys", {"label": "x", "scopes": ["*:write"]}))[0] == 403
    assert (await house.ask("loose key", "GET", "/api/account/keys"))[0] == 403


@pytest.mark.requirement("admin:account")
async def test_a_new_password_takes_the_old_one(house: House) -> None:
    wrong = {"current": "not the password", "password": NEW_PASSWORD}
    status, answer = await house.ask("rita", "PUT", "/api/account/password", wrong)
    assert (status, answer["error"]["message"]) == (403, "The current password is wrong.")
    right = {"current": PASSWORD, "password": NEW_PASSWORD}
    assert (await house.ask("rita", "PUT", "/api/account/password", right))[0] == 200
    assert (await house.ask("rita", "GET", "/api/account"))[0] == 401
    house.headers["rita"] = basic("rita", NEW_PASSWORD)
    assert (await house.ask("rita", "GET", "/api/account"))[0] == 200
    assert await house.events("password changed") == [
        ("user:rita", "user:rita", "ok"),
        ("user:rita", "user:rita", "forbidden"),
    ]
    assert "user rita" in {one.login for one in await house.app.audit.recent(tool="login")}, "it counts as a failure"


@pytest.mark.requirement("admin:account")
async def test_guessing_the_current_password_is_slowed_down_like_a_login(house: House) -> None:
    statuses = [
        (await house.ask("rita", "PUT", "/api/account/password", {"current": f"guess {n}", "password": NEW_PASSWORD}))[
            0
        ]
        for n in range(12)
    ]
    assert statuses[0] == 403
    assert statuses[-1] == 429


@pytest.mark.requirement("access:audit:read", "access:audit:readers-told")
async def test_the_trail_is_read_by_filter_and_who_reads_it_is_in_it(house: House) -> None:
    await house.ask("rita", "GET", "/api/whoami")
    await house.ask("wren", "GET", "/api/whoami")
    status, page = await house.ask("auditor", "GET", "/api/admin/audit?user=rita&room=pages")
    assert status == 200
    assert [(one["principal"], one["tool"]) for one in page["entries"]] == [("user:rita", "GET /api/whoami")]
    assert await house.events("audit read") == [("user:auditor", "user=rita room=pages", "ok")]
    assert [one.principal for one in await house.app.audit.recent(tool="GET /api/admin/audit")] == ["user:auditor"]
    status, page = await house.ask("auditor", "GET", "/api/admin/audit?limit=1")
    status, older = await house.ask("auditor", "GET", f"/api/admin/audit?limit=1&cursor={page['cursor']}")
    assert page["entries"][0]["id"] != older["entries"][0]["id"]
    for query in ("cursor=x", "since=soon", "limit=many"):
        assert (await house.ask("auditor", "GET", f"/api/admin/audit?{query}"))[0] == 422


@pytest.mark.requirement("access:audit:read")
async def test_the_trail_is_read_by_trace_and_by_request(house: House) -> None:
    trace, other = "0af7651916cd43dd8448eb211c80319c", "1" * 32
    house.headers["traced"] = {
        **house.headers["root"],
        "traceparent": f"00-{trace}-b7ad6b7169203331-01",
        "x-request-id": "order-66",
    }
    await house.ask("traced", "PATCH", "/api/admin/users/rita", {"role": "writer"})
    await house.ask("root", "PATCH", "/api/admin/users/rita", {"role": "reader"})
    for asked in (trace, f"00-{trace}-b7ad6b7169203331-01", "order-66"):
        status, page = await house.ask("auditor", "GET", f"/api/admin/audit?trace={asked}")
        assert status == 200
        assert sorted(one["tool"] for one in page["entries"]) == ["PATCH /api/admin/users/{name}", "user changed"]
        answer = send(house.front, "GET", f"/api/admin/audit/export?trace={asked}", house.headers["auditor"])
        assert len((await answer.body()).splitlines()) == 2
    for asked in (other, "order-67", trace[:16]):
        assert (await house.ask("auditor", "GET", f"/api/admin/audit?trace={asked}"))[1]["entries"] == []
    _, own = await house.ask("root", "GET", f"/api/account/audit?trace={trace}")
    assert len(own["entries"]) == 2
    assert (await house.ask("rita", "GET", f"/api/account/audit?trace={trace}"))[1]["entries"] == []


@pytest.mark.requirement("access:audit:read")
async def test_everybody_may_read_what_they_did_themselves_and_nothing_else(house: House) -> None:
    await house.ask("rita", "GET", "/api/whoami")
    await house.ask("wren", "GET", "/api/whoami")
    await house.app.audit.flush()
    for query in ("", "?user=wren", "?user=user:wren", "?principal=user:wren", "?user=root&outcome=ok"):
        status, page = await house.ask("rita", "GET", f"/api/account/audit{query}")
        assert status == 200
        assert {one["principal"] for one in page["entries"]} <= {"user:rita"}
    assert "GET /api/whoami" in {one["tool"] for one in page["entries"]}


@pytest.mark.requirement("access:audit:read", "access:audit:chain", "access:audit:readers-told")
async def test_an_export_is_json_lines_and_the_chain_can_be_verified(house: House) -> None:
    await house.ask("rita", "GET", "/api/whoami")
    answer = send(house.front, "GET", "/api/admin/audit/export?room=pages", house.headers["auditor"])
    lines = [json.loads(line) for line in (await answer.body()).splitlines()]
    assert answer.status == 200
    assert [line["tool"] for line in lines] == ["GET /api/whoami"]
    status, found = await house.ask("auditor", "GET", "/api/admin/audit/verify")
    assert (status, found["ok"], found["uncovered"]) == (200, True, 0)
    status, again = await house.ask("auditor", "GET", f"/api/admin/audit/verify?head={found['head']}")
    assert again["ok"]
    await house.app.database.write(lambda tx: tx.run("UPDATE audit_batches SET size = 99 WHERE number = 1"))
    _, broken = await house.ask("auditor", "GET", "/api/admin/audit/verify")
    assert (broken["ok"], broken["fault"].startswith("Batch 1, written at")) == (False, True)
    assert [one[2] for one in await house.events("audit verified")] == ["broken", "ok", "ok"]
    assert len(await house.events("audit exported")) == 1


@pytest.mark.requirement("access:audit:read")
async def test_following_shows_what_happens_and_ends_with_the_right_to_see_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pentad.administration.audit_trail.FOLLOW_SECONDS", 0.01)
    _, page = await house.ask("auditor", "GET", "/api/admin/audit")
    path = f"/api/admin/audit/export?room=pages&follow=true&after={page['head']}"
    answer = send(house.front, "GET", path, house.headers["auditor"])
    await house.ask("rita", "GET", "/api/whoami")
    await house.app.audit.flush()
    lines: list[bytes] = []
    async for chunk in answer.chunks():
        if chunk:
            lines += chunk.splitlines()
            await house.ask("root", "PATCH", "/api/admin/users/auditor", {"scopes": []})
    told, last = map(json.loads, lines)
    assert told["principal"] == "user:rita"
    assert last["error"]["code"] == "forbidden", "the end of the stream says that it is not whole"


@pytest.mark.requirement("admin:settings")
async def test_settings_have_value_source_and_description_and_no_secret(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    settings = Settings(data=tmp_path_factory.mktemp("s"), rooms=(PAGES,), auth="none", secret_key="canary " * 8)
    async with open_app(settings) as app:
        answer = send(front_of(app), "GET", "/api/admin/settings")
        listed = json.loads(await answer.body())["settings"]
    by_path = {one["path"]: one for one in listed}
    assert by_path["secret_key"]["value"] == "***"
    assert "canary" not in json.dumps(listed)
    assert all(one["about"] for one in listed)
    assert by_path["audit.days"]["source"] == "default"


@pytest.mark.requirement("admin:jobs")
async def test_dead_letters_are_listed_retried_and_forgotten(house: House) -> None:
    jobs = house.app.jobs
    for number in (1, 2):
        await house.app.database.write(
            lambda tx, number=number: jobs.enqueue(tx, "t.a", {"canary": 1}, key=str(number))
        )
    for run in await house.app.database.write(lambda tx: jobs.claim(tx, "t.a", 2)):
        await house.app.database.write(lambda tx, run=run: jobs.bury(tx, run, "broken"))
    _, found = await house.ask("root", "GET", "/api/admin/jobs?state=dead")
    assert found["counts"]["dead"] == 2
    assert [job["error"] for job in found["jobs"]] == ["broken", "broken"]
    assert "canary" not in json.dumps(found), "payloads stay with their rooms"
    first, second = (job["id"] for job in found["jobs"])
    assert (await house.ask("root", "POST", f"/api/admin/jobs/{first}/retry"))[0] == 200
    assert (await house.ask("root", "POST", f"/api/admin/jobs/{first}/retry"))[0] == 404
    assert (await house.ask("root", "DELETE", f"/api/admin/jobs/{second}"))[0] == 200
    _, found = await house.ask("root", "GET", "/api/admin/jobs?name=t.a")
    assert [(job["id"], job["state"]) for job in found["jobs"]] == [(first, "queued")]
    assert await house.events("job retried") == [("user:root", f"job:{first}", "ok")]
    assert await house.events("job forgotten") == [("user:root", f"job:{second}", "ok")]


async def test_health_tells_the_store_the_trail_and_the_jobs(house: House) -> None:
    status, body = await house.ask("clerk", "GET", "/api/admin/health")
    assert (status, body["status"], body["audit"]["dropped"]) == (200, "ok", 0)
    assert set(body["jobs"]) == {"queued", "running", "dead"}


@pytest.mark.requirement("access:key:own-only", "admin:account")
async def test_a_confined_key_neither_sees_nor_ends_the_keys_and_logins_of_its_user(house: House) -> None:
    made = await house.app.api_keys.create("agent", owner="rita", scopes=["*:*"], own_only=True)
    house.headers["confined"] = {"authorization": f"Bearer {made.token}"}
    for method, path in ACCOUNT_ROUTES:
        status, answer = await house.ask("confined", method, filled(path), {} if method in ("POST", "PUT") else None)
        if path in ("/api/account", "/api/account/audit"):
            assert status == 200, path
        elif method not in ("POST", "PUT"):
            assert (status, answer["error"]["code"]) == (403, "forbidden"), (method, path)
    assert (await house.ask("confined", "GET", "/console/account.json"))[0] == 403
    valid = {"label": "successor"}
    assert (await house.ask("confined", "POST", "/api/account/keys", valid))[0] == 403


@pytest.mark.requirement("admin:account")
async def test_a_key_or_token_for_some_rooms_or_only_for_reading_ends_no_keys_and_logins(house: House) -> None:
    scopes = {"metrics": ["metrics:read", "metrics:write"], "reading": ["*:read"], "writing": ["*:read", "*:write"]}
    for name, allowed in scopes.items():
        made = await house.app.api_keys.create(name, owner="wren", scopes=allowed)
        house.headers[name] = {"authorization": f"Bearer {made.token}"}
    spare = (await house.app.api_keys.create("spare", owner="wren")).key.id
    expected = {"metrics": (403, 403), "reading": (200, 403), "writing": (200, 200)}
    for name, (sees, ends) in expected.items():
        for part in ("keys", "sessions", "grants"):
            assert (await house.ask(name, "GET", f"/api/account/{part}"))[0] == sees, (name, part)
        assert (await house.ask(name, "DELETE", "/api/account/sessions"))[0] == ends, name
        assert (await house.ask(name, "DELETE", f"/api/account/keys/{spare}"))[0] == ends, name
    assert (await house.ask("rita", "DELETE", "/api/account/sessions"))[0] == 200, "a reader in person"


@pytest.mark.requirement("jobs:missing-rooms")
async def test_health_doctor_and_the_page_of_a_job_name_the_rooms_that_jobs_wait_for(house: House) -> None:
    jobs = house.app.jobs
    hour_ago = house.app.clock.now() - 3600
    needs = ["access", "gone"]
    await house.app.database.write(lambda tx: jobs.enqueue(tx, "t.a", key="lost", run_at=hour_ago, needs=needs))
    _, body = await house.ask("clerk", "GET", "/api/admin/health")
    jobs.rooms = [*jobs.rooms, "gone"]
    assert "missing_rooms" not in (await house.ask("clerk", "GET", "/api/admin/health"))[1]
    _, found = await house.ask("root", "GET", "/api/admin/jobs?name=t.a")
    assert (body["missing_rooms"], found["jobs"][0]["needs"]) == (["gone"], needs)
    assert [one.check for one in server_health(body) if one.state == "warn"] == ["room gone"]
    _, page = await house.ask("root", "GET", f"/console/admin/jobs/{found['jobs'][0]['id']}.json")
    assert "access, gone" in json.dumps(page)
    jobs.rooms = jobs.rooms[:-1]


async def test_every_route_is_described(house: House) -> None:
    _, described = await house.ask("root", "GET", "/openapi.json")
    for method, path in (*ADMIN_ROUTES, *ACCOUNT_ROUTES):
        operation = described["paths"][path.replace(":int", "").replace(":path", "")][method.lower()]
        assert operation["summary"]
        assert operation["tags"] in (["Administration"], ["Account"])


async def granted(house: House, user: str, name: str = "Claude") -> Granted:
    """A new grant; its token is the caller `token of USER`."""
    made = await make_grant(house.app, user, name)
    house.headers[f"token of {user}"] = {"authorization": f"Bearer {made.token}"}
    return made


@pytest.mark.requirement("admin:logins", "admin:account")
async def test_a_grant_is_seen_and_ended_by_its_user_or_an_administrator_and_by_nobody_else(house: House) -> None:
    made = await granted(house, "rita")
    client, grant = made.client, made.grant
    _, listed = await house.ask("rita", "GET", "/api/account/grants")
    assert [(one["id"], one["client"], one["client_name"], one["state"]) for one in listed["grants"]] == [
        (grant, client, "Claude", "active")
    ]
    assert made.token not in json.dumps(listed)
    assert (await house.ask("wren", "GET", "/api/account/grants"))[1] == {"grants": []}
    assert (await house.ask("wren", "DELETE", f"/api/account/grants/{grant}"))[0] == 404
    assert (await house.ask("token of rita", "GET", "/api/account"))[0] == 200
    assert (await house.ask("rita", "DELETE", f"/api/account/grants/{grant}"))[0] == 200
    assert (await house.ask("token of rita", "GET", "/api/account"))[0] == 401
    second = (await granted(house, "rita", "Second")).grant
    _, everybodys = await house.ask("root", "GET", "/api/admin/grants?user=rita")
    assert [(one["id"], one["state"]) for one in everybodys["grants"]] == [(second, "active"), (grant, "revoked")]
    assert (await house.ask("root", "DELETE", f"/api/admin/grants/{second}"))[0] == 200
    assert (await house.ask("token of rita", "GET", "/api/account"))[0] == 401
    assert sorted(await house.events("grant revoked")) == sorted(
        [("user:root", f"grant:{second}", "ok"), ("user:rita", f"grant:{grant}", "ok")]
    )


@pytest.mark.requirement("admin:account")
async def test_a_token_makes_no_key_and_changes_no_password(house: House) -> None:
    await granted(house, "root")
    body = {"current": PASSWORD, "password": NEW_PASSWORD}
    assert (await house.ask("token of root", "POST", "/api/account/keys", {"label": "next"}))[0] == 403
    assert (await house.ask("token of root", "PUT", "/api/account/password", body))[0] == 403
    assert (await house.ask("token of root", "GET", "/api/admin/users"))[0] == 200, "with *:admin granted"


@pytest.mark.requirement("admin:last-used")
async def test_the_last_use_of_keys_grants_and_sessions_is_told(house: House) -> None:
    key = await house.app.api_keys.create("laptop", owner="wren")
    house.headers["key of wren"] = {"authorization": f"Bearer {key.token}"}
    await granted(house, "wren")
    ways = [("wren", "/api/account/{}"), ("root", "/api/admin/{}?user=wren&owner=wren")]
    for what in ("keys", "grants"):
        for who, path in ways:
            (found,) = (await house.ask(who, "GET", path.format(what)))[1][what]
            assert found["last_used"] is None, (what, who)
    began = iso(house.app.clock.now())
    browser = Browser(house.front)
    assert (await browser.log_in("wren")).status == 303
    for who in ("key of wren", "token of wren"):
        assert (await house.ask(who, "GET", "/api/account"))[0] == 200
    ended = iso(house.app.clock.now())
    for what in ("keys", "grants", "sessions"):
        for who, path in ways:
            (found,) = (await house.ask(who, "GET", path.format(what)))[1][what]
            assert began <= found["last_used"] <= ended, (what, who)
    (client,) = (await house.ask("root", "GET", "/api/admin/clients"))[1]["clients"]
    assert client["last_used"] is not None


@pytest.mark.requirement("admin:logins")
async def test_removing_a_client_ends_its_grants(house: House) -> None:
    client = (await granted(house, "rita")).client
    _, listed = await house.ask("root", "GET", "/api/admin/clients")
    assert [(one["id"], one["name"], one["kind"], one["grants"]) for one in listed["clients"]] == [
        (client, "Claude", "registered", 1)
    ]
    assert (await house.ask("root", "DELETE", f"/api/admin/clients/{client}"))[1] == {"id": client, "grants": 1}
    assert (await house.ask("token of rita", "GET", "/api/account"))[0] == 401
    assert (await house.ask("root", "DELETE", f"/api/admin/clients/{client}"))[0] == 404
    assert await house.events("client removed") == [("user:root", f"client:{client}", "ok")]


@pytest.mark.requirement("admin:logins", "admin:account")
async def test_a_browser_is_logged_out_by_its_user_or_an_administrator(house: House) -> None:
    first, second, third = (Browser(house.front) for _ in range(3))
    for browser, name in ((first, "rita"), (second, "rita"), (third, "wren")):
        assert (await browser.log_in(name)).status == 303
    _, listed = await house.ask("rita", "GET", "/api/account/sessions")
    assert [(one["user"], one["method"], one["browser"]) for one in listed["sessions"]] == [
        ("rita", "password", "Test")
    ] * 2
    assert all(cookie not in json.dumps(listed) for cookie in first.cookies.values())
    _, everybodys = await house.ask("root", "GET", "/api/admin/sessions")
    wrens = next(one["id"] for one in everybodys["sessions"] if one["user"] == "wren")
    assert (await house.ask("rita", "DELETE", f"/api/account/sessions/{wrens}"))[0] == 404
    assert (await third.get("/api/account")).status == 200
    assert (await house.ask("root", "DELETE", f"/api/admin/sessions/{wrens}"))[0] == 200
    assert (await third.get("/api/account", accept="application/json")).status == 401
    assert (await house.ask("rita", "DELETE", "/api/account/sessions"))[1]["ended"] == 2
    assert (await first.get("/api/account", accept="application/json")).status == 401
    assert await house.events("session ended") == [("user:root", f"session:{wrens}", "ok")]
    assert await house.events("sessions ended") == [("user:rita", "user:rita", "ok")]


@pytest.mark.requirement("admin:rights")
async def test_a_foreign_page_can_not_administer_with_the_cookie_of_an_administrator(house: House) -> None:
    browser = Browser(house.front)
    await browser.log_in("root")
    body = json.dumps({"name": "evil", "password": PASSWORD, "role": "admin"}).encode()
    for headers in (
        {"content-type": "application/json"},
        {"content-type": "application/json", "origin": "https://evil.example"},
        {"content-type": "application/json", "origin": browser.origin, "x-csrf-token": "wrong"},
    ):
        assert (await browser.send("POST", "/api/admin/users", headers, body)).status == 403
    for path in ("/api/admin/users/rita", "/api/admin/users/rita/sessions", "/api/account/sessions"):
        assert (await browser.send("DELETE", path, {})).status == 403
    assert await house.app.users.find("evil") is None
    assert await house.app.users.find("rita") is not None


@pytest.mark.requirement("admin:rights", "admin:events")
async def test_a_login_link_is_made_for_nobody_with_more_rights(house: House) -> None:
    assert (await house.ask("clerk", "POST", "/api/admin/users/root/link"))[0] == 403
    assert (await house.ask("rita", "POST", "/api/admin/users/rita/link"))[0] == 403
    status, made = await house.ask("root", "POST", "/api/admin/users/rita/link")
    assert (status, made["path"].startswith("/login/link?token=pentad_link_")) == (200, True)
    assert await house.events("login link made") == [("user:root", "user:rita", "ok")]
    whole = json.dumps([one._asdict() for one in await house.app.audit.recent(1000)])
    assert made["path"].partition("token=")[2] not in whole
    assert (await house.ask("root", "POST", "/api/admin/users/nobody/link"))[0] == 404


@pytest.mark.requirement("access:audit:every-call")
async def test_registrations_and_tokens_of_clients_are_in_the_trail_without_the_tokens(house: House) -> None:
    document = {"client_name": "Claude", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}
    status, client = await house.ask("anonymous", "POST", "/oauth/register", document)
    assert status == 201
    expiry = house.app.clock.now() + 1_000
    consent = Consent("rita", client["client_id"], "Claude", frozenset({"*:read"}), "/", expiry)
    code = await house.app.grants.make_code(consent, redirect_uri=REDIRECT, challenge=CHALLENGE)
    fields = {
        "grant_type": "authorization_code",
        "client_id": client["client_id"],
        "code": code,
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
    }
    form = {"content-type": "application/x-www-form-urlencoded"}
    answer = send(house.front, "POST", "/oauth/token", form, urlencode(fields).encode())
    tokens = json.loads(await answer.body())
    assert answer.status == 200, tokens
    (grant,) = await house.app.grants.of_user("rita")
    assert await house.events("client registered") == [("anonymous", f"client:{client['client_id']}", "ok")]
    assert await house.events("tokens issued") == [("user:rita", f"grant:{grant.id}", "ok")]
    whole = json.dumps([one._asdict() for one in await house.app.audit.recent(1000)])
    assert not any(secret in whole for secret in (code, tokens["access_token"], tokens["refresh_token"]))
