"""The rings the followers of a process read from: bounded, and honest about what they no longer have."""

import pytest

from pentad.rooms.agents.models import Event, StatusEvent
from pentad.rooms.agents.tasks.hub import Hub

pytestmark = pytest.mark.anyio


def events(first: int, last: int) -> list[Event]:
    return [Event(seq, 1.0, StatusEvent("working")) for seq in range(first, last + 1)]


def test_a_ring_gives_what_comes_after_a_number_or_says_that_only_the_log_knows() -> None:
    hub = Hub()
    assert hub.after("t", 0) is None
    hub.publish("t", events(3, 5), 10)
    assert hub.after("t", 1) is None
    assert hub.after("t", 2) == events(3, 5)
    assert hub.after("t", 4) == events(5, 5)
    assert hub.after("t", 5) is None


def test_a_gap_empties_the_ring_rather_than_being_passed_over() -> None:
    hub = Hub()
    hub.publish("t", events(1, 2), 10)
    hub.publish("t", events(5, 6), 10)
    assert hub.after("t", 1) is None
    assert hub.after("t", 4) == events(5, 6)
    hub.publish("t", events(3, 4), 10)  # the earlier commit is published later
    assert hub.after("t", 4) is None


def test_rings_are_bounded_in_length_number_and_bytes() -> None:
    hub = Hub()
    hub.publish("t", events(1, 600), 600)
    assert hub.after("t", 0) is None
    assert hub.after("t", 599) == events(600, 600)
    hub.publish("huge", events(1, 1), 40 * 1024 * 1024)
    assert hub.after("huge", 0) is None
    assert hub.after("t", 599) is None
    for number in range(3000):
        hub.publish(f"t{number}", events(1, 1), 1)
    assert hub.after("t0", 0) is None
    assert hub.after("t2999", 0) == events(1, 1)


async def test_a_follower_is_told_of_what_comes_and_forgotten_when_it_leaves() -> None:
    hub = Hub()
    with hub.following("t") as one, hub.following("t") as other:
        assert not await one.wait_for_event(0, 0.0)
        hub.publish("t", events(1, 2), 10)
        hub.notify("t", 7)
        hub.notify("t", 5)
        assert (one.latest, other.latest) == (7, 7)
        assert await one.wait_for_event(6, 10.0)
        assert not await one.wait_for_event(7, 0.0)
    assert not hub._followers
