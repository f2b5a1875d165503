"""The page on the agents shows what the room really answers, and names everything there is."""

import dataclasses
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, cast

import click
import pytest

from pentad.agentvault.server import BaseA2AAgent
from pentad.app import open_app
from pentad.jobs.signed_webhooks import signature
from pentad.rooms.agents.approvals.approvers import Approvers
from pentad.rooms.agents.codecs.base import METHODS
from pentad.rooms.agents.codecs.http_json import route
from pentad.rooms.agents.hosting.agent_specs import load
from pentad.rooms.agents.hosting.command_protocol import CALLS, FromAgent, ToAgent
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.interface.cli.commands import agents as agents_command
from pentad.rooms.agents.interface.resources import RESOURCES
from pentad.rooms.agents.interface.tools import TOOLS
from pentad.rooms.agents.models import Part
from pentad.rooms.agents.settings import AgentsSettings
from pentad.settings.model import Settings
from pentad.settings.rooms import resolve_room
from pentad.settings.sources import load_settings
from tests.docs.touring import ROOT, check_page, packed, tour_named

PAGE = ROOT / "docs" / "agents.md"
OF_THE_HOST = {"backend", "emit", "ended", "finished", "with_contents"}
"""What the host and its adapters need of a turn, and agents do not."""
COMMON_OPTIONS = {"--json", "--url", "--token", "--user", "--login", "--config", "--data", "--database", "--agent",
                  "--limit", "--cursor"}  # fmt: skip
"""Options that many commands have."""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"(\d{4}-\d\d)-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
ANY = "..."
"""Stands for any value in a line of the page."""


class Steady:
    """Leaves out what differs on every run. Ids are numbered in each block in the order they are met, and durations are
    the same. Times are those of the tour's clock; a command has the real one, so its times become that one. Whether a
    task says that it works before anything else happens depends on how busy the machine is. The page leaves out the
    conversations of commands."""

    def __init__(self) -> None:
        self._met: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """A whole block; the next one begins with new numbers."""
        text = self._named(text)
        self._met = {}
        return text

    def layout(self, value: Any) -> str:
        """JSON as few lines as fit, once the ids have their short names."""
        return packed(json.loads(self._named(json.dumps(value))))

    def _named(self, text: str) -> str:
        text = UUID.sub(lambda found: self._met.setdefault(found[0], f"id-{len(self._met) + 1}"), text)
        text = TIME.sub(lambda found: found[0] if found[1] == "2026-05" else "2026-05-28T20:26:40.000Z", text)
        text = re.sub(r"^(working|Conversation: .*)\n", "", text, flags=re.MULTILINE)
        return re.sub(r'("seconds": ?)[0-9.e-]+', r"\g<1>0.01", text)


def page_text() -> str:
    return PAGE.read_text(encoding="utf-8")


def part_of_page(title: str) -> str:
    """One section, without its subsections' siblings."""
    return re.split(r"^##", page_text().split(f"### {title}\n")[1], flags=re.MULTILINE)[0]


@pytest.mark.requirement("agents:docs:page")
def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENTAD_SEARCH_EMBEDDER", "none")  # what the page shows must not depend on a pulled model
    tour = tour_named(monkeypatch, "agents_tour")
    steady = Steady()
    check_page(PAGE, tour, "agents", tmp_path, steady, steady.layout)


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_every_class_attribute() -> None:
    section = part_of_page("Class attributes")
    named = set(re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE))
    rows = {name for row in named for name in re.findall(r"`(\w+)`", row)}
    assert rows == set(BaseA2AAgent.__annotations__)


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_all_of_the_turn() -> None:
    section = part_of_page("The turn")
    public = [name for name in dir(Turn) if not name.startswith("_") and name not in OF_THE_HOST]
    assert [name for name in public if f"turn.{name}" not in section] == []
    assert [name for name in Part.__struct_fields__ if f"`{name}`" not in section] == []


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_every_setting_once() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", part_of_page("Settings"), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    own = {field.name for field in dataclasses.fields(AgentsSettings)} - {"extra"}
    assert sorted(named) == sorted(own)


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_every_tool_with_its_arguments_and_every_resource() -> None:
    section = part_of_page("Tools, resources and routes")
    for tool in TOOLS:
        (row,) = re.findall(rf"^\| `{tool.name}`.*$", section, re.MULTILINE)
        assert [name for name in tool.input_schema["properties"] if f"`{name}`" not in row] == []
    named = re.findall(r"`(\w+://.*?|a2a-artifact:.*?)`", section)
    assert sorted(named) == sorted(one.uri.replace("{+", "{") for one in RESOURCES)


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_the_method_of_every_operation_in_every_dialect() -> None:
    section = part_of_page("Addresses and dialects")
    rows = [line for line in section.splitlines() if line.startswith("|")]
    for operation, names in METHODS.items():
        (row,) = [one for one in rows if f"`{names[0]}`" in one]
        cells = [cell.strip() for cell in row.strip("|").split("|")][1:]
        old_and_vault = [f"`{name}`" if name else "" for name in names[1:]]
        assert cells[2:] == old_and_vault
        verbs, path = re.findall(r"GET|POST|DELETE", cells[1]), cells[1].rpartition(" ")[2].strip("`")
        assert verbs
        assert {route(verb, re.sub(r"{\w+}", "x", path)).operation for verb in verbs} == {operation}


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_every_line_and_call_of_the_command_protocol() -> None:
    section = part_of_page("The command protocol")
    lines = [one.__struct_config__.tag for one in (*_members(FromAgent), *_members(ToAgent))]
    assert [name for name in (*lines, *CALLS) if f"`{name}`" not in section] == []


@pytest.mark.requirement("agents:docs:names")
def test_the_reference_names_every_command_and_its_options() -> None:
    section = part_of_page("Command line")
    for name, command in agents_command.commands.items():
        below = list(command.commands) if isinstance(command, click.Group) else []
        assert [one for one in (name, *below) if not re.search(rf"`(pentad agents )?(\w+ )?{one}\b", section)] == []
        if not below:
            options = {option for one in command.params for option in one.opts if option.startswith("--")}
            assert [option for option in options - COMMON_OPTIONS if option not in section] == []


@pytest.mark.requirement("agents:docs:names")
def test_every_message_in_the_troubleshooting_table_exists() -> None:
    source = "\n".join(one.read_text(encoding="utf-8") for one in (ROOT / "src/pentad/rooms/agents").rglob("*.py"))
    rows = re.findall(r"^\| (.*?) \|", part_of_page("Troubleshooting"), re.MULTILINE)
    messages = [text for row in rows for text in re.findall(r"`(.*?)`", row) if " " in text]
    assert len(messages) > 10
    assert [text for text in messages if text not in source] == []


@pytest.mark.requirement("agents:docs:page")
def test_links_inside_the_page_lead_somewhere() -> None:
    text = page_text()
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles}
    assert [link for link in re.findall(r"\]\(#(.*?)\)", text) if link not in anchors] == []


@pytest.mark.requirement("agents:docs:page")
def test_the_settings_on_the_page_are_settings(tmp_path: Path) -> None:
    for number, snippet in enumerate(re.findall(r"```toml\n(.*?)```", page_text(), re.DOTALL)):
        file = tmp_path / f"{number}.toml"
        file.write_text(snippet, encoding="utf-8")
        settings = load_settings({}, config=file, environ={"HOME": str(tmp_path)})
        assert settings.warnings == ()
        found = resolve_room(settings, "agents", AgentsSettings)
        assert [one for one in found.values.isolation.values() if one not in ("loop", "thread", "process")] == []
        Approvers(found.values.approvers)


@pytest.mark.requirement("agents:docs:page")
def test_agents_that_the_page_mounts_or_runs_can_be_named_like_that() -> None:
    def mount(name: str, place: str) -> HostedAgent:
        return HostedAgent(name, cast("Any", None), place)

    (line,) = re.findall(r"^pentad serve (.*)$", part_of_page("Mount a remote agent"), re.MULTILINE)
    specs = [word for word in shlex.split(line) if word != "--agent"]
    assert [load(spec, mount=mount).name for spec in specs] == ["sky", "tides"]
    listed = re.findall(r"^\| `(.*?)` \|", part_of_page("What `--agent` takes"), re.MULTILINE)
    remote = {spec: load(spec, mount=mount).agent for spec in listed if "module" not in spec}
    assert remote["https://weather.example.org"] == "https://weather.example.org"
    assert remote["acme/weather"] == "acme/weather"
    assert {"command: ./agent --fast", "echo"} <= set(remote)


@pytest.mark.anyio
@pytest.mark.requirement("agents:commands:protocol")
async def test_a_program_that_speaks_as_the_page_shows_completes_its_task(tmp_path: Path) -> None:
    (talk,) = re.findall(r"```\n(-> .*?)```", part_of_page("The command protocol"), re.DOTALL)
    lines = [(line[:2], line[3:]) for line in talk.splitlines()]
    said = [text if who == "<-" else None for who, text in lines]
    heard = tmp_path / "heard"
    program = tmp_path / "painter.py"
    program.write_text(
        "import sys\n"
        f"with open({str(heard)!r}, 'a') as heard:\n"
        f"    for line in {said!r}:\n"
        "        if line is None:\n"
        "            print(sys.stdin.readline(), end='', file=heard, flush=True)\n"
        "        else:\n"
        "            print(line, flush=True)\n",
        encoding="utf-8",
    )
    command = f"painter=command: {shlex.join([sys.executable, str(program)])}"
    settings = Settings(data=tmp_path / "data", rooms=("agents",), auth="none", agent=(command,))
    async with open_app(settings) as app, app.client() as client:
        asked = await _sent(client, text="Paint it")
        assert asked["text"] == "Which colour?"
        done = await _sent(client, text="Red", task_id=asked["task_id"])
    assert done["text"] == "Painted."
    assert done["artifacts"] == [{"id": "picture", "name": "picture", "text": "A red house."}]
    received = [json.loads(line) for line in heard.read_text(encoding="utf-8").splitlines()]
    shown = [_pattern(text) for who, text in lines if who == "->"]
    assert len(received) == len(shown)
    assert [one for one in zip(received, shown, strict=True) if not _fits(*one)] == []


@pytest.mark.requirement("agents:push:verified")
def test_a_receiver_that_checks_signatures_as_the_page_shows_accepts_ours_alone() -> None:
    (source,) = re.findall(r"```python\n(.*?)```", part_of_page("Get push notifications"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)
    stamp = 1_780_000_000
    headers = {
        "webhook-id": "m.1",
        "webhook-timestamp": str(stamp),
        "webhook-signature": signature(b"tok", "m.1", stamp, b"{}"),
    }
    assert names["is_genuine"](headers, b"{}", "tok")
    assert not names["is_genuine"](headers, b"{ }", "tok")
    assert not names["is_genuine"](headers, b"{}", "other")


async def _sent(client: Any, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool("agents_send_task", {"agent": "painter", **arguments})
    assert not result["isError"], result
    return result["structuredContent"]


def _members(union: Any) -> tuple[Any, ...]:
    return union.__args__


def _pattern(text: str) -> Any:
    """A line of the page: `...` is any value, or further members."""
    return json.loads(text.replace("{...}", json.dumps(ANY)).replace(", ...}", "}"))


def _fits(value: Any, pattern: Any) -> bool:
    """Whether a value has everything that a pattern shows."""
    if pattern == ANY:
        return True
    if isinstance(pattern, dict):
        members = cast("dict[str, Any]", pattern)
        return isinstance(value, dict) and all(
            name in value and _fits(value[name], one) for name, one in members.items()
        )
    return value == pattern
