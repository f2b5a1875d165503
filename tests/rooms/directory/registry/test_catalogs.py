"""Approved records in the AI catalogue and in the index of agent skills."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.translate import a2a_cards, server_json_import
from tests.rooms.directory.oasf.samples import sample
from tests.rooms.directory.registry.site import BASE, Site, opened_site, server

pytestmark = pytest.mark.anyio

SKILL = "---\nname: tide-tables\ndescription: Reads tide tables of a harbour.\n---\nLook up the harbour.\n"
CARD = {
    "name": "Route planner", "description": "Plans delivery routes.", "version": "3.0.1",
    "url": "https://routes.example.org/a2a", "capabilities": {}, "skills": [],
}  # fmt: skip


@pytest.fixture
async def site(tmp_path: Path, database_url: str | None) -> AsyncIterator[Site]:
    async with opened_site(tmp_path, database=database_url, registry_readers="anyone") as opened:
        await opened.directory.importer.import_one(LOCAL, SKILL)
        await opened.directory.importer.import_one(LOCAL, json.dumps(CARD))
        await opened.publish("org.example/weather")
        await opened.publish("org.example/proposed", who="writer")
        yield opened


async def get(site: Site, path: str) -> tuple[str, Any]:
    answer = await site.send("GET", BASE + path)
    assert answer.status == 200, answer.body
    assert answer.headers["access-control-allow-origin"] == "*"
    return answer.headers["content-type"], json.loads(answer.body)


@pytest.mark.requirement("dir:registry:catalogs")
async def test_the_ai_catalog_has_approved_agents_servers_and_skills(site: Site) -> None:
    kind, catalog = await get(site, "/.well-known/ai-catalog.json")
    assert kind == "application/ai-catalog+json"
    assert catalog["specVersion"] == "1.0"
    assert catalog["extensions"] == {"urn:pentad:complete": True}
    entries = {one["displayName"]: one for one in catalog["entries"]}
    assert {name: one["type"] for name, one in entries.items()} == {
        "Route planner": "application/a2a-agent-card+json",
        "org.example/weather": "application/mcp-server-card+json",
        "tide-tables": "application/agent-skills+md",
    }
    assert entries["Route planner"]["data"] == CARD
    assert entries["Route planner"]["identifier"] == "directory://names/Route%20planner"
    assert entries["org.example/weather"]["identifier"] == "directory://names/org.example/weather"
    assert entries["org.example/weather"]["data"]["remotes"][0]["url"] == "https://weather.example.org/mcp"
    assert all(("url" in one) != ("data" in one) for one in catalog["entries"])
    assert entries["tide-tables"]["url"] == f"{BASE}/.well-known/agent-skills/tide-tables/SKILL.md"


@pytest.mark.requirement("dir:registry:catalogs")
async def test_the_index_of_skills_leads_to_the_files(site: Site) -> None:
    _, index = await get(site, "/.well-known/agent-skills/index.json")
    assert index["$schema"] == "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
    (skill,) = index["skills"]
    assert (skill["name"], skill["type"]) == ("tide-tables", "skill-md")
    answer = await site.send("GET", BASE + skill["url"])
    assert answer.body.decode() == SKILL
    assert answer.headers["content-type"].startswith("text/markdown")
    assert skill["digest"] == f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
    assert (await site.send("GET", f"{BASE}/.well-known/agent-skills/other/SKILL.md")).status == 404


@pytest.mark.requirement("dir:registry:catalogs")
async def test_what_is_not_approved_is_in_no_catalog(site: Site) -> None:
    cid = (await site.directory.naming.find("tide-tables")).cid
    for state in ("deprecated", "withdrawn"):
        await site.directory.states.set(LOCAL, [cid], state)
        _, index = await get(site, "/.well-known/agent-skills/index.json")
        assert index["skills"] == []
        _, catalog = await get(site, "/.well-known/ai-catalog.json")
        assert "tide-tables" not in [one["displayName"] for one in catalog["entries"]]


@pytest.mark.requirement("dir:registry:catalogs")
async def test_a_record_that_is_agent_and_server_has_two_entries_with_identifiers_of_their_own(site: Site) -> None:
    data = a2a_cards.to_record({**CARD, "name": "example.org/both"}).result
    data["modules"] += server_json_import.to_record({"server": server("org.example/both")}).result["modules"]
    data["skills"] = sample("1.0.0")["skills"]
    await site.directory.records.push(LOCAL, data)
    _, catalog = await get(site, "/.well-known/ai-catalog.json")
    entries = [one for one in catalog["entries"] if one["displayName"] == "example.org/both"]
    assert {one["type"].partition("/")[2] for one in entries} == {"a2a-agent-card+json", "mcp-server-card+json"}
    assert {one["identifier"].rpartition("#")[2] for one in entries} == {"agent", "server"}


@pytest.mark.requirement("dir:registry:readers")
async def test_catalogs_need_a_login_unless_the_operator_says_otherwise(tmp_path: Path) -> None:
    async with opened_site(tmp_path) as site:
        for path in ("/.well-known/ai-catalog.json", "/.well-known/agent-skills/index.json"):
            assert (await site.send("GET", BASE + path)).status == 401
            assert (await site.send("GET", BASE + path, site.login("reader"))).status == 200
