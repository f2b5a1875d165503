"""Records are proposed, approved, deprecated and withdrawn, over MCP, REST and the command line."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pentad.kernel.errors import Conflict, Forbidden
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.directory.interface.demo import demo_records, fill_demo
from pentad.rooms.directory.interface.search_source import find_records
from pentad.rooms.directory.records.states import allowed_states
from pentad.rooms.directory.search.query import Query
from pentad.search.sources import SearchRequest
from tests.cli.processes import run
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.registry.registry_client import RegistryError
from tests.rooms.directory.registry.site import BASE, Site, opened_site, server
from tests.rooms.directory.translate.sources import SERVER

pytestmark = pytest.mark.anyio

WRITER = Principal("user:ada", "ada", frozenset({"directory:read", "directory:write"}))
OTHER = Principal("user:bob", "bob", frozenset({"directory:read", "directory:write"}))


@pytest.fixture
async def site(tmp_path: Path, database_url: str | None) -> AsyncIterator[Site]:
    async with opened_site(tmp_path, database=database_url, registry_readers="anyone") as opened:
        yield opened


async def names(site: Site) -> list[str]:
    return [one.key[0] async for one in site.client().every()]


async def request(site: Site, method: str, path: str, who: str, body: Any = None) -> tuple[int, Any]:
    headers = {**site.login(who), "content-type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    answer = await site.send(method, BASE + path, headers, sent)
    return answer.status, json.loads(answer.body)


@pytest.mark.requirement("dir:states:approval")
async def test_what_a_writer_publishes_reaches_hosts_once_it_is_approved(site: Site) -> None:
    published = await site.publish("org.example/weather", who="writer")
    cid = published["_meta"]["pentad/record"]["cid"]
    assert published["_meta"]["pentad/record"]["state"] == "proposed"
    assert "status" not in published["_meta"]["io.modelcontextprotocol.registry/official"]
    assert await names(site) == []
    with pytest.raises(RegistryError, match="404"):
        await site.client("admin").version("org.example/weather")
    place = f"/api/directory/states/record?reference={cid}"
    assert (await request(site, "PUT", place, "writer", {"state": "approved"}))[0] == 403
    status, found = await request(site, "PUT", place, "admin", {"state": "approved", "reason": "Reviewed."})
    assert (status, found["state"]) == (200, "approved")
    assert await names(site) == ["org.example/weather"]
    (change,) = found["history"]
    assert (change["old_state"], change["new_state"], change["reason"]) == ("proposed", "approved", "Reviewed.")
    assert change["changed_by"].startswith("key:")


@pytest.mark.requirement("dir:states:approval")
async def test_an_unapproved_version_neither_hides_nor_replaces_an_approved_one(site: Site) -> None:
    await site.publish("org.example/weather", "1.0.0")
    await site.publish("org.example/weather", "2.0.0", who="writer")
    client = site.client()
    assert (await client.version("org.example/weather")).key[1] == "1.0.0"
    await site.directory.states.set(LOCAL, [await cid_of(site, "org.example/weather:2.0.0")], "approved")
    assert (await client.version("org.example/weather")).key[1] == "2.0.0"
    await site.directory.states.set(LOCAL, [await cid_of(site, "org.example/weather:2.0.0")], "draft")
    latest = await client.version("org.example/weather")
    assert (latest.key[1], latest.is_latest) == ("1.0.0", True)
    assert (await client.version("org.example/weather", "2.0.0", include_deleted="true")).status == "deleted"


@pytest.mark.requirement("dir:states:approval")
async def test_a_hit_says_its_state_unless_it_is_approved(site: Site) -> None:
    await site.publish("org.example/weather", who="writer")
    (hit,) = (await site.directory.search.find(Query(words="weather"))).hits
    assert hit.as_json()["state"] == "proposed"
    await site.directory.states.set(LOCAL, [hit.cid], "approved")
    (hit,) = (await site.directory.search.find(Query(words="weather"))).hits
    assert "state" not in hit.as_json()
    await site.directory.states.set(LOCAL, [hit.cid], "withdrawn", "It leaks.")
    (hit,) = (await site.directory.search.find(Query(words="weather"))).hits
    assert hit.as_json()["state"] == "withdrawn"
    assert (await site.call("agntcy_dir_pull_record", cid=hit.cid))["state"] == "withdrawn"


@pytest.mark.requirement("dir:states:names")
async def test_a_name_means_an_approved_record_until_a_newer_one_is_approved(site: Site) -> None:
    await site.publish("org.example/weather", "1.0.0")
    await site.publish("org.example/weather", "2.0.0", who="writer")

    async def resolved(reference: str = "org.example/weather") -> tuple[str, list[str], str | None]:
        found = await site.call("directory_resolve", reference=reference)
        return found["version"], [one["version"] for one in found["versions"]], found.get("state")

    assert await resolved() == ("1.0.0", ["1.0.0", "2.0.0"], None)
    assert await resolved("org.example/weather:2.0.0") == ("2.0.0", ["1.0.0", "2.0.0"], "proposed")
    approved = await site.call("directory_set_state", reference="org.example/weather", state="approved")
    assert approved["version"] == "2.0.0", "who approves by name means what was pushed last"
    assert await resolved() == ("2.0.0", ["2.0.0", "1.0.0"], None)
    await site.call("directory_set_state", reference="org.example/weather", state="withdrawn")
    assert await resolved() == ("1.0.0", ["1.0.0", "2.0.0"], None)


@pytest.mark.requirement("dir:states:approval")
async def test_the_search_over_all_rooms_says_the_state_of_a_record_unless_it_is_approved(site: Site) -> None:
    await site.publish("org.example/weather", who="writer")

    async def titles() -> list[str]:
        found = await find_records(site.directory, SearchRequest("weather", LOCAL, 5))
        return [one.title for one in found.items]

    assert await titles() == ["org.example/weather 1.0.0 (proposed)"]
    await site.directory.states.set(LOCAL, [await cid_of(site, "org.example/weather")], "approved")
    assert await titles() == ["org.example/weather 1.0.0"]


async def cid_of(site: Site, reference: str) -> str:
    return (await site.directory.naming.find(reference)).cid


@pytest.mark.requirement("dir:states:approval")
async def test_lists_of_states_go_page_by_page(site: Site) -> None:
    for number in range(5):
        await site.publish(f"org.example/server-{number}", who="writer")
    status, found = await request(site, "GET", "/api/directory/states?state=proposed", "reader")
    assert (status, len(found["records"])) == (200, 5)
    page, after = await site.directory.states.in_state("proposed", 3)
    rest, end = await site.directory.states.in_state("proposed", 3, after)
    assert [one.name[-1] for one in (*page, *rest)] == ["4", "3", "2", "1", "0"]
    assert end is None


@pytest.mark.requirement("dir:states:rights")
async def test_authors_change_their_own_records_and_nobody_elses(site: Site) -> None:
    states = site.directory.states
    cid = (await site.directory.records.push(WRITER, sample("1.1.0"))).cid
    assert (await states.get(cid)).state == "proposed"
    with pytest.raises(Forbidden):
        await states.set(OTHER, [cid], "withdrawn")
    with pytest.raises(Forbidden):
        await states.set(WRITER, [cid], "approved")
    await states.set(LOCAL, [cid], "approved")
    await states.set(WRITER, [cid], "deprecated", "There is a better one.")
    with pytest.raises(Conflict):
        await states.set(WRITER, [cid], "deprecated")
    await states.set(WRITER, [cid], "proposed")
    found = await states.get(cid)
    assert [one.new_state for one in found.history] == ["approved", "deprecated", "proposed"]
    assert [one.changed_by for one in found.history] == ["local", "user:ada", "user:ada"]


@pytest.mark.requirement("dir:states:approval", "dir:states:rights")
async def test_no_state_that_authors_set_shows_hosts_what_nobody_approved(site: Site) -> None:
    await site.publish("org.example/weather", "1.0.0")
    await site.publish("org.example/weather", "2.0.0", who="writer")
    before = (await site.client().version("org.example/weather")).updated_at
    writer = site.client("writer")
    with pytest.raises(RegistryError, match=r"403.*approve"):
        await writer.set_status("org.example/weather", "2.0.0", status="deprecated")
    (waiting,) = (await site.directory.states.in_state("proposed", 2))[0]
    author = Principal(waiting.pushed_by, "writer", WRITER.scopes)
    assert allowed_states(author, waiting) == ["draft", "withdrawn"]
    with pytest.raises(Forbidden):
        await site.directory.states.set(author, [waiting.cid], "deprecated")
    await writer.set_status("org.example/weather", "2.0.0", status="deleted")
    versions = await site.client().versions("org.example/weather", include_deleted="true")
    assert [one.key[1] for one in versions] == ["1.0.0"]
    assert [one async for one in site.client().every(updated_since=before)] == []
    assert (await site.directory.naming.find("org.example/weather")).version == "1.0.0"


@pytest.mark.requirement("dir:states:approval")
async def test_a_setting_approves_everything(tmp_path: Path) -> None:
    async with opened_site(tmp_path, registry_readers="anyone", approval="automatic") as site:
        await site.publish("org.example/weather", who="writer")
        assert await names(site) == ["org.example/weather"]


@pytest.mark.requirement("dir:states:approval")
async def test_the_records_of_the_demo_are_approved(site: Site) -> None:
    await fill_demo(site.directory)
    proposed, _ = await site.directory.states.in_state("proposed", 10)
    assert proposed == []
    modules = [module["name"] for one in demo_records() for module in one.data.get("modules", ())]
    assert bool(await names(site)) == any(name in ("integration/mcp", "runtime/mcp") for name in modules)


@pytest.mark.requirement("dir:states:approval")
async def test_a_change_is_told_in_the_feed_of_events(site: Site) -> None:
    published = await site.publish("org.example/weather", who="writer")
    cid = published["_meta"]["pentad/record"]["cid"]
    await site.directory.states.set(LOCAL, [cid], "approved", "Reviewed.")
    status, feed = await request(site, "GET", f"/api/events?kind={quote('record.state_changed')}", "admin")
    assert status == 200
    assert cid in json.dumps(feed)
    assert "Reviewed." in json.dumps(feed)


@pytest.mark.requirement("dir:states:approval")
async def test_servers_from_before_the_registry_are_added(site: Site) -> None:
    await site.publish("org.example/weather")
    record = sample("1.1.0")
    await site.directory.records.push(LOCAL, record)

    def forget(tx: Any) -> None:
        tx.run("DELETE FROM directory_servers")
        tx.run("INSERT INTO directory_servers_waiting (record) SELECT id FROM directory_records")

    await site.app.database.write(forget)
    assert await names(site) == []
    await site.directory.registry.catch_up()
    assert "org.example/weather" in await names(site)


@pytest.mark.requirement("dir:states:approval")
def test_the_command_line_shows_and_changes_states(tmp_path: Path) -> None:
    (tmp_path / "server.json").write_text(json.dumps(server("org.example/weather")))
    here = ("--data", str(tmp_path / "data"))
    assert run("directory", "import", "server.json", *here, home=tmp_path).returncode == 0
    changed = run(
        "directory", "state", "set", "org.example/weather", "deprecated", "--reason", "Too old.", *here, home=tmp_path
    )
    assert changed.returncode == 0, changed.stderr
    shown = run("directory", "state", "show", "org.example/weather:1.0.0", *here, home=tmp_path)
    assert "is deprecated" in shown.stdout
    assert "Too old." in shown.stdout
    listed = run("directory", "state", "list", "deprecated", "--json", *here, home=tmp_path)
    assert [one["name"] for one in json.loads(listed.stdout)["records"]] == ["org.example/weather"]


@pytest.mark.requirement("dir:registry:list")
async def test_records_written_by_hand_are_servers_too(site: Site) -> None:
    connection = {"type": "stdio", "command": "npx", "args": ["-y", "@example/tides@2.0.0"]}
    module = {
        "name": "integration/mcp",
        "data": {"name": "tides", "description": "x" * 300, "connections": [connection]},
    }
    record = {**sample("1.1.0"), "name": "example.org/tides", "version": "v2.0.0", "modules": [module]}
    await site.directory.records.push(LOCAL, record)
    found = await site.client().version("local/tides")
    assert found.server["packages"][0]["identifier"] == "@example/tides"
    assert len(found.server["description"]) == 100


@pytest.mark.requirement("dir:registry:list")
async def test_a_server_json_in_an_old_form_is_served_in_the_new_one(site: Site) -> None:
    old = {
        "name": "io.github.vendor/notes",
        "description": "Keeps short notes in a file.",
        "version_detail": {"version": "0.3.1"},
        "packages": [
            {"registry_name": "npm", "name": "@vendor/notes", "version": "0.3.1"},
            {"registry_name": "docker", "name": "ghcr.io/vendor/notes", "version": "0.3.1", "runtime_hint": "docker"},
        ],
    }
    for source in (old, SERVER):
        await site.directory.importer.import_one(LOCAL, json.dumps(source), "mcp")
    found = await site.client().version("io.github.vendor/notes")
    assert found.server["version"] == "0.3.1"
    package, image = found.server["packages"]
    assert (package["registryType"], package["identifier"], package["version"]) == ("npm", "@vendor/notes", "0.3.1")
    assert (image["registryType"], image["identifier"]) == ("oci", "ghcr.io/vendor/notes:0.3.1")
    assert "version" not in image, "an image has it in its name"
    assert package["transport"] == {"type": "stdio"}


@pytest.mark.requirement("dir:registry:list")
async def test_nothing_of_the_old_form_is_left(site: Site) -> None:
    variable = {"name": "API_KEY", "is_required": True, "is_secret": True}
    argument = {"type": "positional", "value_hint": "folder", "is_repeated": True}
    package = {
        "registry_type": "npm", "registry_base_url": "https://npm.example.org", "identifier": "@vendor/tool",
        "version": "1.0.0", "file_sha256": "a" * 64, "package_arguments": [argument],
        "environment_variables": [variable],
    }  # fmt: skip
    old = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-07-09/server.schema.json",
        "description": "Does things.", "version": "1.0.0", "status": "active", "website_url": "https://example.org",
    }  # fmt: skip
    ways = {
        "local": {"packages": [package]},
        "remote": {"remotes": [{"transport_type": "streamable", "url": "https://tool.example.org/mcp"}]},
    }
    found: dict[str, Any] = {}
    for name, way in ways.items():
        source = json.dumps({"name": f"io.github.vendor/{name}", **old, **way})
        await site.directory.importer.import_one(LOCAL, source, "mcp")
        found = dict((await site.client().version(f"io.github.vendor/{name}")).server)
        assert "_" not in json.dumps(found).replace("API_KEY", "")
        assert "status" not in found
        assert found["$schema"].endswith("/2025-12-11/server.schema.json")
    assert found["remotes"] == [{"type": "streamable-http", "url": "https://tool.example.org/mcp"}]


@pytest.mark.requirement("dir:registry:list")
async def test_addresses_that_are_not_http_do_not_reach_hosts(site: Site) -> None:
    good = {"type": "streamable-http", "url": "https://weather.example.org/mcp"}
    bad = {"type": "sse", "url": "javascript:alert(1)"}
    for name, remotes in (("org.example/half", [bad, good]), ("org.example/bad", [bad])):
        await site.directory.importer.import_one(LOCAL, json.dumps(server(name, remotes=remotes)), "mcp")
    assert await names(site) == ["org.example/half"]
    assert (await site.client().version("org.example/half")).server["remotes"] == [good]


async def words(site: Site) -> list[tuple[str, str | None]]:
    """The versions that a search in words finds, each with its state unless it is approved."""
    found = await site.directory.search.find(Query(words="weather place"))
    records = await site.directory.search.records([hit.cid for hit in found.hits])
    return [(one.data["version"], hit.state) for one, hit in zip(records, found.hits, strict=True)]


@pytest.mark.requirement("dir:search:usable")
async def test_words_find_the_newest_version_that_can_be_used(site: Site) -> None:
    cids = [
        (await site.publish("org.example/weather", version))["_meta"]["pentad/record"]["cid"]
        for version in ("1.0.0", "2.0.0")
    ]
    assert await words(site) == [("2.0.0", None)]
    await site.directory.states.set(LOCAL, [cids[1]], "withdrawn", "It leaks.")
    assert await words(site) == [("1.0.0", None)]
    await site.publish("org.example/weather", "3.0.0", who="writer")
    assert await words(site) == [("1.0.0", None)], "a proposal takes nobody's place"
    await site.directory.states.set(LOCAL, [cids[0]], "withdrawn")
    assert await words(site) == [("3.0.0", "proposed")]
    await site.directory.states.set(LOCAL, [cids[1]], "approved")
    assert await words(site) == [("2.0.0", None)]
    await site.directory.states.set(LOCAL, [cids[1]], "deprecated", "Use 3.")
    assert await words(site) == [("2.0.0", "deprecated")]
