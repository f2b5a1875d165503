"""The sealed state: readable by the holder of the key, changeable by nobody, useless to others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.mcp.request_state import StateSealer, binding
from pentad.mcp.wire_errors import ProtocolError
from tests.behaviour.clocks import TurnedClock

KEY, OLD_KEY = b"k" * 32, b"o" * 32
BOUND = binding("user:ada", "tools/call", "ask", b"{}")


def sealer(*keys: bytes, clock: TurnedClock | None = None) -> StateSealer:
    return StateSealer(keys or (KEY,), clock or TurnedClock())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), JSON, max_size=3),
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), JSON, max_size=3),
)
@pytest.mark.requirement("mcp:2026:state-sealed")
def test_what_was_sealed_is_opened(answers: dict[str, object], state: dict[str, object]) -> None:
    opened = sealer().open(sealer().seal(answers, state, BOUND), BOUND)
    assert (opened.answers, opened.state) == (answers, state)


@pytest.mark.requirement("mcp:2026:state-sealed")
def test_no_byte_of_a_state_can_be_changed() -> None:
    one = sealer()
    state = one.seal({"a": 1}, {"b": 2}, BOUND)
    for place in range(len(state)):
        for other in "AZaz09-_=":
            if state[place] != other:
                with pytest.raises(ProtocolError) as refused:
                    one.open(state[:place] + other + state[place + 1 :], BOUND)
                assert refused.value.code == -32602


@pytest.mark.requirement("mcp:2026:state-sealed")
def test_nothing_can_be_added_or_taken_away() -> None:
    one = sealer()
    state = one.seal({}, {}, BOUND)
    for changed in (state + "=", state + "A", state + "-TAMPERED", " " + state, state + "\n", state[:-1], "=" + state):
        with pytest.raises(ProtocolError):
            one.open(changed, BOUND)
    for length in range(len(state)):
        with pytest.raises(ProtocolError):
            one.open(state[:length], BOUND)


@given(st.text(max_size=120))
@pytest.mark.requirement("mcp:2026:state-sealed")
def test_any_text_is_refused_in_the_one_way(text: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        sealer().open(text, BOUND)
    assert refused.value.code == -32602


PARTS = ("user:ada", "tools/call", "ask", b"{}")


@pytest.mark.parametrize(
    "other",
    [
        ("user:bob", "tools/call", "ask", b"{}"),
        ("user:ada", "prompts/get", "ask", b"{}"),
        ("user:ada", "tools/call", "tell", b"{}"),
        ("user:ada", "tools/call", "ask", b'{"a":1}'),
        ("user:adat", "ools/call", "ask", b"{}"),
    ],
)
@pytest.mark.requirement("mcp:2026:state-bound")
def test_a_state_opens_only_for_the_request_it_was_made_for(other: tuple[str, str, str, bytes]) -> None:
    one = sealer()
    state = one.seal({}, {}, binding(*PARTS))
    with pytest.raises(ProtocolError):
        one.open(state, binding(*other))
    one.open(state, binding(*PARTS))


@pytest.mark.requirement("mcp:2026:state-expires")
def test_a_state_lives_for_an_hour() -> None:
    clock = TurnedClock()
    one = sealer(clock=clock)
    state = one.seal({}, {}, BOUND)
    clock.pass_seconds(3600)
    one.open(state, BOUND)
    clock.pass_seconds(1)
    with pytest.raises(ProtocolError, match="too old"):
        one.open(state, BOUND)


@pytest.mark.requirement("mcp:2026:state-keys-rotate")
def test_an_old_key_opens_and_the_first_seals() -> None:
    state = sealer(OLD_KEY).seal({"a": 1}, {}, BOUND)
    assert sealer(KEY, OLD_KEY).open(state, BOUND).answers == {"a": 1}
    newer = sealer(KEY, OLD_KEY).seal({}, {}, BOUND)
    with pytest.raises(ProtocolError):
        sealer(OLD_KEY).open(newer, BOUND)
    with pytest.raises(ProtocolError):
        sealer(KEY).open(state, BOUND)


@pytest.mark.requirement("mcp:2026:state-sealed")
def test_two_states_of_the_same_content_differ() -> None:
    one = sealer()
    assert one.seal({}, {}, BOUND) != one.seal({}, {}, BOUND)
