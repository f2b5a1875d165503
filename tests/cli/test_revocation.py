"""Ending real grants, clients, sessions and jobs of a running server from the command line."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pentad.cli.store import open_store
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import SystemClock
from pentad.settings.model import Settings
from tests.cli.administered_server import PASSWORD, Server, administered_server
from tests.cli.socket_browser import SocketBrowser
from tests.oauth_client import access_token


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with administered_server(tmp_path_factory.mktemp("revocation")) as served:
        served.remote("users", "add", "ada", "--role", "writer", "--password-stdin", stdin=PASSWORD)
        served.remote("users", "add", "eve", "--password-stdin", stdin=PASSWORD)
        yield served


def status(server: Server, authorization: str) -> int:
    """How the server answers somebody with these credentials."""
    request = urllib.request.Request(f"{server.site}/api/account", headers={"authorization": authorization})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def listed(server: Server, *args: str, user: str = "root") -> list[dict[str, Any]]:
    return json.loads(server.remote(*args, "--json", user=user))


def grant_of_ada(server: Server) -> tuple[str, dict[str, Any]]:
    """The authorization of a program that ada has just allowed in a browser, and its grant."""
    before = {one["id"] for one in listed(server, "grants", "list")}
    token = access_token(server.site, "", "conformance:read", "ada", PASSWORD)
    (made,) = (one for one in listed(server, "grants", "list") if one["id"] not in before)
    assert (made["user"], made["state"]) == ("ada", "active")
    return f"Bearer {token}", made


def browser_of_ada(server: Server) -> tuple[SocketBrowser, str]:
    """A browser in which ada has just logged in, and the id of its session."""
    before = {one["id"] for one in listed(server, "sessions", "list")}
    browser = SocketBrowser()
    browser.open(f"{server.site}/login?next=/console/account")
    browser.send("Log in", name="ada", password=PASSWORD)
    assert browser.url == f"{server.site}/console/account"
    (made,) = (one["id"] for one in listed(server, "sessions", "list") if one["id"] not in before)
    return browser, made


def state_of(server: Server, grant: str) -> str:
    (found,) = (one["state"] for one in listed(server, "grants", "list") if one["id"] == grant)
    return found


@pytest.mark.requirement("admin:logins", "admin:last-used")
def test_a_grant_is_revoked_and_its_token_ends(server: Server) -> None:
    authorization, grant = grant_of_ada(server)
    assert grant["last_used"] is None
    assert status(server, authorization) == 200
    (used,) = (one for one in listed(server, "grants", "list", "--user", "ada") if one["id"] == grant["id"])
    assert used["created"] <= used["last_used"]
    assert used["last_used"] in server.remote("grants", "list", "--user", "ada")
    assert grant["id"] in server.remote("grants", "revoke", grant["id"], "--mine", user="eve", code=3)
    server.remote("grants", "revoke", grant["id"], user="eve", code=4)
    assert (status(server, authorization), state_of(server, grant["id"])) == (200, "active")
    server.remote("grants", "revoke", grant["id"])
    assert (status(server, authorization), state_of(server, grant["id"])) == (401, "revoked")


@pytest.mark.requirement("admin:logins", "admin:account")
def test_a_user_revokes_the_own_grant(server: Server) -> None:
    authorization, grant = grant_of_ada(server)
    assert status(server, authorization) == 200
    server.remote("grants", "revoke", grant["id"], "--mine", user="ada")
    assert (status(server, authorization), state_of(server, grant["id"])) == (401, "revoked")


@pytest.mark.requirement("admin:logins")
def test_a_removed_client_is_gone_with_its_grants(server: Server) -> None:
    authorization, grant = grant_of_ada(server)
    assert status(server, authorization) == 200
    server.remote("clients", "remove", grant["client"], user="ada", code=4)
    assert status(server, authorization) == 200
    server.remote("clients", "remove", grant["client"])
    assert (status(server, authorization), state_of(server, grant["id"])) == (401, "revoked")
    assert grant["client"] not in {one["id"] for one in listed(server, "clients", "list")}
    assert grant["client"] in server.remote("clients", "remove", grant["client"], code=3)


@pytest.mark.requirement("admin:logins", "admin:account", "admin:last-used")
@pytest.mark.parametrize("whose", ["anybody's", "own"])
def test_a_browser_is_logged_out(server: Server, whose: str) -> None:
    browser, session = browser_of_ada(server)
    bystander, _ = browser_of_ada(server)
    (found,) = (one for one in listed(server, "sessions", "list", "--mine", user="ada") if one["id"] == session)
    assert found["created"] <= found["last_used"]
    assert found["last_used"] in server.remote("sessions", "list")
    server.remote("sessions", "end", session, user="eve", code=4)
    server.remote("sessions", "end", session, "--mine", user="eve", code=3)
    browser.open("/console/account")
    assert browser.url == f"{server.site}/console/account"
    if whose == "own":
        server.remote("sessions", "end", session, "--mine", user="ada")
    else:
        server.remote("sessions", "end", session)
    browser.open("/console/account")
    assert browser.url.startswith(f"{server.site}/login?")
    bystander.open("/console/account")
    assert bystander.url == f"{server.site}/console/account"
    assert session in server.remote("sessions", "end", session, code=3)


@pytest.mark.requirement("admin:last-used", "cli:keys")
def test_the_last_use_of_a_key_is_listed(server: Server) -> None:
    made = json.loads(server.remote("keys", "create", "laptop", "--mine", "--json", user="ada"))

    def found(*args: str, user: str = "root") -> dict[str, Any]:
        (one,) = (key for key in listed(server, "keys", "list", *args, user=user) if key["id"] == made["id"])
        return one

    assert found()["last_used"] is None
    assert status(server, f"Bearer {made['token']}") == 200
    used = found()["last_used"]
    assert made["created"] <= used
    assert found("--mine", user="ada")["last_used"] == used
    assert used in server.remote("keys", "list")


async def bury_two_jobs(data: Path) -> list[int]:
    """Two jobs that failed for good, of a name that no worker of the server runs."""
    async with open_store(Settings(data=data)) as database:
        jobs = JobQueue(database, SystemClock())
        try:
            for key in ("first", "second"):
                await database.write(lambda tx, key=key: jobs.enqueue(tx, "test.broken", key=key))
            runs = await database.write(lambda tx: jobs.claim(tx, "test.broken", 2))
            for run in runs:
                await database.write(lambda tx, run=run: jobs.bury(tx, run, "It broke."))
        finally:
            await jobs.close()
    return [run.id for run in runs]


@pytest.mark.requirement("admin:jobs")
def test_a_dead_job_is_retried_and_another_forgotten(server: Server) -> None:
    first, second = asyncio.run(bury_two_jobs(server.home / "d"))

    def states() -> dict[int, str]:
        return {one["id"]: one["state"] for one in listed(server, "jobs", "list", "--name", "test.broken")}

    assert states() == {first: "dead", second: "dead"}
    assert "It broke." in server.remote("jobs", "list", "--state", "dead")
    server.remote("jobs", "retry", str(first), user="ada", code=4)
    server.remote("jobs", "forget", str(second), user="ada", code=4)
    assert states() == {first: "dead", second: "dead"}
    server.remote("jobs", "retry", str(first))
    assert states() == {first: "queued", second: "dead"}
    server.remote("jobs", "forget", str(second))
    assert states() == {first: "queued"}
    for verb, job in (("retry", first), ("forget", first), ("retry", second), ("forget", second)):
        assert f"There is no dead job {job}." in server.remote("jobs", verb, str(job), code=3)
    server.remote("jobs", "retry", "seven", code=2)
