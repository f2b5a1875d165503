"""Scopes are checked as written and narrowed without ever widening."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.access.scopes import checked_role, checked_scopes, is_scope, narrowed, scopes_from_text, scopes_to_text
from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Action, Principal

ROOMS = ("directory", "registers", "agents")
ACTIONS: tuple[Action, ...] = ("read", "write", "admin")
SCOPES = st.builds("{}:{}".format, st.sampled_from(("*", *ROOMS)), st.sampled_from(("*", *ACTIONS)))


@pytest.mark.parametrize("scope", ["*:*", "*:read", "directory:*", "my-room_2:admin"])
def test_a_room_and_an_action_make_a_scope(scope: str) -> None:
    assert checked_scopes([scope]) == {scope}


@pytest.mark.parametrize(
    "scope", ["", "read", "directory:", ":read", "directory:fly", "Directory:read", "a:b:c", "*:read ", "*:read\n"]
)
def test_anything_else_is_refused_by_name(scope: str) -> None:
    assert not is_scope(scope)
    with pytest.raises(InvalidInput) as caught:
        checked_scopes(["*:read", scope])
    assert repr(scope) in caught.value.message


def test_an_unknown_role_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_role("root")
    assert "reader, writer and admin" in (caught.value.hint or "")


@given(st.frozensets(SCOPES), st.frozensets(SCOPES))
@pytest.mark.requirement("access:roles")
def test_narrowing_allows_exactly_what_both_sides_allow(asked: frozenset[str], held: frozenset[str]) -> None:
    both = Principal("x", "x", narrowed(asked, held))
    one, other = Principal("x", "x", asked), Principal("x", "x", held)
    for room in (*ROOMS, "elsewhere"):
        for action in ACTIONS:
            assert both.may(room, action) == (one.may(room, action) and other.may(room, action))


@given(st.frozensets(SCOPES))
def test_scopes_survive_their_stored_form(scopes: frozenset[str]) -> None:
    assert scopes_from_text(scopes_to_text(scopes)) == scopes
