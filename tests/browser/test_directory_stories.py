"""The stories of README.md about the directory, in a real browser."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.browser.conftest import EVERYWHERE, HOSTILE, NARROW, LogIn, record

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


@EVERYWHERE
@pytest.mark.requirement("console:directory:browse")
def test_records_are_narrowed_by_a_facet(
    log_in: LogIn, two: Sequence[str], options: dict[str, Any], scripts: bool
) -> None:
    rita = log_in("rita", options, scripts=scripts)
    *_, narrowed = rita.do(
        {"go": rita.url(HOME)},
        {"wait": ".badge:text-is('2 versions')"},
        {"click": ".facets a"},
        {"wait": ".facets .chosen"},
    )
    assert "example.org/told" in narrowed["text"]


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


@BOTH
@pytest.mark.requirement("console:directory:fields")
def test_a_record_is_edited_by_its_fields(log_in: LogIn, two: Sequence[str], scripts: bool) -> None:
    root = log_in("root", NARROW, scripts=scripts)
    version = f"v{7 if scripts else 8}.0.0"
    added = {"wait": "input[name='/authors/1'], input[name='/authors/0']"}
    *_, saved = root.do(
        {"go": f"{two[0]}/edit"},
        {"fill": {"Version": version, "Description": f"By fields {HOSTILE}"}},
        {"click": "button[name=add][value='/authors']"},
        added,
        {"press": "Save as a new record"},
        {"wait": "dt:text-is('CID')"},
    )
    assert version in saved["text"]
    assert f"By fields {HOSTILE}" in saved["text"]


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
