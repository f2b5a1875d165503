"""The Inspector's command line against Pentad: both transports, both eras, with its schema lint on."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.room import ROOM
from tests.conformance.server import CONFORMANCE_ROOM, REPOSITORY, Served, environment, pentad
from tests.interop.inspector import inspector_command

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(scope="session")
def inspector() -> list[str]:
    return inspector_command()


@pytest.fixture(params=["http legacy", "http modern", "stdio legacy", "stdio modern"])
def inspect(request: pytest.FixtureRequest, served: Served, inspector: list[str], tmp_path: Path) -> Any:
    transport, era = request.param.split()
    target = [served.url, "--transport", "http"]
    if transport == "stdio":
        arguments = ["mcp", "serve", "--rooms", CONFORMANCE_ROOM, "--data", str(tmp_path / "data")]
        entry = {"command": pentad(), "args": arguments, "env": {"PYTHONPATH": environment()["PYTHONPATH"]}}
        config = tmp_path / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"pentad": entry}}), encoding="utf-8")
        target = ["--config", str(config), "--server", "pentad"]

    def run(method: str, *more: str) -> Any:
        options = ["--protocol-era", era, "--format", "json", "-q"]
        finished = subprocess.run(
            [*inspector, *target, "--method", method, *more, *options],
            cwd=REPOSITORY,
            env=environment(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert finished.returncode == 0, f"{finished.returncode}: {finished.stdout}\n{finished.stderr}"
        return json.loads(finished.stdout)["result"]

    return run


def test_the_tools_are_listed(inspect: Any) -> None:
    listed = inspect("tools/list", "--strict")["tools"]
    assert [tool["name"] for tool in listed] == [tool.name for tool in ROOM.tools]


@pytest.mark.requirement("mcp:interop:inspector")
def test_a_tool_is_called(inspect: Any) -> None:
    answer = inspect("tools/call", "--tool-name", "test_echo", "--tool-arg", "text=hello")
    assert answer["structuredContent"] == {"text": "hello", "length": 5}


def test_the_resources_are_listed(inspect: Any) -> None:
    assert "test://static-text" in {entry["uri"] for entry in inspect("resources/list")["resources"]}


def test_the_prompts_are_listed(inspect: Any) -> None:
    assert [one["name"] for one in inspect("prompts/list")["prompts"]] == [one.name for one in ROOM.prompts]
