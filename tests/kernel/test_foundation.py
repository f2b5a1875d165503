"""Errors, ids, times, principals and nearest names."""

import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.access.scopes import role_scopes, scopes_of
from pentad.kernel import errors
from pentad.kernel.clock import SystemClock, iso
from pentad.kernel.errors import PentadError
from pentad.kernel.ids import opaque_id, uuid7, uuid7_text
from pentad.kernel.names import did_you_mean, nearest
from pentad.kernel.principal import ANONYMOUS, LOCAL, Action, Principal, Role
from tests.behaviour.clocks import TurnedClock


def every_error() -> list[type[PentadError]]:
    found = [PentadError]
    for kind in found:
        found += kind.__subclasses__()
    return [kind for kind in found if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
@pytest.mark.requirement("kernel:errors:tree")
def test_every_error_has_a_code_a_status_and_a_place_in_the_drawing(kind: type[PentadError]) -> None:
    assert kind.code.replace("_", "").isalpha()
    assert 400 <= kind.http_status < 600
    assert errors.__doc__ is not None
    assert f"* {kind.__name__}" in errors.__doc__


@pytest.mark.requirement("kernel:errors:tree")
def test_codes_are_unique() -> None:
    codes = [kind.code for kind in every_error()]
    assert len(codes) == len(set(codes))


@pytest.mark.requirement("kernel:errors:shape")
def test_an_error_reads_as_a_sentence_and_as_json() -> None:
    error = errors.InvalidInput("It is wrong.", hint="Mend it.", details={"at": "/a"})
    assert error.sentence() == "It is wrong. Mend it."
    assert (
        errors.InvalidInput('no record called "x"', hint="Look again.").sentence()
        == 'no record called "x". Look again.'
    )
    assert errors.InvalidInput("Is it wrong?", hint="Yes.").sentence() == "Is it wrong? Yes."
    assert errors.InvalidInput("Missing required parameter: id").sentence() == "Missing required parameter: id"
    assert error.as_json() == {
        "code": "invalid_input", "message": "It is wrong.", "hint": "Mend it.", "details": {"at": "/a"},
    }  # fmt: skip
    assert errors.NotFound("Gone.").as_json() == {"code": "not_found", "message": "Gone."}
    assert errors.RateLimited("Slow.", retry_after=1.23456).details == {"retry_after": 1.235}
    json.dumps(errors.Overloaded("Busy.").as_json())


@given(st.floats(0, 1e11), st.binary(min_size=10, max_size=10))
@pytest.mark.requirement("kernel:ids:uuid7")
def test_ids_sort_by_time_and_are_valid_version_7(time: float, noise: bytes) -> None:
    class Noise:
        def token_bytes(self, count: int) -> bytes:
            return noise[:count]

    made = uuid7(TurnedClock(time=time), Noise())
    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    later = uuid7(TurnedClock(time=time + 0.002), Noise())
    assert made < later
    assert made.int >> 80 == int(time * 1000)
    assert uuid7_text(TurnedClock(time=time), Noise()) == str(made)


@given(st.integers(0, 4_000_000_000), st.integers(0, 999_998), st.binary(min_size=8, max_size=8))
@pytest.mark.requirement("kernel:ids:uuid7")
def test_ids_of_one_millisecond_sort_by_time_whatever_the_noise(second: int, micro: int, noise: bytes) -> None:
    class Noise:
        def __init__(self, noise: bytes) -> None:
            self.noise = noise

        def token_bytes(self, count: int) -> bytes:
            return self.noise[:count]

    before = uuid7(TurnedClock(time=second + micro / 1e6), Noise(b"\xff" * 8))
    after = uuid7(TurnedClock(time=second + (micro + 1) / 1e6), Noise(noise))
    assert before < after


@pytest.mark.requirement("kernel:ids:opaque")
def test_handles_do_not_repeat_and_are_safe_in_a_header_or_an_address() -> None:
    handles = {opaque_id() for _ in range(1000)}
    assert len(handles) == 1000
    assert all(handle.isascii() and handle.replace("-", "").replace("_", "").isalnum() for handle in handles)
    assert {len(handle) for handle in handles} == {32}


@pytest.mark.parametrize("first", [b"\x00", b"\xf8", b"\xfb", b"\xff"])
def test_a_handle_is_never_taken_for_an_option(first: bytes) -> None:
    class Fixed:
        def token_bytes(self, count: int) -> bytes:
            return first * count

    assert opaque_id(Fixed())[0].isalpha()


@pytest.mark.requirement("kernel:clock:iso")
def test_times_are_written_in_the_one_way() -> None:
    assert iso(0) == "1970-01-01T00:00:00.000Z"
    assert iso(1_800_000_000.1239) == "2027-01-15T08:00:00.123Z"
    clock = SystemClock()
    assert clock.monotonic() <= clock.monotonic()


ROLES: list[tuple[Role, set[Action]]] = [
    ("reader", {"read"}), ("writer", {"read", "write"}), ("admin", {"read", "write", "admin"}),
]  # fmt: skip
ACTIONS: tuple[Action, ...] = ("read", "write", "admin")


@pytest.mark.parametrize(("role", "allowed"), ROLES)
@pytest.mark.requirement("access:roles")
def test_a_role_allows_its_actions_in_every_room(role: Role, allowed: set[Action]) -> None:
    principal = Principal("user:x", "x", role_scopes(role))
    for room in ("directory", "lab"):
        assert {action for action in ACTIONS if principal.may(room, action)} == allowed


@pytest.mark.requirement("access:roles")
def test_single_scopes_reach_exactly_as_far_as_they_say() -> None:
    principal = Principal("user:x", "x", scopes_of(["reader"], ["lab:write", "metrics:*"]))
    assert principal.may("lab", "write")
    assert not principal.may("directory", "write")
    assert principal.may("metrics", "admin")
    assert not principal.may("lab", "admin")
    assert principal.may("lab", "write"), "asked twice, the answer is the same"
    assert all(LOCAL.may("any", action) for action in ACTIONS)
    assert not any(ANONYMOUS.may("any", action) for action in ACTIONS)


@pytest.mark.requirement("kernel:names:nearest")
def test_the_nearest_name_is_offered_in_its_own_spelling() -> None:
    known = ["listRecords", "pullRecord", "search"]
    assert nearest("LISTRECORDS", known) == ["listRecords"]
    assert did_you_mean("serch", known) == "Did you mean 'search'?"
    assert did_you_mean("xyz", known) is None
    assert nearest("x" * 100_000, known) == []


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=10), max_size=5))
@pytest.mark.requirement("kernel:names:nearest")
def test_only_known_names_are_ever_offered(name: str, known: list[str]) -> None:
    assert set(nearest(name, known, limit=3)) <= set(known)
