"""The demo's permit reviewer: what it reads, whom it asks, what it files, and when it files nothing."""

import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pentad.kernel.errors import PentadError
from pentad.kernel.principal import Principal
from pentad.rooms.agents.interface import demo_permit_reviewer
from pentad.rooms.agents.interface.presentation import trace_json, trace_lines
from tests.jobs.working import TurnedClock
from tests.story.demo import ADA, FIGURES, OTTO, PERMIT, POOR_PERMIT, RULE, Demo, open_demo, text_of
from tests.waiting import until

pytestmark = pytest.mark.anyio

WEEK = 7 * 24 * 3600.0


@pytest.fixture(scope="module")
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture(scope="module")
async def demo(tmp_path_factory: pytest.TempPathFactory, clock: TurnedClock) -> AsyncIterator[Demo]:
    async with open_demo(tmp_path_factory.mktemp("story"), clock) as opened:
        yield opened


@pytest.mark.requirement("story:permit")
async def test_the_approver_sees_each_value_beside_the_quoted_rule(demo: Demo) -> None:
    approval = await demo.approval(await demo.review(PERMIT, RULE, FIGURES))

    assert approval.what == "TP-2026-014: fell a chestnut, Kirchgasse 12: to be granted"
    assert approval.details is not None
    assert approval.details["read"] == [PERMIT, RULE, FIGURES]
    checks = {one["point"]: one for one in approval.details["checks"]}
    assert {point: (one["value"], one["met"]) for point, one in checks.items()} == {
        "replacements": (2, True),
        "report_age_days": (40, True),
        "errorPercent": (checks["errorPercent"]["value"], True),
    }
    assert checks["replacements"]["rule"].startswith("The applicant must plant at least 2 young trees")
    assert "180 days" in checks["report_age_days"]["rule"]
    assert "10 percent" in checks["errorPercent"]["rule"]


@pytest.mark.requirement("story:permit")
async def test_a_decision_is_filed_with_its_sources_once_a_person_approves(demo: Demo) -> None:
    before = len(await demo.decisions())
    waiting = await demo.review(PERMIT, RULE, FIGURES)
    assert len(await demo.decisions()) == before
    done = await demo.decide(waiting, approve=True, reason="The trunk is hollow.")

    uri = text_of(done).removeprefix("TP-2026-014 is granted: ")
    filed = await demo.call("objects", action="get", register="tree-permits", schema="decision", id=uri.split("/")[-1])
    permit = await demo.call("objects", action="get", register="tree-permits", schema="tree-permit", id="TP-2026-014")
    assert (filed["permit"], filed["outcome"]) == (permit["id"], "granted")
    assert (filed["decided_by"], filed["reason"]) == (OTTO.id, "The trunk is hollow.")
    assert (filed["agent"], filed["task"]) == ("permit-reviewer", f"agents://tasks/{done.id}")
    assert filed["read"] == [PERMIT, RULE, FIGURES]
    for check in filed["checks"]:
        passage = await demo.app.neighbours.read(ADA, check["source"])
        assert check["rule"] in " ".join(str(passage[0].text).split())


@pytest.mark.requirement("story:permit")
async def test_a_rule_that_is_not_met_leads_to_a_refusal_that_names_it(demo: Demo) -> None:
    waiting = await demo.review(POOR_PERMIT, RULE, FIGURES)
    approval = await demo.approval(waiting)
    assert approval.what.endswith("to be refused")
    done = await demo.decide(waiting, approve=True)
    assert text_of(done).startswith("TP-2026-015 is refused: ")
    filed = (await demo.call("objects", action="get", register="tree-permits", schema="decision",
                             id=text_of(done).split("/")[-1]))  # fmt: skip
    assert {one["point"] for one in filed["checks"] if not one["met"]} == {"replacements"}


@pytest.mark.requirement("story:permit")
async def test_a_refused_recommendation_files_nothing_and_says_so(demo: Demo) -> None:
    before = len(await demo.decisions())
    done = await demo.decide(await demo.review(PERMIT, RULE, FIGURES), approve=False, reason="Ask the fire brigade.")
    assert (done.state, text_of(done)) == (
        "completed",
        "Nothing was filed about TP-2026-014: refused. Ask the fire brigade.",
    )
    assert len(await demo.decisions()) == before


@pytest.mark.requirement("story:permit")
async def test_a_recommendation_that_nobody_decides_expires_and_says_so(demo: Demo, clock: TurnedClock) -> None:
    before = len(await demo.decisions())
    waiting = await demo.review(PERMIT, RULE, FIGURES)
    clock.ahead = WEEK + 60
    try:
        done = await demo.ended(waiting)
    finally:
        clock.ahead = 0.0
    assert text_of(done) == "Nothing was filed about TP-2026-014: expired."
    assert len(await demo.decisions()) == before


@pytest.mark.requirement("story:permit")
async def test_an_avatar_without_a_rule_leads_to_no_recommendation(demo: Demo) -> None:
    done = await demo.review(PERMIT, "avatar://charles-babbage/passages/1", FIGURES)
    assert done.state == "completed"
    assert text_of(done).startswith("I recommend nothing about TP-2026-014: no rule or no value for ")


@pytest.mark.requirement("story:permit")
async def test_a_context_that_lacks_a_reference_is_rejected_by_what_is_missing(demo: Demo) -> None:
    lacking = await demo.review(PERMIT)
    assert lacking.state == "rejected"
    assert "a passage of the rules (avatar:) and the server's figures (metrics:)" in text_of(lacking)
    assert (await demo.review()).state == "rejected"
    other = await demo.review("openregister://registers", RULE, FIGURES)
    assert (other.state, text_of(other)) == (
        "rejected",
        "One of the references is not a permit, a passage of the rules, the server's figures.",
    )


@pytest.mark.requirement("story:permit")
async def test_it_reads_only_what_its_caller_may_read(demo: Demo) -> None:
    scopes = frozenset({"agents:read", "agents:write", "avatars:read", "metrics:read"})
    done = await demo.review(PERMIT, RULE, FIGURES, caller=Principal("jwt:lim", "lim", scopes))
    assert done.state == "failed"
    assert "registers" in text_of(done)


@pytest.mark.requirement("story:permit")
async def test_the_trace_names_all_that_it_did(demo: Demo) -> None:
    done = await demo.decide(await demo.review(PERMIT, RULE, FIGURES), approve=True)
    lines = list(trace_lines(trace_json(await demo.agents.tasks.trace(ADA, done.id))["task"]))
    kinds = sorted(" ".join(line.split()[:2]) for line in lines[1:])
    assert kinds == sorted(
        [f"read {uri}" for uri in (PERMIT, RULE, FIGURES)]
        + ["tool generate_response"] * 3
        + ["approval TP-2026-014:", "tool objects"]
    )


@pytest.mark.requirement("story:permit")
async def test_what_is_filed_after_a_restart_is_what_was_approved(tmp_path: Path) -> None:
    async with open_demo(tmp_path) as first:
        waiting = await first.review(PERMIT, RULE, FIGURES)
        approved = (await first.approval(waiting)).details
    async with open_demo(tmp_path) as second:
        await second.call("objects", action="patch", register="tree-permits", schema="tree-permit", id="TP-2026-014",
                          data={"replacements": 0})  # fmt: skip
        task = await until(lambda: second.agents.tasks.get(ADA, waiting.id), lambda one: one.state == "input-required")
        done = await second.decide(task, approve=True)
        filed = (await second.decisions())[0]
        assert filed["task"] == f"agents://tasks/{done.id}"
        assert approved is not None
        assert filed["checks"] == approved["checks"]


@pytest.mark.requirement("story:permit")
async def test_only_those_who_administer_the_registers_decide(demo: Demo) -> None:
    approval = await demo.approval(await demo.review(PERMIT, RULE, FIGURES))
    writer = Principal("jwt:wil", "wil", frozenset({"agents:read", "agents:write", "registers:write"}))
    with pytest.raises(PentadError):
        await demo.agents.tasks.approvals.decide(writer, approval.id, approve=True)


@pytest.mark.requirement("story:permit")
def test_the_agent_is_short() -> None:
    source = inspect.getsource(demo_permit_reviewer)
    assert len(source[source.index("class PermitReviewer") :].splitlines()) < 60
