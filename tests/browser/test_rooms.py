"""The stories of README.md that need all rooms: metrics, avatars, and an agent that reads them. At the demo, in a real
browser."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import NARROW, PAPER, WIDE, LogIn

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


@BOTH
@pytest.mark.requirement("metrics:pages")
def test_somebody_picks_a_time_and_the_heading_says_it(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo(scripts=scripts)
    first, week, own = admin.do(
        {"go": admin.url(METRIC)}, {"go": admin.url(f"{METRIC}?span=7d")},
        {"go": admin.url(f"{METRIC}?from=2026-01-01&to=2026-01-02")},
    )  # fmt: skip
    assert "The last hour" in first["text"], "the demo has just begun to record"
    assert "The last 7 days" in week["text"]
    assert "Coverage" in first["text"]
    assert "The last" not in own["text"]


@pytest.mark.requirement("console:style")
def test_a_printed_metric_has_no_controls_and_no_headings_of_them(at_demo: LogIn) -> None:
    admin = at_demo(PAPER)
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
    admin = at_demo()
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
    admin = at_demo()
    *_, explained, _, exported = admin.do(
        {"go": admin.url(METRIC)},
        {"click": "main a:text-is('Where it comes from')"},
        {"wait": "h2:text-is('Facts')"},
        {"go": admin.url("/console/metrics/host/export?format=csv")},
        {"wait": ".copied pre"},
    )
    assert "Values" in explained["text"]
    assert "cpu.percent" in exported["text"]


@BOTH
@pytest.mark.requirement("console:avatars")
def test_somebody_talks_with_an_avatar_and_sees_the_words_it_cites(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo(NARROW, scripts=scripts)
    *_, answered, _, second = admin.do(
        {"go": admin.url("/console/avatars/tree-office/chat")},
        {"fill": {"Ask Tree Office": QUESTION}},
        {"press": "Ask"},
        {"wait": "mark"},
        {"fill": {"Ask Tree Office": "And for a hedge?"}},
        {"press": "Ask"},
    )
    assert "Confidence" in answered["text"]
    assert second["text"].index(QUESTION) < second["text"].index("And for a hedge?")


@pytest.mark.requirement("console:avatars")
def test_a_cited_passage_and_its_source_are_browsed(at_demo: LogIn) -> None:
    admin = at_demo()
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
    admin = at_demo(scripts=scripts)
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


@BOTH
@pytest.mark.requirement("console:avatars:add")
def test_a_document_is_tried_added_and_cited(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo(NARROW, scripts=scripts)
    name = "hedges" if scripts else "meadows"
    text = f"# {name}\n\nThe {name} of Lindenallee are cut {'twice' if scripts else 'once'} a year by the town.\n"
    upload = {"upload": {"File": {"name": f"{name}.md", "text": text}}}
    page = {"go": admin.url("/console/avatars/tree-office/add")}
    pages = admin.do(
        page, upload, {"press": "Preview"}, page, upload, {"press": "Add"},
        {"go": admin.url(f"/console/avatars/tree-office?q=How+often+are+the+{name}+of+Lindenallee+cut%3F")},
    )  # fmt: skip
    assert "Nothing was stored" in pages[2]["text"]
    assert "1 passage can be cited." in pages[5]["text"]
    assert f"The {name} of Lindenallee are cut" in pages[6]["text"]


@BOTH
@pytest.mark.requirement("console:avatars:evaluate")
def test_an_avatar_is_evaluated_on_its_page(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo(scripts=scripts)
    *_, done, steps = admin.do(
        {"go": admin.url("/console/avatars/tree-office/evaluation")},
        {"press": "Evaluate"},
        {"wait": "dt:text-is('Generation')"},
        {"run": "() => [...document.querySelectorAll('.step')].map((one) => getComputedStyle(one).display)"},
    )
    assert "Evaluate again" in done["text"]
    assert set(steps["found"]) <= {"none"}, "steps make room for the result"


@BOTH
@pytest.mark.requirement("console:metrics:silence")
def test_an_alert_is_silenced_and_heard_again(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo(NARROW, scripts=scripts)
    first = "main table a"
    *_, silenced, _, heard = admin.do(
        {"go": admin.url("/console/metrics")},
        {"click": first},
        {"wait": "button:text-is('Silence')"},
        {"fill": {"Reason": "We know <b>that</b>."}},
        {"choose": {"For": "8h"}},
        {"press": "Silence"},
        {"wait": "h2:text-is('Silences')"},
        {"press": "End silence"},
        {"wait": "button:text-is('Silence')"},
    )
    assert "We know <b>that</b>." in silenced["text"]
    assert "We know <b>that</b>." not in heard["text"]


@BOTH
@pytest.mark.requirement("console:avatars")
def test_a_panel_shows_the_answer_and_sources_of_each_avatar(at_demo: LogIn, scripts: bool) -> None:
    admin = at_demo(scripts=scripts)
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
    admin = at_demo(WIDE if scripts else NARROW, scripts=scripts)
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
    admin = at_demo(WIDE if scripts else NARROW, scripts=scripts)
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


@SIZES
@pytest.mark.requirement("console:accessible", "metrics:pages")
def test_axe_finds_nothing_serious_in_metrics_and_avatars(at_demo: LogIn, axe: Path, options: dict[str, Any]) -> None:
    admin = at_demo(options)
    paths = ("/console/metrics", "/console/metrics/ch?span=14d", METRIC, f"{METRIC}?compare=yes&span=1h",
             f"{METRIC}/explain", "/console/metrics/ch/applications.production.vcoresUsed/items",
             "/console/metrics/host/export?format=csv", "/console/metrics/host/changes",
             "/console/avatars", f"/console/avatars/tree-office?q={QUESTION.replace(' ', '+')}",
             "/console/avatars/tree-office/chat", "/console/avatars/tree-office/evaluation",
             "/console/avatars/tree-office/feedback", "/console/avatars/tree-office/add",
             "/console/avatars/panel?q=Who+built+the+engine%3F")  # fmt: skip
    found: list[str] = []
    for path in paths:
        page, checked = admin.do({"go": admin.url(path)}, {"axe": str(axe)})
        assert page["found"] == 200, path
        found += [f"{path}: {one}" for one in checked["found"]]
    assert found == []
