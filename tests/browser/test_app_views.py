"""The views of MCP Apps in a minimal host, in a real browser: a page, a sandbox of another origin, a frame."""

import json
import re
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.browser.app_host import Client, hosting
from tests.browser.conftest import DEMO_LOGIN, Demo
from tests.interop.oauth_peers import Peer
from tests.story.demo import FIGURES, PERMIT, RULE

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

EVERYTHING: dict[str, Any] = {"serverTools": {}, "serverResources": {}, "openLinks": {}}
STARTED = """async () => {
  const isStarted = () => messages.some((one) => one.method === "ui/notifications/initialized");
  while (!isStarted()) await new Promise(requestAnimationFrame);
}"""
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])
HOSTILE = '"><script>document.title = "owned"</script><img src=x onerror=alert(1)>'
OBJECTS: dict[str, Any] = {"action": "list", "register": "tree-permits", "schema": "tree-permit"}
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "chart": ("getMetricHistory", {"collector": "host", "metricKey": "memory.percent"}, ".interactive canvas"),
    "figures": ("getPlatformMetricsByCollector", {"collector": "host"}, ".scroll table"),
    "objects": ("objects", OBJECTS, "table button.link"),
    "object": ("objects", {**OBJECTS, "action": "get", "id": "TP-2026-014"}, "dl"),
    "record": ("agntcy_dir_pull_record", {"cid": "CID"}, "dl"),
    "answer": (
        "generate_response",
        {"avatar": "tree-office", "question": "How many young trees must be planted?"},
        "mark",
    ),
}
"""The tool, its arguments, and something that the view shows."""


@dataclass
class Host:
    """The host's page in a browser."""

    peer: Peer
    client: Client
    origins: tuple[str, str]
    known: dict[str, str] = field(default_factory=dict[str, str])

    def document(self, tool: str) -> str:
        """The document that `tools/list` names for the tool."""
        if not self.known:
            tools = self.client.result("tools/list", {})["tools"]
            self.known = {
                one["name"]: one["_meta"]["ui"]["resourceUri"] for one in tools if "ui" in one.get("_meta", {})
            }
        (content,) = self.client.result("resources/read", {"uri": self.known[tool]})["contents"]
        return content["text"]

    def show(
        self,
        tool: str,
        arguments: dict[str, Any],
        *steps: dict[str, Any],
        theme: str = "light",
        declares: bool = True,
        width: int = 720,
        errors: bool = False,
        **case: Any,
    ) -> list[dict[str, Any]]:
        """Call the tool, show its view, and do some steps. The browser itself has the other theme."""
        result = self.client.result("tools/call", {"name": tool, "arguments": arguments}, declares=declares)
        given = {
            "html": self.document(tool), "input": arguments, "result": result, "declares": declares,
            "capabilities": EVERYTHING, "context": {"theme": theme}, "sandbox": self.origins[1], **case,
        }  # fmt: skip
        scheme = "dark" if theme == "light" else "light"
        options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
        start = {"run": f"() => {{ run({json.dumps(given)}); }}"}
        wait = {"run": STARTED}
        self.peer.tell(
            {
                "browser": f"host {options}",
                "options": options,
                "steps": [{"go": f"{self.origins[0]}/host.html"}, start, wait, *steps],
            }
        )
        answer = self.peer.hear()
        assert "failed" not in answer, f"{answer['failed']}\n{answer['text']}"
        assert errors or answer["errors"] == []
        return answer["seen"][3:]


@pytest.fixture(scope="module")
def host(browsers: Peer, demo: Demo) -> Generator[Host]:
    client = Client(demo.site, DEMO_LOGIN)
    with hosting(client) as origins:
        yield Host(browsers, client, origins)


def case_of(host: Host, name: str) -> tuple[str, dict[str, Any], str]:
    tool, arguments, shows = CASES[name]
    if name == "record":
        found = host.client.result("tools/call", {"name": "agntcy_dir_search_local", "arguments": {"names": ["*"]}})
        arguments = {"cid": found["structuredContent"]["record_cids"][0]}
    return tool, arguments, shows


COLOURS = "() => [getComputedStyle(document.documentElement).backgroundColor, getComputedStyle(document.body).color]"
LOADED = "() => performance.getEntriesByType('resource').map((one) => one.name)"
READ = {"view": {"run": "() => document.body.innerText"}}
WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@THEMES
@pytest.mark.parametrize("name", CASES)
@pytest.mark.requirement("apps:host")
def test_a_view_is_shown_in_the_theme_of_the_host_and_loads_nothing(host: Host, name: str, theme: str) -> None:
    tool, arguments, shows = case_of(host, name)
    *_, colours, loaded, wide = host.show(
        tool, arguments, {"view": {"wait": shows}},
        {"view": {"run": COLOURS}}, {"view": {"run": LOADED}}, {"view": {"run": WIDE}},
        theme=theme, width=380,
    )  # fmt: skip
    ground, ink = (int(re.findall(r"\d+", one)[0]) for one in colours["found"])
    assert (ground > ink) is (theme == "light")
    assert loaded["found"] == []
    assert wide["found"] <= 0


@pytest.mark.parametrize("name", CASES)
@pytest.mark.requirement("apps:host")
def test_a_host_that_does_not_declare_the_extension_shows_the_same_view(host: Host, name: str) -> None:
    tool, arguments, shows = case_of(host, name)
    host.show(tool, arguments, {"view": {"wait": shows}}, declares=False)


@pytest.mark.requirement("apps:host")
def test_a_host_that_can_do_nothing_shows_the_text(host: Host) -> None:
    *_, text = host.show(
        "objects", OBJECTS, {"view": {"wait": "main pre"}}, {"view": {"run": "() => document.body.innerText"}},
        declares=False, capabilities={}, context={},
    )  # fmt: skip
    assert "TP-2026-014" in text["found"]


@pytest.mark.requirement("apps:host")
def test_a_switch_of_the_theme_and_the_end_reach_the_view(host: Host) -> None:
    tool, arguments, shows = CASES["chart"]
    dark = {"run": "() => notify('ui/notifications/host-context-changed', { theme: 'dark' })"}
    *_, colours, pong, over, sizes = host.show(
        tool, arguments, {"view": {"wait": shows}}, dark,
        {"view": {"wait": "html[data-theme=dark] .interactive canvas"}},
        {"view": {"run": COLOURS}}, {"run": "() => request('ping')"}, {"run": "() => request('ui/resource-teardown')"},
        {"run": "() => sizes"},
    )  # fmt: skip
    assert int(re.findall(r"\d+", colours["found"][0])[0]) < 100
    assert (pong["found"], over["found"]) == ({}, {})
    assert 1 <= sizes["found"] <= 12


@pytest.mark.requirement("apps:host")
def test_all_colours_of_the_host_are_used_or_none(host: Host) -> None:
    names = ("background-primary", "background-secondary", "text-primary", "text-secondary", "border-primary")
    every = {f"--color-{one}": f"rgb(20, {number}0, 30)" for number, one in enumerate(names, 1)}
    for variables, ground in ((every, "rgb(20, 10, 30)"), (dict(list(every.items())[:3]), "rgb(251, 251, 250)")):
        *_, colours = host.show(
            "objects", OBJECTS, {"view": {"wait": ".scroll table"}}, {"view": {"run": COLOURS}},
            context={"theme": "light", "styles": {"variables": variables}},
        )  # fmt: skip
        assert colours["found"][0] == ground


@pytest.mark.parametrize("declares", [True, False], ids=["declared", "not declared"])
@pytest.mark.requirement("apps:actions")
def test_an_object_is_opened_by_keyboard(host: Host, declares: bool) -> None:
    *_, opened = host.show(
        "objects", OBJECTS, {"view": {"wait": "table button.link"}},
        {"view": {"run": "() => document.querySelector('table button.link').focus()"}}, {"key": "Enter"},
        {"view": {"wait": "article:not(:has(table)) dl"}}, {"view": {"wait": "main:focus"}}, READ, declares=declares,
    )  # fmt: skip
    assert "All of" in opened["found"]


@THEMES
@pytest.mark.parametrize("declares", [True, False], ids=["declared", "not declared"])
@pytest.mark.requirement("apps:actions")
def test_a_task_is_approved_in_the_view(host: Host, theme: str, declares: bool) -> None:
    items = {f"item-{number}": {"ref": uri} for number, uri in enumerate((PERMIT, RULE, FIGURES))}
    arguments = {"agent": "permit-reviewer", "text": f"Review it {HOSTILE}", "context": {"items": items}}
    *_, trace, _, _, done, said = host.show(
        "agents_send_task", arguments, {"view": {"wait": "button[value=approve]"}}, READ,
        {"view": {"fill": {"Reason": "Looks fine."}}}, {"view": {"click": "button[value=approve]"}},
        {"view": {"wait": "article:not(:has(button[value=approve])):has-text('granted')"}},
        {"run": "() => messages.filter((one) => one.method === 'ui/update-model-context').length"},
        theme=theme, declares=declares,
    )  # fmt: skip
    assert "What the agent did" in trace["found"]
    assert HOSTILE[:40] in trace["found"], "as text"
    assert said["found"] == 1
    assert done


@pytest.mark.requirement("apps:host")
def test_a_call_that_was_cancelled_or_failed_says_so(host: Host) -> None:
    read = {"view": {"run": "() => document.getElementById('status').innerText"}}
    *_, cancelled = host.show(
        "objects", OBJECTS, {"view": {"wait": "#status:has-text('Cancelled: enough')"}}, read, cancelled="enough"
    )
    assert cancelled["found"] == "Cancelled: enough"
    failed = {"content": [{"type": "text", "text": f"It failed {HOSTILE}"}], "isError": True}
    *_, told = host.show("objects", OBJECTS, {"view": {"wait": "#status.bad"}}, read, result=failed)
    assert told["found"] == f"It failed {HOSTILE}"


@pytest.mark.requirement("apps:host")
def test_a_link_leaves_through_the_host(host: Host) -> None:
    tool, arguments, _ = case_of(host, "record")
    *_, opened = host.show(
        tool, arguments, {"view": {"wait": "a[href]"}}, {"view": {"click": "a[href]"}},
        {"run": "() => messages.filter((one) => one.method === 'ui/open-link').map((one) => one.params.url)"},
    )  # fmt: skip
    assert [url.startswith("http") for url in opened["found"]] == [True]
