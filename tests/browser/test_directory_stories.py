"""The stories of README.md about the directory, in a real browser."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.browser.conftest import HOSTILE, NARROW, OFFERED, USERS, Case, LogIn, call, cases, record
from tests.conformance.server import Served, password_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
HOME = "/console/directory"
SERVER = {
    "name": "io.github.example/forecast",
    "description": f"Forecasts {HOSTILE}",
    "version": "1.2.0",
    "remotes": [{"type": "streamable-http", "url": "https://example.org/mcp"}],
}


@pytest.fixture(scope="module")
def two(log_in: LogIn) -> Sequence[str]:
    """Two versions of a record, saved by an administrator; returns their pages."""
    root = log_in("root", scripts=False)
    saved = [
        root.do(
            {"go": root.url(f"{HOME}/new")},
            {"press": "As JSON"},
            {"fill": {"Record": record("example.org/told", version, description=f"{version} {HOSTILE}")}},
            {"press": "Save as a new record"},
        )[-1]["url"]
        for version in ("v1.0.0", "v2.0.0")
    ]
    assert all("/records/" in one for one in saved), saved
    return saved


@cases()
@pytest.mark.requirement("console:directory:browse", "console:rights", "console:accessible", "console:stories")
def test_records_are_narrowed_by_a_facet_and_one_is_read(
    log_in: LogIn, two: Sequence[str], axe: Path, case: Case
) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    pages = person.do(
        {"go": person.url(f"{HOME}?q=told")},
        {"wait": ".badge:text-is('2 versions')"},
        {"click": ".facets a"},
        {"wait": ".facets .chosen"},
        check,
        {"click": ".cards a:has-text('example.org/told')"},
        {"wait": "dt:text-is('CID')"},
        check,
    )
    all_of_them, narrowed, opened = pages[0], pages[3], pages[-1]
    assert ("New record" in all_of_them["text"]) == (case.role != "reader")
    assert "example.org/told" in narrowed["text"]
    assert HOSTILE in opened["text"]
    assert ("Edit" in opened["text"].splitlines()) == (case.role != "reader")


@pytest.mark.requirement("console:directory:compare")
def test_two_versions_are_compared(log_in: LogIn, two: Sequence[str]) -> None:
    rita = log_in("rita")
    *_, shown = rita.do({"go": two[1]}, {"click": "main a:text-is('Compare')"}, {"wait": "td:text-is('changed')"})
    assert f"v1.0.0 {HOSTILE}" in shown["text"]
    assert f"v2.0.0 {HOSTILE}" in shown["text"]


@BOTH
@pytest.mark.requirement("console:directory:lineage")
def test_a_version_is_opened_from_the_graph_by_keyboard(log_in: LogIn, two: Sequence[str], scripts: bool) -> None:
    rita = log_in("rita", NARROW, scripts=scripts)
    *_, other = rita.do(
        {"go": two[1]},
        {"focus": ".graph a"},
        {"submit": "Enter"},
        {"wait": ".graph .current :text-is('v1.0.0')"},
    )
    assert other["url"] == two[0]


@pytest.mark.requirement("console:directory:edit")
def test_a_record_is_checked_while_somebody_types(log_in: LogIn, two: Sequence[str]) -> None:
    root = log_in("root")
    broken = record("example.org/told", "v3.0.0", authors="one person")
    *_, told = root.do(
        {"go": f"{two[0]}/edit"},
        {"press": "As JSON"},
        {"wait": "#check .note.good"},
        {"fill": {"Record": broken}},
        {"wait": "#check .note.bad"},
    )
    assert "authors" in told["text"]
    assert told["url"].endswith("/edit")


@cases("writer", "admin")
@pytest.mark.requirement("console:directory:fields", "console:accessible", "console:stories")
def test_a_record_is_edited_by_its_fields(log_in: LogIn, two: Sequence[str], axe: Path, case: Case) -> None:
    person = log_in(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    described = f"By fields, {case} {HOSTILE}"
    added = {"wait": "input[name='/authors/1'], input[name='/authors/0']"}
    *_, saved = person.do(
        {"go": two[0]},
        {"click": "main a:text-is('Edit')"},
        {"fill": {"Name": f"example.org/{case.slug}", "Description": described}},
        {"click": "button[name=add][value='/authors']"},
        added,
        check,
        {"press": "Save as a new record"},
        {"wait": "dt:text-is('CID')"},
    )
    assert f"example.org/{case.slug}" in saved["text"]
    assert described in saved["text"]


@cases("reader")
@pytest.mark.requirement("console:rights", "console:directory:edit", "console:accessible", "console:stories")
def test_a_reader_is_offered_no_change_of_the_directory(
    log_in: LogIn, two: Sequence[str], axe: Path, case: Case
) -> None:
    rita = log_in(USERS[case.role], case.options, scripts=case.scripts)
    path = two[0].removeprefix(rita.url(""))
    page, offered, _, _, forms = rita.do({"go": two[0]}, OFFERED, case.check(axe), {"go": rita.url(HOME)}, OFFERED)
    assert offered["found"] == forms["found"] == []
    assert "Approve, deprecate or withdraw it" not in page["text"]
    sent = {"record": record("example.org/of-a-reader", "v1.0.0"), "as": "json", "do": "save"}
    rita.is_kept_out(f"{HOME}/new", f"{HOME}/import", f"{path}/edit")
    rita.is_refused(
        (f"{HOME}/new", sent), (f"{path}/edit", sent), (f"{path}/state", {"state": "withdrawn"}),
        (f"{HOME}/import", {"text": json.dumps(SERVER), "do": "import"}),
    )  # fmt: skip


@cases("writer")
@pytest.mark.requirement("console:rights", "console:directory:states", "console:stories")
def test_a_writer_changes_the_state_of_their_own_records_only(
    log_in: LogIn, two: Sequence[str], server: Served, case: Case
) -> None:
    wanda = log_in(USERS[case.role], case.options, scripts=case.scripts)
    text = record(f"example.org/own-{case.slug}", "v1.0.0")
    own = call(server, "agntcy_dir_push_record", login=("wanda", password_of("wanda")), record_json=text)["cid"]
    foreign, offered, _, _, _, withdrawn = wanda.do(
        {"go": two[0]}, OFFERED,
        {"go": wanda.url(f"{HOME}/records/{own}")},
        {"open": "Approve, deprecate or withdraw it"},
        {"choose": {"New state": "withdrawn"}},
        {"press": "Change the state"},
    )  # fmt: skip
    assert offered["found"] == []
    assert "Approve, deprecate or withdraw it" not in foreign["text"]
    assert "withdrawn" in withdrawn["text"]
    wanda.is_refused((f"{two[0].removeprefix(wanda.url(''))}/state", {"state": "withdrawn"}))


@BOTH
@pytest.mark.requirement("console:directory:edit")
def test_what_is_certain_is_fixed_at_a_button(log_in: LogIn, two: Sequence[str], scripts: bool) -> None:
    root = log_in("root", NARROW, scripts=scripts)
    *_, fixed = root.do(
        {"go": f"{two[0]}/edit"},
        {"press": "As JSON"},
        {"fill": {"Record": record("example.org/told", "v3.0.0", authors="one person")}},
        {"press": "Apply safe fixes"},
    )
    assert "applied. Nothing is stored yet." in fixed["text"]


@BOTH
@pytest.mark.requirement("console:directory:import", "console:directory:install")
def test_a_server_is_imported_after_a_preview(log_in: LogIn, scripts: bool) -> None:
    root = log_in("root", scripts=scripts)
    server = {**SERVER, "name": f"io.github.example/forecast-{'with' if scripts else 'without'}"}
    pages = root.do(
        {"go": root.url(f"{HOME}/import")},
        {"upload": {"File": {"name": "server.json", "text": json.dumps(server)}}},
        {"press": "Preview"},
        {"press": "Import"},
    )
    assert "Nothing is stored yet. 1 record of 1 can be imported." in pages[2]["text"]
    assert "1 record imported." in pages[3]["text"]
    *_, installed = root.do(
        {"go": root.url(f"{HOME}?q={server['name']}")},
        {"click": f".cards a:has-text({json.dumps(server['name'])})"},
        {"wait": "dt:text-is('CID')"},
        {"open": "Install it"},
        {"click": "label:text-is('Cursor')"},
    )
    assert "https://example.org/mcp" in installed["text"]


@BOTH
@pytest.mark.requirement("console:directory:states")
def test_a_record_is_deprecated_and_approved_again(log_in: LogIn, two: Sequence[str], scripts: bool) -> None:
    root = log_in("root", scripts=scripts)
    pages = root.do(
        {"go": two[0]},
        {"open": "Approve, deprecate or withdraw it"},
        {"choose": {"New state": "deprecated"}},
        {"fill": {"Reason": f"Use v2 {HOSTILE}"}},
        {"press": "Change the state"},
        {"open": "Approve, deprecate or withdraw it"},
        {"choose": {"New state": "approved"}},
        {"press": "Change the state"},
    )
    assert f"Use v2 {HOSTILE}" in pages[4]["text"]
    assert "deprecated" in pages[4]["text"]
    assert "approved" in pages[7]["text"]
