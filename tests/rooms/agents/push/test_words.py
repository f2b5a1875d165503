"""What push notifications say, in each dialect."""

import json
from typing import Any

import pytest

from pentad.rooms.agents.models import (
    Artifact,
    ArtifactEvent,
    Body,
    Dialect,
    Event,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
    applied,
)
from pentad.rooms.agents.push.deliveries import Codec
from pentad.rooms.agents.push.words import register_codecs


class Taught:
    """Keeps what deliveries are taught."""

    def __init__(self) -> None:
        self.codecs: dict[Dialect, Codec] = {}

    def register(self, dialect: Dialect, codec: Codec) -> None:
        self.codecs[dialect] = codec


def told(dialect: Dialect, body: Body) -> Any:
    taught: Any = Taught()
    register_codecs(taught, "https://pentad.example")
    task = Task(id="t", context_id="c", agent="echo", owner="user:ada", dialect=dialect)
    event = Event(1, 1_780_000_000.0, body)
    said = taught.codecs[dialect](applied(task, event), event)
    return None if said is None else json.loads(said)


DONE = StatusEvent("completed", Message(id="m", role="agent", parts=(Part(text="Done."),)))


@pytest.mark.requirement("agents:push:words")
def test_each_dialect_is_told_in_its_own_words() -> None:
    assert told("1.0", DONE)["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (told("0.3", DONE)["kind"], told("0.3", DONE)["status"]["state"]) == ("task", "completed")
    status = told("agentvault", DONE)
    assert (status["taskId"], status["state"], status["message"]) == ("t", "COMPLETED", "Done.")


@pytest.mark.requirement("agents:push:words")
@pytest.mark.parametrize("dialect", ["1.0", "0.3", "agentvault"])
def test_nobody_is_told_of_what_the_user_said(dialect: Dialect) -> None:
    assert told(dialect, MessageEvent(Message(id="m", role="user", parts=(Part(text="Hello"),)))) is None


@pytest.mark.requirement("agents:push:words")
def test_a_file_is_told_to_agentvault_by_the_address_it_is_served_at() -> None:
    body = ArtifactEvent(Artifact(id="a/b", parts=(Part(raw="AAAA", media_type="image/png"),)))

    url = told("agentvault", body)["artifact"]["url"]

    assert url == "https://pentad.example/agents/echo/tasks/t/files/a%2Fb/0"
