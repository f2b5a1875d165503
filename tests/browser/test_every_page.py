"""What holds for every main page: axe-core finds nothing serious, hostile data stays text, and it can be printed."""

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import HOSTILE, LARGE, NARROW, PAPER, WIDE, LogIn, Person, ask, call, record
from tests.conformance.server import Served

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

SIZES = pytest.mark.parametrize("options", [WIDE, NARROW], ids=["1440 light", "380 dark"])
EVERYBODY = pytest.mark.parametrize(
    ("name", "options"),
    [
        ("root", WIDE),
        ("root", NARROW),
        ("wanda", {**WIDE, "color_scheme": "dark"}),
        ("rita", {**NARROW, "color_scheme": "light"}),
    ],
    ids=["admin 1440 light", "admin 380 dark", "writer 1440 dark", "reader 380 light"],
)
SEND = """async () => {
  const forms = [...document.querySelectorAll("main form[method=post]:not(:has(button.bad))")];
  const send = async (form) => {
    const answer = await fetch(form.action, { method: "post", body: new URLSearchParams(new FormData(form)) });
    return [form.action, answer.status];
  };
  return await Promise.all(forms.filter((one) => !one.action.includes("/account/")).map(send));
}"""
"""Sends each form of the page as it is; returns the statuses. Not those that delete something, or log the user out."""
LIST = "/console/registers/1/1"
PAGES = (
    "/", "/console/style", "/console/search?q=permit", "/console/tools", "/console/tools/tool/objects",
    "/console/registers", "/console/registers/1", LIST, f"{LIST}?property=fee&op=gte&value=0", f"{LIST}/new",
    f"{LIST}/import", f"{LIST}/bulk", f"{LIST}/deleted", "/console/registers/schemas", "/console/registers/schemas/1",
    "/console/registers/schemas/1/edit", "/console/registers/1/edit", "/console/registers/views",
    "/console/directory", "/console/directory/new",
    "/console/directory/import", "/console/directory/compare", "/console/agents", "/console/agents/tasks",
    "/console/agents/cards/echo", "/console/agents/cards/echo/chat", "/console/agents/register",
    "/console/agents/approvals", "/console/lineage",
    "/console/admin", "/console/admin/users", "/console/audit", "/console/account", "/console/nowhere",
)  # fmt: skip
FEW = ("/", "/console/style", LIST, "/console/directory", "/console/agents/cards/echo/chat")
"""Enough to see the effect of a wider window or paper."""


@pytest.fixture(scope="module")
def things(server: Served) -> Sequence[str]:
    """Pages about single things, all with hostile data: an object with a history, a record with another version, a
    task, and where it comes from."""
    uuid = ask(server, "POST", "/api/objects/1/1", {"holder": f"Seen {HOSTILE}", "fee": 1})["id"]
    ask(server, "PATCH", f"/api/objects/1/1/{uuid}", {"fee": 2})
    records = [
        call(server, "agntcy_dir_push_record", record_json=record("example.org/seen", version, description=HOSTILE))[
            "cid"
        ]
        for version in ("v1.0.0", "v2.0.0")
    ]
    task = call(server, "agents_send_task", agent="echo", text=f"Seen {HOSTILE}")["task_id"]
    return (
        f"{LIST}/{uuid}", f"{LIST}/{uuid}/edit", f"/console/directory/records/{records[0]}",
        f"/console/directory/records/{records[0]}/edit", f"/console/agents/tasks/{task}",
        f"/console/lineage?uri=agents://tasks/{task}",
    )  # fmt: skip


@EVERYBODY
@pytest.mark.requirement("console:accessible", "console:escaping")
def test_axe_finds_nothing_serious_and_hostile_data_stays_text(
    log_in: LogIn, axe: Path, things: Sequence[str], name: str, options: dict[str, Any]
) -> None:
    check(log_in(name, options), axe, (*PAGES, *things))


@pytest.mark.parametrize("name", ["rita", "wanda"], ids=["reader", "writer"])
@pytest.mark.requirement("console:rights")
def test_no_form_that_is_shown_is_refused(log_in: LogIn, things: Sequence[str], name: str) -> None:
    person = log_in(name)
    sent: list[tuple[str, int]] = []
    for path in (*PAGES, *things):
        *_, answers = person.do({"go": person.url(path)}, {"run": SEND})
        sent += answers["found"]
    assert sent
    assert [action for action, status in sent if status == HTTPStatus.FORBIDDEN] == []


@pytest.mark.requirement("console:accessible")
def test_axe_finds_nothing_serious_in_a_large_window(log_in: LogIn, axe: Path) -> None:
    check(log_in("root", LARGE), axe, FEW)


def check(person: Person, axe: Path, paths: Sequence[str]) -> None:
    for path in paths:
        page, title, _ = person.do({"go": person.url(path)}, {"run": "() => document.title"}, {"axe": str(axe)})
        assert page["text"]
        assert title["found"] != "owned", path


@SIZES
@pytest.mark.requirement("console:escaping")
def test_very_long_and_right_to_left_names_never_make_a_page_wider(
    log_in: LogIn, server: Served, options: dict[str, Any]
) -> None:
    long, other = "W" * 300, "\u0645\u0631\u062d\u0628\u0627 \u202e txt.exe"
    properties = {
        "holder": {"type": "string", "title": long, "description": long},
        "state": {"enum": [long, other], "facetable": True},
        "rows": {"type": "array", "items": {"type": "object"}},
    }
    body = {"title": f"{long} {len(options)}", "configuration": {"objectNameField": "holder"}, "properties": properties}
    schema = ask(server, "POST", "/api/schemas", body)["id"]
    register = ask(server, "POST", "/api/registers", {"title": other + long, "schemas": [schema]})["id"]
    place = f"{register}/{schema}"
    for name in (long, other, "name " * 2_000):
        made = ask(server, "POST", f"/api/objects/{place}", {"holder": name, "state": long, "rows": [{long: name}]})
    pages = (
        "", f"/{register}", f"/{place}", f"/{place}/bulk", f"/{place}/import", f"/{place}/{made['id']}",
        f"/{place}/{made['id']}/edit", f"/schemas/{schema}", f"/schemas/{schema}/edit", "/schemas/new",
    )  # fmt: skip
    root = log_in("root", options)
    root.do(*({"go": root.url(f"/console/registers{path}")} for path in pages), {"go": root.url("/")})


@pytest.mark.requirement("console:style")
def test_a_printed_page_has_content_and_no_controls(log_in: LogIn) -> None:
    root = log_in("root", PAPER)
    shown = "(names) => names.map((one) => getComputedStyle(document.querySelector(one)).display)"
    names = "['body > header', 'main form', '.actions', 'main table', 'main details']"
    *_, printed = root.do({"go": root.url(LIST)}, {"media": "print"}, {"run": f"() => ({shown})({names})"})
    assert printed["found"] == ["none", "none", "none", "table", "none"]
    for path in ("/console/audit", "/console/tools/tool/objects"):
        step = {"run": f"() => ({shown})(['main form'])"}
        *_, printed = root.do({"go": root.url(path)}, {"media": "print"}, step)
        assert printed["found"] == ["none"], path
    steps = [step for path in FEW for step in ({"go": root.url(path)}, {"media": "print"})]
    *_, ground = root.do(*steps, {"run": "() => getComputedStyle(document.body).backgroundColor"})
    assert ground["found"] == "rgb(255, 255, 255)"
