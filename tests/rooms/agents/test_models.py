"""The fold: a task is what its events make of it, whatever way they come."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from pentad.rooms.agents.models import (
    STATES,
    TERMINAL,
    Artifact,
    ArtifactEvent,
    Body,
    Event,
    Message,
    MessageEvent,
    Part,
    StatusEvent,
    Task,
    apply_event,
    apply_events,
    can_transition,
)
from pentad.rooms.agents.store import encode_body

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
parts = st.one_of(
    st.builds(Part, text=st.text()),
    st.builds(Part, data=json_values, metadata=st.none() | st.dictionaries(st.text(), json_values, max_size=2)),
    st.builds(Part, url=st.just("https://example.org/a"), filename=st.none() | st.text()),
    st.builds(Part, raw=st.just("aGk="), media_type=st.none() | st.just("text/plain")),
)
some_parts = st.lists(parts, max_size=3).map(tuple)
messages = st.builds(Message, id=st.text(min_size=1), role=st.sampled_from(["user", "agent"]), parts=some_parts)
artifacts = st.builds(Artifact, id=st.sampled_from("ab"), parts=some_parts)
bodies = st.one_of(
    st.builds(StatusEvent, st.sampled_from(STATES), st.none() | messages),
    st.builds(MessageEvent, messages),
    st.builds(ArtifactEvent, artifacts, st.booleans(), st.booleans()),
)


def blank() -> Task:
    return Task(id="t", context_id="c", agent="a", owner="o", dialect="1.0")


@given(st.lists(bodies, max_size=12), st.integers(0, 12))
def test_folding_in_two_steps_is_folding_at_once_and_changes_no_earlier_task(said: list[Body], cut: int) -> None:
    events = [Event(number, float(number), body) for number, body in enumerate(said, 1)]
    first = apply_events(blank(), events[:cut])
    before = msgspec.json.encode(first)
    one_by_one = first
    for event in events[cut:]:
        one_by_one = apply_event(one_by_one, event)
    assert apply_events(blank(), events) == apply_events(first, events[cut:]) == one_by_one
    assert msgspec.json.encode(first) == before


@given(bodies)
def test_a_body_comes_out_of_the_log_as_it_went_in(body: Any) -> None:
    assert msgspec.json.decode(encode_body(body).json, type=Body) == body


def test_numbers_of_any_size_stay_as_they_were_sent() -> None:
    sent = b"[9007199254740993,123456789012345678901234567890,42,42.0,-0.0,1e5]"
    part = Part(data=msgspec.json.decode(sent))
    stored = encode_body(MessageEvent(Message(id="m", role="user", parts=(part,)))).json
    again = msgspec.json.decode(stored, type=Body).message.parts[0].data
    assert msgspec.json.encode(again) == b"[9007199254740993,123456789012345678901234567890,42,42.0,-0.0,100000.0]"


def test_a_part_of_null_is_not_a_part_without_data() -> None:
    null = msgspec.json.decode(msgspec.json.encode(Part(data=None)), type=Part)
    assert null.data is None
    assert msgspec.json.decode(msgspec.json.encode(Part(text="x")), type=Part).data is UNSET


def test_chunks_lengthen_an_artifact_and_a_new_one_of_its_id_replaces_it() -> None:
    def chunk(text: str, *, append: bool) -> ArtifactEvent:
        return ArtifactEvent(Artifact(id="a", parts=(Part(text=text),), name="out"), append=append, last=False)

    said = [chunk("one ", append=False), chunk("two", append=True)]
    events = [Event(number, 1.0, body) for number, body in enumerate(said, 1)]
    task = apply_events(blank(), events)
    assert [part.text for part in task.artifacts[0].parts] == ["one ", "two"]
    task = apply_event(task, Event(3, 2.0, chunk("new", append=False)))
    assert [part.text for part in task.artifacts[0].parts] == ["new"]


def test_nothing_follows_a_terminal_state_and_nobody_goes_back_to_submitted() -> None:
    for before in STATES:
        for after in STATES:
            allowed = before not in TERMINAL and (after != "submitted" or before == "submitted")
            assert can_transition(before, after) == allowed
