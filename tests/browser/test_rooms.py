"""The stories of README.md that need all rooms: metrics, avatars, and an agent that reads them. At the demo, in a real
browser."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import HOSTILE, NARROW, OFFERED, PAPER, USERS, WIDE, Case, Demo, LogIn, call, cases
from tests.conformance.server import password_of

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

BOTH = pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
SIZES = pytest.mark.parametrize("options", [WIDE, NARROW], ids=["wide and light", "narrow and dark"])
QUESTION = "How many young trees must be planted for each felled tree?"
METRIC = "/console/metrics/host/cpu.percent"
REVIEWED = (
    "openregister://objects/tree-permits/tree-permit/TP-2026-014",
    "avatar://tree-office/passages/18",
    "metrics://pentad/default",
)


@cases()
@pytest.mark.requirement("metrics:pages", "console:accessible", "console:stories")
def test_somebody_picks_a_time_and_the_heading_says_it(at_demo: LogIn, axe: Path, case: Case) -> None:
    person = at_demo(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    rooms, first, week, own, *_ = person.do(
        {"go": person.url("/console/metrics")}, {"go": person.url(METRIC)}, {"go": person.url(f"{METRIC}?span=7d")},
        {"go": person.url(f"{METRIC}?from=2026-01-01&to=2026-01-02")}, check,
    )  # fmt: skip
    assert "Collectors" in rooms["text"]
    assert "The last hour" in first["text"], "the demo has just begun to record"
    assert "The last 7 days" in week["text"]
    assert "Coverage" in first["text"]
    assert "The last" not in own["text"]


@pytest.mark.requirement("console:style")
def test_a_printed_metric_has_no_controls_and_no_headings_of_them(at_demo: LogIn) -> None:
    admin = at_demo("root", PAPER)
    shown = (
        "(name) => [...document.querySelectorAll(name)].filter((one) => one.offsetParent).map((one) => one.innerText)"
    )
    *_, controls, headings = admin.do(
        {"go": admin.url("/console/metrics/ch/applications.production.vcoresUsed?span=14d")},
        {"media": "print"},
        {"run": f"() => ({shown})('main form, .facets, .actions')"},
        {"run": f"() => ({shown})('h2')"},
    )
    assert controls["found"] == []
    assert "Coverage" in headings["found"]
    assert "Silence" not in headings["found"]


@pytest.mark.requirement("console:charts")
def test_the_figures_under_the_pointer_are_shown_and_the_axis_is_the_span(at_demo: LogIn) -> None:
    admin = at_demo("root")
    *_, hovered, span = admin.do(
        {"go": admin.url(f"{METRIC}?span=24h")},
        {"wait": ".interactive canvas"},
        {"hover": ".interactive .u-over"},
        {"run": "() => [...document.querySelectorAll('.u-legend .u-value')].map((one) => one.textContent)"},
        {"run": "() => JSON.parse(document.querySelector('figure[data-chart]').dataset.chart).span"},
    )
    assert all(text for text in hovered["found"])
    assert 86_000 < span["found"][1] - span["found"][0] < 87_000


@pytest.mark.requirement("metrics:pages")
def test_somebody_asks_where_a_figure_comes_from_and_exports_it(at_demo: LogIn) -> None:
    admin = at_demo("root")
    *_, explained, _, exported = admin.do(
        {"go": admin.url(METRIC)},
        {"click": "main a:text-is('Where it comes from')"},
        {"wait": "h2:text-is('Facts')"},
        {"go": admin.url("/console/metrics/host/export?format=csv")},
        {"wait": ".copied pre"},
    )
    assert "Values" in explained["text"]
    assert "cpu.percent" in exported["text"]


@cases()
@pytest.mark.requirement("console:avatars", "console:accessible", "console:stories")
def test_somebody_talks_with_an_avatar_and_sees_the_words_it_cites(at_demo: LogIn, axe: Path, case: Case) -> None:
    person = at_demo(USERS[case.role], case.options, scripts=case.scripts)
    check = case.check(axe)
    pages = person.do(
        {"go": person.url("/console/avatars")},
        {"click": "main a:text-is('Tree Office')"},
        {"click": "main a:text-is('Chat')"},
        {"fill": {"Ask Tree Office": QUESTION}},
        {"press": "Ask"},
        {"wait": "mark"},
        {"fill": {"Ask Tree Office": f"And for a hedge? {HOSTILE}"}},
        {"press": "Ask"},
        check,
    )
    answered, second = pages[5], pages[7]
    assert "Confidence" in answered["text"]
    assert "Not helpful" in answered["text"], "everybody may rate an answer"
    assert second["text"].index(QUESTION) < second["text"].index(f"And for a hedge? {HOSTILE}")


@pytest.mark.requirement("console:avatars")
def test_a_cited_passage_and_its_source_are_browsed(at_demo: LogIn) -> None:
    admin = at_demo("root")
    pages = admin.do(
        {"go": admin.url(f"/console/avatars/tree-office?q={QUESTION.replace(' ', '+')}")},
        {"click": "aside .tags a"},
        {"wait": "h1:has-text('Passage')"},
        {"run": "() => document.querySelector('mark').textContent"},
        {"go": admin.url("/console/avatars/tree-office")},
        {"click": "table a"},
        {"wait": "dt:text-is('Hash of the file')"},
    )
    assert "for each felled tree" in pages[3]["found"]
    assert "passages" in pages[6]["text"]


@BOTH
@pytest.mark.requirement("console:avatars:feedback")
def test_an_answer_is_rated_and_the_rating_reviewed(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo("root", scripts=scripts)
    question = f"{QUESTION} {'With' if scripts else 'Without'} scripts"
    pages = admin.do(
        {"go": admin.url("/console/avatars/tree-office/chat")},
        {"fill": {"Ask Tree Office": question}},
        {"press": "Ask"},
        {"press": "Not helpful"},
        {"go": admin.url("/console/avatars/tree-office/feedback")},
        {"press": "Accept"},
    )
    thanked, waiting, done = pages[3], pages[4], pages[5]
    assert "Thank you." in thanked["text"]
    assert question in thanked["text"], "the conversation is still there"
    assert "not helpful" in waiting["text"]
    assert question in waiting["text"]
    assert question not in done["text"]


@cases("writer", "admin")
@pytest.mark.requirement("console:avatars:add", "console:accessible", "console:stories")
def test_a_document_is_tried_added_and_cited(at_demo: LogIn, axe: Path, case: Case) -> None:
    person = at_demo(USERS[case.role], case.options, scripts=case.scripts)
    name = f"{case.role}{case.options['viewport']['width']}{case.options['color_scheme']}"
    text = f"# {HOSTILE}\n\nThe hedges of {name} are cut {'twice' if case.scripts else 'once'} a year by the town.\n"
    upload = {"upload": {"File": {"name": f"{name}.md", "text": text}}}
    page = {"go": person.url("/console/avatars/tree-office/add")}
    pages = person.do(
        {"go": person.url("/console/avatars/tree-office")}, {"click": "main a:text-is('Add a document')"},
        upload, {"press": "Preview"}, page, upload, {"press": "Add"},
        {"go": person.url(f"/console/avatars/tree-office?q=How+often+are+the+hedges+of+{name}+cut%3F")},
        case.check(axe),
    )  # fmt: skip
    assert "Nothing was stored" in pages[3]["text"]
    assert "1 passage can be cited." in pages[6]["text"]
    assert f"The hedges of {name} are cut" in pages[7]["text"]


@cases("reader")
@pytest.mark.requirement("console:rights", "console:avatars:add", "console:accessible", "console:stories")
def test_a_reader_of_an_avatar_rates_an_answer_and_changes_nothing_else(at_demo: LogIn, axe: Path, case: Case) -> None:
    rita = at_demo(USERS[case.role], case.options, scripts=case.scripts)
    avatar = "/console/avatars/tree-office"
    check = case.check(axe)
    page, offered, evaluation, forms, *_ = rita.do(
        {"go": rita.url(avatar)}, OFFERED, {"go": rita.url(f"{avatar}/evaluation")}, OFFERED, check
    )
    assert "Add a document" not in page["text"]
    assert "Feedback" not in page["text"]
    assert "Evaluate now" not in evaluation["text"]
    assert offered["found"] == forms["found"] == []
    rita.is_kept_out(f"{avatar}/add", f"{avatar}/feedback")
    rita.is_refused(
        (f"{avatar}/add", {"uri": REVIEWED[0], "do": "add"}),
        (f"{avatar}/feedback", {"answer": "avatar://tree-office/answers/1", "do": "accept"}),
        (f"{avatar}/evaluation", {}),
    )
    *_, rated = rita.do(
        {"go": rita.url("/console/avatars/charles-babbage?q=Who+assembled+the+engine%3F")}, {"press": "Helpful"}
    )
    assert "Thank you." in rated["text"]


@BOTH
@pytest.mark.requirement("console:avatars:evaluate")
def test_an_avatar_is_evaluated_on_its_page(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo("root", scripts=scripts)
    *_, done, steps = admin.do(
        {"go": admin.url("/console/avatars/tree-office/evaluation")},
        {"press": "Evaluate"},
        {"wait": "dt:text-is('Generation')"},
        {"run": "() => [...document.querySelectorAll('.step')].map((one) => getComputedStyle(one).display)"},
    )
    assert "Evaluate again" in done["text"]
    assert set(steps["found"]) <= {"none"}, "steps make room for the result"


@cases("writer", "admin")
@pytest.mark.requirement("console:metrics:silence", "console:accessible", "console:stories")
def test_an_alert_is_silenced_and_heard_again(at_demo: LogIn, axe: Path, case: Case) -> None:
    person = at_demo(USERS[case.role], case.options, scripts=case.scripts)
    first = "main table a"
    *_, silenced, _, _, heard = person.do(
        {"go": person.url("/console/metrics")},
        {"click": first},
        {"wait": "button:text-is('Silence')"},
        {"fill": {"Reason": f"We know {HOSTILE}."}},
        {"choose": {"For": "8h"}},
        {"press": "Silence"},
        {"wait": "h2:text-is('Silences')"},
        case.check(axe),
        {"press": "End silence"},
        {"wait": "button:text-is('Silence')"},
    )
    assert f"We know {HOSTILE}." in silenced["text"]
    assert "We know" not in heard["text"]


@cases("reader")
@pytest.mark.requirement("console:rights", "console:metrics:silence", "console:accessible", "console:stories")
def test_a_reader_sees_alerts_and_silences_and_may_not_change_them(
    at_demo: LogIn, demo: Demo, axe: Path, case: Case
) -> None:
    rita = at_demo(USERS[case.role], case.options, scripts=case.scripts)
    made = call(demo, "silenceAlerts", collector="host", metricKey="cpu.percent", reason=f"Planned {HOSTILE}")
    check = case.check(axe)
    try:
        page, offered, _, alert, forms, *_ = rita.do(
            {"go": rita.url("/console/metrics")}, OFFERED, {"click": "main table a"},
            {"wait": "summary:text-is('Raised and cleared in the last 90 days')"}, OFFERED, check,
        )  # fmt: skip
        assert f"Planned {HOSTILE}" in page["text"]
        assert "Alerts" in alert["text"].splitlines()
        assert offered["found"] == forms["found"] == []
        rita.is_refused(
            (f"{METRIC}/silence", {"for": "2h", "reason": "Quiet"}),
            ("/console/metrics/silences", {"silence": made["silence"]["id"]}),
        )
        assert f"Planned {HOSTILE}" in rita.do({"go": rita.url("/console/metrics")})[0]["text"], "it is still in force"
    finally:
        call(demo, "silenceAlerts", end=made["silence"]["id"])


@BOTH
@pytest.mark.requirement("console:avatars")
def test_a_panel_shows_the_answer_and_sources_of_each_avatar(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo("root", scripts=scripts)
    *_, answered, marked = admin.do(
        {"go": admin.url("/console/avatars")},
        {"click": "a:text-is('Ask all of them')"},
        {"wait": "h1:text-is('Panel')"},
        {"fill": {"Ask all avatars": "What is a hospital?"}},
        {"press": "Ask"},
        {"run": "() => document.querySelectorAll('aside mark').length"},
    )
    assert "Florence Nightingale" in answered["text"]
    assert "No answer from" in answered["text"]
    assert marked["found"]


@BOTH
@pytest.mark.requirement("metrics:pages")
def test_somebody_goes_from_an_alert_to_the_past_and_to_what_the_metric_counts(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo("root", WIDE if scripts else NARROW, scripts=scripts)
    metric = "/console/metrics/ch/applications.production.vcoresUsed"
    *_, alert, _, compared, _, counted = admin.do(
        {"go": admin.url("/console/metrics")},
        {"click": "section table a"},
        {"wait": "summary:text-is('Raised and cleared in the last 90 days')"},
        {"go": admin.url(f"{metric}?span=7d")},
        {"click": "a:text-is('Compare with the previous 7 days')"},
        {"wait": "a:text-is('This period alone')"},
        {"click": "a:text-is('What it counts')"},
        {"wait": "h1:text-is('What it counts')"},
    )
    assert "limit of" in alert["text"]
    assert ", previous" in compared["text"]
    assert "Rows" in counted["text"]


@BOTH
@pytest.mark.requirement("agents:console:context", "agents:console:trace", "agents:approvals:console")
def test_a_task_with_context_of_three_rooms_is_approved_and_its_trace_read(
    at_demo: LogIn, axe: Path, scripts: bool
) -> None:
    admin = at_demo("root", WIDE if scripts else NARROW, scripts=scripts)
    add = {"click": "button[name=add][value='/context']"}
    added = [step for n in range(3) for step in (add, {"wait": f"[name='/context/{n}']"})]
    check = [{"axe": str(axe)}] if scripts else []
    pages = admin.do(
        {"go": admin.url("/console/agents/cards/permit-reviewer")},
        {"open": "Files and context"},
        *added,
        {"fill": {f"Context {n}": uri for n, uri in enumerate(REVIEWED, 1)}},
        {"press": "Send"},
        {"wait": "h2:text-is('The agent asks for your approval')"},
        *check,
        {"fill": {"Reason": "Two <b>limes</b> are planned."}},
        {"press": "Approve"},
        {"wait": ".note.good:text-is('Approved.')"},
        {"click": "dd a[href*='/tasks/']"},
        {"wait": "h2:text-is('What the agent did')"},
        {"wait": "td:has-text('tool objects')"},
        *check,
        {"click": "a:text-is('Full trace')"},
        {"wait": "td:has-text('registers')"},
        *check,
    )
    assert [one["found"] for one in pages if isinstance(one["found"], list)] == [[]] * len(check) * 3
    assert any("Two <b>limes</b> are planned." in one["text"] for one in pages)
    assert all(room in pages[-1]["text"] for room in ("agents", "avatars", "registers"))


@cases("writer")
@pytest.mark.requirement("agents:approvals:console", "console:rights", "console:stories")
def test_what_a_writer_asks_an_agent_is_approved_by_an_administrator(at_demo: LogIn, demo: Demo, case: Case) -> None:
    wanda, root, rita = (at_demo(name, case.options, scripts=case.scripts) for name in ("wanda", "root", "rita"))
    items = {f"item-{n}": {"ref": uri} for n, uri in enumerate(REVIEWED)}
    sent = call(demo, "agents_send_task", login=("wanda", password_of("wanda")), agent="permit-reviewer",
                text=f"Review {case} {HOSTILE}", context={"items": items}, seconds=30)  # fmt: skip
    task = wanda.url(f"/console/agents/tasks/{sent['task_id']}")
    waiting, _, asked, offered, where = wanda.do(
        {"go": task}, {"click": "a:text-is('See the approval')"}, {"wait": "dt:text-is('Approvers')"}, OFFERED,
        {"run": "() => location.pathname"},
    )  # fmt: skip
    assert "This task waits for" in waiting["text"]
    assert "This waits for a decision by registers:admin." in asked["text"]
    assert offered["found"] == []
    wanda.is_refused((where["found"], {"decision": "approve"}))
    assert rita.do({"go": rita.url(where["found"])})[0]["found"] == 404, "it is none of a reader's business"
    root.do(
        {"go": root.url("/")}, {"click": f"section a[href='{where['found']}']"}, {"press": "Approve"},
        {"wait": ".note.good:text-is('Approved.')"},
    )  # fmt: skip
    wanda.do({"go": task}, {"wait": "dd:has-text('completed')"})


@SIZES
@pytest.mark.requirement("console:accessible", "metrics:pages")
def test_axe_finds_nothing_serious_in_metrics_and_avatars(at_demo: LogIn, axe: Path, options: dict[str, Any]) -> None:
    admin = at_demo("root", options)
    paths = ("/console/metrics", "/console/metrics/ch?span=14d", METRIC, f"{METRIC}?compare=yes&span=1h",
             f"{METRIC}/explain", "/console/metrics/ch/applications.production.vcoresUsed/items",
             "/console/metrics/host/export?format=csv", "/console/metrics/host/changes",
             "/console/avatars", f"/console/avatars/tree-office?q={QUESTION.replace(' ', '+')}",
             "/console/avatars/tree-office/chat", "/console/avatars/tree-office/evaluation",
             "/console/avatars/tree-office/feedback", "/console/avatars/tree-office/add",
             "/console/avatars/panel?q=Who+built+the+engine%3F")  # fmt: skip
    for path in paths:
        page, _ = admin.do({"go": admin.url(path)}, {"axe": str(axe)})
        assert page["found"] == 200, path
