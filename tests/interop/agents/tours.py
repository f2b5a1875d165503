"""Foreign scripts and their output: each runs in the environment of the library it is written for."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.interop.environments import a2a_03_python, a2a_python, agentvault_python
from tests.ports import free_port

FOLDER = Path(__file__).parent
_PATIENCE = 120


@dataclass(frozen=True)
class Site:
    """A Pentad that hosts the agent, and a reference to an object in it that an agent can follow."""

    url: str
    ref: str

    @property
    def card(self) -> str:
        return f"{self.url}/agents/proof/agent-card.json"


def agentvault(*arguments: str) -> list[Any]:
    """The output of AgentVault's client, line by line."""
    return _said([agentvault_python(), FOLDER / "agentvault_tour.py", *arguments])


def a2a(*arguments: str) -> list[Any]:
    """The output of the official A2A client, line by line."""
    return _said([a2a_python(), FOLDER / "a2a_tour.py", *arguments])


def a2a_cards(*arguments: str, python: Path | None = None) -> list[Any]:
    """The official A2A library's output about cards, line by line."""
    return _said([python or a2a_python(), FOLDER / "a2a_cards.py", *arguments])


def a2a_03(*arguments: str) -> list[Any]:
    """The output of the official A2A library of version 0.3, line by line."""
    return _said([a2a_03_python(), FOLDER / "a2a_03_tour.py", *arguments])


def stops(lines: list[Any]) -> dict[str, Any]:
    """The results of a tour, by stop; a stop that failed fails the test."""
    failed = [line for line in lines if "failed" in line]
    assert not failed, failed
    return {line["stop"]: line["saw"] for line in lines}


def _said(command: list[str | Path]) -> list[Any]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@contextmanager
def saying(*arguments: str) -> Generator["subprocess.Popen[str]"]:
    """The official A2A client at work; its lines can be read as they arrive."""
    command = [a2a_python(), FOLDER / "a2a_tour.py", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def foreign_agent(python: Path, script: str) -> Generator[str]:
    """An agent on a foreign library; yields its URL. The script prints a line when it is ready."""
    port = free_port()
    with subprocess.Popen([python, FOLDER / script, str(port)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "ready"
            yield f"http://localhost:{port}"
        finally:
            process.kill()
