"""Scopes: `room:action`, with `*` allowed in either place. Lists those of each role; checks and intersects scopes."""

import re
from collections.abc import Iterable
from typing import Final, TypeGuard

from pentad.kernel.errors import InvalidInput
from pentad.kernel.principal import Action, Role

ROLE_ACTIONS: Final[dict[Role, tuple[Action, ...]]] = {
    "reader": ("read",),
    "writer": ("read", "write"),
    "admin": ("read", "write", "admin"),
}
READ_ONLY: Final = frozenset({"*:read"})
_SCOPE: Final = re.compile(r"(?:\*|[a-z][a-z0-9_-]{0,63}):(?:\*|read|write|admin)")


def role_scopes(role: Role) -> frozenset[str]:
    """The scopes of a role: `*:action` means the action in every room."""
    return frozenset(f"*:{action}" for action in ROLE_ACTIONS[role])


def scopes_of(roles: Iterable[Role], scopes: Iterable[str] = ()) -> frozenset[str]:
    """All scopes of a list of roles and single scopes."""
    found: set[str] = set(scopes)
    for role in roles:
        found |= role_scopes(role)
    return frozenset(found)


def is_scope(text: str) -> bool:
    """Whether the text is a well-formed scope."""
    return _SCOPE.fullmatch(text) is not None


def is_role(text: object) -> TypeGuard[Role]:
    """Whether the text names a role."""
    return isinstance(text, str) and text in ROLE_ACTIONS


def checked_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Validate scopes; InvalidInput for the first malformed one."""
    found = frozenset(scopes)
    for scope in sorted(found):
        if not is_scope(scope):
            raise InvalidInput(
                f"{scope[:80]!r} is not a scope.",
                hint="Write room:action, e.g. directory:read; actions are read, write and admin; * stands for any.",
                details={"field": "scopes"},
            )
    return found


def checked_role(role: str) -> Role:
    """Validate a role; InvalidInput if there is no such role."""
    if not is_role(role):
        raise InvalidInput(
            f"{role[:80]!r} is not a role.", hint="Roles are reader, writer and admin.", details={"field": "role"}
        )
    return role


def narrowed(asked: Iterable[str], held: Iterable[str]) -> frozenset[str]:
    """The scopes that both sets allow, so that a key never exceeds its owner."""
    owned = [scope.split(":", 1) for scope in held]
    common: set[str] = set()
    for scope in asked:
        room, action = scope.split(":", 1)
        for held_room, held_action in owned:
            if (room == held_room or "*" in (room, held_room)) and (
                action == held_action or "*" in (action, held_action)
            ):
                common.add(f"{held_room if room == '*' else room}:{held_action if action == '*' else action}")
    return frozenset(common)


def exceeding(asked: Iterable[str], held: Iterable[str]) -> frozenset[str]:
    """The requested scopes that the held ones do not fully cover."""
    owned = frozenset(held)
    return frozenset(scope for scope in asked if not all(_is_held(one, owned) for one in _single_actions(scope)))


def _single_actions(scope: str) -> list[tuple[str, str]]:
    room, _, action = scope.partition(":")
    return [(room, one) for one in (ROLE_ACTIONS["admin"] if action == "*" else (action,))]


def _is_held(wanted: tuple[str, str], held: frozenset[str]) -> bool:
    room, action = wanted
    return not held.isdisjoint({f"{room}:{action}", f"*:{action}", f"{room}:*", "*:*"})


def scopes_to_text(scopes: Iterable[str]) -> str:
    """The stored form: sorted and separated by spaces."""
    return " ".join(sorted(scopes))


def scopes_from_text(text: str) -> frozenset[str]:
    """The scopes of the stored form."""
    return frozenset(text.split())
