"""What people do on pages: run tools, write objects, talk to agents. All of it without scripts."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.kernel.principal import Principal
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import is_inert
from tests.http.browsing import Browser, Page

pytestmark = pytest.mark.anyio

ROOT = Principal("user:root", "root", frozenset({"*:*"}))
BREAKOUT = '"><script>alert(1)</script>'
SCHEMA = {
    "slug": "permit",
    "title": "Permit",
    "configuration": {"objectNameField": "holder"},
    "required": ["holder"],
    "properties": {
        "holder": {"type": "string", "title": "Holder", "minLength": 2},
        "fee": {"type": "number", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}},
        "parent": {"$ref": "permit"},
    },
}
RUN = "/console/tools/tool/objects"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    rooms = ("registers", "agents")
    async with open_house(tmp_path_factory.mktemp("acting"), rooms, confirm=("objects:delete",)) as house:
        client = house.app.neighbours
        schema = await client.call_tool(ROOT, "schemas", {"action": "create", "data": SCHEMA})
        assert not schema.get("isError"), schema
        register = {"title": "City", "schemas": [schema["structuredContent"]["id"]]}
        made = await client.call_tool(ROOT, "registers", {"action": "create", "data": register})
        assert not made.get("isError"), made
        yield house


@pytest.fixture
async def root(house: House) -> Browser:
    return await house.browser("root")


async def post(browser: Browser, path: str, **fields: str) -> Page:
    shown = await browser.post(path, {**fields, "csrf": await csrf_of(browser)})
    if shown.status != 303:
        is_inert(shown.html)
    return shown


async def send_tool(browser: Browser, tool: str, fields: dict[str, str]) -> Page:
    return await post(browser, f"/console/tools/tool/{tool}", **fields)


@pytest.mark.requirement("console:tools")
async def test_every_tool_has_a_page_and_opening_it_runs_nothing(house: House, root: Browser) -> None:
    overview = await root.get("/console/tools")
    names = [one.declared.name for one in house.app.internal_server.registry.tools.values()]
    for name in dict.fromkeys(names):
        assert f"/console/tools/tool/{name}" in overview.html.values("a", "href")
        shown = await root.get(f"/console/tools/tool/{name}?/action=delete&/id=1")
        assert shown.status == 200, name
        is_inert(shown.html)
        assert f"Run {name}" in shown.html.texts
    for name in names:
        assert await house.events(name) == [] or name in ("schemas", "registers")


@pytest.mark.requirement("console:tools")
async def test_a_tool_runs_with_the_visitors_rights_and_is_audited(house: House, root: Browser) -> None:
    shown = await send_tool(root, "registers", {"/action": "list"})
    assert shown.status == 200
    assert "City" in shown.html.text
    assert "Took" in shown.html.texts
    assert "Results" in shown.html.texts, "the members have readable names"
    assert ("user:root", "", "ok") in await house.events("registers")
    rita = await house.browser("rita")
    assert (await rita.get("/console/tools/tool/agents_send_task")).status == 404
    refused = await send_tool(rita, "agents_send_task", {"/agent": "echo", "/text": "hello"})
    assert refused.status == 404
    written = await send_tool(rita, "registers", {"/action": "create", "/data": '{"title": "Mine"}'})
    assert "Mine" not in (await root.get("/console/registers")).html.text
    assert "registers:write" in written.html.text


@pytest.mark.requirement("console:forms:post")
async def test_mistakes_come_back_at_their_fields_with_what_was_typed(root: Browser) -> None:
    shown = await send_tool(root, "registers", {"/action": "lst", "/if_version": "many", "/data": BREAKOUT})
    assert shown.status == 422
    assert "Correct the marked fields." in shown.html.text
    assert "many" in shown.html.values("input", "value")
    assert "true" in shown.html.values("select", "aria-invalid")


@pytest.mark.requirement("console:forms:post")
async def test_items_are_added_without_running_anything(house: House, root: Browser) -> None:
    before = await house.events("objects")
    fields = {"/action": "delete", "/fields/0": "holder", "add": "/fields"}
    shown = await send_tool(root, "objects", fields)
    assert shown.status == 200
    assert {"/fields/0", "/fields/1"} <= set(shown.html.values("input", "name"))
    assert await house.events("objects") == before


@pytest.mark.requirement("console:tools:copy")
async def test_a_link_to_a_call_fills_in_the_form_and_has_no_secret(root: Browser) -> None:
    fields = {"/action": "list", "/search": "plain words", "/filter": '{"password": "hunter2hunter2"}'}
    shown = await send_tool(root, "objects", fields)
    (link,) = {one for one in shown.html.values("a", "href") if one.startswith(RUN)}
    assert "plain+words" in link
    assert "hunter2" not in link
    again = await root.get(link)
    assert "plain words" in again.html.values("input", "value")


@pytest.mark.requirement("console:tools")
async def test_prompts_and_resources_have_pages_too(house: House, root: Browser) -> None:
    for name, bound in house.app.internal_server.registry.prompts.items():
        assert (await root.get(f"/console/tools/prompt/{name}")).status == 200
        fields = {f"/{one['name']}": "echo" for one in bound.declared.listing().get("arguments", [])}
        shown = await post(root, f"/console/tools/prompt/{name}", **fields)
        assert shown.status in (200, 404, 422), name
    shown = await root.get("/console/tools/resource?uri=agents://cards/echo")
    assert shown.status == 200
    assert "echo" in shown.html.text
    assert (await root.get("/console/tools/resource?uri=nothing://here")).status == 404


async def make_permit(root: Browser, **fields: str) -> str:
    made = await post(root, "/console/registers/1/1/new", **fields)
    assert made.status == 303, made.html.text
    return made.location or ""


@pytest.mark.requirement("console:objects")
async def test_an_object_is_created_edited_and_deleted(house: House, root: Browser) -> None:
    form = await root.get("/console/registers/1/1/new")
    assert {"/holder", "/fee", "/parent"} <= set(form.html.values("input", "name"))
    wrong = await post(root, "/console/registers/1/1/new", **{"/holder": "A", "/fee": "-1"})
    assert wrong.status == 422
    assert wrong.html.values("input", "aria-invalid").count("true") == 2
    assert "A" in wrong.html.values("input", "value")
    place = await make_permit(root, **{"/holder": f"Ada {BREAKOUT}", "/fee": "1.50", "/tags/0": "one"})
    page = await root.get(place)
    assert f"Ada {BREAKOUT}" in page.html.text
    edit = await root.get(f"{place}/edit")
    assert f"Ada {BREAKOUT}" in edit.html.values("input", "value")
    version = edit.hidden("version")
    changed = {"/holder": "Grace", "/fee": "1.5", "/tags/0": "one", "/tags/1": "two", "version": version}
    saved = await post(root, f"{place}/edit", **changed)
    assert (saved.status, saved.location) == (303, place)
    assert "Grace" in (await root.get(place)).html.text
    stale = await post(root, f"{place}/edit", **{**changed, "/holder": "Late"})
    assert stale.status in (409, 412)
    assert "Late" in stale.html.values("input", "value"), "what was typed is still there"
    parent = await root.get("/console/registers/1/1/new?/parent=Grace")
    assert place.rpartition("/")[2] in parent.html.values("option", "value")
    asked = await post(root, f"{place}/delete")
    assert "Are you sure?" in asked.html.text
    token = asked.hidden("confirm_token")
    gone = await post(root, f"{place}/delete", confirm_token=token)
    assert (gone.status, gone.location) == (303, "/console/registers/1/1")
    assert (await root.get(place)).status == 404


@pytest.mark.requirement("console:confirm")
async def test_a_tool_that_asks_first_runs_once_after_a_yes(house: House, root: Browser) -> None:
    place = await make_permit(root, **{"/holder": "Doomed"})
    fields = {"/action": "delete", "/register": "1", "/schema": "1", "/id": place.rpartition("/")[2]}
    asked = await send_tool(root, "objects", fields)
    assert asked.status == 200
    assert "Not done yet" in asked.html.text
    assert (await root.get(place)).status == 200
    other = {**fields, "/id": "something-else", "confirm_token": asked.hidden("confirm_token")}
    assert "Are you sure?" not in (await send_tool(root, "objects", other)).html.text, "the token is for another call"
    done = await send_tool(root, "objects", {**fields, "confirm_token": asked.hidden("confirm_token")})
    assert done.status == 200
    assert (await root.get(place)).status == 404


@pytest.mark.requirement("console:objects")
async def test_who_may_only_read_sees_no_forms_and_writes_nothing(house: House, root: Browser) -> None:
    place = await make_permit(root, **{"/holder": "Safe"})
    rita = await house.browser("rita")
    assert (await rita.get(place)).html.values("form", "method") == ["get", "post", "get"], (
        "search, log out, and a moment of the past"
    )
    for path in ("/console/registers/1/1/new", f"{place}/edit"):
        assert (await post(rita, path, **{"/holder": "Evil"})).status == 403
    assert (await post(rita, f"{place}/delete")).status == 403, "refused, not asked"
    assert (await root.get(place)).status == 200
    assert "Evil" not in (await root.get("/console/registers/1/1")).html.text


@pytest.mark.requirement("agents:console:chat")
async def test_a_conversation_goes_on_and_keeps_its_context(house: House, root: Browser) -> None:
    chat = "/console/agents/cards/echo/chat"
    assert "No messages yet" in (await root.get(chat)).html.text
    empty = await post(root, chat, **{"/text": "  "})
    assert empty.status == 422
    assert "There is nothing to send." in empty.html.text
    first = await post(root, chat, **{"/text": f"Good {BREAKOUT}"})
    assert first.status == 303
    shown = await root.get(first.location or "")
    assert f"Good {BREAKOUT}" in shown.html.text
    second = await post(root, chat, **{"/text": "And again", "context": shown.hidden("context")})
    assert second.location == first.location
    both = (await root.get(second.location or "")).html.text
    assert both.index("Good") < both.index("And again")
    rita = await house.browser("rita")
    assert "Good" not in (await rita.get(first.location or "")).html.text, "conversations are private"


@pytest.mark.requirement("console:json")
async def test_every_page_is_also_json(root: Browser) -> None:
    for path in (
        "/console",
        "/console/tools",
        "/console/registers/1/1",
        "/console/agents/cards/echo",
        "/console/style",
    ):
        answer = await root.get(f"{path}.json", accept="application/json", sec_fetch_mode="cors")
        assert answer.status == 200, path
        page: dict[str, Any] = json.loads(answer.body)
        assert page["title"]
        assert all("kind" in block for block in page["blocks"])
        assert "csrf" not in answer.body
    lost = await root.get("/console/registers/999.json", accept="application/json", sec_fetch_mode="cors")
    assert lost.status == 404
    assert json.loads(lost.body)["error"]["code"] == "not_found"


@pytest.mark.requirement("console:json")
async def test_a_name_that_ends_like_json_still_has_its_page(house: House, root: Browser) -> None:
    await house.app.users.add("a.json", "correct horse battery")
    users = await root.get("/console/admin/users")
    (link,) = [one for one in users.html.values("a", "href") if "a.json" in one]
    page = await root.get(link)
    assert page.status == 200
    assert "Extra scopes" in page.html.text


@pytest.mark.requirement("console:home:calls")
async def test_the_home_page_draws_calls_and_errors_for_those_who_may_read_the_trail(
    house: House, root: Browser
) -> None:
    await house.app.neighbours.call_tool(ROOT, "objects", {"action": "list", "register": "nowhere", "schema": 1})
    await house.app.audit.flush()
    *_, (_, calls, errors) = await house.app.audit.hours(2)
    assert calls > errors >= 1
    home = await root.get("/")
    assert "Calls and errors, each hour" in home.html.text
    auditor = await house.browser("auditor")
    assert "Calls and errors, each hour" in (await auditor.get("/")).html.text
    rita = await house.browser("rita")
    assert "Calls and errors" not in (await rita.get("/")).html.text


@pytest.mark.requirement("console:confirm:rights")
async def test_nobody_is_asked_about_what_they_may_not_do(house: House) -> None:
    rita = await house.browser("rita")
    fields = {"/action": "delete", "/register": "1", "/schema": "1", "/id": "x"}
    shown = await send_tool(rita, "objects", fields)
    assert "Are you sure?" not in shown.html.text
    assert "registers:write" in shown.html.text


@pytest.mark.requirement("console:needs")
async def test_the_home_page_says_what_waits(root: Browser) -> None:
    assert "Nothing waits for you." in (await root.get("/")).html.text


@pytest.mark.requirement("console:needs")
async def test_the_home_page_says_why_a_job_failed(house: House, root: Browser) -> None:
    jobs = house.app.jobs
    await house.app.database.write(lambda tx: jobs.enqueue(tx, "t.deliver", key="hook"))
    (run,) = await house.app.database.write(lambda tx: jobs.claim(tx, "t.deliver", 1))
    await house.app.database.write(lambda tx: jobs.bury(tx, run, "The receiver answered 410."))
    text = (await root.get("/")).html.text
    assert "t.deliver hookfailed for good: The receiver answered 410." in text


def multipart(*parts: tuple[str, str]) -> bytes:
    """A form with files as browsers send it; each part has its parameters and its content."""
    written = "".join(
        f"--edge\r\nContent-Disposition: form-data; {about}\r\n\r\n{content}\r\n" for about, content in parts
    )
    return f"{written}--edge--\r\n".encode()


@pytest.mark.requirement("login:csrf")
async def test_a_form_with_files_needs_the_token_too(house: House, root: Browser) -> None:
    token, other = await csrf_of(root), await csrf_of(await house.browser("rita"))
    file = ('name="file"; filename="a.txt"', "hello")
    own = {"origin": root.origin, "sec-fetch-site": "same-origin", "content-type": "multipart/form-data; boundary=edge"}
    wrong = [
        multipart(file),
        multipart(file, ('name="csrf"', "")),
        multipart(file, ('name="csrf"', other)),
        multipart(file, ('name="csrf"; filename="csrf"', token)),
        multipart(file, ('name="csrf"', token), ('name="csrf"; filename="csrf"', token)),
        multipart(('name="file"; filename="csrf"', f"csrf={token}")),
    ]
    for body in wrong:
        assert (await root.send("POST", "/console/style", own, body)).status == 403, body
    form = multipart(file, ('name="csrf"', token))
    assert (await root.send("POST", "/console/style", {**own, "x-csrf-token": "x" * 43}, form)).status == 403
    foreign = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    assert (await root.send("POST", "/console/style", {**own, **foreign}, form)).status == 403
    assert (await Browser(house.front).send("POST", "/console/style", own, form)).status == 403
    sent = await root.send("POST", "/console/style", own, form)
    assert (sent.status, "Sent. Nothing was changed." in sent.body) == (200, True)


@pytest.mark.requirement("console:tools")
async def test_only_calls_of_pages_are_those_of_a_person(house: House, root: Browser) -> None:
    await send_tool(root, "schemas", {"/action": "list"})
    await house.app.neighbours.call_tool(ROOT, "schemas", {"action": "list"})
    await house.app.audit.flush()
    of_program, of_page, *_ = [one.transport for one in await house.app.audit.recent(tool="schemas")]
    assert (of_program, of_page) == ("internal", "console")
    claimed: Any = {"transport": "console"}
    with pytest.raises(TypeError):
        await house.app.neighbours.call_tool(ROOT, "schemas", {"action": "list"}, **claimed)
