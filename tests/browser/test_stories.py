"""The stories of README.md, in a real browser."""

import json
from pathlib import Path

import pytest

from tests.browser.conftest import HOSTILE, NARROW, OFFERED, USERS, Case, LogIn, ask, call, cases, record
from tests.conformance.server import Served, password_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
NEW = "/console/registers/1/1/new"


@pytest.mark.requirement("console:style")
def test_a_chart_is_drawn_over_the_picture_of_the_server(log_in: LogIn) -> None:
    *_, drawn = log_in("root").do(
        {"go": log_in("root").url("/console/style")},
        {"wait": ".interactive canvas"},
        {"run": "() => getComputedStyle(document.querySelector('.chart .plot')).display"},
    )
    assert drawn["found"] == "none"


@cases()
@pytest.mark.requirement("console:tools", "console:accessible", "console:stories")
def test_a_tool_is_tried_and_its_result_read(log_in: LogIn, axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    pages = person.do(
        {"go": person.url("/console/tools")},
        check,
        {"click": "main a:text-is('registers')"},
        {"choose": {"action": "list"}},
        {"press": "Run registers"},
        check,
    )
    tools, result = pages[0], pages[-1]
    assert ("agents_send_task" in tools["text"]) == (case.role != "reader"), (
        "a tool is listed if the visitor may use it"
    )
    assert f"City {HOSTILE}"[:40] in result["text"], "its name, which may be cut if there are many registers"
    assert "ms" in result["text"]
    assert "Link to this call" in result["text"]


@cases("reader")
@pytest.mark.requirement("console:rights", "console:tools", "console:stories")
def test_a_reader_runs_no_tool_that_writes(log_in: LogIn, case: Case) -> None:
    rita = log_in(USERS[case.role], case.options, scripts=case.scripts)
    writes, reads = "/console/tools/tool/agents_send_task", "/console/tools/tool/registers"
    lost, _, sent, _, refused = rita.do(
        {"go": rita.url(writes)},
        {"go": rita.url(reads)},
        {"post": {"url": rita.url(writes), "fields": {"/agent": "echo", "/text": HOSTILE}}},
        {"go": rita.url(reads)},
        {"post": {"url": rita.url(reads), "fields": {"/action": "create", "/data": '{"title": "Of a reader"}'}}},
    )
    assert lost["found"] == sent["found"] == 404
    assert "You have no tool 'agents_send_task'" in sent["text"]
    assert "registers:write" in refused["text"]


@BOTH
@pytest.mark.requirement("console:tools", "console:tools:copy")
def test_a_prompt_and_a_resource_are_read(log_in: LogIn, server: Served, scripts: bool) -> None:
    rita = log_in("rita", NARROW, scripts=scripts)
    cid = call(server, "agntcy_dir_push_record", record_json=record("example.org/read", "v1.0.0"))["cid"]
    pages = rita.do(
        {"go": rita.url("/console/tools?q=pull")},
        {"click": "main a:text-is('pull_record')"},
        {"fill": {"cid": cid}},
        {"press": "Show the prompt"},
        {"go": rita.url("/console/tools?q=record")},
        {"click": "main a:text-is('directory://records/{cid}')"},
        {"fill": {"cid": cid}},
        {"press": "Find"},
        {"click": f"main a:has-text('{cid}')"},
        {"wait": "dt:text-is('Took')"},
    )
    assert cid in pages[3]["text"]
    assert "prompts/get" in pages[3]["text"], "the call as other programs make it"
    assert "example.org/read" in pages[9]["text"]


@BOTH
@pytest.mark.requirement("console:forms:post")
def test_list_items_are_added_and_removed(log_in: LogIn, scripts: bool) -> None:
    wanda = log_in("wanda", NARROW, scripts=scripts)
    click = {"click": "button[name=add][value='/tags']"}
    *_, added = wanda.do(
        {"go": wanda.url(NEW)},
        {"fill": {"Holder": "Ada"}},
        click,
        {"wait": "[name='/tags/0']"},
        {"fill": {"Tags 1": "one"}},
        click,
        {"wait": "[name='/tags/1']"},
    )
    assert added["focus"] == "/tags/1", "the cursor is in the new field"
    values = "() => [...document.querySelectorAll('form.fields input:not([type=hidden])')].map((one) => one.value)"
    *_, typed = wanda.do(
        {"go": wanda.url(NEW)},
        {"fill": {"Holder": "Ada"}},
        click,
        {"wait": "[name='/tags/0']"},
        {"fill": {"Tags 1": "one"}},
        {"click": "button[name=remove][value='/tags/0']"},
        {"wait": "fieldset.list:not(:has(.item))"},
        *([{"run": values}] if scripts else [{"wait": "[name='/holder'][value='Ada']"}]),
    )
    assert not scripts or typed["found"][0] == "Ada", "what was typed is still there"


@cases("writer", "admin")
@pytest.mark.requirement("console:objects", "console:accessible", "console:stories")
def test_an_object_is_written_corrected_edited_and_deleted(log_in: LogIn, axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    pages = person.do(
        {"go": person.url("/console/registers/1/1")},
        {"click": "main a:text-is('New Permit')"},
        {"fill": {"Holder": "A", "Fee": "cheap"}},
        {"press": "Create"},
        check,
        {"fill": {"Holder": f"Ada {case.slug} {HOSTILE}", "Fee": "2.5"}},
        {"press": "Create"},
        check,
        {"click": "main a:text-is('Edit')"},
        {"fill": {"Fee": "3"}},
        {"press": "Save"},
        {"open": "Delete it"},
        {"press": "Delete"},
    )
    wrong, made, saved, gone = pages[3], pages[6], pages[10], pages[12]
    assert "Correct the marked fields." in wrong["text"]
    assert f"Ada {case.slug} {HOSTILE}" in made["text"]
    assert "2.5" in made["text"]
    assert "3" in saved["text"]
    assert gone["url"] == person.url("/console/registers/1/1")
    assert case.slug not in gone["text"]


@pytest.mark.requirement("console:objects")
def test_a_reference_is_found_while_typing(log_in: LogIn) -> None:
    wanda = log_in("wanda")
    wanda.do({"go": wanda.url(NEW)}, {"fill": {"Holder": "Findable"}}, {"press": "Create"})
    *_, offered = wanda.do(
        {"go": wanda.url(NEW)},
        {"click": "[name='/parent']"},
        {"type": "Findable"},
        {"present": "datalist:not(:has(option:nth-child(2))) option:text-is('Findable')"},
    )
    assert offered["focus"] == "/parent"


@cases("writer", "admin")
@pytest.mark.requirement("agents:console:chat", "console:accessible", "console:stories")
def test_somebody_talks_with_an_agent(log_in: LogIn, axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    pages = person.do(
        {"go": person.url("/console/agents")},
        {"click": "td a:text-is('Echo')"},
        {"click": "main a:text-is('Chat')"},
        {"fill": {"Your message": f"Hello {HOSTILE}"}},
        {"press": "Send"},
        {"fill": {"Your message": "And again"}},
        {"press": "Send"},
        check,
    )
    second = pages[6]
    assert f"Hello {HOSTILE}" in second["text"]
    assert second["text"].index("Hello") < second["text"].index("And again")


@cases("reader")
@pytest.mark.requirement("console:rights", "agents:console:chat", "console:accessible", "console:stories")
def test_a_reader_of_agents_is_told_why_they_cannot_send_anything(
    log_in: LogIn, server: Served, axe: Path, case: Case
) -> None:
    rita = log_in(USERS[case.role], case.options, scripts=case.scripts)
    task = call(server, "agents_send_task", agent="echo", text=f"Of root {HOSTILE}")["task_id"]
    card = "/console/agents/cards/echo"
    check = case.check(axe)
    pages = rita.do(
        {"go": rita.url("/console/agents")}, OFFERED, check, {"go": rita.url(card)}, OFFERED, check,
        {"go": rita.url(f"{card}/chat")}, OFFERED, check, {"go": rita.url("/console/agents/tasks")}, OFFERED, check,
        {"go": rita.url(f"/console/agents/tasks/{task}")},
    )  # fmt: skip
    agents, agent, chat, tasks = pages[0:12:3]
    assert "Echo" in agents["text"]
    assert "Register an agent" not in agents["text"]
    assert "Ask an administrator for agents:write." in agent["text"]
    assert "Ask an administrator for agents:write." in chat["text"]
    assert "Of root" not in tasks["text"], "another user's tasks are not listed"
    assert [one["found"] for one in pages[1:12:3]] == [[]] * 4
    assert pages[12]["found"] == 404
    rita.is_kept_out("/console/agents/register")
    rita.is_refused(
        (card, {"/text": "Hello"}), (f"{card}/chat", {"/text": "Hello"}), (f"{card}/active", {"do": "remove"}),
        ("/console/agents/register", {"url": "https://acme.example/card.json"}),
        (f"/console/agents/tasks/{task}/cancel", {}), (f"/console/agents/tasks/{task}/answer", {"/text": "Yes"}),
    )  # fmt: skip


@BOTH
@pytest.mark.requirement("agents:console:files", "agents:console:context")
def test_a_message_has_a_file_and_context_of_another_room(log_in: LogIn, server: Served, scripts: bool) -> None:
    name = f"harbour-{'with' if scripts else 'without'}"
    cid = call(server, "agntcy_dir_push_record", record_json=record(f"example.org/{name}", "v1.0.0"))["cid"]
    uri = f"directory://records/{cid}"
    wanda = log_in("wanda", scripts=scripts)
    options = f"datalist option[value='{uri}']"
    found = (
        ({"click": "[name='/context/0']"}, {"type": name}, {"present": options})
        if scripts
        else ({"fill": {"Context 1": name}}, {"press": "Send"}, {"present": options})
    )
    upload = {"upload": {"Files": {"name": "plan.txt", "text": "Three trees."}}}
    pages = wanda.do(
        {"go": wanda.url("/console/agents/cards/echo/chat")},
        {"fill": {"Your message": f"Look {HOSTILE}"}},
        {"open": "Files and context"},
        upload,
        {"click": "button[name=add][value='/context']"},
        {"wait": "[name='/context/0']"},
        *found,
        *([] if scripts else [upload]),  # a browser keeps no selected file when it loads another page
        {"fill": {"Context 1": uri}},
        {"press": "Send"},
        {"wait": ".chat a:text-is('plan.txt')"},
        {"click": ".chat a:text-is('Open the task')"},
        {"wait": "dt:text-is('Conversation')"},
    )
    assert f"Look {HOSTILE}" in pages[-2]["text"]
    assert uri in pages[-1]["text"]


@cases("writer", "admin")
@pytest.mark.requirement("agents:console:chat", "console:accessible", "console:stories")
def test_a_task_that_asks_is_answered_on_its_page(log_in: LogIn, axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    waiting, _, _, answered, _ = person.do(
        {"go": person.url("/console/agents/cards/echo")},
        {"fill": {"Your message": f"ask {HOSTILE}"}},
        {"press": "Send"},
        check,
        {"fill": {"Your answer": "Three trees."}},
        {"press": "Send answer"},
        check,
    )[2:]
    assert "waits for an answer" in waiting["text"]
    assert "completed" in answered["text"]
    assert "Three trees." in answered["text"]


@pytest.mark.requirement("console:live:events")
def test_the_page_of_a_task_follows_what_others_do(log_in: LogIn, server: Served) -> None:
    task = call(server, "agents_send_task", agent="echo", text="ask me")["task_id"]
    cancel = {"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": task}}
    basic = f"root:{password_of('root')}"
    root = log_in("root")
    *_, typed, after = root.do(
        {"go": root.url(f"/console/agents/tasks/{task}")},
        {"wait": "[data-events]"},
        {"request": {"method": "POST", "url": root.url("/agents/echo"), "basic": basic, "json": cancel}},
        {"wait": ".badge.bad:text-is('canceled')"},
        {"wait": "a:text-is('Try again')"},
    )
    assert "waits for an answer" not in typed["text"]
    assert "The task was canceled." in after["text"]


@pytest.mark.requirement("agents:console:trace")
def test_a_task_is_canceled_and_tried_again(log_in: LogIn) -> None:
    wanda = log_in("wanda", NARROW)
    pages = wanda.do(
        {"go": wanda.url("/console/agents/cards/echo")},
        {"fill": {"Your message": "ask again"}},
        {"press": "Send"},
        {"open": "Cancel"},
        {"press": "Cancel task"},
        {"click": "main a:text-is('Try again')"},
        {"wait": "h2:text-is('Send it a task')"},
        {"run": "() => document.querySelector('[name=\"/text\"]').value"},
    )
    assert "canceled" in pages[4]["text"]
    assert pages[7]["found"].strip() == "ask again"


@BOTH
@pytest.mark.requirement("agents:console:registry")
def test_a_remote_agent_is_registered_and_removed(log_in: LogIn, scripts: bool) -> None:
    wanda = log_in("wanda", scripts=scripts)
    name = f"Oak {'with' if scripts else 'without'} {HOSTILE}"
    card = {
        "schemaVersion": "1.0", "humanReadableId": f"acme/oak-{scripts}".lower(), "agentVersion": "1", "name": name,
        "description": "An agent elsewhere.", "url": "https://acme.example/a2a", "provider": {"name": "Acme"},
        "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "none"}],
    }  # fmt: skip
    *_, made, removed = wanda.do(
        {"go": wanda.url("/console/agents/register")},
        {"fill": {"Or the card as JSON": json.dumps(card)}},
        {"press": "Register"},
        {"open": "Remove"},
        {"press": "Remove agent"},
    )
    assert f"Oak {'with' if scripts else 'without'} {HOSTILE}" in made["text"]
    assert "This card was removed." in removed["text"]


@cases()
@pytest.mark.requirement("console:home", "console:accessible", "console:stories")
def test_the_search_at_the_top_finds_something_and_leads_to_it(
    log_in: LogIn, sought: str, axe: Path, case: Case
) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    begin = {"key": "/"} if case.scripts else {"focus": "header input[name=q]"}
    pages = person.do(
        {"go": person.url("/console/agents")},
        begin,
        {"type": "Sought"},
        {"submit": "Enter"},
        {"wait": "h1:text-is('Search')"},
        check,
        {"click": "td a:has-text('Sought')"},
        {"wait": "h1:has-text('Sought')"},
    )
    assert pages[1]["focus"] == "q"
    assert "/console/search?q=Sought" in pages[4]["url"]
    assert f"Sought {HOSTILE}" in pages[4]["text"]
    assert pages[-1]["url"].endswith(sought)


@pytest.fixture(scope="module")
def sought(server: Served) -> str:
    """An object to search for; returns its id."""
    return ask(server, "POST", "/api/objects/1/1", {"holder": f"Sought {HOSTILE}"})["id"]


@cases()
@pytest.mark.requirement("console:home:latest", "console:rights", "console:accessible", "console:stories")
def test_the_home_page_leads_to_what_happened_lately(log_in: LogIn, server: Served, axe: Path, case: Case) -> None:
    name = f"example.org/lately-{case.slug}"
    call(server, "agntcy_dir_push_record", record_json=record(name, "v1.0.0", description=HOSTILE))
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    home, _, _, opened = person.do(
        {"go": person.url("/")}, check, {"click": f"td a:text-is('{name} v1.0.0')"}, {"wait": "main h1"}
    )
    assert "A record was pushed" in home["text"]
    assert name in opened["text"]
    lines = home["text"].splitlines()
    for line in ("Administration", "Audit trail", "Calls"):
        assert any(line in one for one in lines) == (case.role == "admin"), line


@pytest.mark.requirement("console:home:latest", "console:live:events")
def test_the_home_page_shows_what_happens_and_keeps_the_chosen_tab(log_in: LogIn) -> None:
    rita = log_in("rita")
    made = {"holder": f"Home {HOSTILE}", "fee": 4712}
    basic = f"root:{password_of('root')}"
    *_, shown = rita.do(
        {"go": rita.url("/")},
        {"wait": "body[data-listening]"},
        {"click": "label[for=tab-cursor]"},
        {"request": {"method": "POST", "url": rita.url("/api/objects/1/1"), "basic": basic, "json": made}},
        {"wait": "td a:has-text('Home')"},
        {"run": "() => document.querySelector('.tabs input:checked').id"},
    )
    assert shown["found"] == "tab-cursor"
