"""The stories of README.md about registers, in a real browser."""

import pytest

from tests.browser.conftest import HOSTILE, NARROW, LogIn, ask
from tests.conformance.server import Served

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
LIST = "/console/registers/1/1"
OBJECTS = "/api/objects/1/1"


def make(server: Served, **data: object) -> str:
    return ask(server, "POST", OBJECTS, data)["id"]


@BOTH
@pytest.mark.requirement("console:registers:browse")
def test_objects_are_found_sorted_and_narrowed(log_in: LogIn, server: Served, scripts: bool) -> None:
    make(server, holder="Story dear", fee=100, state="open")
    make(server, holder="Story cheap", fee=10, state="closed")
    rita = log_in("rita", scripts=scripts)
    pages = rita.do(
        {"go": rita.url(LIST)},
        {"open": "Filter and columns"},
        {"choose": {"Property": "fee", "Condition": "gte"}},
        {"fill": {"Value": "10"}},
        {"press": "Apply"},
        {"click": "th a:text-is('Fee')"},
        {"wait": "th[aria-sort=ascending]"},
        {"click": ".facets a:text-is('closed')"},
        {"wait": ".facets .chosen"},
    )
    found, narrowed = pages[6], pages[8]
    assert "Fee is at least 10" in found["text"]
    assert found["text"].index("Story cheap") < found["text"].index("Story dear")
    assert "Story dear" not in narrowed["text"]
    assert "State is closed" in narrowed["text"]


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
    wanda = log_in("wanda", NARROW, scripts=scripts)
    *_, saved, gone = wanda.do(
        {"go": wanda.url(f'{LIST}?filter={{"state":"open"}}')},
        {"open": "Save as a view"},
        {"fill": {"Title": f"Open ones {HOSTILE}"}},
        {"press": "Save view"},
        {"wait": "h1:text('Open ones')"},
        {"open": "Delete it"},
        {"press": "Delete view"},
    )
    assert f"Open ones {HOSTILE}" in saved["text"]
    assert "Open ones" not in gone["text"]


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
        {"press": "Do it"},
        {"press": "Undo all of it"},
    )
    assert "Nothing is written yet. 3 objects would be changed." in pages[4]["text"]
    assert "Done: 3 objects." in pages[5]["text"]
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
