"""What `--agent` accepts."""

import sys
from pathlib import Path

import pytest

from pentad.agentvault.server import Isolation
from pentad.app import open_app
from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.hosting.agent_specs import load, load_all
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, HostingOptions
from pentad.settings.model import Settings
from tests.rooms.agents.tasks.engines import answer_of, engine, send
from tests.stores import Stores


async def nothing(_turn: object) -> None:
    return None


def mount(name: str, place: str) -> HostedAgent:
    return HostedAgent(name, nothing, place)


@pytest.mark.requirement("agents:hosting:specs")
@pytest.mark.parametrize(
    ("spec", "name", "place"),
    [
        ("https://weather.example.org", "weather.example.org", "https://weather.example.org"),
        ("https://w.example.org/agents/sky/", "sky", "https://w.example.org/agents/sky/"),
        ("https://w.example.org/a/sky/.well-known/agent-card.json", "sky", None),
        ("https://w.example.org/.well-known/agent-card.json", "w.example.org", None),
        ("http://localhost:8701/card.json?key=value", "localhost", None),
        ("sky=https://w.example.org/?a=b", "sky", "https://w.example.org/?a=b"),
        ("My Sky=https://w.example.org", "my-sky", "https://w.example.org"),
        ("acme/weather", "weather", "acme/weather"),
        ("sky=acme/weather", "sky", "acme/weather"),
    ],
)
def test_a_remote_agent_is_mounted_under_a_name(spec: str, name: str, place: str | None) -> None:
    mounted = load(spec, mount=mount)
    assert (mounted.name, mounted.agent) == (name, place or spec)


def test_what_is_no_agent_is_refused_with_what_would_be_one() -> None:
    for wrong in ("weather", "https://", "command:", "command: 'unclosed", "x=", "7"):
        with pytest.raises(Misconfigured):
            load(wrong, mount=mount)
    with pytest.raises(Misconfigured, match="cannot be hosted here"):
        load("https://weather.example.org")
    with pytest.raises(Misconfigured, match="Two agents"):
        load_all(["sky=acme/weather", "sky=echo"], mount=mount)
    with pytest.raises(Misconfigured) as refused:
        load("weather", mount=mount)
    assert "the URL of a card" in str(refused.value.hint)


class Graph:
    """Has its conversations in memory."""

    class InMemorySaver: ...

    checkpointer = InMemorySaver()

    async def ainvoke(self, text: str) -> str:
        return text


class Plain:
    def invoke(self, text: str) -> str:
        return text


graph, plain = Graph(), Plain()


@pytest.mark.requirement("agents:isolation:honoured")
@pytest.mark.parametrize(
    ("spec", "isolation", "reason"),
    [
        ("one=command: ./agent", "thread", "is a command and runs in 'process'"),
        (f"one={__name__}:graph", "thread", "is asynchronous"),
        (f"one={__name__}:graph", "process", "keeps its conversations in memory"),
        (f"one={__name__}:plain", "loop", "is synchronous"),
        (f"one={__name__}:plain", "moon", "cannot run in 'moon'"),
    ],
)
def test_isolation_that_makes_no_sense_is_refused(spec: str, isolation: Isolation, reason: str) -> None:
    with pytest.raises(Misconfigured, match=reason):
        load(spec, HostingOptions(isolation={"one": isolation}))


@pytest.mark.requirement("agents:isolation:honoured")
def test_isolation_that_an_agent_has_anyway_is_accepted() -> None:
    accepted: dict[str, Isolation] = {
        "command: ./agent": "process",
        f"{__name__}:graph": "loop",
        f"{__name__}:plain": "thread",
    }
    for spec, isolation in accepted.items():
        assert load(f"one={spec}", HostingOptions(isolation={"one": isolation})).isolation == isolation


@pytest.mark.anyio
@pytest.mark.requirement("agents:isolation:honoured")
@pytest.mark.parametrize(
    ("agent", "reason"), [("sky=https://w.example.org", "is a remote agent"), ("tool-proxy", "has to import it")]
)
async def test_an_agent_that_no_process_can_run_is_refused_at_the_start(
    tmp_path: Path, agent: str, reason: str
) -> None:
    name, _, place = agent.partition("=")
    table = {"isolation": {name: "process"}}
    settings = Settings(data=tmp_path, rooms=("agents",), auth="none", agent=(agent,) if place else (),
                        room_tables={"agents": table})  # fmt: skip
    with pytest.raises(Misconfigured, match=reason):
        async with open_app(settings):
            pass


@pytest.mark.anyio
@pytest.mark.requirement("agents:hosting:specs")
async def test_a_command_is_an_agent(stores: Stores, tmp_path: Path) -> None:
    script = tmp_path / "shout.py"
    script.write_text(
        "import json, sys\n"
        "turn = json.loads(sys.stdin.readline())\n"
        "text = turn['message']['parts'][0]['text']\n"
        "print(json.dumps({'type': 'end', 'text': sys.argv[1] + text.upper()}))\n",
        encoding="utf-8",
    )
    agents = load_all(
        [f"shout=command: '{sys.executable}' {script} 'You said: '", f"command: {sys.executable} -c pass"]
    )
    silent = next(name for name in agents if name != "shout")
    assert silent == Path(sys.executable).stem
    async with engine(stores, agents) as tasks:
        assert answer_of(await send(tasks, "hello", agent="shout")) == "You said: HELLO"
        ended = await send(tasks, "hello", agent=silent)
        assert ended.state == "failed"
