"""What people do with registers in the console: find, sort, save views, change many objects, import, change schemas,
go back in history, attach files. All of it without scripts, with hostile data."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator
from math import ceil
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.kernel.clock import parse_iso
from pentad.kernel.principal import Principal
from pentad.rooms.registers.interface.console import browse, pair_page
from tests.behaviour.http_wire import send
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import is_inert
from tests.console.watching import read_until
from tests.http.browsing import Browser, Page

pytestmark = pytest.mark.anyio

ROOT = Principal("user:root", "root", frozenset({"*:*"}))
BREAKOUT = '"><script>alert(1)</script>'
LIST = "/console/registers/1/1"
SCHEMA: dict[str, Any] = {
    "slug": "permit",
    "title": "Permit",
    "configuration": {"objectNameField": "holder"},
    "required": ["holder"],
    "properties": {
        "holder": {"type": "string", "title": "Holder", "minLength": 2},
        "fee": {"type": "number", "title": "Fee", "minimum": 0},
        "state": {"type": "string", "title": "State", "enum": ["open", "closed"], "facetable": True},
        "parent": {"$ref": "permit", "title": "Parent"},
        "related": {"type": "array", "title": "Related", "items": {"$ref": "permit"}},
        "checks": {"type": "array", "title": "Checks", "items": {"type": "object"}},
        "origin": {"type": "object", "title": "Origin"},
    },
}


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("pages"), ("registers",), confirm=("objects:delete",)) as house:
        schema = await tool(house, "schemas", {"action": "create", "data": SCHEMA})
        await tool(house, "registers", {"action": "create", "data": {"title": "City", "schemas": [schema["id"]]}})
        yield house


@pytest.fixture
async def root(house: House) -> Browser:
    return await house.browser("root")


async def tool(house: House, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await house.app.neighbours.call_tool(ROOT, name, arguments)
    assert not answer.get("isError"), answer
    return answer["structuredContent"]


async def objects(house: House, action: str, **given: Any) -> dict[str, Any]:
    return await tool(house, "objects", {"action": action, "register": 1, "schema": 1, **given})


async def make(house: House, **data: Any) -> str:
    return (await objects(house, "create", data=data))["id"]


async def post(browser: Browser, path: str, fields: dict[str, str]) -> Page:
    shown = await browser.post(path, {**fields, "csrf": await csrf_of(browser)})
    if shown.status != 303:
        is_inert(shown.html)
    return shown


async def agree(browser: Browser, path: str, fields: dict[str, str]) -> Page:
    """Send a form that may delete something, and agree when asked."""
    asked = await post(browser, path, fields)
    assert "Are you sure?" in asked.html.text
    assert '{"' not in asked.html.text, "JSON is not for people"
    assert {"Tool", "Action", "Register"} <= set(asked.html.texts)
    return await post(browser, path, {**fields, "confirm_token": asked.hidden("confirm_token")})


async def listed(browser: Browser, **query: str) -> Page:
    shown = await browser.get(f"{LIST}?{urlencode(query)}")
    assert shown.status == 200, shown.body
    is_inert(shown.html)
    return shown


@pytest.mark.requirement("console:registers:browse")
async def test_objects_are_found_by_conditions_and_facets_and_sorted(house: House, root: Browser) -> None:
    parent = await make(house, holder=f"Browse parent {BREAKOUT}", fee=7, state="open")
    await make(house, holder="Browse cheap", fee=1, state="closed", parent=parent)
    shown = await listed(root, property="fee", op="gte", value="7", q="")
    assert "Fee is at least 7" in shown.html.text
    assert f"Browse parent {BREAKOUT}" in shown.html.text
    assert "Browse cheap" not in shown.html.text
    cheap = await listed(root, filter='{"state":"closed"}', **{"column:parent": "yes"})
    assert "Browse cheap" in cheap.html.text
    assert cheap.html.text.count(f"Browse parent {BREAKOUT}") == 1, "the reference is a name"
    facets = [one for one in cheap.html.values("a", "href") if one.startswith(LIST) and "state" in one]
    assert facets
    sorted_ = await listed(root, sort="-fee")
    assert sorted_.html.values("th", "aria-sort") == ["descending"]
    names = [one for one in sorted_.html.texts if one.startswith("Browse")]
    assert names.index(f"Browse parent {BREAKOUT}") < names.index("Browse cheap")
    for link in {one for one in shown.html.values("a", "href") if one.startswith("/console")}:
        assert (await root.get(link)).status == 200, link


@pytest.mark.requirement("console:objects:values")
async def test_values_inside_values_are_shown_for_people(house: House, root: Browser) -> None:
    first, second = [await make(house, holder=f"Related {number} {BREAKOUT}") for number in (1, 2)]
    uuid = await make(
        house,
        holder="Nested",
        parent=first,
        related=[first, second],
        checks=[{"rule": f"Height {BREAKOUT}", "metres": 7.5, "passed": True}, {"rule": "Distance", "metres": 3}],
        origin={"source": f"openregister://objects/1/1/{second}", "pages": [1, {"to": 4}]},
    )
    shown = await root.get(f"{LIST}/{uuid}")
    is_inert(shown.html)
    links = shown.html.values("a", "href")
    assert links.count(f"/console/registers/objects/{first}") == 2
    assert links.count(f"/console/registers/objects/{second}") == 1
    assert f"{LIST}/{second}" in links, "its URI"
    assert shown.html.text.count(f"Related 1 {BREAKOUT}") == 2
    assert {"Rule", "Metres", "Passed"} <= set(shown.html.values("td", "data-label"))
    above = shown.html.text.partition("The object as JSON")[0]
    assert '"rule"' not in above
    assert '"pages"' not in above
    assert "pages" in above
    row = (await listed(root, **{"column:checks": "yes", "column:origin": "yes"})).html.text
    assert f"(rule: Height {BREAKOUT}, metres: 7.5, passed: yes), (rule: Distance, metres: 3)" in row
    assert f"source: openregister://objects/1/1/{second}, pages: (1, (to: 4))" in row


@pytest.mark.requirement("console:registers:browse")
async def test_a_condition_that_cannot_hold_is_explained_with_a_way_out(root: Browser) -> None:
    for wrong in ('{"fee": "cheap"}', "not json", '{"nothing": 1}'):
        shown = await listed(root, filter=wrong)
        assert "Show everything" in shown.html.text


@pytest.mark.requirement("console:registers:browse")
async def test_what_a_list_shows_is_exported(house: House, root: Browser) -> None:
    await make(house, holder="Exported", fee=123, state="open")
    await make(house, holder="Not exported", fee=2)
    shown = await listed(root, filter='{"fee":123}')
    links = [one for one in shown.html.values("a", "href") if one.startswith("/api/")]
    assert {kind for kind in ("csv", "xlsx", "json") if any(f"format={kind}" in one for one in links)} == {
        "csv", "xlsx", "json",
    }  # fmt: skip
    answer = await root.get(next(one for one in links if "format=csv" in one), sec_fetch_mode="cors")
    assert answer.status == 200
    assert "Exported" in answer.body
    assert "Not exported" not in answer.body


@pytest.mark.requirement("console:registers:views")
@pytest.mark.parametrize("name", ["root", "rita"])
async def test_whoever_reads_a_list_saves_it_as_a_view_and_deletes_the_view(house: House, name: str) -> None:
    await make(house, holder="Viewed", fee=55)
    person = await house.browser(name)
    assert f"{LIST}/views" in (await person.get(LIST)).html.values("form", "action")
    fields = {"title": f"Mine {BREAKOUT}", "filter": '{"fee":55}', "column:fee": "yes"}
    saved = await post(person, f"{LIST}/views", fields)
    assert saved.status == 303, saved.html.text
    view = await person.get(saved.location or "")
    assert f"Mine {BREAKOUT}" in view.html.text
    assert "55" in view.html.text
    assert f"{saved.location}/delete" in view.html.values("form", "action")
    gone = await post(person, f"{saved.location}/delete", {})
    assert gone.status == 303
    assert f"Mine {BREAKOUT}" not in (await person.get("/console/registers/views")).html.text


@pytest.mark.requirement("console:registers:bulk")
async def test_many_objects_are_changed_after_a_preview_and_it_is_undone(house: House, root: Browser) -> None:
    ids = [await make(house, holder=f"Bulk {number}", fee=900 + number) for number in range(3)]
    query = '{"fee":{"gte":900}}'
    form = await root.get(f"{LIST}/bulk?{urlencode({'filter': query})}")
    assert form.status == 200
    assert "Fee is at least 900" in form.html.text
    nothing = await post(root, f"{LIST}/bulk", {"filter": query})
    assert nothing.status == 422
    wrong = await post(root, f"{LIST}/bulk", {"filter": query, "/fee": "-1"})
    refused = await root.get(wrong.location or "")
    assert "would break a rule" in refused.html.text
    assert f"{wrong.location}/commit" not in refused.html.values("form", "action")
    planned = await post(root, f"{LIST}/bulk", {"filter": query, "/state": "closed"})
    preview = await root.get(planned.location or "")
    is_inert(preview.html)
    assert "Nothing is written yet. 3 objects would be changed." in preview.html.text
    assert "state" not in (await objects(house, "get", id=ids[0]))
    assert (await agree(root, f"{planned.location}/commit", {})).status == 303
    assert (await objects(house, "get", id=ids[0]))["state"] == "closed"
    assert "Done: 3 objects changed." in (await root.get(planned.location or "")).html.text
    assert (await agree(root, f"{planned.location}/undo", {})).status == 303
    assert "state" not in (await objects(house, "get", id=ids[0]))


@pytest.mark.requirement("console:registers:import")
async def test_a_file_is_previewed_with_its_bad_rows_imported_and_undone(house: House, root: Browser) -> None:
    bad = b64encode(b"holder,fee\nImported one,1\nX,cheap\n").decode()
    fields = {"file": bad, "name:file": "rows.csv", "do": "preview"}
    shown = await post(root, f"{LIST}/import", fields)
    assert shown.status == 200
    assert "1 row cannot be imported" in shown.html.text
    assert "Rows with problems" in shown.html.text
    assert bad in shown.html.values("input", "value"), "the file waits in the form"
    assert "Imported one" not in (await listed(root, q="Imported")).html.text
    done = await post(root, f"{LIST}/import", {"kept": bad, "name:file": "rows.csv", "do": "import", "partial": "yes"})
    assert done.status == 303, done.html.text
    report = await root.get(done.location or "")
    is_inert(report.html)
    assert "Imported: 1 object written." in report.html.text
    assert "Imported one" in (await listed(root, q="Imported")).html.text
    assert (await post(root, f"{done.location}/undo", {})).status == 303
    assert "It was undone." in (await root.get(done.location or "")).html.text
    assert "Imported one" not in (await listed(root, q="Imported")).html.text
    unknown = await post(root, f"{LIST}/import", {"file": bad, "name:file": "rows.doc", "do": "preview"})
    assert unknown.status == 422


@pytest.mark.requirement("console:registers:schema")
async def test_a_schema_is_changed_after_its_plan_was_seen(house: House, root: Browser) -> None:
    schema = await tool(house, "schemas", {"action": "create", "data": {**SCHEMA, "slug": "edited", "title": "Edited"}})
    register = {"title": "Edited", "schemas": [schema["id"]]}
    register = await tool(house, "registers", {"action": "create", "data": register})
    place = {"register": register["id"], "schema": schema["id"]}
    await tool(house, "objects", {"action": "create", **place, "data": {"holder": "Ada", "fee": 1.5}})
    path = f"/console/registers/schemas/{schema['id']}"
    assert f"{path}/edit" in (await root.get(path)).html.values("a", "href")
    fields = {
        "/operations/0/op": "rename", "/operations/0/property": "fee", "/operations/0/to": "amount",
        "/operations/1/op": "drop", "/operations/1/property": "state",
    }  # fmt: skip
    planned = await post(root, f"{path}/edit", fields)
    assert planned.status == 200, planned.html.text
    assert "fee: renamed to amount" in planned.html.text
    assert "amount" in planned.html.values("input", "value")
    assert "fee" in (await tool(house, "schemas", {"action": "get", "id": schema["id"]}))["properties"]
    again = {**fields, "confirm": planned.hidden("confirm"), "version": planned.hidden("version"), "do": "change"}
    changed = await post(root, f"{path}/edit", again)
    assert changed.status == 303, changed.html.text
    now = (await tool(house, "schemas", {"action": "get", "id": schema["id"]}))["properties"]
    assert "amount" in now
    assert "state" not in now
    assert "fee: renamed to amount" in (await root.get(path)).html.text, "the history says so"
    wrong = await post(root, f"{path}/edit", {"/operations/0/op": "drop", "/operations/0/property": BREAKOUT})
    assert wrong.status == 422


@pytest.mark.requirement("console:live")
async def test_a_list_is_refreshed_without_scripts_and_keeps_what_was_typed(house: House, root: Browser) -> None:
    page = await listed(root)
    assert "refresh" in page.html.values("button", "name")
    uuid = await make(house, holder="Made meanwhile")
    again = await post(root, f"{LIST}/views", {"title": f"Half {BREAKOUT}", "refresh": "yes"})
    assert again.status == 200
    assert uuid in again.body
    assert f"Half {BREAKOUT}" in again.html.values("input", "value")
    assert "refresh" in again.html.values("button", "name"), "it can be refreshed again"
    assert again.html.values("main", "hx-get") == [], "the address of the form is no page"


@pytest.mark.requirement("console:registers:definitions")
async def test_a_schema_is_made_and_put_into_a_new_register(house: House, root: Browser) -> None:
    made = await post(root, "/console/registers/new", {"/title": f"Trees {BREAKOUT}", "/description": "Of a street"})
    assert made.status == 303, made.html.text
    register = (made.location or "").rpartition("/")[2]
    fields = {
        "/title": "Tree", "/register": register, "/properties/0/name": "species", "/properties/0/type": "string",
        "/properties/0/required": "true", "/properties/1/name": "height", "/properties/1/type": "number",
    }  # fmt: skip
    wrong = await post(root, "/console/registers/schemas/new", {**fields, "/properties/0/type": "tree"})
    assert wrong.status == 422
    assert "species" in wrong.html.values("input", "value"), "what was typed is still there"
    there = await post(root, "/console/registers/schemas/new", fields)
    assert there.status == 303, there.html.text
    page = await root.get(there.location or "")
    assert "Tree" in page.html.texts
    links = [one for one in page.html.values("a", "href") if one.startswith(f"/console/registers/{register}/")]
    assert links[0] == f"/console/registers/{register}/edit"
    object_form = await root.get(f"{links[1]}/new")
    assert "/species" in object_form.html.values("input", "name")
    assert "/height" in object_form.html.values("input", "name")
    rita = await house.browser("rita")
    assert "New schema" not in (await rita.get("/console/registers")).html.text
    assert (await rita.get("/console/registers/schemas/new")).status == 403
    refused = await post(rita, "/console/registers/schemas/new", fields)
    assert refused.status == 403


@pytest.mark.requirement("console:registers:history")
async def test_history_shows_differences_and_leads_back(house: House, root: Browser) -> None:
    uuid = await make(house, holder=f"Past {BREAKOUT}", fee=1)
    for fee in (2, 3):
        await objects(house, "patch", id=uuid, data={"fee": fee})
    path = f"{LIST}/{uuid}"
    page = await root.get(path)
    is_inert(page.html)
    assert page.html.count("del") == 2
    assert page.html.count("ins") == 2
    past = next(one for one in page.html.values("a", "href") if "as_of=change" in one)
    assert "This is the object as of" in (await root.get(past)).html.text
    back = await post(root, f"{path}/revert", {"to": "1", "version": "3"})
    assert back.status == 303, back.html.text
    assert (await objects(house, "get", id=uuid))["fee"] == 1
    stale = await agree(root, f"{path}/undo", {"version": "3"})
    assert stale.status == 412
    undone = await agree(root, f"{path}/undo", {"version": "4"})
    assert undone.status == 303, undone.html.text
    assert (await objects(house, "get", id=uuid))["fee"] == 3


@pytest.mark.requirement("console:registers:history")
async def test_history_shows_values_inside_values_by_their_parts_and_no_json(house: House, root: Browser) -> None:
    checks = [{"by": "Ann", "met": True}]
    uuid = await make(house, holder="Nested", origin={"form": {"page": 1, "kept": 5}}, checks=checks)
    more = [*checks, {"by": BREAKOUT, "where": {"room": 7}}]
    await objects(house, "patch", id=uuid, data={"origin": {"form": {"page": 2, "kept": 5}}, "checks": more})
    await objects(house, "patch", id=uuid, data={"checks": []})
    page = await root.get(f"{LIST}/{uuid}")
    is_inert(page.html)
    assert {"Origin / form / page", "Checks / 1 / by", "Checks / 1 / where / room"} <= set(page.html.texts)
    timeline = page.body[page.body.index('class="timeline"') : page.body.index("About the object")]
    assert "Origin / form / kept" not in timeline, "it did not change"
    assert "{" not in timeline


@pytest.mark.requirement("console:registers:past")
async def test_a_slider_leads_to_the_past_of_a_list_and_of_an_object(house: House, root: Browser) -> None:
    uuid = await make(house, holder="Slider early", fee=1)
    stored = await objects(house, "get", id=uuid)
    begun = ceil(parse_iso(stored["@self"]["created"]).timestamp())
    page = await root.get(f"{LIST}/{uuid}")
    is_inert(page.html)
    slider = page.body.index('type="range" name="as_of"')
    assert f'min="{begun}"' in page.body[slider : slider + 200]
    past = await root.get(f"{LIST}/{uuid}?as_of={begun}")
    assert "This is the object as of 2" in past.html.text
    assert past.html.values("main", "data-events") == [], "the past does not change"
    before = await root.get(f"{LIST}?as_of={begun - 3600}")
    assert "Slider early" not in before.html.text
    assert any(text.startswith("As of 2") for text in before.html.texts)
    kept = await root.get(f'{LIST}?as_of={begun}&sort=fee&filter={{"fee":1}}')
    assert {"filter", "sort"} <= set(kept.html.values("input", "name")), "the slider keeps the selection"


@pytest.mark.requirement("console:forms")
async def test_the_form_of_an_object_names_what_it_refers_to(house: House, root: Browser) -> None:
    parent = await make(house, holder=f"Referred {BREAKOUT}")
    page = await root.get(f"{LIST}/{await make(house, holder='Refers', parent=parent, related=[parent])}/edit")
    is_inert(page.html)
    assert page.html.text.count(f"This is Referred {BREAKOUT}.") == 2, "the parent, and an item of the list"


@pytest.mark.requirement("console:live:events")
async def test_a_list_names_the_events_that_bring_it_up_to_date(house: House, root: Browser) -> None:
    page = await root.get(LIST)
    (stream,) = page.html.values("main", "data-events")
    assert page.html.values("main", "hx-trigger") == ["happened delay:200ms"]
    cookies = "; ".join(f"{name}={value}" for name, value in root.cookies.items())
    headers = {"host": root.host, "cookie": cookies, "accept": "text/event-stream"}
    answer = await send(house.front, "GET", stream, headers).head()
    await read_until(answer, "retry:")
    uuid = await make(house, holder="Live row")
    assert "object.created" in await read_until(answer, uuid)
    await answer.leave()
    past = await root.get(f"{LIST}?as_of=2020-01-01")
    assert past.html.values("main", "data-events") == []
    refused = await post(root, f"{LIST}/views", {"title": ""})
    assert refused.html.values("main", "hx-get") == [], "the address of a form is no page"


@pytest.mark.requirement("console:registers:files")
async def test_files_are_attached_downloaded_and_deleted(house: House, root: Browser) -> None:
    path = f"{LIST}/{await make(house, holder='With files')}"
    content = b64encode(b"What the applicant wrote.").decode()
    sent = await post(root, f"{path}/files", {"file": content, "name:file": "C:\\letters\\letter.txt"})
    assert sent.status == 303, sent.html.text
    page = await root.get(path)
    link = next(one for one in page.html.values("a", "href") if one.endswith("letter.txt"))
    assert (await root.get(link, sec_fetch_mode="cors")).body == "What the applicant wrote."
    assert (await post(root, f"{path}/files/delete", {"name": "letter.txt"})).status == 303
    assert "letter.txt" not in (await root.get(path)).html.text


@pytest.mark.requirement("console:registers:browse")
async def test_a_deleted_object_is_restored(house: House, root: Browser) -> None:
    uuid = await make(house, holder="Gone for a while")
    assert (await agree(root, f"{LIST}/{uuid}/delete", {})).status == 303
    deleted = await root.get(f"{LIST}/deleted")
    assert "Gone for a while" in deleted.html.text
    back = await post(root, f"{LIST}/deleted", {"id": uuid})
    assert back.status == 303
    assert (await root.get(back.location or "")).status == 200


@pytest.mark.requirement("console:objects:conflict")
async def test_an_edit_after_somebody_elses_keeps_what_was_typed_and_shows_what_changed(
    house: House, root: Browser
) -> None:
    uuid = await make(house, holder="Ada", fee=1, state="open")
    form = await root.get(f"{LIST}/{uuid}/edit")
    seen = {"version": form.hidden("version"), "/holder": f"Mine {BREAKOUT}", "/fee": "1", "/state": "open"}
    await objects(house, "patch", id=uuid, data={"fee": 9, "holder": "Theirs"})
    shown = await post(root, f"{LIST}/{uuid}/edit", seen)
    assert shown.status == 412
    assert f"Mine {BREAKOUT}" in shown.html.values("input", "value"), "what was typed is there"
    assert "9" in shown.html.values("input", "value"), "so is what somebody else changed elsewhere"
    assert "Theirs" in shown.html.text
    assert shown.hidden("version") == "2"
    merged = {**seen, "version": "2", "/fee": "9"}
    assert (await post(root, f"{LIST}/{uuid}/edit", merged)).status == 303
    now = await objects(house, "get", id=uuid)
    assert (now["holder"], now["fee"]) == (f"Mine {BREAKOUT}", 9)


@pytest.mark.requirement("console:objects:conflict")
async def test_an_edit_after_very_many_others_can_be_saved_at_the_second_try(house: House, root: Browser) -> None:
    uuid = await make(house, holder="Ada", fee=0)
    for fee in range(1, 60):
        await objects(house, "patch", id=uuid, data={"fee": fee})
    seen = {"version": "1", "/holder": "Mine", "/fee": "0"}
    shown = await post(root, f"{LIST}/{uuid}/edit", seen)
    assert shown.hidden("version") == "60"
    assert shown.html.text.count("Nothing was saved.") == 1
    assert "Read it again" not in shown.html.text, "the page says everything once"
    assert {"Mine", "59"} <= set(shown.html.values("input", "value"))
    assert (await post(root, f"{LIST}/{uuid}/edit", {**seen, "version": "60", "/fee": "59"})).status == 303


@pytest.mark.requirement("console:rights")
async def test_readers_see_no_button_that_would_be_refused_and_are_not_asked_first(house: House) -> None:
    uuid = await make(house, holder="Only to be read")
    rita = await house.browser("rita")
    for path in (LIST, f"{LIST}/{uuid}", "/console/registers/schemas/1", f"{LIST}/deleted"):
        page = await rita.get(path)
        assert page.status == 200, path
        forms = [one for one in page.html.values("form", "action") if one.startswith("/console/registers")]
        assert all(one in (LIST, f"{LIST}/{uuid}", f"{LIST}/views") for one in forms), (path, forms)
        for word in ("New Permit", "Import", "Change it", "Delete", "Undo"):
            assert word not in page.html.texts, (path, word)
    refused = await post(rita, f"{LIST}/{uuid}/delete", {"version": "1"})
    assert refused.status == 403
    assert "Are you sure?" not in refused.html.text
    assert "registers:write" in refused.html.text


@pytest.mark.requirement("console:forms")
async def test_a_long_text_is_not_cut_by_its_form(house: House, root: Browser) -> None:
    long = "x" * 50_000
    uuid = await make(house, holder=long)
    form = await root.get(f"{LIST}/{uuid}/edit")
    assert long in form.html.values("input", "value")


async def test_pages_are_json_too(house: House, root: Browser) -> None:
    await make(house, holder="As JSON", fee=1)
    answer = await root.get(f"{LIST}.json", sec_fetch_mode="cors")
    kinds = {block["kind"] for block in json.loads(answer.body)["blocks"]}
    assert {"table", "facets", "links"} <= kinds


@pytest.mark.requirement("console:registers:names")
async def test_a_property_without_a_title_has_a_readable_name_and_programs_still_read_its_own(
    house: House, root: Browser
) -> None:
    properties = {"startDate": {"type": "string"}, "decided_by": {"type": "string", "facetable": True}}
    inner = {"type": "object", "properties": {"postCode": {"type": "string"}}}
    data = {"slug": "unnamed", "title": "Unnamed", "properties": {**properties, "address": inner}}
    schema = (await tool(house, "schemas", {"action": "create", "data": data}))["id"]
    register = (await tool(house, "registers", {"action": "create", "data": {"title": "R", "schemas": [schema]}}))["id"]
    place = {"register": register, "schema": schema}
    values = {"startDate": "2026-01-31", "decided_by": "ada"}
    made = await tool(house, "objects", {"action": "create", **place, "data": values})
    path = f"/console/registers/{register}/{schema}"
    page = await root.get(path)
    assert {"Start date", "Decided by"} <= set(page.html.values("td", "data-label"))
    assert {"startDate", "decided_by"} <= set(page.html.values("th", "title"))
    assert "decided_by" not in page.html.text.partition("Its schema")[0]
    one = await root.get(f"{path}/{made['id']}")
    assert "Start date" in one.html.text
    assert "startDate" in one.html.values("dt", "title")
    form = await root.get(f"{path}/new")
    assert {"Start date", "Decided by", "Post code"} <= set(form.html.texts)
    assert {"/startDate", "/decided_by", "/address/postCode"} <= set(form.html.values("input", "name"))
    answer = await root.get(f"{path}.json", sec_fetch_mode="cors")
    (table,) = [block for block in json.loads(answer.body)["blocks"] if block["kind"] == "table"]
    assert {"startDate", "decided_by"} <= {column["name"] for column in table["columns"]}
    exported = await root.get(f"/api/registers/{register}/export?schema={schema}&format=csv", sec_fetch_mode="cors")
    assert {"startDate", "decided_by"} <= set(exported.body.splitlines()[0].split(","))


@pytest.mark.requirement("console:registers:definitions")
async def test_a_register_is_edited_and_deleted_and_so_is_a_schema(house: House, root: Browser) -> None:
    schema = await tool(house, "schemas", {"action": "create", "data": {**SCHEMA, "slug": "short", "title": "Short"}})
    made = await tool(house, "registers", {"action": "create", "data": {"title": "Short-lived", "description": "Old"}})
    path = f"/console/registers/{made['id']}"
    empty = await root.get(path)
    assert "create it, or add an existing one" in empty.html.text
    assert f"/console/registers/schemas/new?register={made['id']}" in empty.html.values("a", "href")
    form = await root.get(f"{path}/edit")
    fields = {"/title": f"Longer {BREAKOUT}", "/description": "", "/schemas/0": str(schema["id"])}
    stale = await post(root, f"{path}/edit", {**fields, "version": "7.7.7"})
    assert stale.status == 412
    saved = await post(root, f"{path}/edit", {**fields, "version": form.hidden("version")})
    assert saved.status == 303, saved.html.text
    page = await root.get(path)
    assert f"Longer {BREAKOUT}" in page.html.text
    assert "Old" not in page.html.texts
    assert "Short" in page.html.texts
    path_of_objects = {"register": made["id"], "schema": schema["id"]}
    one = await tool(house, "objects", {"action": "create", **path_of_objects, "data": {"holder": "Ada"}})
    detached = {"/title": f"Longer {BREAKOUT}", "version": (await root.get(f"{path}/edit")).hidden("version")}
    asked = await post(root, f"{path}/edit", detached)
    assert "from the register the schemas" in asked.html.text
    again = await post(root, f"{path}/edit", {**detached, "confirm": asked.hidden("confirm")})
    assert again.status == 303, again.html.text
    assert "Short" not in (await root.get(path)).html.texts
    attached = {**fields, "version": (await root.get(f"{path}/edit")).hidden("version")}
    assert (await post(root, f"{path}/edit", attached)).status == 303
    await agree(root, f"{path}/{schema['id']}/{one['id']}/delete", {"version": "1"})
    kept = await post(root, f"/console/registers/schemas/{schema['id']}/edit", {"add": "/operations"})
    assert "Delete schema" in kept.html.text
    rita = await house.browser("rita")
    assert (await post(rita, f"{path}/delete", {})).status == 403
    assert (await rita.get(f"{path}/edit")).status == 403
    assert "Edit register" not in (await rita.get(path)).html.text
    asked = await post(root, f"{path}/delete", {})
    assert "1 deleted object" in asked.html.text
    token = asked.hidden("confirm")
    assert (await post(root, f"{path}/delete", {"confirm": token})).location == "/console/registers"
    assert (await root.get(path)).status == 404
    gone = await post(root, f"/console/registers/schemas/{schema['id']}/delete", {})
    assert gone.location == "/console/registers/schemas"
    refused = await post(root, "/console/registers/1/delete", {})
    assert refused.status == 409
    assert "The register 'city' still has" in refused.html.text


@pytest.mark.requirement("console:registers:definitions")
async def test_the_properties_of_a_schema_say_what_values_they_have(house: House, root: Browser) -> None:
    properties = {
        "day": {"type": "string", "format": "date"},
        "state": {"enum": ["open", BREAKOUT]},
        "place": {"$ref": "#/$defs/place"},
        "permits": {"type": "array", "items": {"$ref": "permit"}},
        "grid": {"$ref": "#/properties/grid/items"} | {"type": "array", "items": {"type": "array"}},
    }
    data = {"slug": "said", "title": "Said", "properties": properties, "$defs": {"place": {"type": "object"}}}
    schema = await tool(house, "schemas", {"action": "create", "data": data})
    text = (await root.get(f"/console/registers/schemas/{schema['id']}")).html.text
    for said in ("string (date)", f"one of open, {BREAKOUT}", "placeobject", "list: reference to permit"):
        assert said in text, said


@pytest.mark.requirement("console:registers:history")
async def test_a_long_text_in_the_history_is_cut_and_stays_text(house: House, root: Browser) -> None:
    uuid = await make(house, holder="Ada")
    await objects(house, "patch", id=uuid, data={"holder": "First line\n" + "word " * 100})
    text = (await root.get(f"{LIST}/{uuid}")).html.text.partition("History")[2]
    assert "First line\nword word" in text
    assert "'First" not in text


@pytest.mark.requirement("console:registers:bulk")
async def test_an_empty_field_of_a_change_of_many_promises_no_default(house: House, root: Browser) -> None:
    properties = {"level": {"type": "string", "enum": ["low", "high"], "default": "low"}}
    schema = await tool(house, "schemas", {"action": "create", "data": {"slug": "preset", "properties": properties}})
    register = await tool(house, "registers", {"action": "create", "data": {"title": "P", "schemas": [schema["id"]]}})
    path = f"/console/registers/{register['id']}/{schema['id']}"
    assert "default: low" in (await root.get(f"{path}/new")).html.text
    assert "default: low" not in (await root.get(f"{path}/bulk")).html.text


@pytest.mark.requirement("console:growth")
async def test_a_long_list_is_not_counted_to_its_end(
    house: House, root: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        data = {"holder": f"Countess {number}", "state": "open"}
        await tool(house, "objects", {"action": "create", "register": 1, "schema": 1, "data": data})
    short = await root.get(f"{LIST}?q=countess")
    assert "4 objects" in short.html.texts
    assert "Count the values" not in short.html.texts
    for module in (pair_page, browse):
        monkeypatch.setattr(module, "COUNT_TO", 3)
    monkeypatch.setattr(browse, "PAGE_SIZE", 2)
    page = await root.get(f"{LIST}?q=countess")
    assert "2+ objects" in page.html.texts
    (counts,) = [href for href in page.html.values("a", "href") if "facets=yes" in href]
    assert "4" in (await root.get(counts)).html.texts, "the visitor has asked"


@pytest.mark.requirement("console:refusals:ways-on")
@pytest.mark.parametrize(
    ("path", "back"),
    [
        ("/console/registers/999", "/console/registers"),
        ("/console/registers/1/999", "/console/registers"),
        ("/console/registers/schemas/999/edit", "/console/registers/schemas"),
        (f"{LIST}/00000000-0000-7000-8000-000000000000", LIST),
        (f"{LIST}/00000000-0000-7000-8000-000000000000/edit", LIST),
        ("/console/registers/views/none", "/console/registers/views"),
        ("/console/admin/users/nobody", "/console/admin/users"),
        ("/console/nowhere", "/console/search"),
        ("/nowhere", "/console/search"),
    ],
)
async def test_a_page_that_does_not_exist_leads_to_the_list_and_to_the_search(
    root: Browser, path: str, back: str
) -> None:
    page = await root.get(path)
    assert page.status == 404
    is_inert(page.html)
    links = page.html.values("a", "href")
    assert {back, "/console/search"} <= set(links)
    assert (await root.get(back)).status == 200
    assert "action=" not in page.html.text, "a hint for programs"


@pytest.mark.requirement("console:refusals:ways-on")
async def test_a_lost_place_in_a_list_leads_to_its_first_page(root: Browser) -> None:
    page = await root.get(f"{LIST}?sort=fee&cursor=bad")
    assert page.status == 422
    assert f"{LIST}?sort=fee" in page.html.values("a", "href")
    assert "cursor" not in page.html.text


@pytest.mark.requirement("console:home:latest")
async def test_the_home_page_names_deleted_objects(house: House, root: Browser) -> None:
    kept = await make(house, holder=f"Felled {BREAKOUT}", fee=1)
    await agree(root, f"{LIST}/{kept}/delete", {})
    home = (await root.get("/")).html
    assert f"Felled {BREAKOUT}" in home.texts
    assert kept not in home.text
    erased = await make(house, holder="Erased", fee=1)
    await agree(root, f"{LIST}/{erased}/delete", {})
    await objects(house, "purge", id=erased)
    home = (await root.get("/")).html
    assert "a deleted Permit" in home.texts
    assert erased not in home.text
