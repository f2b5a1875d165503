"""Who may do what with registers, schemas and objects.

The rules, in order:

1. An administrator of the room may do everything.
2. Everybody may read what `public` may read, in every organisation. Anything else needs the room's scope: `read` for
   reading, `write` for all other rights.
3. Everything else is limited to its organisation: registers, schemas and objects.
4. If the authorization blocks of the register and the schema name a right, each block that names it must grant it. If
   neither names it, the scope suffices. The exception is `define`: only the owner of a register or schema and the
   groups named in its block have it.
5. The owner of an object keeps all rights on it.

If a caller may not see something, the answer is NotFound, never Forbidden. No I/O: memberships are in memory.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Protocol

from pentad.kernel.errors import Forbidden, NotFound, Unauthenticated
from pentad.kernel.principal import Action, Principal, Role
from pentad.mcp.rights import missing_scope, refuse_read_only
from pentad.rooms.registers.access.authorization import (
    AUTHENTICATED,
    DEFINE,
    NOTHING,
    PUBLIC,
    Block,
    Grant,
    Grantable,
    Right,
    any_of,
    read_block,
)
from pentad.rooms.registers.models import Audience, Caller, Pair, Register, Schema, StoredObject
from pentad.rooms.registers.not_found import EntityNotFound, missing_object
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import And, Compare, Filter, Or, filter_paths

ROOM: Final = "registers"
_EVERYBODY: Final = frozenset({PUBLIC})
_ROLES: Final[tuple[tuple[Role, Action], ...]] = (("reader", "read"), ("writer", "write"), ("admin", "admin"))
_MOST_BLOCKS: Final = 10_000
_NO_OBJECT: Final = Or(())
"""A filter that matches nothing."""
_OWNER: Final = ("@self", "owner")
_ORGANISATION: Final = ("@self", "organisation")
_UNGRANTED: Final = "Its authorization block does not grant that."
_FOREIGN: Final = "It belongs to another organisation, which lets everybody read."


class Memberships(Protocol):
    """Says which organisation a principal belongs to; `Organisations` does."""

    def of(self, principal: Principal) -> str: ...


class AccessRules:
    """Answers every question about access in the room."""

    def __init__(self, memberships: Memberships) -> None:
        self._memberships = memberships
        self._blocks: dict[tuple[str, int, int], tuple[object, object, Block]] = {}
        self._guarded: dict[int, tuple[object, dict[str, Block]]] = {}

    def is_unrestricted(self, caller: Caller) -> bool:
        """Whether no rules apply to the caller, so no object or property needs checking."""
        return is_admin(caller.principal)

    def organisation(self, caller: Caller) -> str:
        """The organisation that will own what the caller creates."""
        return self._memberships.of(caller.principal)

    # registers and schemas

    def sees(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether the caller may see a register or schema on its own."""
        principal = caller.principal
        if is_admin(principal):
            return True
        block = self._block(entity)
        if block.given("read", _EVERYBODY):
            return True
        if not principal.may(ROOM, "read") or not self._is_own(principal, entity):
            return False
        return _owns(principal, entity) or not block.covers("read") or bool(block.given("read", groups(principal)))

    def sees_both(self, caller: Caller, register: Register, schema: Schema) -> bool:
        """Whether the caller may see a register together with one of its schemas.

        A register whose block does not mention reading does not hide a public schema.
        """
        if not self.sees(caller, schema):
            return False
        if self.sees(caller, register):
            return True
        silent = schema.id in register.schemas and not self._block(register).covers("read")
        return silent and bool(self._block(schema).given("read", _EVERYBODY))

    def audience(self, entity: Register | Schema, *, public: bool) -> Audience:
        """The callers for whom `sees` is true; `public` if that is everyone."""
        block = self._block(entity)
        named = (tuple({grant.group: None for grant in block.grants["read"]}),) if block.covers("read") else ()
        return Audience(public, entity.organisation, entity.body.get("owner"), named)

    def is_of(self, principal: Principal, audience: Audience) -> bool:
        """Whether a principal is in the audience of a change."""
        if audience.public or is_admin(principal):
            return True
        if audience.organisation not in (None, self._memberships.of(principal)) or not principal.may(ROOM, "read"):
            return False
        if audience.owner == principal.id and principal.kind != "anonymous":
            return True
        own = groups(principal)
        return all(not own.isdisjoint(names) for names in audience.groups)

    def defines(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether the caller may change a register or schema."""
        principal = caller.principal
        if is_admin(principal):
            return True
        if not principal.may(ROOM, "write") or not self.sees(caller, entity) or not self._is_own(principal, entity):
            return False
        return _owns(principal, entity) or bool(self._block(entity).given(DEFINE, groups(principal)))

    def check_define(self, caller: Caller, entity: Register | Schema | None) -> None:
        """Refuse callers without the right to define. `entity` is None for a new one, which needs only the scope."""
        self._require_scope(caller.principal, "create" if entity is None else DEFINE)
        if entity is not None and not self.defines(caller, entity):
            raise _refused(
                caller.principal,
                DEFINE,
                f"the {type(entity).__name__.lower()} {entity.slug!r}",
                hint="Its owner and administrators may, and those its authorization names under define.",
            )

    def reads_all(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether the block of a register or schema lets the caller read every object."""
        return is_admin(caller.principal) or self._block(entity).gives_all("read", groups(caller.principal))

    # objects

    def has_all(self, caller: Caller, pair: Pair, right: Right) -> bool:
        """Whether the caller has a right on every object its organisation can have in a pair."""
        principal = caller.principal
        if is_admin(principal):
            return True
        return principal.may(ROOM, "read" if right == "read" else "write") and all(
            block.gives_all(right, groups(principal)) for block in self._blocks_for(pair, right)
        )

    def require_write(self, caller: Caller) -> None:
        """Refuse callers who may not change anything, before revealing anything about the object."""
        self._require_scope(caller.principal, "update")

    def check(self, caller: Caller, pair: Pair, right: Right, data: Mapping[str, Any] | None = None) -> None:
        """Refuse a right the caller has on no object of the pair or, for `create`, not on the object in `data`."""
        principal = caller.principal
        if is_admin(principal):
            return
        if right != "read":
            self._require_scope(principal, right)
        if not self._reads_some(principal, pair):
            raise _invisible(principal, pair)
        if right == "read":
            return
        if not self._is_own(principal, pair.register, pair.schema):
            raise _refused(principal, right, f"objects of {pair.schema.slug!r}", hint=_FOREIGN)
        if right == "create":
            if not self._grants(principal, pair, right, data):
                raise _refused(principal, right, f"objects of {pair.schema.slug!r}")
            if pair.schema.id not in pair.register.schemas and not self.defines(caller, pair.register):
                raise _refused(
                    principal,
                    right,
                    f"objects of {pair.schema.slug!r} in {pair.register.slug!r}",
                    hint="The register does not have the schema; callers who may define the register can add it.",
                )
        elif not self._grants(principal, pair, right, None) and not self._grants(principal, pair, "create", None):
            raise _refused(principal, right, f"objects of {pair.schema.slug!r}")

    def check_object(self, caller: Caller, pair: Pair, right: Right, stored: StoredObject) -> None:
        """Refuse a caller without the right on a stored object; NotFound if the caller may not see it."""
        self.found(caller, pair, right, stored.uuid, stored)

    def found(
        self, caller: Caller, pair: Pair, right: Right, ref: int | str, stored: StoredObject | None
    ) -> StoredObject:
        """The object with this `ref`, if the caller has the right on it.

        Whatever the right, a hidden object gets the same answer as a missing one.
        """
        principal = caller.principal
        if right != "read" and not is_admin(principal):
            self._require_scope(principal, right)
        if stored is None or not self.sees_object(caller, pair, stored):
            raise missing_object(pair, ref)
        if right == "read" or is_admin(principal) or stored.owner == principal.id:
            return stored
        if not self._grants(principal, pair, right, stored.data):
            raise _refused(principal, right, f"object {stored.uuid}")
        return stored

    def sees_object(self, caller: Caller, pair: Pair, stored: StoredObject) -> bool:
        """Whether the caller may see an object; decides like `row_filter`, for a single object."""
        principal = caller.principal
        if is_admin(principal):
            return True
        if self._is_public(pair, stored.data):
            return True
        if not principal.may(ROOM, "read") or stored.organisation != self._memberships.of(principal):
            return False
        return stored.owner == principal.id or self._grants(principal, pair, "read", stored.data)

    def object_audience(self, pair: Pair, stored: StoredObject) -> Audience:
        """The callers for whom `sees_object` is true, to be notified when the object is gone.

        Leaves out callers who see it only through a rule on `$userId`.
        """
        variables = {"$organisation": stored.organisation}

        def holds(grant: Grant) -> bool:
            return all(not one.names_caller and one.holds(stored.data, variables) for one in grant.match)

        named = tuple(
            tuple({grant.group: None for grant in block.grants["read"] if holds(grant)})
            for block in self._blocks_for(pair, "read")
        )
        return Audience(self._is_public(pair, stored.data), stored.organisation, stored.owner, named)

    def sees_past(self, caller: Caller, pair: Pair, current: StoredObject, past: StoredObject) -> bool:
        """Whether the caller may read an earlier state.

        Today's rules must allow both the current state (the last one, if the object is deleted) and the earlier one.
        """
        return self.sees_object(caller, pair, current) and self.sees_object(caller, pair, past)

    def depends_on_data(self, caller: Caller, pair: Pair) -> bool:
        """Whether read access depends on an object's data, which may have been different in the past."""
        return any(path[0] != SELF for path in filter_paths(self.row_filter(caller, pair)))

    def row_filter(self, caller: Caller, pair: Pair, right: Right = "read") -> Filter | None:
        """Matches the objects of the pair the caller has the right on; None matches all."""
        principal = caller.principal
        if is_admin(principal):
            return None
        if right == "read" and self._is_public(pair, None):
            return None
        public = self._public_filter(pair) if right == "read" else None
        if not principal.may(ROOM, "read" if right == "read" else "write"):
            return public or _NO_OBJECT
        own = self._own_filter(principal, pair, right)
        return own if public is None else Or((public, own))

    def _own_filter(self, principal: Principal, pair: Pair, right: Right) -> Filter:
        """Matches objects of the caller's organisation that the caller owns or has a grant for."""
        variables = self._variables(principal)
        tenant = Compare(_ORGANISATION, "eq", variables["$organisation"])
        owned = Compare(_OWNER, "eq", principal.id)
        parts: list[Filter] = []
        for block in self._blocks_for(pair, right):
            given = block.given(right, groups(principal))
            if not given:
                return And((tenant, owned))
            if (part := any_of(given, variables)) is not None:
                parts.append(part)
        return And((tenant, Or((owned, _all_of(parts))))) if parts else tenant

    def _public_filter(self, pair: Pair) -> Filter | None:
        """Matches the objects everybody may read; None if there are none."""
        parts: list[Filter] = []
        for block in self._blocks_for(pair, "read"):
            given = block.given("read", _EVERYBODY)
            if not given:
                return None
            if (part := any_of(given, {})) is not None:
                parts.append(part)
        return _all_of(parts) if parts else None

    # properties

    def hidden(
        self, caller: Caller, pair: Pair, data: Mapping[str, Any] | None = None, owner: str | None = None
    ) -> frozenset[str]:
        """The properties the caller may not read in this object or, without `data`, in some object of the pair.

        Properties derived from a hidden one are hidden too. Callers may not filter, sort or count by hidden properties
        either: that would let them guess values.
        """
        guarded = self._guarded_properties(pair)
        principal = caller.principal
        if not guarded or is_admin(principal) or (owner is not None and owner == principal.id):
            return frozenset()
        closed = frozenset(name for name, block in guarded.items() if not self._allows(principal, block, "read", data))
        return closed | _derived_from(pair, closed) if closed and pair.definition.derived else closed

    def hidden_in(self, caller: Caller, pair: Pair, *states: StoredObject) -> frozenset[str]:
        """The properties the caller may not read in at least one of these states of an object."""
        return frozenset[str]().union(*(self.hidden(caller, pair, one.data, one.owner) for one in states))

    def hides_some(self, caller: Caller, pair: Pair) -> bool:
        """Whether any object of the pair, now or in the past, may have properties hidden from the caller."""
        return bool(self.hidden(caller, pair)) or self.depends_on_data(caller, pair)

    def readable(self, caller: Caller, pair: Pair, data: dict[str, Any], owner: str | None = None) -> dict[str, Any]:
        """The data without hidden properties; the same dict if there are none."""
        hidden = self.hidden(caller, pair, data, owner)
        return {name: value for name, value in data.items() if name not in hidden} if hidden else data

    def writable(
        self,
        caller: Caller,
        pair: Pair,
        data: dict[str, Any],
        previous: Mapping[str, Any] | None = None,
        owner: str | None = None,
        named: Collection[str] = (),
    ) -> dict[str, Any]:
        """The data to store, with hidden properties carried over; refused if a protected property would change.

        `named` are the properties the caller sent. Callers cannot know values they may not read, so even sending the
        stored value is a guess, and refused like any other change.
        """
        guarded = self._guarded_properties(pair)
        principal = caller.principal
        if not guarded or is_admin(principal) or (owner is not None and owner == principal.id):
            return data
        right: Right = "create" if previous is None else "update"
        before: Mapping[str, Any] = previous or {}
        kept = dict(data)
        unread = {name for name, block in guarded.items() if not self._allows(principal, block, "read", before)}
        derived = _derived_from(pair, unread)
        for name in unread | derived:
            if name in before and name not in data:
                kept[name] = before[name]
        for name, block in guarded.items():
            changes = kept.get(name) != before.get(name) or (name in unread and name in named)
            if changes and not self._allows(principal, block, right, before or data):
                raise _unsettable(principal, pair, name)
        if previous is not None and (guessed := sorted(derived.intersection(named))):
            raise _unsettable(principal, pair, guessed[0])
        return kept

    def may_set(self, caller: Caller, pair: Pair, name: str) -> bool:
        """Whether the caller may change a property in every object it may change."""
        block = self._guarded_properties(pair).get(name)
        return block is None or is_admin(caller.principal) or self._allows(caller.principal, block, "update", None)

    # blocks

    def _allows(self, principal: Principal, block: Block, right: Right, data: Mapping[str, Any] | None) -> bool:
        """Whether one block grants a right; without data, whether it grants it unconditionally."""
        if not block.covers(right):
            return True
        variables = self._variables(principal)
        return any(
            not grant.match or (data is not None and all(one.holds(data, variables) for one in grant.match))
            for grant in block.given(right, groups(principal))
        )

    def _grants(self, principal: Principal, pair: Pair, right: Right, data: Mapping[str, Any] | None) -> bool:
        """Whether every block that names the right grants it; without data, whether it could for some object."""
        variables = self._variables(principal)
        return all(
            any(
                data is None or all(one.holds(data, variables) for one in grant.match)
                for grant in block.given(right, groups(principal))
            )
            for block in self._blocks_for(pair, right)
        )

    def _reads_some(self, principal: Principal, pair: Pair) -> bool:
        if self._is_public(pair, None) or self._public_filter(pair) is not None:
            return True
        if not principal.may(ROOM, "read") or not self._is_own(principal, pair.register, pair.schema):
            return False
        creates = principal.may(ROOM, "write") and self._grants(principal, pair, "create", None)
        return creates or self._grants(principal, pair, "read", None)

    def _is_public(self, pair: Pair, data: Mapping[str, Any] | None) -> bool:
        """Whether everybody may read an object or, without data, all objects of the pair."""
        speaking = list(self._blocks_for(pair, "read"))
        return bool(speaking) and all(
            any(
                not grant.match or (data is not None and all(one.holds(data, {}) for one in grant.match))
                for grant in block.given("read", _EVERYBODY)
            )
            for block in speaking
        )

    def _blocks_for(self, pair: Pair, right: Right) -> Iterator[Block]:
        """The blocks of the register and the schema that name a right."""
        for entity in (pair.register, pair.schema):
            block = self._block(entity, pair)
            if block.covers(right):
                yield block

    def _block(self, entity: Register | Schema, pair: Pair | None = None) -> Block:
        """The block of a register or schema; its conditions are read for the objects of a pair."""
        raw = entity.body.get("authorization")
        if not raw:
            return NOTHING
        schema, definition = (0, None) if pair is None else (pair.schema.id, pair.definition)
        key = (type(entity).__name__, entity.id, schema)
        known = self._blocks.get(key)
        if known is None or known[0] is not raw or known[1] is not definition:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._blocks.clear()
            known = self._blocks[key] = (raw, definition, read_block(raw, entity.slug, definition))
        return known[2]

    def _guarded_properties(self, pair: Pair) -> dict[str, Block]:
        """The properties with an authorization block, including those that exist only in the past."""
        definition = pair.definition
        known = self._guarded.get(pair.schema.id)
        if known is None or known[0] is not definition:
            guarded = {
                name: read_block(one.authorization, f"{pair.schema.slug}.{name}", definition, of_property=True)
                for name, one in definition.properties.items()
                if one.authorization
            }
            for name, past in pair.schema.past_rules.items():
                if name not in definition.properties:
                    guarded[name] = read_block(past, f"{pair.schema.slug}.{name}", of_property=True)
            known = self._guarded[pair.schema.id] = (definition, guarded)
        return known[1]

    def _variables(self, principal: Principal) -> dict[str, str]:
        return {"$userId": principal.id, "$organisation": self._memberships.of(principal)}

    def _is_own(self, principal: Principal, *entities: Register | Schema) -> bool:
        return all(one.organisation == self._memberships.of(principal) for one in entities)

    def _require_scope(self, principal: Principal, right: Grantable) -> None:
        action: Action = "read" if right == "read" else "write"
        if not principal.may(ROOM, action):
            if action == "write":
                refuse_read_only(principal)
            scope = f"{ROOM}:{action}"
            raise _refused(principal, right, "anything in the registers room", f"It needs the scope {scope}.", scope)


def is_admin(principal: Principal) -> bool:
    return principal.may(ROOM, "admin")


def groups(principal: Principal) -> frozenset[str]:
    """The group names that apply to the caller: roles, id, credential, scopes in this room, everybody."""
    if principal.kind == "anonymous":
        return _EVERYBODY
    found = {PUBLIC, AUTHENTICATED, principal.id}
    if principal.credential:
        found.add(principal.credential)
    for role, action in _ROLES:
        if principal.may(ROOM, action):
            found |= {role, f"{ROOM}:{action}"}
    return frozenset(found)


def require_credentials(principal: Principal) -> None:
    """Refuse callers without credentials for this room, before looking anything up for them."""
    if principal.kind == "anonymous":
        raise _anonymous()
    if not principal.may(ROOM, "read"):
        raise missing_scope(principal, ROOM, "read")


def _owns(principal: Principal, entity: Register | Schema) -> bool:
    return principal.kind != "anonymous" and entity.body.get("owner") == principal.id


def _all_of(parts: list[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _derived_from(pair: Pair, hidden: Collection[str]) -> frozenset[str]:
    """The properties derived from hidden ones."""
    return frozenset(name for name, sources in pair.definition.derived.items() if not sources.isdisjoint(hidden))


def _anonymous() -> Unauthenticated:
    return Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")


def _refused(
    principal: Principal, right: Grantable, what: str, hint: str = _UNGRANTED, scope: str | None = None
) -> Forbidden | Unauthenticated:
    """The error for a refusal. `scope` is the missing scope, if having it would help."""
    if principal.kind == "anonymous":
        return _anonymous()
    details = None if scope is None else {"required_scope": scope}
    message = f"{principal.name!r} may not {right} {what}."
    return Forbidden(message, hint=f"{hint} Ask an administrator.", details=details)


def _invisible(principal: Principal, pair: Pair) -> NotFound | Unauthenticated:
    if principal.kind == "anonymous":
        return _anonymous()
    return EntityNotFound(f"Schema {pair.schema.slug} not found in register {pair.register.slug}.", "schemas")


def _unsettable(principal: Principal, pair: Pair, name: str) -> Forbidden:
    return Forbidden(
        f"{principal.name!r} may not set the property {name!r} of {pair.schema.slug!r}.",
        hint="Leave it out of the change.",
        details={"property": name},
    )
