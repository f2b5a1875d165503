"""Every card of a server, open or behind a login, as the official libraries of 1.0 and 0.3 read and verify it."""

import json
import os
import subprocess
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.server import environment, pentad, serving
from tests.interop.agents.tours import FOLDER, a2a_03, a2a_cards, stops
from tests.interop.environments import a2a_10_python, a2a_python, agentvault_python

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Place:
    """A server, and a key for it if it needs one."""

    url: str
    key: str = ""

    @property
    def access(self) -> tuple[str, ...]:
        return (self.key,) if self.key else ()


def new_key(data: Path) -> str:
    command = [pentad(), "keys", "create", "interop", "--scope", "*:*", "--json", "--data", str(data)]
    done = subprocess.run(command, check=True, capture_output=True, env=environment())
    return json.loads(done.stdout)["token"]


@pytest.fixture(scope="module", params=["open", "behind a login"])
def place(request: pytest.FixtureRequest) -> Generator[Place]:
    agent = ["--agent", "tests.interop.agents.agent:Dressed"]
    users = {"ada": "admin"} if request.param != "open" else None
    with serving("agents", agent, users=users) as served:
        yield Place(served.site, "" if users is None else new_key(served.log.parent / "data"))


@pytest.fixture(scope="module", params=[a2a_python, a2a_10_python], ids=["latest", "early"])
def cards(place: Place, request: pytest.FixtureRequest) -> list[Any]:
    """The early library writes the canonical form differently."""
    return a2a_cards(place.url, *place.access, python=request.param())


@pytest.mark.requirement("agents:interop:card-signatures")
def test_the_official_verifier_accepts_every_card(cards: list[Any]) -> None:
    assert [line for line in cards if line["fault"]] == []
    assert len(cards) >= 30


@pytest.mark.requirement("agents:cards:v10")
def test_who_asks_for_1_0_reads_members_of_1_0_alone(cards: list[Any]) -> None:
    assert [line for line in cards if line["v10"] and line["extra"]] == []
    assert all(line["extra"] for line in cards if not line["v10"]), "the general card is for readers of all dialects"


@pytest.mark.requirement("agents:interop:card-signatures")
@pytest.mark.requirement("agents:interop:a2a-03")
@pytest.mark.parametrize("agent", ["dressed", "echo"])
def test_the_verifier_of_0_3_accepts_the_card_and_the_extended_card(place: Place, agent: str) -> None:
    seen = stops([one for one in a2a_03(place.url, agent, *place.access) if one["stop"] == "card_read"])
    assert seen["card_read"] == {"dressed": "Dreß 🌊", "echo": "Echo"}[agent]


@pytest.mark.requirement("agents:cards:service-identifier")
def test_agentvaults_client_finds_its_key_by_the_service_the_card_names(place: Place) -> None:
    """One key for all agents of a server, from an environment variable that a shell can set."""
    service = place.url.removeprefix("http://").replace(":", "_").upper()
    names = {f"AGENTVAULT_KEY_{service}": place.key} if place.key else {}
    for agent in ("echo", "dressed"):
        card = f"{place.url}/agents/{agent}/agent-card.json"
        done = subprocess.run(
            [agentvault_python(), FOLDER / "agentvault_tour.py", "keyed", card, "hello"],
            capture_output=True, text=True, timeout=120, check=False, env={**os.environ, **names},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["state"] == "COMPLETED"
