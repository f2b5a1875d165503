"""The registry over HTTP, with a client written from the public documentation."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from pentad.kernel.ports import Rows
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.registry.service import ServerQuery, list_page
from pentad.rooms.directory.registry.validation import issues_of
from tests.rooms.directory.registry.registry_client import OFFICIAL, RegistryClient, RegistryError
from tests.rooms.directory.registry.site import BASE, Site, opened_site, server

pytestmark = pytest.mark.anyio

PRETTY = """{
  "version": "1.0.0",
  "name": "org.example/faithful",
  "description": "Kept  as it is: \\u00e4, ä, 1.0 and unknown members.",
  "x-unknown": {"b": 1, "a": [1.0, 1e2]},
  "remotes": [{"url": "https://faithful.example.org/mcp", "type": "streamable-http"}],
  "_meta": {"io.modelcontextprotocol.registry/publisher-provided": {"tool": "by hand"}}
}"""


@pytest.fixture
async def site(tmp_path: Path, database_url: str | None) -> AsyncIterator[Site]:
    """A company's registry: everyone may read."""
    async with opened_site(tmp_path, database=database_url, registry_readers="anyone") as opened:
        yield opened


@pytest.fixture(scope="module")
async def shared(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """One registry with one server, for tests that change nothing."""
    async with opened_site(tmp_path_factory.mktemp("shared"), registry_readers="anyone") as opened:
        await opened.publish("org.example/weather")
        yield opened


async def keys_of(client: RegistryClient, **query: str | int) -> list[tuple[str, str]]:
    return [one.key async for one in client.every(**query)]


@pytest.mark.requirement("dir:registry:publish")
async def test_what_an_administrator_publishes_is_listed(site: Site) -> None:
    published = await site.publish("org.example/weather")
    assert published["server"]["name"] == "org.example/weather"
    assert published["_meta"][OFFICIAL]["status"] == "active"
    listed = [one async for one in site.client().every()]
    assert [(one.key, one.status, one.is_latest) for one in listed] == [
        (("org.example/weather", "1.0.0"), "active", True)
    ]


@pytest.mark.requirement("dir:registry:faithful")
async def test_a_server_json_is_answered_byte_for_byte(site: Site) -> None:
    await site.client("admin").publish(PRETTY)
    path = f"{BASE}/v0.1/servers/org.example%2Ffaithful/versions/1.0.0"
    answer = await site.send("GET", path)
    assert b'{"server":' + PRETTY.encode() + b',"_meta":' in answer.body
    listed = await site.send("GET", f"{BASE}/v0.1/servers")
    assert PRETTY.encode() in listed.body
    assert json.loads(listed.body)["metadata"] == {"count": 1}


@pytest.mark.requirement("dir:registry:list")
async def test_pages_hold_every_server_once_in_the_order_of_names(site: Site) -> None:
    names = [f"org.example/server-{number:02d}" for number in range(7)]
    for name in reversed(names):
        await site.publish(name)
    assert await keys_of(site.client(), limit=3) == [(name, "1.0.0") for name in names]
    page, cursor = await site.client().page(limit=7)
    assert (len(page), cursor) == (7, None)


@pytest.mark.requirement("dir:registry:list")
async def test_a_search_is_a_part_of_the_name_in_any_case(site: Site) -> None:
    for name in ("org.example/weather", "org.example/tide_table", "com.Weather.api/maps", "org.example/tide-table"):
        await site.publish(name)
    found = await keys_of(site.client(), search="WEATHER", limit=1)
    assert found == [("com.Weather.api/maps", "1.0.0"), ("org.example/weather", "1.0.0")]
    assert await keys_of(site.client(), search="e_t") == [("org.example/tide_table", "1.0.0")]
    assert await keys_of(site.client(), search="%") == []


@pytest.mark.requirement("dir:registry:list")
async def test_the_latest_version_is_the_highest_and_can_be_asked_for(site: Site) -> None:
    for version in ("1.10.0", "1.9.0", "2.0.0-rc.1", "1.0.0+build.5"):
        await site.publish("org.example/weather", version)
    await site.publish("org.example/other", "0.1.0")
    client = site.client()
    assert await keys_of(client, version="latest") == [
        ("org.example/other", "0.1.0"), ("org.example/weather", "2.0.0-rc.1"),
    ]  # fmt: skip
    assert (await client.version("org.example/weather")).key[1] == "2.0.0-rc.1"
    assert (await client.version("org.example/weather", "1.0.0+build.5")).key[1] == "1.0.0+build.5"
    versions = await client.versions("org.example/weather")
    assert [one.key[1] for one in versions] == ["1.0.0+build.5", "2.0.0-rc.1", "1.9.0", "1.10.0"]
    assert [one.key[1] for one in versions if one.is_latest] == ["2.0.0-rc.1"]
    assert await keys_of(client, version="1.9.0") == [("org.example/weather", "1.9.0")]


@pytest.mark.requirement("dir:registry:deltas")
async def test_changes_since_a_moment_include_what_was_withdrawn(site: Site) -> None:
    for name in ("org.example/a", "org.example/b", "org.example/c"):
        await site.publish(name)
    client = site.client()
    last = max([one.updated_at async for one in client.every()])
    assert await keys_of(client, updated_since=last) == []
    await site.client("admin").set_status("org.example/b", "1.0.0", status="deleted", statusMessage="It leaks.")
    await site.publish("org.example/d")
    changed = {one.key[0]: one.status async for one in client.every(updated_since=last, limit=1)}
    assert changed == {"org.example/b": "deleted", "org.example/d": "active"}
    assert ("org.example/b", "1.0.0") not in await keys_of(client)
    assert ("org.example/b", "1.0.0") in await keys_of(client, include_deleted="true")


@pytest.mark.requirement("dir:registry:deltas")
async def test_what_changes_while_the_changes_are_read_comes_at_the_end(site: Site) -> None:
    first = await site.publish("org.example/z")
    for name in ("org.example/a", "org.example/b"):
        await site.publish(name)
    seen: list[str] = []
    async for one in site.client().every(updated_since="2020-01-01T00:00:00Z", limit=1):
        seen.append(one.key[0])
        if seen == ["org.example/z", "org.example/a"]:
            await site.directory.states.set(LOCAL, [first["_meta"]["pentad/record"]["cid"]], "deprecated")
    assert seen == ["org.example/z", "org.example/a", "org.example/b", "org.example/z"]


@pytest.mark.requirement("dir:registry:deltas")
async def test_a_page_of_changes_reads_no_more_than_the_page(site: Site, database_url: str | None) -> None:
    if database_url is not None:
        return  # the plan for a small table says nothing there

    class Explained:
        """Explains a statement instead of running it."""

        def __init__(self, rows: Rows) -> None:
            self._rows = rows

        def all(self, statement: str, *values: Any) -> list[Any]:
            plan = [row[3] for row in self._rows.all(f"EXPLAIN QUERY PLAN {statement}", *values)]
            plans.append(plan)
            return []

    plans: list[list[str]] = []
    for query in (ServerQuery(updated_since=1.0), ServerQuery(updated_since=1.0, version="latest", search="x")):
        await site.app.database.read(lambda rows, query=query: list_page(cast("Rows", Explained(rows)), query, 100))
    assert [len(plan) for plan in plans] == [1, 1], "nothing is sorted"
    assert all("USING INDEX directory_servers_updated" in plan[0] for plan in plans)


@pytest.mark.requirement("dir:registry:deltas")
async def test_a_deleted_record_leaves_a_tombstone(site: Site) -> None:
    published = await site.publish("org.example/gone")
    before = published["_meta"][OFFICIAL]["updatedAt"]
    await site.directory.records.delete(LOCAL, published["_meta"]["pentad/record"]["cid"])
    assert await keys_of(site.client()) == []
    changed = [one async for one in site.client().every(updated_since=before)]
    assert [(one.key, one.status) for one in changed] == [(("org.example/gone", "1.0.0"), "deleted")]


@pytest.mark.requirement("dir:registry:status")
async def test_the_status_can_be_changed_for_one_version_or_all(site: Site) -> None:
    for version in ("1.0.0", "2.0.0"):
        await site.publish("org.example/weather", version)
    admin, client = site.client("admin"), site.client()
    answer = await admin.set_status("org.example/weather", "1.0.0", status="deprecated", statusMessage="Use 2.")
    assert answer["_meta"][OFFICIAL]["statusMessage"] == "Use 2."
    with pytest.raises(RegistryError, match="400"):
        await admin.set_status("org.example/weather", "1.0.0", status="deprecated")
    with pytest.raises(RegistryError, match="400"):
        await admin.set_status("org.example/weather", "1.0.0", status="active", statusMessage="Fine.")
    changed = await admin.set_status("org.example/weather", None, status="deleted")
    assert changed["updatedCount"] == 2
    with pytest.raises(RegistryError, match="404"):
        await client.version("org.example/weather")
    assert (await client.version("org.example/weather", "2.0.0", include_deleted="true")).status == "deleted"
    await admin.set_status("org.example/weather", "1.0.0", status="active")
    assert (await client.version("org.example/weather")).key[1] == "1.0.0"


@pytest.mark.requirement("dir:registry:status")
async def test_the_message_of_a_status_can_be_corrected(site: Site) -> None:
    await site.publish("org.example/weather")
    admin, said = site.client("admin"), {"status": "deprecated", "statusMessage": "Use tide."}
    for message in ("Use tides.", said["statusMessage"]):
        await admin.set_status("org.example/weather", "1.0.0", status="deprecated", statusMessage=message)
    answer = await admin.set_status("org.example/weather", None, status="deprecated", statusMessage="Use rain.")
    assert answer["servers"][0]["_meta"][OFFICIAL]["statusMessage"] == "Use rain."
    for same in ({"status": "deprecated"}, {"status": "deprecated", "statusMessage": "Use rain."}):
        with pytest.raises(RegistryError, match="already"):
            await admin.set_status("org.example/weather", "1.0.0", **same)


@pytest.mark.requirement("dir:registry:publish")
async def test_a_published_version_is_final(site: Site) -> None:
    await site.publish("org.example/weather")
    again = await site.publish("org.example/weather")
    assert again["_meta"][OFFICIAL]["status"] == "active"
    with pytest.raises(RegistryError, match=r"400.*new version"):
        await site.publish("org.example/weather", description="Something else.")


@pytest.mark.requirement("dir:registry:publish")
@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "no-slash"}, {"name": "two/slashes/here"}, {"version": "latest"}, {"version": "^1.0.0"},
        {"version": "1.x"}, {"version": ">=1"}, {"version": ""}, {"description": ""}, {"description": "x" * 101},
        {"remotes": []}, {"remotes": [{"type": "stdio", "url": "https://x.example/mcp"}]},
        {"packages": [{"registryType": "npm", "identifier": "x"}]},
        {"remotes": [{"type": "streamable-http", "url": "javascript:alert(1)"}]},
        {"remotes": [{"type": "sse", "url": "https://x.example/two words"}]},
        {"remotes": [{"type": "sse", "url": "https://x.example/sse", "headers": [
            {"name": "Authorization", "value": "Bearer ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"}]}]},
    ],
    ids=str,
)  # fmt: skip
async def test_a_wrong_server_json_is_refused_with_its_places(shared: Site, wrong: dict[str, object]) -> None:
    text = json.dumps(server("org.example/wrong", "1.0.0") | wrong)
    answer = await shared.send(
        "POST", f"{BASE}/v0.1/publish", {**shared.login("admin"), "content-type": "application/json"}, text.encode()
    )
    assert answer.status == 400
    assert json.loads(answer.body)["errors"]
    assert "ghp_" not in answer.body.decode()
    assert await keys_of(shared.client()) == [("org.example/weather", "1.0.0")]
    checked = await shared.send(
        "POST", f"{BASE}/v0/validate", {**shared.login("admin"), "content-type": "application/json"}, text.encode()
    )
    assert json.loads(checked.body)["valid"] is False


@pytest.mark.requirement("dir:registry:readers")
async def test_hosts_read_without_credentials_only_if_the_operator_says_so(tmp_path: Path) -> None:
    async with opened_site(tmp_path) as site:
        await site.publish("org.example/private")
        with pytest.raises(RegistryError, match="401"):
            await site.client().page()
        assert await keys_of(site.client("reader")) == [("org.example/private", "1.0.0")]
    async with opened_site(tmp_path, registry_networks=["127.0.0.0/8"]) as site:
        assert await keys_of(site.client()) == [("org.example/private", "1.0.0")]
    async with opened_site(tmp_path, registry_networks=["10.0.0.0/8"]) as site:
        with pytest.raises(RegistryError, match="401"):
            await site.client().page()


@pytest.mark.requirement("dir:registry:readers")
async def test_nobody_publishes_without_the_right_to_write(site: Site) -> None:
    for who, status in (("", 401), ("reader", 403)):
        with pytest.raises(RegistryError, match=str(status)):
            await site.publish("org.example/weather", who=who)
        with pytest.raises(RegistryError, match=str(status)):
            await site.client(who).set_status("org.example/weather", None, status="deleted")


@pytest.mark.requirement("dir:registry:http")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v0.1/servers/", 200),
        ("GET", "/v0/servers?limit=1", 200),
        ("HEAD", "/v0.1/servers", 200),
        ("OPTIONS", "/v0.1/servers", 204),
        ("GET", "/v0.1/servers/org.example/weather/versions/latest", 200),
        ("GET", "/v0.1/servers/org.example%2Fweather/versions/latest/", 200),
        ("GET", "/v0.1/servers/org.example%2Fnone/versions/latest", 404),
        ("GET", "/v0.1/servers/org.example%2Fweather/versions/9", 404),
        ("GET", "/v0.1/servers/nothing", 404),
        ("GET", "/v0.1/servers?limit=0", 422),
        ("GET", "/v0.1/servers?limit=101", 422),
        ("GET", "/v0.1/servers?updated_since=yesterday", 400),
        ("GET", "/v0.1/servers?updated_since=2026-01-01T00:00:00Z&include_deleted=false", 400),
        ("GET", "/v0.1/servers?cursor=nonsense", 400),
        ("GET", "/v0.1/servers/org.example%2Fwea%00ther/versions", 400),
        ("DELETE", "/v0.1/servers/org.example%2Fweather/versions/1.0.0", 501),
        ("PUT", "/v0.1/servers/org.example%2Fweather/versions/1.0.0", 501),
        ("POST", "/v0.1/servers", 405),
        ("GET", "/v0/ping", 200),
        ("GET", "/v0.1/health", 200),
    ],
)  # fmt: skip
async def test_every_answer_has_its_status_and_may_be_read_by_pages(
    shared: Site, method: str, path: str, status: int
) -> None:
    answer = await shared.send(
        method, BASE + path, shared.login("admin") if method in ("DELETE", "PUT", "POST") else {}
    )
    assert answer.status == status, answer.body
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "Authorization" in answer.headers["access-control-allow-headers"]


@pytest.mark.requirement("dir:registry:http")
async def test_pages_of_other_origins_may_ask_before_and_read(shared: Site) -> None:
    asked = {"origin": "https://vscode.dev", "access-control-request-method": "GET"}
    assert (await shared.send("OPTIONS", f"{BASE}/v0.1/servers", asked)).status == 204
    answer = await shared.send("GET", f"{BASE}/v0.1/servers", {"origin": "https://vscode.dev"})
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://vscode.dev")


@pytest.mark.requirement("dir:registry:http")
async def test_a_cursor_belongs_to_its_filters(site: Site) -> None:
    for name in ("org.example/a1", "org.example/a2", "org.example/b"):
        await site.publish(name)
    _, cursor = await site.client().page(search="a1", limit=1)
    assert cursor is None
    _, cursor = await site.client().page(search="org", limit=1)
    assert cursor is not None
    with pytest.raises(RegistryError, match="400"):
        await site.client().page(search="b", cursor=cursor)


NEWEST: dict[str, Any] = {
    "title": "Weather",
    "websiteUrl": "https://weather.example.org",
    "icons": [
        {"src": "https://weather.example.org/i.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}
    ],
    "packages": [
        {
            "registryType": "mcpb",
            "identifier": "https://git.example.org/releases/weather-mcp.mcpb",
            "fileSha256": "ab" * 32,
            "transport": {"type": "stdio"},
            "packageArguments": [{"type": "positional", "valueHint": "place"}],
        }
    ],
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://{region}.example.org/mcp",
            "variables": {"region": {"default": "eu", "choices": ["eu", "us"]}},
            "headers": [{"name": "X-Key", "isSecret": True}],
        }
    ],
}


@pytest.mark.requirement("dir:registry:schema")
async def test_a_server_json_of_the_newest_schema_is_taken_with_all_it_has(site: Site) -> None:
    await site.publish("org.example/newest", **NEWEST)
    assert (await site.client().version("org.example/newest")).server == server("org.example/newest", **NEWEST)


@pytest.mark.requirement("dir:registry:schema")
@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("websiteUrl", {"websiteUrl": "weather"}),
        ("icons[0].src", {"icons": [{"src": "http://weather.example.org/i.png"}]}),
        ("icons[0].mimeType", {"icons": [{"src": "https://x.example/i", "mimeType": "text/html"}]}),
        ("icons[0].theme", {"icons": [{"src": "https://x.example/i", "theme": "blue"}]}),
        ("icons[0].sizes", {"icons": [{"src": "https://x.example/i", "sizes": ["big"]}]}),
        ("icons[0].sizes", {"icons": [{"src": "https://x.example/i", "sizes": "48x48"}]}),
        ("packages[0].fileSha256", {"packages": [{**NEWEST["packages"][0], "fileSha256": "AB"}]}),
        ("packages[0].packageArguments[0].type", {"packages": [{**NEWEST["packages"][0], "packageArguments": [{}]}]}),
        (
            "packages[0].environmentVariables[0].name",
            {"packages": [{**NEWEST["packages"][0], "environmentVariables": [{"value": "x"}]}]},
        ),
        ("remotes[0].variables", {"remotes": [{**NEWEST["remotes"][0], "variables": ["region"]}]}),
        ("remotes[0].headers[0].name", {"remotes": [{**NEWEST["remotes"][0], "headers": [{"isSecret": True}]}]}),
    ],
)
def test_what_the_newest_schema_does_not_allow_is_named(path: str, changes: dict[str, Any]) -> None:
    assert [one.path for one in issues_of(server("org.example/newest", **{**NEWEST, **changes}))] == [path]
