"""What people do with the directory in the console: narrow the list, write, check, fix, save, compare, import."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.kernel.principal import Principal
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.service import Directory
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import is_inert
from tests.http.browsing import Browser, Page
from tests.rooms.directory.oasf.samples import sample

pytestmark = pytest.mark.anyio

ROOT = Principal("user:root", "root", frozenset({"*:*"}))
BREAKOUT = '"><script>alert(1)</script>'
HOME = "/console/directory"
SERVER = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "io.github.example/weather",
    "description": "Weather forecasts for any place.",
    "version": "1.2.0",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/weather",
            "version": "1.2.0",
            "transport": {"type": "stdio"},
        }
    ],
}


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("directory"), ("directory",)) as house:
        for version in ("v1.0.0", "v2.0.0"):
            await push(house, name="example.org/two-versions", version=version, description=f"In {version} {BREAKOUT}")
        yield house


@pytest.fixture
async def root(house: House) -> Browser:
    return await house.browser("root")


async def push(house: House, schema: str = "1.0.0", **changes: Any) -> str:
    record = json.dumps({**sample(schema), **changes})
    answer = await house.app.neighbours.call_tool(ROOT, "agntcy_dir_push_record", {"record_json": record})
    cid = answer["structuredContent"].get("cid")
    assert cid, answer
    return cid


@pytest.mark.requirement("console:directory:states")
async def test_a_record_is_deprecated_with_a_reason_and_approved_again(house: House, root: Browser) -> None:
    cid = await push(house, name="example.org/stateful", version="v1.0.0")
    page, action = f"{HOME}/records/{cid}", f"{HOME}/records/{cid}/state"
    assert action in (await root.get(page)).html.values("form", "action")
    sent = await post(root, action, {"state": "deprecated", "reason": f"Old {BREAKOUT}"})
    assert sent.status == 303, sent.html.text
    shown = await root.get(page)
    is_inert(shown.html)
    assert f"Old {BREAKOUT}" in shown.html.texts
    assert "deprecated" in (await root.get(f"{HOME}?q=stateful")).html.texts, "the card says so"
    again = await post(root, action, {"state": "deprecated"})
    assert again.status == 409
    assert "is deprecated already" in again.html.text
    assert (await post(root, action, {"state": "approved"})).status == 303
    rita = await house.browser("rita")
    assert action not in (await rita.get(page)).html.values("form", "action")
    assert (await post(rita, action, {"state": "withdrawn"})).status == 403


async def post(browser: Browser, path: str, fields: dict[str, str]) -> Page:
    shown = await browser.post(path, {**fields, "csrf": await csrf_of(browser)})
    if shown.status != 303:
        is_inert(shown.html)
    return shown


@pytest.mark.requirement("console:directory:browse")
async def test_records_are_cards_with_badges_and_facets(house: House, root: Browser) -> None:
    shown = await root.get(HOME)
    is_inert(shown.html)
    assert "example.org/two-versions" in shown.html.texts
    assert {"v2.0.0", "2 versions"} <= set(shown.html.texts)
    assert {"Skill", "Domain", "Type"} <= set(shown.html.texts)
    facet = next(one for one in shown.html.values("a", "href") if "skill=" in one)
    narrowed = await root.get(facet)
    assert "example.org/two-versions" in narrowed.html.texts
    assert "chosen" in narrowed.html.values("li", "class")
    weak = await root.get(f"{HOME}?{urlencode({'q': 'versions of tides, bees, stars, clocks and other harbours'})}")
    assert "example.org/two-versions" in weak.html.texts
    assert "No good match. These are the nearest." in weak.html.text
    nothing = await root.get(f"{HOME}?q=zzzzqqq&skill=none")
    assert "Try fewer or other words, or remove a filter." in nothing.html.text
    assert "No good match" not in (await root.get(f"{HOME}?q=two-versions")).html.text


@pytest.mark.requirement("console:directory:compare")
async def test_two_versions_are_compared(house: House, root: Browser) -> None:
    before = await push(house, name="example.org/compared", version="v1.0.0", description="One")
    after = await push(house, name="example.org/compared", version="v1.1.0", description=f"Other {BREAKOUT}")
    record = await root.get(f"{HOME}/records/{after}")
    query = urlencode({"before": before, "after": after})
    assert f"{HOME}/compare?{query}" in record.html.values("a", "href")
    shown = await root.get(f"{HOME}/compare?{query}")
    is_inert(shown.html)
    assert f"Other {BREAKOUT}" in shown.html.text
    assert "description" in shown.html.text
    assert shown.html.texts.index("description") < shown.html.texts.index("field"), "what changed comes first"
    unknown = await root.get(f"{HOME}/compare?before=nothing&after=nobody")
    assert unknown.status == 404
    assert "No record found" in unknown.html.text
    assert unknown.html.values("input", "value")[-2:] == ["nothing", "nobody"], "what was typed is still there"
    assert (await root.get(f"{HOME}/compare.json?before=nothing&after=nobody")).status == 404


@pytest.mark.requirement("console:directory:lineage")
async def test_the_lineage_of_a_record_is_a_picture_with_links_and_a_table(house: House, root: Browser) -> None:
    name = "example.org/grown"
    first = await push(house, name=name, version="v1.0.0")
    second = await push(house, "0.8.0", name=name, version="v2.0.0", previous_record_cid=first)
    third = await push(house, name=name, version="v3.0.0")
    shown = (await root.get(f"{HOME}/records/{second}")).html
    is_inert(shown)
    assert shown.values("svg", "class") == ["current"]
    links = shown.values("a", "href")
    assert all(links.count(f"{HOME}/records/{cid}") >= 2 for cid in (first, third)), "in the picture and in the table"
    assert shown.values("path", "class") == ["head", "weak", "head"], "nobody claims that the third replaces the second"
    graph = next(one for one in (await sheet(root, f"{HOME}/records/{second}")) if one["title"] == "Lineage")["blocks"][
        0
    ]
    assert graph["kind"] == "graph"
    assert [one["title"] for one in graph["nodes"]] == ["v1.0.0", "v2.0.0", "v3.0.0"]
    lineage = (await root.get(f"/console/lineage?{urlencode({'uri': f'directory://records/{second}'})}")).html
    is_inert(lineage)
    assert "made from" in lineage.texts
    assert len(lineage.values("svg", "viewbox")) == 1


async def sheet(browser: Browser, path: str) -> list[dict[str, Any]]:
    """The sections of a page as JSON."""
    answer = await browser.get(f"{path}.json", accept="application/json", sec_fetch_mode="cors")
    return [one for one in json.loads(answer.body)["blocks"] if one["kind"] == "section"]


@pytest.mark.requirement("console:directory:edit")
async def test_a_record_is_checked_fixed_and_saved_as_a_new_one(house: House, root: Browser) -> None:
    cid = await push(house, name="example.org/edited", version="v1.0.0")
    form = await root.get(f"{HOME}/records/{cid}/edit")
    assert "A valid record of OASF 1.0.0." in form.html.text
    assert form.html.values("form", "hx-post") == [f"{HOME}/records/{cid}/edit"]
    record = {**sample("1.0.0"), "name": "example.org/edited", "version": "v1.1.0", "description": BREAKOUT}
    broken = json.dumps({**record, "authors": "one person"})
    checked = await post(root, f"{HOME}/records/{cid}/edit", {"record": broken})
    assert checked.status == 200
    assert "authors" in checked.html.text
    fixed = await post(root, f"{HOME}/records/{cid}/edit", {"record": broken, "do": "fix"})
    assert "applied. Nothing is stored yet." in fixed.html.text
    refused = await post(root, f"{HOME}/records/{cid}/edit", {"record": broken, "do": "save"})
    assert refused.status == 422
    assert "one person" in refused.html.text, "what was typed is still there"
    saved = await post(root, f"{HOME}/records/{cid}/edit", {"record": json.dumps(record), "do": "save"})
    assert saved.status == 303, saved.html.text
    assert saved.location != f"{HOME}/records/{cid}"
    assert BREAKOUT in (await root.get(saved.location or "")).html.text


@pytest.mark.requirement("console:directory:edit")
async def test_a_new_record_has_no_errors_before_anything_was_typed(root: Browser) -> None:
    path, neutral = f"{HOME}/new", "Nothing is stored until you save it."
    form = await root.get(path)
    assert neutral in form.html.text
    assert "error" not in form.html.text.casefold()
    sent = {name: form.hidden(name) for name in ("record", "as")}
    untouched = {"/name": "example.org/my-agent", "/version": "v1.0.0", "/description": ""}
    as_json = await post(root, path, {**sent, **untouched, "do": "json"})
    assert neutral in as_json.html.text
    typed = await post(root, path, {**sent, **untouched, "/description": "Typed"})
    assert "2 errors to correct before you can save." in typed.html.text
    assert 'Required attribute "authors" is empty.' in typed.html.texts
    assert "Attribute path" not in typed.html.text
    saved = await post(root, path, {**sent, **untouched, "/description": "Typed", "do": "save"})
    assert saved.status == 422
    assert "The record was not stored: it has errors." in saved.html.text
    assert "[" not in saved.html.text
    assert "Typed" in saved.html.text


@pytest.mark.requirement("console:directory:fields")
async def test_a_record_is_edited_by_fields_and_the_rest_of_it_stays(house: House, root: Browser) -> None:
    modules = sample("1.0.0")["modules"]
    annotations = {"kept": BREAKOUT}
    cid = await push(house, name="example.org/by-fields", version="v1.0.0", annotations=annotations)
    path = f"{HOME}/records/{cid}/edit"
    form = await root.get(path)
    is_inert(form.html)
    names = form.html.values("input", "name")
    assert {"/name", "/version", "/skills/0/name"} <= set(names)
    sent = {name: form.hidden(name) for name in ("record", "as")}
    usable = [one for one in taxonomy("1.0.0", "skill").all if not one.grouping and not one.deprecated]
    skill, other = usable[3], usable[7]
    typed = {
        "/name": "example.org/by-fields", "/version": "v2.0.0", "/description": f"By fields {BREAKOUT}",
        "/skills/0/name": skill.name, "/skills/1/name": other.name, "/authors/0": "Ada",
        "/locators/0/type": "source_code", "/locators/0/urls/0": "https://example.org/source",
    }  # fmt: skip
    more = await post(root, path, {**sent, **typed, "add": "/skills"})
    assert "/skills/2/name" in more.html.values("input", "name")
    shown = await post(root, path, {**sent, **typed, "do": "json"})
    assert any('"version": "v2.0.0"' in text for text in shown.html.texts), "JSON is the fallback, with what was typed"
    assert "textarea" in [name for _, name, _ in shown.html.shape]
    saved = await post(root, path, {**sent, **typed, "do": "save"})
    assert saved.status == 303, saved.html.text
    directory: Directory = house.app.rooms[0].service
    stored = (await directory.records.pull((saved.location or "").rpartition("/")[2])).data
    assert stored["skills"] == [{"name": one.name, "id": one.id} for one in (skill, other)], "numbers follow names"
    assert stored["modules"] == modules
    assert stored["annotations"] == annotations
    assert stored["locators"] == [{"type": "source_code", "urls": ["https://example.org/source"]}]
    broken = await post(root, path, {**sent, **typed, "/skills/0/name": "no such skill", "do": "save"})
    assert broken.status == 422
    assert "no such skill" in broken.html.values("input", "value")


@pytest.mark.requirement("console:directory:install")
async def test_the_record_of_a_server_says_how_to_install_it(house: House, root: Browser) -> None:
    source = {"content": json.dumps({**SERVER, "name": "io.github.example/installed"}), "format": "mcp"}
    made = await house.app.neighbours.call_tool(ROOT, "directory_import", {"sources": [source]})
    (outcome,) = made["structuredContent"]["outcomes"]
    page = await root.get(f"{HOME}/records/{outcome['cid']}")
    is_inert(page.html)
    assert "Install it" in page.html.text
    assert "pentad directory install" in page.html.text
    assert "mcpServers" in page.html.text
    other = await root.get(f"{HOME}/records/{await push(house, name='example.org/no-server', modules=[])}")
    assert "Install it" not in other.html.text


@pytest.mark.requirement("console:directory:import")
async def test_a_file_is_previewed_and_imported(house: House, root: Browser) -> None:
    content = b64encode(json.dumps(SERVER).encode()).decode()
    preview = await post(root, f"{HOME}/import", {"file": content, "name:file": "server.json", "do": "preview"})
    assert preview.status == 200
    assert "Nothing is stored yet. 1 record of 1 can be imported." in preview.html.text
    text = preview.hidden("text")
    assert json.loads(text) == SERVER, "the file waits in the form"
    done = await post(root, f"{HOME}/import", {"text": text, "do": "import"})
    assert "1 record imported." in done.html.text
    link = next(one for one in done.html.values("a", "href") if "/records/" in one)
    assert (await root.get(link)).status == 200
    assert (await post(root, f"{HOME}/import", {"do": "preview"})).status == 422
    wrong = await post(root, f"{HOME}/import", {"file": b64encode(b"no record").decode(), "do": "preview"})
    assert "0 records of 1 can be imported." in wrong.html.text
    assert "no record" in wrong.html.text, "to be corrected"
    assert "Correct it" in wrong.html.texts


@pytest.mark.requirement("console:rights")
async def test_readers_are_offered_nothing_that_writes(house: House) -> None:
    rita = await house.browser("rita")
    cid = await push(house, name="example.org/readable")
    for path in (HOME, f"{HOME}/records/{cid}"):
        shown = await rita.get(path)
        assert not {"New record", "Import agents", "Edit"} & set(shown.html.texts), path
    for path in (f"{HOME}/new", f"{HOME}/import", f"{HOME}/records/{cid}/edit"):
        assert (await rita.get(path)).status == 403, path
