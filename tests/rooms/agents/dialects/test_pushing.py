"""What receivers of push notifications are told."""

import json

from pentad.rooms.agents.dialects import v03, v10
from pentad.rooms.agents.dialects.pushing import push_codecs
from pentad.rooms.agents.tasks.model import ArtifactEvent, Event
from tests.rooms.agents.dialects.samples import EVENTS, FILE, TASK

CODECS = push_codecs("https://pentad.example")


def test_each_dialect_is_told_in_its_own_words() -> None:
    last = EVENTS[-1]
    told = {dialect: json.loads(codec(TASK, last) or b"null") for dialect, codec in CODECS.items()}
    assert told["1.0"] == v10.event(last, "t-1", "c-1")
    assert told["0.3"] == v03.task(TASK)
    assert (told["agentvault"]["state"], told["agentvault"]["message"]) == ("COMPLETED", "Done.")


def test_a_turn_of_the_user_is_no_news_to_anybody() -> None:
    assert [codec(TASK, EVENTS[1]) for codec in CODECS.values()] == [None, None, None]


def test_a_files_bytes_are_told_by_their_address() -> None:
    event = Event(6, 0.0, ArtifactEvent(FILE))
    told = json.loads(CODECS["agentvault"](TASK, event) or b"null")
    assert told["artifact"]["url"] == "https://pentad.example/agents/echo/tasks/t-1/files/a%203/0"
