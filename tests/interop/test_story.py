"""The story of docs/tutorial.md against a real `pentad demo`: over MCP with the official client, and in the browser."""

import base64
import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Generator, Mapping
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.cli.processes import child
from tests.conformance.server import REPOSITORY
from tests.form_browser import FormBrowser
from tests.ports import free_port
from tests.story.demo import FIGURES, PERMIT, RULE
from tests.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

LOGIN = ("admin", "admin")
SCRIPT = Path(__file__).with_name("story_client.py")
REASON = "The trunk is hollow."
THREE_MINUTES = 180.0
START_SECONDS = 180.0
"""Computing the vectors of the demo takes a while on a busy machine."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of a demo started as a newcomer starts it."""
    models = str(REPOSITORY / ".cache" / "models")
    args = ("demo", "--port", "0", "--grpc-port", str(free_port()), "--no-open")
    with child(*args, home=tmp_path_factory.mktemp("demo"), PENTAD_MODELS=models) as server:
        wait_until(lambda: any("demo is ready" in line for line in server.stdout), "It never got ready.", START_SECONDS)
        found = re.search(r"http://127\.0\.0\.1:\d+", server.line("Pentad demo is ready"))
        assert found is not None
        assert not any("fork" in line for line in server.stderr), "what a library says of its own is not for newcomers"
        yield found[0]


@pytest.fixture(scope="module", params=["legacy form", "legacy tool", "modern form", "modern tool"])
def story(request: pytest.FixtureRequest, site: str, sdk: Path) -> dict[str, Any]:
    """One client's results, by step."""
    era, way = request.param.split()
    done = subprocess.run(
        [sdk, SCRIPT, era, way, f"{site}/mcp", *LOGIN], cwd=REPOSITORY, capture_output=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {**{line["step"]: line["saw"] for line in lines}, "era": era, "way": way}


def get(site: str, path: str) -> Any:
    token = base64.b64encode(":".join(LOGIN).encode()).decode()
    request = urllib.request.Request(f"{site}{path}", headers={"Authorization": f"Basic {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.mark.requirement("story:mcp")
def test_the_agent_is_found_by_what_it_does_and_says_what_it_needs(story: Mapping[str, Any]) -> None:
    assert story["version"] == ("2026-07-28" if story["era"] == "modern" else "2025-11-25")
    assert story["record"]["name"] == "pentad/permit-reviewer"
    assert story["card"]["name"] == "Permit reviewer"
    assert story["card"]["skills"][0]["id"] == "review-permit"


@pytest.mark.requirement("story:mcp")
def test_a_person_approves_in_a_form_or_with_the_tool(story: Mapping[str, Any]) -> None:
    shown = story["form"] if story["way"] == "form" else json.dumps(story["approval"])
    assert "TP-2026-014: fell a chestnut, Kirchgasse 12: to be granted" in shown
    assert "The applicant must plant at least 2 young trees" in shown
    if story["way"] == "tool":
        assert story["sent"]["state"] == "input-required"
        assert story["approval"]["may_decide"]
    assert story["done"]["state"] == "completed"


@pytest.mark.requirement("story:mcp")
def test_the_decision_says_what_it_rests_on_and_the_house_who_did_what(story: Mapping[str, Any], site: str) -> None:
    filed, task = story["decision"], story["done"]
    assert (filed["outcome"], filed["decided_by"], filed["reason"]) == ("granted", "user:admin", REASON)
    assert (filed["agent"], filed["task"]) == ("permit-reviewer", task["resource"])
    assert set(filed["read"]) == set(story["references"].values())
    assert all(check["met"] and check["rule"] for check in filed["checks"])
    assert [(one["action"], one["reason"]) for one in story["history"]["results"]] == [
        ("create", "approved by user:admin")
    ]
    made = {(one["relation"], one["to"]) for one in story["lineage"]["links"]}
    assert ("wasGeneratedBy", task["resource"]) in made
    assert ("wasAssociatedWith", "agents://cards/permit-reviewer") in made
    assert {("used", uri) for uri in (*filed["read"], *(check["source"] for check in filed["checks"]))} <= made
    calls = [(one["kind"], one["name"]) for one in story["trace"]["task"]["calls"]]
    assert calls.count(("tool", "generate_response")) == 3
    assert ("tool", "objects") in calls
    trail = get(site, "/api/admin/audit?" + urlencode({"trace": story["trace"]["trace_id"], "limit": 50}))["entries"]
    assert {one["tool"] for one in trail} >= {"generate_response", "objects"}
    assert {one["principal"] for one in trail} == {"user:admin"}


@pytest.mark.requirement("story:tutorial")
def test_a_person_does_it_in_the_console(site: str) -> None:
    """The steps of the tutorial, one page after the other."""
    began = time.monotonic()
    person = FormBrowser()
    person.log_in(f"{site}/login", *LOGIN)
    found = person.open(f"{site}/console/search?{urlencode({'q': 'who can review a permit'})}")
    card = person.open(site + link(found.html, "Permit reviewer"))
    form = next(one for one in card.forms if "Send" in one.buttons)
    assert dict(form.fields)["/text"] == "Review permit TP-2026-014, please."
    context = {f"/context/{number}": one for number, one in enumerate((PERMIT, RULE, FIGURES))}
    task = person.submit(card, form, "Send", **context)
    assert "This task waits for an approval" in task.text
    approval = person.open(site + link(task.html, "See the approval"))
    assert "The applicant must plant at least 2 young trees" in approval.text
    form = next(one for one in approval.forms if "Approve" in one.buttons)
    decided = person.submit(approval, form, "Approve", reason=REASON)
    assert "Approved." in decided.text
    # the page of a task reloads until it is done
    wait_until(lambda: "TP-2026-014 is granted" in person.open(task.url).text, "The task did not end.")
    done = person.open(task.url)
    assert "tool generate_response" in done.text
    trace = person.open(site + link(done.html, "Full trace"))
    assert "generate_response" in trace.text
    assert "approval" in trace.text
    decisions = person.open(f"{site}/console/registers/tree-permits/decision")
    filed = person.open(site + link(decisions.html, "TP-2026-014 granted"))
    assert "approved by user:admin" in filed.text
    lineage = person.open(site + link(filed.html, "What made it"))
    assert "Handbook for Reviewers" in lineage.text
    trail = person.open(f"{site}/console/audit")
    assert "approval approved" in trail.text
    assert "Calls answered by all processes" in person.open(f"{site}/console/metrics/pentad").text
    assert time.monotonic() - began < THREE_MINUTES


def link(html: str, text: str) -> str:
    """Where the first link with this text leads."""
    found = re.search(rf'<a [^>]*href="([^"]*)"[^>]*>{re.escape(text)}</a>', html)
    assert found is not None, html
    return unescape(found[1])
