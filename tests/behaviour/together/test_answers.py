"""An avatar's answer records its origins, for the caller who asked, and is an event of the feed."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.events.feed import EventFilter
from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import NotFound, Unavailable
from pentad.kernel.principal import LOCAL, Principal
from pentad.rooms.avatars.answers.answer_log import AnswerLog
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.behaviour.together.conftest import ADA, BEN, House
from tests.behaviour.together.test_lineage import decided, steps

pytestmark = pytest.mark.anyio

QUESTION = "How much does a colony need for the winter?"


async def answered(house: House, who: Principal = ADA) -> dict[str, Any]:
    return await house.call("generate_response", who, avatar="tomas-orlik", question=QUESTION)


@pytest.mark.requirement("lineage:answers")
async def test_an_answer_comes_from_its_passages_its_avatar_and_its_caller(house: House) -> None:
    answer = await answered(house)

    graph = await house.app.lineage.of(ADA, answer["uri"])

    assert graph.things[0].label == QUESTION
    assert graph.things[0].facts["corpus"] == f"generation {answer['generation']}"
    assert {
        ("answer", "wasDerivedFrom", "passage"),
        ("answer", "wasAttributedTo", "avatar"),
        ("answer", "wasGeneratedBy", "call"),
        ("call", "wasAssociatedWith", "principal"),
        ("passage", "wasDerivedFrom", "source"),
    } <= steps(graph)
    assert {one["uri"] for one in answer["citations"]} <= {one.uri for one in graph.things}
    kept = await house.read(answer["uri"])
    assert (kept["response"], kept["question"]) == (answer["response"], QUESTION)


@pytest.mark.requirement("lineage:answers")
async def test_an_answer_to_an_agent_comes_from_its_task(house: House) -> None:
    _, task, decision = await decided(house)

    graph = await house.app.lineage.of(ADA, decision)

    assert {("task", "used", "answer"), ("answer", "wasGeneratedBy", "task")} <= steps(graph)
    assert task in {one.uri for one in graph.things}


@pytest.mark.requirement("lineage:answers")
async def test_each_answer_of_a_panel_and_of_the_page_leads_to_what_made_it(house: House) -> None:
    panel = await house.call("ask_panel", question=QUESTION)
    for one in panel["answers"]:
        assert ("answer", "wasAttributedTo", "avatar") in steps(await house.app.lineage.of(ADA, one["answer"]["uri"]))
    front = front_of(house.app)
    page = await send(front, "GET", f"/console/avatars/tomas-orlik?{urlencode({'q': QUESTION})}").body()
    assert b"How this answer was made" in page
    assert b"/console/lineage?uri=avatar%3A%2F%2Ftomas-orlik%2Fanswers%2F" in page


@pytest.mark.requirement("lineage:answers")
async def test_nobody_else_reads_an_answer(house: House) -> None:
    answer = await answered(house)
    for reader in (BEN, LOCAL):
        with pytest.raises(NotFound):
            await house.app.lineage.of(reader, answer["uri"])
        with pytest.raises(NotFound):
            await house.read(answer["uri"], reader)


@pytest.mark.requirement("lineage:answers")
async def test_answers_are_kept_for_a_time(house: House) -> None:
    answer = await answered(house)
    log = house.avatars.answers
    assert await log.remove_old() == 0

    later = AnswerLog(house.avatars.database, _Later(), log.keep_days)

    assert await later.remove_old() >= 1
    with pytest.raises(NotFound):
        await house.read(answer["uri"])


@pytest.mark.requirement("lineage:answers")
async def test_an_answer_that_cannot_be_kept_is_given_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(*_: Any, **__: Any) -> Any:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(house.avatars.answers, "_database", _Full(house.avatars.database, write))
    answer = await answered(house)
    assert answer["citations"]
    assert "uri" not in answer
    monkeypatch.setattr(house.avatars.answers, "keep_days", 0)
    assert "uri" not in await answered(house)


@pytest.mark.requirement("events:answers")
async def test_an_answer_is_an_event_for_whoever_asked_and_has_no_text(house: House) -> None:
    answer = await answered(house)
    wanted = EventFilter(kinds=("avatar.answered",))

    mine = (await house.app.events.page(ADA, wanted, limit=500)).events
    theirs = (await house.app.events.page(BEN, wanted, limit=500)).events

    (event,) = [one for one in mine if one.subject == answer["uri"]]
    assert event.data == {"avatar": "tomas-orlik", "confidence": answer["confidence"], "abstained": False}
    assert QUESTION not in json.dumps([one.data for one in mine])
    assert answer["uri"] not in {one.subject for one in theirs}


class _Later(SystemClock):
    def now(self) -> float:
        return super().now() + 31 * 86_400


class _Full:
    """A store that takes no writes."""

    def __init__(self, database: Any, write: Any) -> None:
        self.read = database.read
        self.write = write
