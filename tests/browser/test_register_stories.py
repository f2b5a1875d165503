"""The stories of README.md about registers, in a real browser."""

import time
from pathlib import Path

import pytest

from tests.browser.conftest import HOSTILE, NARROW, OFFERED, USERS, WIDE, Case, LogIn, ask, cases
from tests.conformance.server import Served, password_of
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
LIST = "/console/registers/1/1"
OBJECTS = "/api/objects/1/1"


def make(server: Served, **data: object) -> str:
    return ask(server, "POST", OBJECTS, data)["id"]


@pytest.fixture(scope="module")
def priced(server: Served) -> None:
    """A dear and a cheap permit."""
    make(server, holder=f"Story dear {HOSTILE}", fee=31, state="open")
    make(server, holder=f"Story cheap {HOSTILE}", fee=30, state="closed")


@cases()
@pytest.mark.usefixtures("priced")
@pytest.mark.requirement("console:registers:browse", "console:rights", "console:accessible", "console:stories")
def test_objects_are_found_sorted_and_narrowed(log_in: LogIn, axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    pages = person.do(
        {"go": person.url("/console/registers")},
        {"go": person.url(LIST)},
        {"open": "Filter and columns"},
        {"choose": {"Property": "fee", "Condition": "gte"}},
        {"fill": {"Value": "30"}},
        {"press": "Apply"},
        {"click": "th a:text-is('Fee')"},
        {"wait": "th[aria-sort=ascending]"},
        check,
        {"click": ".facets a:text-is('closed')"},
        {"wait": ".facets .chosen"},
    )
    registers, whole, found, narrowed = pages[0], pages[1], pages[7], pages[-1]
    assert ("New register" in registers["text"]) == (case.role != "reader")
    assert ("New Permit" in whole["text"]) == (case.role != "reader")
    assert "Fee is at least 30" in found["text"]
    assert found["text"].index(f"Story cheap {HOSTILE}") < found["text"].index(f"Story dear {HOSTILE}")
    assert "Story dear" not in narrowed["text"]
    assert "State is closed" in narrowed["text"]


@pytest.mark.requirement("console:live:events")
def test_a_row_appears_by_itself_and_what_was_typed_stays(log_in: LogIn, server: Served) -> None:
    rita = log_in("rita")
    made = {"method": "POST", "url": rita.url(OBJECTS), "json": {"holder": f"Live {HOSTILE}", "fee": 4711}}
    *_, shown = rita.do(
        {"go": rita.url(f'{LIST}?filter={{"fee":4711}}')},
        {"fill": {"Search Permit": "half typed"}},
        {"wait": "body[data-listening]"},
        {"request": {**made, "basic": f"root:{password_of('root')}"}},
        {"wait": "td a:has-text('Live')"},
        {"run": "() => document.querySelector('main input[name=q]').value"},
    )
    assert shown["found"] == "half typed"


@pytest.mark.requirement("console:live:events")
def test_a_page_that_listens_late_shows_what_happened_meanwhile(log_in: LogIn) -> None:
    rita = log_in("rita")
    made = {"method": "POST", "url": rita.url(OBJECTS), "basic": f"root:{password_of('root')}"}
    look = "() => { Object.defineProperty(document, 'hidden', { value: %s, configurable: true }); %s }"
    switch = "document.dispatchEvent(new Event('visibilitychange'))"
    rita.do(
        {"go": rita.url(f'{LIST}?filter={{"fee":4712}}')},
        {"wait": "body[data-listening]"},
        {"request": {**made, "json": {"holder": "Live early", "fee": 4712}}},
        {"wait": "td a:has-text('Live early')"},
        {"run": look % ("true", switch)},
        {"request": {**made, "json": {"holder": "Live late", "fee": 4712}}},
        {"run": look % ("false", switch)},
        {"wait": "td a:has-text('Live late')"},
        {"request": {**made, "json": {"holder": "Live again", "fee": 4712}}},
        {"wait": "td a:has-text('Live again')"},
    )


@pytest.mark.requirement("console:live:events", "console:registers:history")
def test_a_change_that_appears_by_itself_is_undone(log_in: LogIn, server: Served) -> None:
    uuid = make(server, holder="Story moving", fee=1)
    root = log_in("root")
    change = {"method": "PATCH", "url": root.url(f"{OBJECTS}/{uuid}"), "json": {"fee": 2}}
    *_, undone = root.do(
        {"go": root.url(f"{LIST}/{uuid}")},
        {"wait": "body[data-listening]"},
        {"request": {**change, "basic": f"root:{password_of('root')}"}},
        {"wait": ".timeline a:text-is('Version 2: changed')"},
        {"press": "Undo this change"},
    )
    assert "Version 3" in undone["text"]


@BOTH
@pytest.mark.requirement("console:registers:past")
def test_a_slider_shows_an_object_as_it_was(log_in: LogIn, server: Served, scripts: bool) -> None:
    uuid = make(server, holder="Story slider", fee=1)
    created = time.time()
    wait_until(lambda: time.time() > created + 2, "time goes on")
    ask(server, "PATCH", f"{OBJECTS}/{uuid}", {"fee": 222})
    rita = log_in("rita", NARROW, scripts=scripts)
    moving = ({"click": "main input[type=range]"}, {"key": "Home"})
    shown = () if scripts else ({"press": "Show"},)
    *_, past = rita.do(
        {"go": rita.url(f"{LIST}/{uuid}")}, *moving, *shown, {"wait": "p.note:has-text('version 1')"}
    )  # fmt: skip
    assert "222" not in past["text"].partition("History")[0]


@pytest.mark.requirement("console:registers:browse")
def test_a_list_is_exported(log_in: LogIn, server: Served) -> None:
    make(server, holder="Story exported", fee=77)
    rita = log_in("rita")
    fetched = "async () => await (await fetch(document.querySelector('a[href*=\"format=csv\"]').href)).text()"
    *_, csv = rita.do({"go": rita.url(f'{LIST}?filter={{"fee":77}}')}, {"run": fetched})
    assert "Story exported" in csv["found"]


@BOTH
@pytest.mark.requirement("console:registers:views")
def test_a_list_is_saved_as_a_view(log_in: LogIn, scripts: bool) -> None:
    person = log_in("wanda" if scripts else "rita", NARROW, scripts=scripts)
    *_, saved, gone = person.do(
        {"go": person.url(f'{LIST}?filter={{"state":"open"}}')},
        {"open": "Save as a view"},
        {"fill": {"Title": f"Open ones {HOSTILE}"}},
        {"press": "Save view"},
        {"wait": "h1:text('Open ones')"},
        {"open": "Delete it"},
        {"press": "Delete view"},
    )
    assert f"Open ones {HOSTILE}" in saved["text"]
    assert "Open ones" not in gone["text"]


@pytest.mark.requirement("console:live")
def test_a_list_is_refreshed_without_scripts_and_keeps_what_was_typed(log_in: LogIn, server: Served) -> None:
    rita = log_in("rita", NARROW, scripts=False)
    rita.do({"go": rita.url(LIST)})
    make(server, holder="Story meanwhile", fee=88)
    *_, again = rita.do(
        {"go": rita.url(f'{LIST}?filter={{"fee":88}}')},
        {"open": "Save as a view"},
        {"fill": {"Title": "Half typed"}},
        {"click": "main .buttons button[name=refresh]"},
        {"present": "input[name=title][value='Half typed']"},
    )
    assert "Story meanwhile" in again["text"]


@BOTH
@pytest.mark.requirement("console:registers:definitions")
def test_a_schema_and_a_register_are_made_and_filled(log_in: LogIn, scripts: bool) -> None:
    wanda = log_in("wanda", WIDE if scripts else NARROW, scripts=scripts)
    title = f"Trees {'with' if scripts else 'without'} {HOSTILE}"
    pages = wanda.do(
        {"go": wanda.url("/console/registers")},
        {"click": "main a:text-is('New register')"},
        {"fill": {"Title": title}},
        {"press": "Create register"},
        {"run": "() => location.pathname.split('/').pop()"},
    )
    register = pages[-1]["found"]
    *_, made, shown = wanda.do(
        {"go": wanda.url("/console/registers/schemas/new")},
        {"fill": {"Title": "Tree", "Register": register, "Name": "species"}},
        {"choose": {"Type": "string"}},
        {"press": "Create schema"},
        {"click": "td a:text-is('Tree')"},
        {"click": "main a:text-is('New Tree')"},
        {"fill": {"Species": "Quercus robur"}},
        {"press": "Create"},
        {"wait": "dd:text-is('Quercus robur')"},
    )
    assert title in pages[3]["text"]
    assert "Quercus robur" in made["text"]
    assert "Version 1: created" in shown["text"]


@BOTH
@pytest.mark.requirement("console:registers:definitions")
def test_a_register_is_edited_and_deleted(log_in: LogIn, scripts: bool) -> None:
    wanda = log_in("wanda", NARROW if scripts else WIDE, scripts=scripts)
    title = f"Renamed {HOSTILE}"
    pages = wanda.do(
        {"go": wanda.url("/console/registers/new")},
        {"fill": {"Title": "To be renamed"}},
        {"press": "Create register"},
        {"click": "main a:text-is('Edit register')"},
        {"fill": {"Title": title, "Description": "For a while"}},
        {"press": "Save"},
        {"click": "main a:text-is('Edit register')"},
        {"open": "Delete it"},
        {"press": "Delete register"},
    )
    assert title in pages[5]["text"]
    assert "For a while" in pages[5]["text"]
    assert pages[8]["url"] == wanda.url("/console/registers")
    assert title not in pages[8]["text"]


@BOTH
@pytest.mark.requirement("console:registers:bulk")
def test_many_objects_are_changed_and_it_is_undone(log_in: LogIn, server: Served, scripts: bool) -> None:
    fee = 5000 if scripts else 6000
    for number in range(3):
        make(server, holder=f"Story many {number}", fee=fee)
    root = log_in("root", scripts=scripts)
    pages = root.do(
        {"go": root.url(f'{LIST}?filter={{"fee":{fee}}}')},
        {"click": "main a:text-is('Change all of these')"},
        {"wait": "h1:text('Change Permit')"},
        {"choose": {"State": "closed"}},
        {"press": "Preview"},
        {"press": "Change 3 objects"},
        {"press": "Undo all of it"},
    )
    assert "Nothing is written yet. 3 objects would be changed." in pages[4]["text"]
    assert "Done: 3 objects changed." in pages[5]["text"]
    assert "It was undone." in pages[6]["text"]


@BOTH
@pytest.mark.requirement("console:registers:import")
def test_a_file_is_previewed_imported_and_undone(log_in: LogIn, scripts: bool) -> None:
    wanda = log_in("wanda", NARROW, scripts=scripts)
    name = f"Filed {'with' if scripts else 'without'} {HOSTILE}".replace('"', "'")
    file = {"name": "rows.csv", "text": f'holder,fee\n"{name}",1\nX,cheap\n'}
    pages = wanda.do(
        {"go": wanda.url(f"{LIST}/import")},
        {"upload": {"File": file}},
        {"press": "Preview"},
        {"check": "Import the good rows even if others are bad"},
        {"press": "Import"},
        {"press": "Undo the import"},
    )
    assert "1 row cannot be imported" in pages[2]["text"]
    assert "cheap" in pages[2]["text"]
    assert "Imported: 1 object written." in pages[4]["text"]
    assert "It was undone." in pages[5]["text"]


@BOTH
@pytest.mark.requirement("console:registers:schema")
def test_a_schema_is_changed_after_a_preview(log_in: LogIn, server: Served, scripts: bool) -> None:
    slug = f"story-{'with' if scripts else 'without'}"
    schema = {"slug": slug, "title": "Story", "properties": {"fee": {"type": "number"}, "old": {"type": "string"}}}
    made = ask(server, "POST", "/api/schemas", schema)
    root = log_in("root", scripts=scripts)
    path = f"/console/registers/schemas/{made['id']}"
    pages = root.do(
        {"go": root.url(path)},
        {"click": "main a:text-is('Change it')"},
        {"wait": "[name='/operations/0/property']"},
        {"choose": {"What to do": "rename"}},
        {"fill": {"Property": "fee", "New name": "amount"}},
        {"press": "Preview"},
        {"press": "Change the schema"},
    )
    assert "fee: renamed to amount" in pages[5]["text"]
    assert pages[6]["url"] == root.url(path)
    assert "amount" in pages[6]["text"]


@BOTH
@pytest.mark.requirement("console:registers:history")
def test_somebody_goes_back_in_the_history(log_in: LogIn, server: Served, scripts: bool) -> None:
    uuid = make(server, holder="Story past", fee=1)
    ask(server, "PATCH", f"{OBJECTS}/{uuid}", {"fee": 2})
    root = log_in("root", scripts=scripts)
    pages = root.do(
        {"go": root.url(f"{LIST}/{uuid}")},
        {"click": ".timeline a:text-is('Version 1: created')"},
        {"wait": "p:text('This is the object as of')"},
        {"go": root.url(f"{LIST}/{uuid}")},
        {"press": "Go back to version 1"},
        {"press": "Undo this change"},
    )
    assert "version 1" in pages[2]["text"]
    assert "Version 3: set back" in pages[4]["text"]
    assert "Version 4" in pages[5]["text"]


@BOTH
@pytest.mark.requirement("console:registers:files")
def test_a_file_is_attached_and_deleted_after_a_question(log_in: LogIn, server: Served, scripts: bool) -> None:
    uuid = make(server, holder="Story with files")
    root = log_in("root", NARROW, scripts=scripts)
    pages = root.do(
        {"go": root.url(f"{LIST}/{uuid}")},
        {"open": "Attach a file"},
        {"upload": {"File": {"name": "letter.txt", "text": "Dear all"}}},
        {"press": "Attach"},
        {"open": "Delete a file"},
        {"press": "Delete file"},
        {"press": "Yes, do it"},
    )
    assert "letter.txt" in pages[3]["text"]
    assert "Are you sure?" in pages[5]["text"]
    assert "letter.txt" not in pages[6]["text"]


@BOTH
@pytest.mark.requirement("console:objects:conflict")
def test_an_edit_after_somebody_elses_loses_nothing(log_in: LogIn, server: Served, scripts: bool) -> None:
    uuid = make(server, holder="Story conflict", fee=1, state="open")
    root = log_in("root", scripts=scripts)
    change = {"method": "PATCH", "url": root.url(f"{OBJECTS}/{uuid}"), "json": {"state": "closed"}}
    pages = root.do(
        {"go": root.url(f"{LIST}/{uuid}/edit")},
        {"fill": {"Fee": "42"}},
        {"request": {**change, "basic": f"root:{password_of('root')}"}},
        {"press": "Save"},
        {"press": "Save"},
    )
    assert "Somebody changed this object while you edited it." in pages[3]["text"]
    assert "closed" in pages[3]["text"]
    assert "42" in pages[4]["text"]
    assert "closed" in pages[4]["text"], "what somebody else wrote is kept"


@pytest.mark.requirement("console:registers:browse")
def test_a_deleted_object_is_restored(log_in: LogIn, server: Served) -> None:
    uuid = make(server, holder="Story restored")
    ask(server, "DELETE", f"{OBJECTS}/{uuid}")
    root = log_in("root", NARROW)
    *_, restored = root.do(
        {"go": root.url(f"{LIST}/deleted")}, {"choose": {"Object": uuid}}, {"press": "Restore"},
    )  # fmt: skip
    assert restored["url"] == root.url(f"{LIST}/{uuid}")


@cases("reader")
@pytest.mark.requirement("console:rights", "console:accessible", "console:stories")
def test_a_reader_is_offered_no_change_of_a_register(log_in: LogIn, server: Served, axe: Path, case: Case) -> None:
    uuid = make(server, holder=f"Story to read {HOSTILE}")
    rita = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    paths = ("/console/registers", "/console/registers/1", LIST, f"{LIST}/{uuid}", "/console/registers/schemas/1")
    for path in paths:
        page, offered, _ = rita.do({"go": rita.url(path)}, OFFERED, check)
        assert page["found"] == 200
        assert [one for one in offered["found"] if not one.endswith("/views")] == [], path
        for word in (
            "Edit",
            "Edit register",
            "Delete it",
            "Attach a file",
            "Undo",
            "Import",
            "Change it",
            "New Permit",
        ):
            assert word not in page["text"].splitlines(), (path, word)
    schema = "/console/registers/schemas/1"
    rita.is_kept_out(
        f"{LIST}/new", f"{LIST}/import", f"{LIST}/bulk", f"{LIST}/{uuid}/edit", "/console/registers/new",
        "/console/registers/1/edit", "/console/registers/schemas/new", f"{schema}/edit",
    )  # fmt: skip
    rita.is_refused(
        (f"{LIST}/new", {"/holder": "Of a reader"}),
        (f"{LIST}/{uuid}/edit", {"/holder": "Of a reader", "version": "1"}),
        (f"{LIST}/{uuid}/delete", {"version": "1"}),
        (f"{LIST}/{uuid}/revert", {"to": "1"}),
        (f"{LIST}/import", {"kept": "aG9sZGVyCkFkYQo=", "name:file": "rows.csv", "do": "import"}),
        ("/console/registers/new", {"title": "Of a reader"}),
        ("/console/registers/1/delete", {}),
    )
    *_, still = rita.do({"go": rita.url(f"{LIST}/{uuid}")})
    assert "Version 2" not in still["text"]
