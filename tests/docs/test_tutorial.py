"""The tutorial shows what the demo really answers: each of its calls is made over /mcp, as the demo's user."""

import asyncio
import base64
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.clients import SESSION, Client
from tests.behaviour.connecting import connect_http
from tests.cli.processes import run
from tests.docs.test_agents_page import Steady
from tests.docs.touring import MARK, ROOT, filled
from tests.http.browsing import PASSWORD
from tests.story.demo import AGENT, FIGURES, PERMIT, RULE, Demo, open_demo

PAGE = ROOT / "docs" / "tutorial.md"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
Shorten = Callable[[Any], Any]


@dataclass(frozen=True)
class Step:
    """A call of a tool, or without one the reading of a resource. `keep` are the values that later steps use as
    `$name`, by the way to them."""

    shorten: Shorten
    tool: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    uri: str = ""
    hidden: dict[str, Any] = field(default_factory=dict[str, Any])
    """More arguments that the page does not show."""
    keep: dict[str, tuple[str | int, ...]] = field(default_factory=dict[str, tuple[str | int, ...]])


def members(*names: str) -> Shorten:
    return lambda value: {name: value[name] for name in names}


def first_hit(answer: Any) -> Any:
    return members("uri", "title", "snippet")(answer["groups"][0]["hits"][0])


def calls(trace: Any) -> Any:
    assert re.fullmatch("[0-9a-f]{32}", trace["trace_id"])
    return {"trace_id": TRACE_ID, "calls": [members("kind", "name")(one) for one in trace["task"]["calls"]]}


def origins(answer: Any) -> Any:
    """The things nearest to the decision, in short; numbers of changes are left out."""
    assert (answer["hidden"], answer["incomplete"]) == (0, [])
    things = [one for one in answer["things"][1:8] if one["type"] != "call"]
    return [{name: one[name] for name in ("type", "label", "uri") if name in one} for one in things]


def figure(answer: Any) -> Any:
    assert isinstance(answer["metrics"]["calls"]["total"], int)
    return {"collector": answer["collector"], "metrics": {"calls": {"total": 57}}}


def search(query: str, kind: str, name: str) -> Step:
    hit = ("groups", 0, "hits", 0, "uri")
    return Step(first_hit, "search", {"query": query, "kinds": [kind]}, keep={name: hit})


PLACE = {"register": "tree-permits", "schema": "decision"}
TOUR = {
    "find": search("agent that can review a permit", "agent", "agent"),
    "card": Step(members("name", "description", "url", "skills"), uri="$agent"),
    "permit": search("permit TP-2026-015 willow Am Hafen", "object", "permit"),
    "rule": search("how many young trees must the applicant plant", "passage", "rule"),
    "send": Step(
        members("task_id", "state", "text", "waiting_for", "resource"),
        "agents_send_task",
        {
            "agent": AGENT,
            "text": "Review permit TP-2026-015, please.",
            "context": {"items": {"permit": {"ref": "$permit"}, "rule": {"ref": "$rule"}, "load": {"ref": FIGURES}}},
        },
        keep={"task": ("task_id",), "resource": ("resource",)},
    ),
    "approval": Step(
        lambda answer: members("id", "what", "by", "may_decide", "details")(answer["approvals"][0]),
        "agents_approvals",
        keep={"approval": ("approvals", 0, "id")},
    ),
    "decide": Step(
        lambda answer: members("state", "decided_by", "reason")(answer["approvals"][0]),
        "agents_approvals",
        {"approval_id": "$approval", "decision": "approve", "reason": "Shade is no reason."},
    ),
    "done": Step(
        members("state", "text"),
        "agents_get_task",
        {"task_id": "$task"},
        hidden={"seconds": 30},
        keep={"text": ("text",)},
    ),
    "decision": Step(
        members("permit", "outcome", "decided_by", "reason", "agent", "task", "read"),
        "objects",
        {"action": "get", **PLACE, "id": "$decision"},
    ),
    "history": Step(
        lambda answer: [members("action", "version", "principal", "reason")(one) for one in answer["results"]],
        "objects",
        {"action": "history", **PLACE, "id": "$decision"},
    ),
    "lineage": Step(origins, "lineage", {"uri": "$text"}),
    "trace": Step(calls, uri="$resource/trace"),
    "figures": Step(figure, "getPlatformMetricByKey", {"collector": "pentad", "metricKey": "calls.total"}),
}  # fmt: skip


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[Demo]:
    async with open_demo(tmp_path / "data") as demo:
        yield demo


async def answer(client: Client, step: Step, known: dict[str, Any]) -> tuple[Any, Any]:
    """What a step asks, and the whole answer."""
    if step.tool is None:
        params = {"uri": re.sub(r"\$(\w+)", lambda found: known[found[1]], step.uri)}
        reply = await client.request("resources/read", params)
        return {"resource": params["uri"]}, json.loads(reply.result["contents"][0]["text"])
    arguments = filled(step.arguments, known)
    reply = await client.call(step.tool, {**arguments, **step.hidden})
    assert not reply.result["isError"], reply.result
    return {"tool": step.tool, "arguments": arguments}, reply.result["structuredContent"]


@pytest.mark.requirement("story:tutorial")
@pytest.mark.anyio
async def test_every_call_of_the_tutorial_answers_as_shown(demo: Demo) -> None:
    token = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    client = await connect_http(demo.app, SESSION, authorization=f"Basic {token}")
    known: dict[str, Any] = {}
    made: dict[str, str] = {}
    for name, step in TOUR.items():
        asked, said = await answer(client, step, known)
        for kept, way in step.keep.items():
            value = said
            for part in way:
                value = value[part]
            known[kept] = value
        known["text"] = str(known.get("text", "")).rpartition(" ")[2]
        known["decision"] = known["text"].rpartition("/")[2]
        steady = Steady()
        blocks = [f"```json\n{steady.layout(one)}\n```\n" for one in (asked, step.shorten(said))]
        made[name] = steady("".join(blocks))
    await client.close()
    text = PAGE.read_text(encoding="utf-8")
    if os.environ.get("PENTAD_WRITE_DOCS"):
        text = MARK.sub(lambda mark: f"<!-- tour: {mark['name']} -->\n{made[mark['name']]}<!-- end -->", text)
        PAGE.write_text(text, encoding="utf-8")
    shown = {mark["name"]: mark["block"] for mark in MARK.finditer(text)}
    assert list(shown) == list(made)
    for name, block in made.items():
        assert shown[name] == block, name


@pytest.mark.requirement("story:tutorial")
@pytest.mark.anyio
async def test_the_addresses_to_paste_lead_to_a_permit_a_rule_and_figures(demo: Demo) -> None:
    assert f"\n{PERMIT} {RULE} {FIGURES}\n" in PAGE.read_text(encoding="utf-8")
    permit, rule, figures = [
        json.loads(str((await demo.app.neighbours.read(demo.admin, uri))[0].text)) for uri in (PERMIT, RULE, FIGURES)
    ]
    assert permit["number"] == "TP-2026-014"
    assert "must plant at least 2 young trees" in rule["content"]
    assert "calls" in figures["metrics"]


@pytest.mark.requirement("story:tutorial")
def test_the_trace_and_the_audit_trail_have_the_review(tmp_path: Path) -> None:
    async def review() -> str:
        async with open_demo(tmp_path / "data") as demo:
            task = await demo.review(PERMIT, RULE, FIGURES)
            return (await demo.agents.tasks.trace(demo.admin, task.id)).trace_id

    trace_id, page = asyncio.run(review()), PAGE.read_text(encoding="utf-8")
    for words in (["trace", trace_id], ["audit", "--trace", trace_id]):
        assert f"\n./pentad {' '.join(words)}\n".replace(trace_id, TRACE_ID) in page
        done = run(*words, "--data", str(tmp_path / "data"), home=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count("generate_response") == 3


@pytest.mark.requirement("story:tutorial")
def test_it_counts_the_lines_of_the_agent() -> None:
    source = (ROOT / "src/pentad/rooms/agents/interface/demo_permit_reviewer.py").read_text(encoding="utf-8")
    lines = len(source[source.index("class PermitReviewer") :].splitlines())
    assert f"[{lines} lines](../src/pentad/rooms/agents/interface/demo_permit_reviewer.py)" in PAGE.read_text("utf-8")


@pytest.mark.requirement("story:tutorial")
def test_the_readme_points_to_it_in_one_line() -> None:
    assert "[tutorial](docs/tutorial.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
