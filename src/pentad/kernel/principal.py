"""The caller. Made by `access/` from credentials, never from a request's body."""

from dataclasses import dataclass, field, replace
from typing import Final, Literal

Role = Literal["reader", "writer", "admin"]
Action = Literal["read", "write", "admin"]

ANY_ROOM: Final = ""
"""Stands in for a room where something belongs to no room: any scope is enough."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller.

    `id` is the owner of tasks, cards, plans, locks, objects and sessions. It is the user behind the password or key
    (`user:ada`), so a second key of the same user reaches them, and rotating a key orphans nothing. A key without an
    owner, or confined to its own things, is its own id (`key:...`).
    """

    id: str
    name: str
    scopes: frozenset[str]
    kind: Literal["user", "key", "token", "local", "anonymous"] = "user"
    credential: str = ""
    """The key or grant used (`key:...`, `grant:...`), for the audit trail and for rules that name one; empty if there
    is none."""
    user: str | None = None
    """The user behind the call, even for a confined key, because members of organisations are users."""
    audience: str | None = None
    """The paths the credential is valid for, separated by spaces (`/mcp`); None if it is valid everywhere."""
    read_only: bool = False
    """Whether write and admin scopes were removed for this request."""
    allowances: dict[str, bool] = field(default_factory=dict[str, bool], compare=False, repr=False)

    def may(self, room: str, action: Action) -> bool:
        """Whether the principal has `room:action`, directly or by a wildcard. Cached, because every call asks."""
        scope = f"{room}:{action}"
        known = self.allowances.get(scope)
        if known is None:
            known = bool(self.scopes) if room == ANY_ROOM else self._holds(room, action)
            self.allowances[scope] = known
        return known

    def _holds(self, room: str, action: Action) -> bool:
        return not self.scopes.isdisjoint((f"{room}:{action}", f"*:{action}", f"{room}:*", "*:*"))

    def reading_only(self) -> "Principal":
        """The same caller with only its read scopes, for requests that may change nothing."""
        if self.read_only or not self.scopes:
            return self
        rooms = [room for room, _, action in (scope.partition(":") for scope in self.scopes) if action in ("read", "*")]
        return replace(self, scopes=frozenset(f"{room}:read" for room in rooms), read_only=True, allowances={})


LOCAL: Final = Principal(id="local", name="local", scopes=frozenset({"*:*"}), kind="local")
"""The owner of this machine: stdio, the in-process client, and `--auth none` on loopback."""

ANONYMOUS: Final = Principal(id="anonymous", name="anonymous", scopes=frozenset(), kind="anonymous")
"""A caller without credentials, on the few public routes."""
