"""What holds for every main page: axe-core finds nothing serious, hostile data stays text, and it can be printed."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import HOSTILE, LARGE, NARROW, PAPER, WIDE, LogIn, ask
from tests.conformance.server import Served

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

SIZES = pytest.mark.parametrize("options", [WIDE, NARROW, LARGE], ids=["1440 light", "380 dark", "1920 dark"])
LIST = "/console/registers/1/1"
PAGES = (
    "/", "/console/style", "/console/search?q=permit", "/console/tools", "/console/tools/tool/objects",
    "/console/registers", "/console/registers/1", LIST, f"{LIST}?property=fee&op=gte&value=0", f"{LIST}/new",
    f"{LIST}/import", f"{LIST}/bulk", f"{LIST}/deleted", "/console/registers/schemas", "/console/registers/schemas/1",
    "/console/registers/schemas/1/edit", "/console/registers/views", "/console/directory", "/console/directory/new",
    "/console/directory/import", "/console/directory/compare", "/console/agents", "/console/agents/tasks",
    "/console/agents/cards/echo/chat", "/console/agents/approvals",
    "/console/admin", "/console/admin/users", "/console/audit", "/console/account", "/console/nowhere",
)  # fmt: skip


@SIZES
@pytest.mark.requirement("console:accessible")
def test_nothing_serious_is_found_by_axe(log_in: LogIn, axe: Path, server: Served, options: dict[str, Any]) -> None:
    uuid = ask(server, "POST", "/api/objects/1/1", {"holder": f"Seen {HOSTILE}", "fee": 1})["id"]
    ask(server, "PATCH", f"/api/objects/1/1/{uuid}", {"fee": 2})
    root = log_in("root", options)
    found: list[str] = []
    for path in (*PAGES, f"{LIST}/{uuid}", f"{LIST}/{uuid}/edit"):
        page, checked = root.do({"go": root.url(path)}, {"axe": str(axe)})
        found += [f"{path}: {one}" for one in checked["found"]]
        assert page["text"]
    assert found == []


@pytest.mark.requirement("console:escaping")
def test_hostile_data_stays_text_on_every_page(log_in: LogIn, server: Served) -> None:
    ask(server, "POST", "/api/objects/1/1", {"holder": HOSTILE, "fee": 1})
    root = log_in("root")
    titles = root.do(*(step for path in PAGES for step in ({"go": root.url(path)}, {"run": "() => document.title"})))
    assert [one["url"] for one in titles if one["found"] == "owned"] == []


@pytest.mark.requirement("console:style")
def test_a_printed_page_has_content_and_no_controls(log_in: LogIn) -> None:
    root = log_in("root", PAPER)
    shown = "(names) => names.map((one) => getComputedStyle(document.querySelector(one)).display)"
    names = "['body > header', 'main form', '.actions', 'main table']"
    *_, printed = root.do({"go": root.url(LIST)}, {"media": "print"}, {"run": f"() => ({shown})({names})"})
    assert printed["found"] == ["none", "none", "none", "table"]
    steps = [step for path in PAGES for step in ({"go": root.url(path)}, {"media": "print"})]
    *_, ground = root.do(*steps, {"run": "() => getComputedStyle(document.body).backgroundColor"})
    assert ground["found"] == "rgb(255, 255, 255)"
