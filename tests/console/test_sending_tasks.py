"""The form on an agent's card that sends it a task."""

import json
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec import UNSET

from pentad.app import open_app
from pentad.kernel.json_values import as_object
from pentad.kernel.pages import Cell, Links, Place, Visit
from pentad.kernel.principal import Principal
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.agents.context.extension import PLAIN_KEY
from pentad.rooms.agents.files import file_id_in
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.interface import chat_pages, pages
from pentad.rooms.agents.interface.lineage import message_references
from pentad.rooms.agents.interface.retry_form import again
from pentad.rooms.agents.models import Message, PushConfig
from pentad.rooms.agents.service import Agents
from pentad.settings.model import Settings
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import Read, is_inert
from tests.http.browsing import Browser
from tests.receiving import receiving
from tests.rooms.agents.interface.conftest import served
from tests.rooms.directory.oasf.samples import sample
from tests.waiting import until

pytestmark = pytest.mark.anyio

ADMIN = Principal("user:root", "root", frozenset({"*:*"}))
ECHO = "/console/agents/cards/echo"
BREAKOUT = '"><script>alert(1)</script>'


async def payer(turn: Turn) -> str:
    """Pays, if an administrator approves."""
    return (await turn.approve(f"Pay {turn.text}", by="admin")).outcome


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    near = FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True)
    data, agent = tmp_path_factory.mktemp("sending"), (f"{__name__}:payer",)
    async with open_house(data, ("agents", "directory", "registers"), fetch=near, agent=agent) as house:
        yield house


@pytest.mark.requirement("agents:console:send")
async def test_a_task_is_sent_and_its_page_shown(house: House) -> None:
    root = await house.browser("root")
    assert "Send it a task" in (await root.get(ECHO)).body
    fields = {"/text": "Good morning", "/context/0": "agents://cards/echo", "csrf": await csrf_of(root)}
    answer = await root.post(ECHO, fields)
    location = answer.location or ""
    assert (answer.status, location[:22]) == (303, "/console/agents/tasks/")
    page = (await root.get(location)).html.text
    assert "Good morning" in page
    assert "agents://cards/echo" in page
    assert ("user:root", "ok") in {
        (who, outcome) for who, _, outcome in await house.events(f"POST {ECHO[:-4]}{{card}}")
    }


@pytest.mark.requirement("console:rights")
async def test_an_agent_tells_a_reader_why_there_is_no_form(house: House) -> None:
    rita = await house.browser("rita")
    page = (await rita.get(ECHO)).html.text
    assert "Send it a task" not in page
    assert "You may not send it tasks. Ask an administrator for agents:write." in page


@pytest.mark.requirement("agents:console:send")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"/text": " "}, "There is nothing to send"),
        ({"/text": "hello", "/context/0": "file:///etc/passwd"}, "file"),
    ],
)
async def test_a_form_that_cannot_be_sent_says_why_and_sends_nothing(
    house: House, fields: dict[str, str], words: str
) -> None:
    root = await house.browser("root")
    before = (await root.get("/console/agents/tasks")).html.text
    answer = await root.post(ECHO, {**fields, "csrf": await csrf_of(root)})
    assert answer.status == 422
    assert words in answer.body
    assert (await root.get("/console/agents/tasks")).html.text == before


@pytest.mark.requirement("agents:console:send")
async def test_who_may_only_read_gets_no_form_and_sends_nothing(house: House) -> None:
    rita = await house.browser("rita")
    assert "Send it a task" not in (await rita.get(ECHO)).body
    answer = await rita.post(ECHO, {"/text": "hello", "csrf": await csrf_of(rita)})
    assert answer.status == 403
    assert "agents:write" in answer.body


@pytest.mark.requirement("agents:console:send")
async def test_a_form_of_another_site_is_refused(house: House) -> None:
    root = await house.browser("root")
    for token in ("", "x" * 43, await csrf_of(await house.browser("rita"))):
        assert (await root.post(ECHO, {"/text": "hello", "csrf": token})).status == 403
    assert (await Browser(house.front).post(ECHO, {"/text": "hello", "csrf": await csrf_of(root)})).status == 403


@pytest.mark.requirement("agents:console:registry")
async def test_an_agent_elsewhere_gets_a_task_and_its_answer_is_shown(house: House, tmp_path: Path) -> None:
    async with (
        open_app(Settings(data=tmp_path, rooms=("agents",), auth="none", port=0)) as other,
        served(other) as site,
    ):
        there: Agents = other.rooms[0].service
        card = there.cards.public(there.agents["echo"], site)
        card = {name: value for name, value in card.items() if name != "signatures"}
        agents: Agents = house.app.rooms[0].service
        elsewhere = {**card, "humanReadableId": "harbour/sailor", "name": "Sailor"}
        made = await agents.registry.register(ADMIN, elsewhere, list_it=False)
        root = await house.browser("root")
        path = f"/console/agents/cards/{made.id}"
        answer = await root.post(path, {"/text": f"Ahoy {BREAKOUT}", "csrf": await csrf_of(root)})
        assert answer.status == 200, answer.html.text
        is_inert(answer.html)
        assert f"Ahoy {BREAKOUT}" in answer.html.text
        assert any("agents_get_task" in link for link in answer.html.values("a", "href"))


@pytest.mark.requirement("agents:console:context")
async def test_context_is_found_by_words_and_picked_by_its_uri(house: House) -> None:
    root, chat = await house.browser("root"), f"{ECHO}/chat"
    record = json.dumps({**sample("1.0.0"), "name": f"example.org/harbour {BREAKOUT}"})
    pushed = await house.app.neighbours.call_tool(ADMIN, "agntcy_dir_push_record", {"record_json": record})
    uri = f"directory://records/{pushed['structuredContent']['cid']}"
    token = {"csrf": await csrf_of(root)}
    added = await root.post(chat, {**token, "/text": f"Read it {BREAKOUT}", "add": "/context"})
    is_inert(added.html)
    assert f"Read it {BREAKOUT}" in added.html.text, "what was typed is still there"
    asks = added.html.values("input", "hx-get")
    assert asks == [chat]
    found = await root.get(f"{chat}?{urlencode({'/context/0': 'harbour'})}")
    is_inert(found.html)
    assert added.html.values("input", "list") == found.html.values("datalist", "id"), "the page finds its options"
    assert uri in found.html.values("option", "value")
    assert not any(one.startswith("agents://cards") for one in found.html.values("option", "value"))
    without = await root.post(chat, {**token, "/text": "Read it", "/context/0": "harbour"})
    assert without.status == 422
    assert "Pick a suggestion" in without.html.text
    assert uri in without.html.values("option", "value"), "without scripts, the next page has the options"
    sent = await root.post(chat, {**token, "/text": "Read it", "/context/0": uri})
    assert sent.status == 303, sent.html.text
    page = await root.get("/console/agents/tasks")
    task = next(one for one in page.html.values("a", "href") if "/tasks/" in one)
    assert uri in (await root.get(task)).html.texts
    shown = await root.get(sent.location or "")
    assert uri in shown.html.texts, "the conversation says what was sent along"
    assert f"/console/directory/records/{uri.rpartition('/')[2]}" in shown.html.values("a", "href")


@pytest.mark.requirement("agents:console:files")
async def test_files_go_with_a_message_and_are_downloaded_from_the_conversation(house: House) -> None:
    root = await house.browser("root")
    fields = {"csrf": await csrf_of(root), "/text": "Look at these"}
    files = [("/files/-", "plan.txt", b"Three trees."), ("/files/-", f"{BREAKOUT}.csv", b"a,b")]
    form, body = multipart(fields, files)
    own = {"origin": root.origin, "sec-fetch-site": "same-origin"}
    sent = await root.send("POST", f"{ECHO}/chat", {**own, **form}, body)
    assert sent.status == 303, sent.html.text
    shown = await root.get(sent.location or "")
    is_inert(shown.html)
    downloads = [one for one in shown.html.values("a", "href") if one.startswith("/api/agents/files/")]
    assert "plan.txt" in shown.html.texts
    assert len(set(downloads)) == 2
    assert {(await root.get(one)).body for one in downloads} == {"Three trees.", "a,b"}
    rita = await house.browser("rita")
    assert (await rita.get(downloads[0])).status == 404


def multipart(fields: dict[str, str], files: list[tuple[str, str, bytes]]) -> tuple[dict[str, str], bytes]:
    """A form with files, as browsers send it: its headers and its body."""
    parts = [f'name="{name}"\r\n\r\n{text}'.encode() for name, text in fields.items()]
    for name, file, content in files:
        quoted = file.replace('"', "%22")
        parts.append(f'name="{name}"; filename="{quoted}"\r\n\r\n'.encode() + content)
    body = b"".join(b"--frontier\r\nContent-Disposition: form-data; " + one + b"\r\n" for one in parts)
    return {"content-type": "multipart/form-data; boundary=frontier"}, body + b"--frontier--\r\n"


CARD = {
    "schemaVersion": "1.0", "humanReadableId": "acme/oak", "agentVersion": "1", "name": f"Oak {BREAKOUT}",
    "description": "An agent elsewhere.", "url": "https://acme.example/a2a", "provider": {"name": "Acme"},
    "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "none"}],
}  # fmt: skip


@pytest.mark.requirement("agents:console:registry")
async def test_an_agent_elsewhere_is_registered_removed_and_restored(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    assert "/console/agents/register" in (await root.get("/console/agents")).html.values("a", "href")
    assert "/console/agents/register" not in (await rita.get("/console/agents")).html.values("a", "href")
    assert (await rita.get("/console/agents/register")).status == 403
    token = {"csrf": await csrf_of(root)}
    wrong = await root.post("/console/agents/register", {**token, "card": '{"name": "no card"}'})
    assert wrong.status == 422
    assert "no card" in wrong.html.text, "what was pasted is still there"
    made = await root.post("/console/agents/register", {**token, "card": json.dumps(CARD)})
    assert made.status == 303, made.html.text
    page = made.location or ""
    shown = await root.get(page)
    assert f"Oak {BREAKOUT}" in shown.html.text
    assert "Send it a task" in shown.html.text
    assert f"{page}/active" not in (await rita.get(page)).html.values("form", "action")
    assert (await rita.post(f"{page}/active", {"do": "remove", "csrf": await csrf_of(rita)})).status == 403
    assert (await root.post(f"{page}/active", {**token, "do": "remove"})).status == 303
    assert "This card was removed." in (await root.get(page)).html.text
    assert "Oak" not in (await root.get("/console/agents")).html.text
    assert (await root.post(f"{page}/active", {**token, "do": "restore"})).status == 303
    assert "Oak" in (await root.get("/console/agents")).html.text


@pytest.mark.requirement("agents:console:trace")
async def test_the_page_of_a_task_shows_what_its_agent_did_with_timings(house: House) -> None:
    root = await house.browser("root")
    sent = await house.app.neighbours.call_tool(ADMIN, "agents_delegate", {"work": "echo: good evening"})
    page = await root.get(f"/console/agents/tasks/{sent['structuredContent']['task_id']}")
    is_inert(page.html)
    assert "What the agent did" in page.html.texts
    assert "Start (s)" in page.html.texts
    assert "bar" in page.html.values("svg", "class")


@pytest.mark.requirement("agents:console:pushes")
async def test_a_dead_push_is_on_the_page_of_its_task_and_administrators_get_to_its_job(house: House) -> None:
    root = await house.browser("root")
    agents: Agents = house.app.rooms[0].service
    arguments = {"agent": "echo", "text": "ask me", "wait": False}
    sent = await house.app.neighbours.call_tool(ADMIN, "agents_send_task", arguments)
    task = sent["structuredContent"]["task_id"]
    async with receiving(lambda _: "410 Gone") as gone:
        await agents.tasks.push.set(ADMIN, task, PushConfig(url=gone.url, dialect="1.0", id="hook"))
        await agents.tasks.cancel(ADMIN, task)
        await until(lambda: agents.tasks.push.statuses(task), lambda found: found[0].state == "dead")
    page = await root.get(f"/console/agents/tasks/{task}")
    is_inert(page.html)
    assert {"gave up", "The address answered 410."} <= set(page.html.texts)
    assert "/console/admin/jobs" in page.html.values("a", "href")


@pytest.mark.requirement("agents:console:trace")
async def test_a_task_that_was_canceled_can_be_tried_again(house: House) -> None:
    root = await house.browser("root")
    arguments = {"agent": "echo", "text": f"ask me again {BREAKOUT}", "wait": False}
    sent = await house.app.neighbours.call_tool(ADMIN, "agents_send_task", arguments)
    task = sent["structuredContent"]["task_id"]
    agents: Agents = house.app.rooms[0].service
    found = await agents.tasks.get(ADMIN, task)
    blocks = again(Visit(ADMIN), found)
    (link,) = (
        cell.link for block in blocks if isinstance(block, Links) for cell in block.links if isinstance(cell, Cell)
    )
    assert isinstance(link, Place)
    page = await root.get(f"/console/agents/{'/'.join(map(str, link.parts))}?{urlencode(link.query)}")
    assert f"ask me again {BREAKOUT}" in page.html.text, "the form has the message"


@pytest.mark.requirement("agents:console:trace")
async def test_a_task_that_is_tried_again_takes_its_files_and_context_along(house: House) -> None:
    root = await house.browser("root")
    token = {"csrf": await csrf_of(root)}
    agents: Agents = house.app.rooms[0].service
    inner = {"note": {"content": f"Mind the oak {BREAKOUT}", "mediaType": "text/plain"}}
    context = {"items": {**inner, "card": {"ref": "agents://cards/echo"}}}
    file = await agents.files.write(ADMIN.id, b"Three trees.", name=f"plan {BREAKOUT}.txt")
    files, data = [agents.files.url(file.id)], {"trees": 3}
    arguments = {"agent": "echo", "text": "ask me", "context": context, "data": data, "files": files, "wait": False}
    sent = await house.app.neighbours.call_tool(ADMIN, "agents_send_task", arguments)
    first = sent["structuredContent"]["task_id"]
    page = await root.get(f"{ECHO}?again={first}")
    is_inert(page.html)
    assert "agents://cards/echo" in page.html.values("input", "value")
    fields = {**token, "again": first, "/text": "ask me once more", "/context/0": "agents://cards/echo"}
    kept = {name: "yes" for name in page.html.values("input", "name") if name.startswith("kept/")}
    assert len(kept) == 3
    whole = await first_message(root, agents, {**fields, **kept})
    assert [one.data for one in whole.parts if one.data is not UNSET] == [{"trees": 3}]
    assert [file_id_in(one) for one in whole.parts if one.url is not UNSET] == [file.id]
    restored = await agents.intake.with_contents(whole, ADMIN)
    items = as_object(as_object(restored.metadata)[PLAIN_KEY])["items"]
    assert items["note"]["content"] == inner["note"]["content"]
    assert "agents://cards/echo" in set(message_references(whole))
    bare = await first_message(root, agents, {**token, "again": first, "/text": "only this"})
    assert [one.text for one in bare.parts] == ["only this"]
    assert list(message_references(bare)) == []


async def first_message(browser: Browser, agents: Agents, fields: dict[str, str]) -> Message:
    sent = await browser.post(ECHO, fields)
    assert sent.status == 303, sent.html.text
    task = await agents.tasks.get(ADMIN, (sent.location or "").rpartition("/")[2])
    return task.history[0]


async def sent_by(house: House, **arguments: Any) -> dict[str, Any]:
    return (await house.app.neighbours.call_tool(ADMIN, "agents_send_task", arguments))["structuredContent"]


@pytest.mark.requirement("agents:console:waiting")
async def test_a_task_that_waits_for_an_approval_says_so_everywhere(house: House) -> None:
    root = await house.browser("root")
    sent = await sent_by(house, agent="payer", text="the harbour dues", wait=False)
    page = f"/console/agents/tasks/{sent['task_id']}"
    shown = await until(lambda: root.get(page), lambda found: "waits for an approval" in found.html.texts)
    is_inert(shown.html)
    paths = ("/console/agents", "/console/agents/tasks", "/console/agents/cards/payer")
    for one in (shown, *[await root.get(path) for path in paths]):
        assert "waits for an approval" in one.html.texts
    assert "waits for an answer" not in shown.html.text
    events = shown.html.text.partition("Events")[2].partition("The task as JSON")[0]
    assert "waits for an approval: " in events
    assert "input-required" not in events


@pytest.mark.requirement("agents:console:context")
async def test_context_is_shown_by_its_name_with_its_uri_beside_it(house: House) -> None:
    root = await house.browser("root")
    name, uri = f"The oak {BREAKOUT}", await an_object(house, f"The oak {BREAKOUT}")
    context = {"items": {"tree": {"ref": uri}, "agent": {"ref": "agents://cards/echo"}}}
    sent = await sent_by(house, agent="echo", text="Look at the tree", context=context)
    chat = f"{ECHO}/chat?{urlencode({'context': sent['context_id']})}"
    for path in (f"/console/agents/tasks/{sent['task_id']}", chat):
        page = (await root.get(path)).html
        is_inert(page)
        assert {name, "Echo"} <= set(page.texts), path
        assert {uri, "agents://cards/echo"} <= set(page.texts), "the URI is secondary text"
        assert uri.replace("openregister://objects", "/console/registers") in page.values("a", "href")
        assert "/console/agents/cards/echo" in page.values("a", "href")
    rita = await house.browser("rita")
    answer = await rita.post(ECHO, {"/text": "x", "csrf": await csrf_of(rita)})
    assert answer.status == 403


async def an_object(house: House, name: str) -> str:
    """The URI of a new object with this name."""
    body = {"slug": "tree", "title": "Tree", "properties": {"name": {"type": "string"}}}
    named = {**body, "configuration": {"objectNameField": "name"}}
    calls = house.app.neighbours
    schema = await calls.call_tool(ADMIN, "schemas", {"action": "create", "data": named})
    data = {"title": "Trees", "schemas": [schema["structuredContent"]["id"]]}
    register = (await calls.call_tool(ADMIN, "registers", {"action": "create", "data": data}))["structuredContent"][
        "id"
    ]
    place = {"register": register, "schema": data["schemas"][0]}
    made = await calls.call_tool(ADMIN, "objects", {"action": "create", **place, "data": {"name": name}})
    return f"openregister://objects/{place['register']}/{place['schema']}/{made['structuredContent']['id']}"


@pytest.mark.requirement("agents:console:paging")
async def test_a_long_conversation_is_read_to_its_beginning(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_pages, "_MOST_TASKS", 2)
    root = await house.browser("root")
    first = await sent_by(house, agent="echo", text="message 0")
    for number in range(1, 5):
        await sent_by(house, agent="echo", text=f"message {number}", context_id=first["context_id"])
    path: str | None = f"{ECHO}/chat?{urlencode({'context': first['context_id']})}"
    found: list[str] = []
    told: list[str] = []
    while path is not None:
        page = (await root.get(path)).html
        told.append(page.text)
        found = [text for text in page.texts if text.startswith("message ")] + found
        path = page_link(page, "next")
    assert list(dict.fromkeys(found)) == [f"message {number}" for number in range(5)]
    assert [" of 5 tasks of this conversation." in one for one in told] == [True] * 3
    assert ["Latest messages" in one for one in told] == [False, True, True]


@pytest.mark.requirement("agents:console:paging")
async def test_the_events_of_a_task_are_read_to_the_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_MAX_EVENTS", 2)
    root = await house.browser("root")
    sent = await sent_by(house, agent="echo", text="stream one two three four")
    agents: Agents = house.app.rooms[0].service
    total = (await agents.tasks.get(ADMIN, sent["task_id"])).seq
    assert total > 4
    path: str | None = f"/console/agents/tasks/{sent['task_id']}"
    found: list[str] = []
    while path is not None:
        page = (await root.get(path)).html
        assert f" of {total}" in page.text
        found += [text for text in page.texts if text.isdecimal()]
        path = page_link(page, "next")
    assert found == [str(number) for number in range(1, total + 1)]


def page_link(page: Read, rel: str) -> str | None:
    """Where the pager's link leads."""
    links = page.attributes
    found = [href for (_, _, href), (_, name, value) in pairwise(links) if (name, value) == ("rel", rel)]
    return found[0] if found else None
