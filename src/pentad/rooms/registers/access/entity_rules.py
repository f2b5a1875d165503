"""Who may know of a register or schema, and who may define it. `access.py` goes on to the objects in them.

Both belong to an organisation, whose members know of them unless their authorization keeps them from some. What
`public` may read everybody knows of. To define is the right of the owner, of the groups an authorization block names
for it, and of administrators; it takes the scope to write.
"""

from typing import Final, Protocol

from pentad.kernel.errors import Forbidden, Unauthenticated
from pentad.kernel.principal import Action, Principal, Role
from pentad.rooms.registers.access.authorization import (
    AUTHENTICATED,
    DEFINE,
    NOTHING,
    PUBLIC,
    Block,
    Grantable,
    read_block,
)
from pentad.rooms.registers.audiences import Audience
from pentad.rooms.registers.models import Caller, Pair, Register, Schema

ROOM: Final = "registers"
EVERYBODY: Final = frozenset({PUBLIC})
_ROLES: Final[tuple[tuple[Role, Action], ...]] = (("reader", "read"), ("writer", "write"), ("admin", "admin"))
_KEPT: Final = 10_000
_UNGRANTED: Final = "Its authorization block does not grant that."


class Memberships(Protocol):
    """Which organisation a principal belongs to; `organisations.Organisations` is one."""

    def of(self, principal: Principal) -> str: ...


class EntityRules:
    """Answers questions about registers and schemas themselves."""

    def __init__(self, memberships: Memberships) -> None:
        self._memberships = memberships
        self._blocks: dict[tuple[str, int, int], tuple[object, object, Block]] = {}

    def organisation(self, caller: Caller) -> str:
        """The organisation that owns what the caller makes."""
        return self._memberships.of(caller.principal)

    def sees(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether a register or schema by itself is the caller's to know of."""
        principal = caller.principal
        if is_admin(principal):
            return True
        block = self._block(entity)
        if block.given("read", EVERYBODY):
            return True
        if not principal.may(ROOM, "read") or not self._is_own(principal, entity):
            return False
        return _owns(principal, entity) or not block.speaks_of("read") or bool(block.given("read", groups(principal)))

    def sees_both(self, caller: Caller, register: Register, schema: Schema) -> bool:
        """The same for a register with one of its schemas.

        A register that says nothing about reading hides nothing of what a schema in it shows to everybody.
        """
        if not self.sees(caller, schema):
            return False
        if self.sees(caller, register):
            return True
        silent = schema.id in register.schemas and not self._block(register).speaks_of("read")
        return silent and bool(self._block(schema).given("read", EVERYBODY))

    def audience(self, entity: Register | Schema, *, public: bool) -> Audience:
        """Whom `sees` is true of; `public` says whether it is of everybody."""
        block = self._block(entity)
        named = (tuple({grant.group: None for grant in block.grants["read"]}),) if block.speaks_of("read") else ()
        return Audience(public, entity.organisation, entity.body.get("owner"), named)

    def is_of(self, principal: Principal, audience: Audience) -> bool:
        """Whether somebody is to be told of a change that was announced for an audience."""
        if audience.public or is_admin(principal):
            return True
        if audience.organisation not in (None, self._memberships.of(principal)) or not principal.may(ROOM, "read"):
            return False
        if audience.owner == principal.id and principal.kind != "anonymous":
            return True
        own = groups(principal)
        return all(not own.isdisjoint(names) for names in audience.groups)

    def defines(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether a register or schema is the caller's to change: its owner's, its definers', administrators'."""
        principal = caller.principal
        if is_admin(principal):
            return True
        if not principal.may(ROOM, "write") or not self.sees(caller, entity) or not self._is_own(principal, entity):
            return False
        return _owns(principal, entity) or bool(self._block(entity).given(DEFINE, groups(principal)))

    def check_define(self, caller: Caller, entity: Register | Schema | None) -> None:
        """Refuse to define; `entity` is None for a new register or schema, which takes the scope alone."""
        self._require_scope(caller.principal, "create" if entity is None else DEFINE)
        if entity is not None and not self.defines(caller, entity):
            raise refused(
                caller.principal,
                DEFINE,
                f"the {type(entity).__name__.lower()} {entity.slug!r}",
                hint="Its owner and administrators may, and those its authorization names under define.",
            )

    def reads_all(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether a register's or schema's own block keeps nothing from the caller, whatever an object is like."""
        return is_admin(caller.principal) or self._block(entity).gives_all("read", groups(caller.principal))

    def _is_own(self, principal: Principal, *entities: Register | Schema) -> bool:
        return all(one.organisation == self._memberships.of(principal) for one in entities)

    def _block(self, entity: Register | Schema, pair: Pair | None = None) -> Block:
        """What a register or schema says; its conditions are asked about objects of a pair alone."""
        raw = entity.body.get("authorization")
        if not raw:
            return NOTHING
        schema, definition = (0, None) if pair is None else (pair.schema.id, pair.definition)
        key = (type(entity).__name__, entity.id, schema)
        known = self._blocks.get(key)
        if known is None or known[0] is not raw or known[1] is not definition:
            if len(self._blocks) >= _KEPT:
                self._blocks.clear()
            known = self._blocks[key] = (raw, definition, read_block(raw, entity.slug, definition))
        return known[2]

    def require_write(self, caller: Caller) -> None:
        """Refuse a caller that may change nothing, before anything else is said about what it wants changed."""
        self._require_scope(caller.principal, "update")

    def _require_scope(self, principal: Principal, right: Grantable) -> None:
        if not principal.may(ROOM, "read" if right == "read" else "write"):
            raise refused(principal, right, "anything in the registers room", hint=f"It needs the scope {ROOM}:write.")


def is_admin(principal: Principal) -> bool:
    return principal.may(ROOM, "admin")


def groups(principal: Principal) -> frozenset[str]:
    """What a block may call the caller: its roles, its id, its scopes in this room, and everybody's names."""
    if principal.kind == "anonymous":
        return EVERYBODY
    found = {PUBLIC, AUTHENTICATED, principal.id}
    if principal.credential:
        found.add(principal.credential)
    for role, action in _ROLES:
        if principal.may(ROOM, action):
            found |= {role, f"{ROOM}:{action}"}
    return frozenset(found)


def _owns(principal: Principal, entity: Register | Schema) -> bool:
    return principal.kind != "anonymous" and entity.body.get("owner") == principal.id


def refused(principal: Principal, right: Grantable, what: str, hint: str = _UNGRANTED) -> Forbidden | Unauthenticated:
    if principal.kind == "anonymous":
        return Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")
    return Forbidden(f"{principal.name!r} may not {right} {what}.", hint=f"{hint} Ask an administrator.")
