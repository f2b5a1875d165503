"""Importing another registry by its address, and then its changes."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.clock import parse_iso
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.kernel.ports import Fetched
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.registry.registry_import import OVERLAP_SECONDS, RegistryImports, registry_base
from tests.fakes import UnusedFetcher
from tests.rooms.directory.registry.site import Site, opened_site

pytestmark = pytest.mark.anyio

URL = "https://registry.example.org"


class Through(UnusedFetcher):
    """The way to another server, which is in this process."""

    def __init__(self, other: Site) -> None:
        self._other = other
        self.asked: list[str] = []
        self.refuses_deltas = False

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int | None = None,
        timeout: float | None = None,
        trusted: bool = False,
        follow_redirects: bool = True,
    ) -> Fetched:
        self.asked.append(url)
        if self.refuses_deltas and ("updated_since" in url or "include_deleted" in url):
            return Fetched(400, {}, b"{}", url)
        answer = await self._other.send(method, url)
        return Fetched(answer.status, answer.headers, answer.body, url)


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[Site]:
    async with opened_site(tmp_path / "other", registry_readers="anyone") as opened:
        yield opened


@pytest.fixture
async def site(tmp_path: Path, database_url: str | None) -> AsyncIterator[Site]:
    async with opened_site(tmp_path / "own", database=database_url, registry_readers="anyone") as opened:
        yield opened


def imports(site: Site, fetcher: Through) -> RegistryImports:
    room, platform = site.directory, site.directory.platform
    finder: Any = room.node
    return RegistryImports(
        platform.database, platform.clock, fetcher, room.schemas, room.records, room.states, finder
    )  # fmt: skip


async def servers(site: Site) -> list[tuple[str, str]]:
    return [one.key async for one in site.client().every()]


@pytest.mark.requirement("dir:registry:import")
async def test_a_registry_is_copied_and_its_changes_follow(site: Site, other: Site) -> None:
    for number in range(3):
        await other.publish(f"org.example/server-{number}", icons=[{"src": "https://x.example/i.png"}])
    fetcher = Through(other)
    first = await imports(site, fetcher).run(LOCAL, URL + "/", approve=True)
    assert (first.since, first.servers, first.imported, first.failed) == (None, 3, 3, 0)
    assert await servers(site) == await servers(other)
    theirs = await other.client().version("org.example/server-1")
    assert (await site.client().version("org.example/server-1")).server == theirs.server
    await other.publish("org.example/server-1", "2.0.0")
    await other.client("admin").set_status("org.example/server-2", None, status="deleted", statusMessage="It leaks.")
    await other.client("admin").set_status("org.example/server-0", None, status="deprecated")
    second = await imports(site, fetcher).run(LOCAL, URL, approve=True)
    assert (second.imported, second.withdrawn, second.deprecated) == (1, 1, 1)
    assert "updated_since=" in fetcher.asked[-1]
    assert await servers(site) == await servers(other)
    assert (await site.client().version("org.example/server-1")).key[1] == "2.0.0"
    withdrawn = await site.directory.states.get((await site.directory.naming.find("org.example/server-2")).cid)
    assert withdrawn.history[-1].reason == f"deleted in {URL}: It leaks."
    third = await imports(site, fetcher).run(LOCAL, URL)
    assert (third.imported, third.withdrawn, third.deprecated, third.restored) == (0, 0, 0, 0)


@pytest.mark.requirement("dir:registry:import")
async def test_what_another_registry_restores_is_restored_here(site: Site, other: Site) -> None:
    async def followed(*, full: bool = False, **status: str) -> tuple[int, str]:
        for name, one in status.items():
            await other.client("admin").set_status(f"org.example/{name}", None, status=one)
        done = await imports(site, Through(other)).run(LOCAL, URL, approve=True, full=full)
        return done.restored, (await site.directory.states.get(cid)).state

    await other.publish("org.example/weather")
    await imports(site, Through(other)).run(LOCAL, URL, approve=True)
    cid = (await site.directory.naming.find("org.example/weather")).cid
    assert await followed(weather="deprecated") == (0, "deprecated")
    assert await followed(full=True, weather="deleted") == (0, "withdrawn")
    assert await followed(weather="deprecated") == (1, "deprecated")
    assert await followed() == (0, "deprecated")
    assert await followed(weather="deleted") == (0, "withdrawn")
    assert await followed(weather="active") == (1, "approved")
    assert (await site.directory.states.get(cid)).history[-1].reason == f"listed again in {URL}"
    await followed(weather="deleted")
    await site.directory.states.set(LOCAL, [cid], "proposed", "Have a look.")
    await site.directory.states.set(LOCAL, [cid], "withdrawn", "We do not want it.")
    assert await followed(weather="active") == (0, "withdrawn"), "what was decided here stays"


@pytest.mark.requirement("dir:registry:import")
async def test_what_is_imported_waits_for_approval(site: Site, other: Site) -> None:
    await other.publish("org.example/weather")
    await imports(site, Through(other)).run(LOCAL, URL)
    assert await servers(site) == []
    proposed, _ = await site.directory.states.in_state("proposed", 10)
    assert [one.name for one in proposed] == ["org.example/weather"]
    await other.publish("org.example/tides")
    await imports(site, Through(other)).run(LOCAL, URL)
    (declined,) = (one.cid for one in (await site.directory.states.in_state("proposed", 1))[0])
    await site.directory.states.set(LOCAL, [declined], "draft", "Not yet.")
    await site.directory.states.set(LOCAL, [declined], "proposed", "Ask again.")
    done = await imports(site, Through(other)).run(LOCAL, URL, approve=True)
    assert (done.imported, done.approved) == (0, 1), "the one that nobody here has decided about"
    assert await servers(site) == [("org.example/weather", "1.0.0")]


@pytest.mark.requirement("dir:registry:import")
async def test_a_registry_without_deltas_is_read_as_a_whole(site: Site, other: Site) -> None:
    await other.publish("org.example/weather")
    fetcher = Through(other)
    await imports(site, fetcher).run(LOCAL, URL)
    fetcher.refuses_deltas = True
    again = await imports(site, fetcher).run(LOCAL, URL)
    assert (again.servers, again.already_there) == (1, 1)
    assert "updated_since" not in fetcher.asked[-1]


@pytest.mark.requirement("dir:registry:import")
async def test_the_next_import_begins_before_the_last_one_did(site: Site, other: Site) -> None:
    await imports(site, Through(other)).run(LOCAL, URL)
    row = await site.app.database.lookup("SELECT since, imported_at FROM directory_registries WHERE url = ?", URL)
    assert row is not None
    assert row[0] <= row[1] - OVERLAP_SECONDS
    again = await imports(site, Through(other)).run(LOCAL, URL)
    assert again.since is not None
    assert abs(parse_iso(again.since).timestamp() - row[0]) < 0.01
    assert (await imports(site, Through(other)).run(LOCAL, URL, full=True)).since is None


@pytest.mark.requirement("dir:registry:import")
async def test_own_records_are_not_withdrawn_by_another_registry(site: Site, other: Site) -> None:
    await other.publish("org.example/weather")
    await site.publish("org.example/weather")
    await imports(site, Through(other)).run(LOCAL, URL)
    await other.client("admin").set_status("org.example/weather", None, status="deleted")
    assert (await imports(site, Through(other)).run(LOCAL, URL)).withdrawn == 0
    assert await servers(site) == [("org.example/weather", "1.0.0")]


class Answers(Through):
    """A registry that always answers the same."""

    def __init__(self, body: Any, status: int = 200) -> None:
        self._answer = Fetched(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode(), URL)

    async def fetch(self, url: str, **_: Any) -> Fetched:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._answer


@pytest.mark.requirement("dir:registry:import")
async def test_one_bad_server_does_not_stop_the_rest(site: Site) -> None:
    good = {
        "name": "org.example/good",
        "description": "Good.",
        "version": "1",
        "remotes": [{"type": "sse", "url": "https://x.example"}],
    }
    listed = {"servers": [{"server": {"name": "org.example/bad", "version": "1"}}, {"server": good}]}
    done = await imports(site, Answers(listed)).run(LOCAL, URL)
    assert (done.servers, done.imported, done.failed) == (2, 1, 1)
    assert done.failures[0]["server"] == "org.example/bad 1"


@pytest.mark.parametrize("answer", [b"no JSON", {"items": []}, {"servers": ["text"]}, {"servers": {}}], ids=str)
async def test_an_answer_that_is_no_list_is_an_error(site: Site, answer: Any) -> None:
    with pytest.raises(Unavailable):
        await imports(site, Answers(answer)).run(LOCAL, URL)
    with pytest.raises(Unavailable, match="503"):
        await imports(site, Answers({}, 503)).run(LOCAL, URL)


@pytest.mark.parametrize("url", [URL, URL + "/", URL + "/v0.1", URL + "/v0/servers", f" {URL}/v0.1/ "])
def test_an_address_may_be_given_with_its_path(url: str) -> None:
    assert registry_base(url) == URL


@pytest.mark.parametrize("url", ["ftp://x.example", "registry.example.org", "https://", "https://x.example/?a=b"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        registry_base(url)
