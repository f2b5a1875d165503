"""Who may do what with which object: scopes, authorization blocks, owners, administrators and tenants together.

The rules, in order. An administrator of the room may do everything. Nobody else does anything without the room's scope
(read, or write for the other three rights), except that what `public` may read is readable by everybody, in every
tenant, and only readable. Where the register's or the schema's block names the right, each that does must grant it;
where neither does, the scope suffices. An object's owner keeps all rights on it. Everybody else sees the objects of the
own organisation only.

What a caller may not see does not exist for it: NotFound, never Forbidden. No I/O here: memberships are in memory.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Protocol

from pentad.kernel.errors import Forbidden, NotFound, Unauthenticated
from pentad.kernel.principal import Action, Principal, Role
from pentad.rooms.registers.authorization import AUTHENTICATED, NOTHING, PUBLIC, Block, Right, any_of, read_block
from pentad.rooms.registers.missing import Missing, missing_object
from pentad.rooms.registers.models import Caller, Pair, Register, Schema, StoredObject
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.tree import And, Compare, Filter, Or, filter_paths

ROOM: Final = "registers"
_ROLES: Final[tuple[tuple[Role, Action], ...]] = (("reader", "read"), ("writer", "write"), ("admin", "admin"))
_KEPT: Final = 10_000
_EVERYBODY: Final = frozenset({PUBLIC})
_NONE: Final = Or(())
"""True of no object."""
_OWNER: Final = ("@self", "owner")
_ORGANISATION: Final = ("@self", "organisation")


class Memberships(Protocol):
    """Which organisation a principal belongs to; `organisations.Organisations` is one."""

    def of(self, principal: Principal) -> str: ...


class AccessRules:
    """Answers every question of access in the room."""

    def __init__(self, memberships: Memberships) -> None:
        self._memberships = memberships
        self._blocks: dict[tuple[str, int, int], tuple[object, object, Block]] = {}
        self._guarded: dict[int, tuple[object, dict[str, Block]]] = {}

    def organisation(self, caller: Caller) -> str:
        """The organisation that owns what the caller makes."""
        return self._memberships.of(caller.principal)

    def tenant(self, caller: Caller) -> str | None:
        """The organisation whose objects the caller sees; None means those of all."""
        return None if is_admin(caller.principal) else self._memberships.of(caller.principal)

    # registers and schemas themselves

    def sees(self, caller: Caller, entity: Register | Schema) -> bool:
        """Whether the caller may know that a register or schema exists.

        A register that says nothing about reading hides nothing of what its schemas show: what is in it does that.
        """
        principal = caller.principal
        if is_admin(principal) or _owns(principal, entity):
            return True
        block = self._block(entity)
        if not block.speaks_of("read"):
            return isinstance(entity, Register) or principal.may(ROOM, "read")
        return bool(block.given("read", _EVERYBODY)) or (
            principal.may(ROOM, "read") and bool(block.given("read", groups(principal)))
        )

    def check_entity(
        self, caller: Caller, entity: Register | Schema | None, right: Right, changes: Mapping[str, Any] | None = None
    ) -> None:
        """Refuse a change of a register or schema the caller has no right to; `entity` is None for a new one."""
        principal = caller.principal
        if changes is not None and "authorization" in changes:
            read_block(changes["authorization"], "authorization")
        self._require_scope(principal, right)
        if entity is None or is_admin(principal) or _owns(principal, entity):
            return
        if not self.sees(caller, entity):
            raise NotFound(f"{type(entity).__name__} {entity.slug} not found.")
        block = self._block(entity)
        if block.speaks_of(right) and not block.given(right, groups(principal)):
            raise _refused(principal, right, f"the {type(entity).__name__.lower()} {entity.slug!r}")
        current = entity.body.get("authorization")
        if block.grants and changes is not None and changes.get("authorization", current) != current:
            raise Forbidden(
                f"Only the owner of {entity.slug!r} or an administrator may change its authorization.",
                hint="Leave authorization out of the change.",
            )

    # objects

    def is_free(self, caller: Caller) -> bool:
        """Whether nothing has to be asked about single objects or properties: `check` and `writable` say yes to all."""
        return is_admin(caller.principal)

    def check(self, caller: Caller, pair: Pair, right: Right, data: Mapping[str, Any] | None = None) -> None:
        """Refuse what cannot be allowed for any object of the pair; for `create`, the very object in `data`."""
        principal = caller.principal
        if is_admin(principal):
            return
        if right == "read":
            if not self._reads_some(principal, pair):
                raise _invisible(principal, pair)
            return
        self._require_scope(principal, right)
        if not self._reads_some(principal, pair):
            raise _invisible(principal, pair)
        if right == "create":
            if not self._grants(principal, pair, right, data):
                raise _refused(principal, right, f"objects of {pair.schema.slug!r}")
        elif not self._grants(principal, pair, right, None) and not self._grants(principal, pair, "create", None):
            raise _refused(principal, right, f"objects of {pair.schema.slug!r}")

    def check_object(self, caller: Caller, pair: Pair, right: Right, stored: StoredObject) -> None:
        """Refuse a right on one stored object; one the caller may not see is not found."""
        self.found(caller, pair, right, stored.uuid, stored)

    def found(
        self, caller: Caller, pair: Pair, right: Right, ref: int | str, stored: StoredObject | None
    ) -> StoredObject:
        """What the caller named by `ref`, if it has the right on it.

        An object that is hidden is refused exactly as one that is absent, whichever right is asked for.
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
        """Whether the caller may know of a stored object; what `row_filter` says, for one object at hand."""
        principal = caller.principal
        if is_admin(principal):
            return True
        if self._is_public(pair, stored.data):
            return True
        if not principal.may(ROOM, "read") or stored.organisation != self._memberships.of(principal):
            return False
        return stored.owner == principal.id or self._grants(principal, pair, "read", stored.data)

    def sees_past(self, caller: Caller, pair: Pair, current: StoredObject, past: StoredObject) -> bool:
        """Whether the caller may read an earlier state: today's rights and those of the moment both have to allow it.

        Rules are today's; they are asked about the object as it is (or was last, if it is deleted) and as it was then.
        """
        return self.sees_object(caller, pair, current) and self.sees_object(caller, pair, past)

    def judges_data(self, caller: Caller, pair: Pair) -> bool:
        """Whether an object's data decides if the caller may read it, which may have differed in the past."""
        return any(path[0] != SELF for path in filter_paths(self.row_filter(caller, pair)))

    def row_filter(self, caller: Caller, pair: Pair, right: Right = "read") -> Filter | None:
        """What an object of the pair must be like for the caller to have the right; None: anything goes."""
        principal = caller.principal
        if is_admin(principal):
            return None
        if right == "read" and self._is_public(pair, None):
            return None
        public = self._public_filter(pair) if right == "read" else None
        if not principal.may(ROOM, "read" if right == "read" else "write"):
            return public or _NONE
        mine = self._own_filter(principal, pair, right)
        return mine if public is None else Or((public, mine))

    def _own_filter(self, principal: Principal, pair: Pair, right: Right) -> Filter:
        """The own organisation's objects, as far as grants or ownership reach."""
        variables = self._variables(principal)
        tenant = Compare(_ORGANISATION, "eq", variables["$organisation"])
        parts: list[Filter] = []
        for block in self._speaking(pair, right):
            given = block.given(right, groups(principal))
            if not given:
                return And((tenant, Compare(_OWNER, "eq", principal.id)))
            if (part := any_of(given, variables)) is not None:
                parts.append(part)
        if not parts:
            return tenant
        rules: Filter = parts[0] if len(parts) == 1 else And(tuple(parts))
        return And((tenant, Or((Compare(_OWNER, "eq", principal.id), rules))))

    def _public_filter(self, pair: Pair) -> Filter | None:
        """The objects everybody may read; None when there are none such."""
        parts: list[Filter] = []
        speaking = list(self._speaking(pair, "read"))
        for block in speaking:
            given = block.given("read", _EVERYBODY)
            if not given:
                return None
            if (part := any_of(given, {})) is not None:
                parts.append(part)
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    # properties

    def hidden(
        self, caller: Caller, pair: Pair, data: Mapping[str, Any] | None = None, owner: str | None = None
    ) -> frozenset[str]:
        """The properties the caller may not read: of this object, or (without `data`) of some object of the pair.

        What is hidden must not be filtered, sorted or counted by either, or it could be guessed.
        """
        guarded = self._guarded_properties(pair)
        principal = caller.principal
        if not guarded or is_admin(principal) or (owner is not None and owner == principal.id):
            return frozenset()
        return frozenset(name for name, block in guarded.items() if not self._allows(principal, block, "read", data))

    def hides_some(self, caller: Caller, pair: Pair) -> bool:
        """Whether anything of the pair's objects, now or in the past, may be hidden from the caller."""
        return bool(self.hidden(caller, pair)) or self.judges_data(caller, pair)

    def readable(self, caller: Caller, pair: Pair, data: dict[str, Any], owner: str | None = None) -> dict[str, Any]:
        """The object as the caller may see it; the very same dict where nothing is hidden."""
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
        """The data to store: refused where a protected property would change, with what is hidden carried over.

        `named` are the properties the caller itself gave. What it may not read it could not have known: giving the
        value it has already is a guess, and refused like any other.
        """
        guarded = self._guarded_properties(pair)
        principal = caller.principal
        if not guarded or is_admin(principal) or (owner is not None and owner == principal.id):
            return data
        right: Right = "create" if previous is None else "update"
        before: Mapping[str, Any] = previous or {}
        kept = dict(data)
        for name, block in guarded.items():
            unread = not self._allows(principal, block, "read", before)
            if unread and name in before and name not in data:
                kept[name] = before[name]
            asked = kept.get(name) != before.get(name) or (unread and name in named)
            if asked and not self._allows(principal, block, right, before or data):
                raise Forbidden(
                    f"{principal.name!r} may not set the property {name!r} of {pair.schema.slug!r}.",
                    hint="Leave it out of the change.",
                    details={"property": name},
                )
        return kept

    # how it is found out

    def _allows(self, principal: Principal, block: Block, right: Right, data: Mapping[str, Any] | None) -> bool:
        """Whether one block grants a right; without data only what is granted unconditionally counts."""
        if not block.speaks_of(right):
            return True
        variables = self._variables(principal)
        return any(
            not grant.match or (data is not None and all(one.holds(data, variables) for one in grant.match))
            for grant in block.given(right, groups(principal))
        )

    def _grants(self, principal: Principal, pair: Pair, right: Right, data: Mapping[str, Any] | None) -> bool:
        """Whether every block that speaks of the right grants it; without data, whether it could for some object."""
        variables = self._variables(principal)
        return all(
            any(
                data is None or all(one.holds(data, variables) for one in grant.match)
                for grant in block.given(right, groups(principal))
            )
            for block in self._speaking(pair, right)
        )

    def _reads_some(self, principal: Principal, pair: Pair) -> bool:
        if self._is_public(pair, None) or self._public_filter(pair) is not None:
            return True
        if not principal.may(ROOM, "read"):
            return False
        makes = principal.may(ROOM, "write") and self._grants(principal, pair, "create", None)
        return makes or self._grants(principal, pair, "read", None)

    def _is_public(self, pair: Pair, data: Mapping[str, Any] | None) -> bool:
        """Whether everybody may read an object, or (without data) all objects of the pair."""
        speaking = list(self._speaking(pair, "read"))
        return bool(speaking) and all(
            any(
                not grant.match or (data is not None and all(one.holds(data, {}) for one in grant.match))
                for grant in block.given("read", _EVERYBODY)
            )
            for block in speaking
        )

    def _speaking(self, pair: Pair, right: Right) -> Iterator[Block]:
        for entity in (pair.register, pair.schema):
            block = self._block(entity, pair)
            if block.speaks_of(right):
                yield block

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

    def _guarded_properties(self, pair: Pair) -> dict[str, Block]:
        """The properties that have an authorization block of their own."""
        definition = pair.definition
        known = self._guarded.get(pair.schema.id)
        if known is None or known[0] is not definition:
            guarded = {
                name: read_block(facts.authorization, f"{pair.schema.slug}.{name}", definition)
                for name, facts in definition.properties.items()
                if facts.authorization
            }
            known = self._guarded[pair.schema.id] = (definition, guarded)
        return known[1]

    def _variables(self, principal: Principal) -> dict[str, str]:
        return {"$userId": principal.id, "$organisation": self._memberships.of(principal)}

    def _require_scope(self, principal: Principal, right: Right) -> None:
        if not principal.may(ROOM, "read" if right == "read" else "write"):
            raise _refused(principal, right, "anything in the registers room", scope="write")


def is_admin(principal: Principal) -> bool:
    return principal.may(ROOM, "admin")


def groups(principal: Principal) -> frozenset[str]:
    """What a block may call the caller: its roles, its id, its scopes in this room, and everybody's names."""
    if principal.kind == "anonymous":
        return _EVERYBODY
    found = {PUBLIC, AUTHENTICATED, principal.id}
    if principal.credential:
        found.add(principal.credential)
    for role, action in _ROLES:
        if principal.may(ROOM, action):
            found |= {role, f"{ROOM}:{action}"}
    return frozenset(found)


def _owns(principal: Principal, entity: Register | Schema) -> bool:
    return principal.kind != "anonymous" and entity.body.get("owner") == principal.id


def _invisible(principal: Principal, pair: Pair) -> NotFound | Unauthenticated:
    if principal.kind == "anonymous":
        return Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")
    return Missing(f"Schema {pair.schema.slug} not found in register {pair.register.slug}.", "schemas")


def _refused(principal: Principal, right: Right, what: str, scope: str | None = None) -> Forbidden | Unauthenticated:
    if principal.kind == "anonymous":
        return Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")
    hint = f"It needs the scope {ROOM}:{scope}." if scope else "Its authorization block does not grant that."
    return Forbidden(f"{principal.name!r} may not {right} {what}.", hint=f"{hint} Ask an administrator.")
