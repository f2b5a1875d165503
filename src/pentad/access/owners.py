"""The current rights of owners, for work that runs while its owner is not calling: a webhook, a view, a resumed turn.

Such things store the rights they were created with. They never get more than those, and at each use only the ones
that the owner still has. Look them up inside the unit of work that uses them, so that nothing needs caching.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from pentad.access.scopes import narrowed, scopes_from_text, scopes_of
from pentad.kernel.clock import Clock
from pentad.kernel.errors import Forbidden
from pentad.kernel.ports import Rows
from pentad.kernel.principal import Action, Principal

OwnerNow = Callable[[Rows, Principal], Principal | None]
"""Returns the owner with its current rights, never more than were saved; None if it no longer exists."""

_USER: Final = "user:"
_KEY: Final = "key:"
_USER_NOW: Final = "SELECT role, scopes FROM users WHERE name_key = ?"
_KEY_NOW: Final = (
    "SELECT k.scopes, k.expires_at, k.owner, u.role, u.scopes FROM api_keys k"
    " LEFT JOIN users u ON u.name_key = k.owner WHERE k.id = ? AND k.revoked_at IS NULL"
)


def owner_as_saved(rows: Rows, saved: Principal) -> Principal:
    """The `OwnerNow` of a room that is opened without users: the saved rights."""
    return saved


def owner_is_gone(principal_id: str) -> str:
    """The error message for something whose owner no longer exists."""
    return f"Its owner {principal_id} is gone: the user was removed, or the key revoked or expired."


def require_owner(owner_now: OwnerNow, rows: Rows, principal_id: str, room: str, action: Action) -> None:
    """Raise Forbidden unless the owner currently has this right. For things that saved only the owner's id."""
    owner = owner_now(rows, Principal(principal_id, principal_id, frozenset({"*:*"})))
    if owner is None:
        raise Forbidden(owner_is_gone(principal_id))
    if not owner.may(room, action):
        raise Forbidden(f"Its owner {principal_id} does not have the scope {room}:{action} any more.")


def is_known_user(owner_now: OwnerNow, rows: Rows, principal_id: str) -> bool:
    """Whether an owner is a user with an account. False for keys and tokens, because anyone may hold them."""
    saved = Principal(principal_id, principal_id, frozenset())
    return principal_id.startswith(_USER) and owner_now(rows, saved) is not None


class Owners:
    """Looks up owners among the users and keys of the store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def current(self, rows: Rows, saved: Principal) -> Principal | None:
        """The owner with its current rights, never more than `saved`; None if it no longer exists.

        A user is gone when removed, a key without an owner when revoked or expired. Others, such as the owner of this
        machine and token subjects, are not stored here, so their saved rights stand.
        """
        if saved.id.startswith(_USER):
            held = _user_scopes(rows, saved.id.removeprefix(_USER))
        elif saved.id.startswith(_KEY):
            held = self._key_scopes(rows, saved.id.removeprefix(_KEY))
        else:
            return saved
        return None if held is None else replace(saved, scopes=narrowed(saved.scopes, held), allowances={})

    def _key_scopes(self, rows: Rows, key_id: str) -> frozenset[str] | None:
        row = rows.one(_KEY_NOW, key_id)
        if row is None:
            return None
        scopes, expires_at, owner, role, owner_scopes = row
        if (expires_at is not None and self._clock.now() >= expires_at) or (owner is not None and role is None):
            return None
        own = scopes_from_text(scopes)
        return own if owner is None else narrowed(own, scopes_of([role], scopes_from_text(owner_scopes)))


def _user_scopes(rows: Rows, name: str) -> frozenset[str] | None:
    row = rows.one(_USER_NOW, name)
    return None if row is None else scopes_of([row[0]], scopes_from_text(row[1]))
