"""Who may decide an approval. An agent names approvers; a principal may decide if one of the names matches:

admin, writer       a role: holders of agents:admin or agents:write
registers:admin     a scope
user:ada            a person, with any of their keys
finance             a group of such names, from the setting `approvers`
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.access.scopes import is_scope
from pentad.kernel.errors import Forbidden, InvalidInput, Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.kernel.principal import Action, Principal
from pentad.mcp.rights import check_right
from pentad.rooms.agents.approvals.store import Approval

_ROLES: Final[Mapping[str, Action]] = {"writer": "write", "admin": "admin"}
_PEOPLE: Final = ("user:", "key:")
_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 300


def person(principal: Principal) -> str:
    """The person behind a principal. A confined key is a principal of its own, but the same person."""
    return principal.user or principal.id


class Approvers:
    """The operator's groups, and the rules for seeing and deciding approvals."""

    def __init__(self, groups: Mapping[str, Any] | None = None) -> None:
        self._groups = {name: _group(name, members) for name, members in (groups or {}).items()}

    def checked(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names in a fixed order; InvalidInput if one of them is unknown."""
        if not 1 <= len(names) <= _MOST_NAMES:
            raise InvalidInput(f"An approval names 1 to {_MOST_NAMES} approvers; this one names {len(names)}.")
        for name in names:
            if name not in self._groups and not _is_plain(name):
                known = [*_ROLES, *self._groups]
                hint = did_you_mean(name, known) or f"Roles and groups are {', '.join(known)}; a person is user:NAME."
                raise InvalidInput(f"Nobody is called {name[:80]!r} among approvers.", hint=hint)
        return tuple(sorted(set(names)))

    def include(self, principal: Principal, names: Sequence[str]) -> bool:
        """Whether one of the names matches the principal. The owner of this machine matches all of them."""
        return principal.kind == "local" or any(self._fits(principal, name) for name in names)

    def check(self, principal: Principal, approval: Approval) -> None:
        """Forbidden, with the reason, unless the principal may decide. Call this only if it may see the approval."""
        if not self.include(principal, approval.approvers):
            raise Forbidden(f"You cannot decide this: it waits for {names_text(approval.approvers)}.")
        check_right(principal, "agents", "write")
        if principal.kind == "local" or approval.requester_may_decide:
            return
        if approval.requester == person(principal) or approval.owner == principal.id:
            raise Forbidden("You asked for this yourself, so someone else has to decide.")

    def _fits(self, principal: Principal, name: str) -> bool:
        if (members := self._groups.get(name)) is not None:
            return any(_fits_plainly(principal, member) for member in members)
        return _fits_plainly(principal, name)


def names_text(names: Sequence[str]) -> str:
    """The approvers for people: `finance or user:ada`."""
    return " or ".join(names)


def _fits_plainly(principal: Principal, name: str) -> bool:
    if (action := _ROLES.get(name)) is not None:
        return principal.may("agents", action)
    if name.startswith(_PEOPLE):
        return name.lower() in (principal.id.lower(), (principal.user or "").lower())
    room, _, action_name = name.partition(":")
    return bool(action_name) and principal.may(room, cast("Action", action_name))


def _is_plain(name: str) -> bool:
    """Whether the name is a person, a role or a scope. A user may be called `admin`, so people come first."""
    if len(name) > _LONGEST_NAME or any(character.isspace() for character in name):
        return False
    if name.startswith(_PEOPLE):
        return len(name) > len(_PEOPLE[0])
    return name in _ROLES or (is_scope(name) and "*" not in name)


def _group(name: str, members: Any) -> tuple[str, ...]:
    place = f"rooms.agents.approvers.{name}"
    if _is_plain(name) or not name or any(character.isspace() or character == ":" for character in name):
        raise Misconfigured(f"{place} cannot name a group.", hint="Use a word that is not a role, scope or person.")
    found = cast("Sequence[Any]", [members] if isinstance(members, str) else members)
    if not isinstance(members, str | list | tuple) or not all(isinstance(one, str) and _is_plain(one) for one in found):
        raise Misconfigured(
            f"{place} must list approvers.", hint='For example ["user:ada", "admin", "registers:write"].'
        )
    return tuple(found)
