"""Who may do what with which object: scopes, authorization blocks, owners, administrators and tenants together.

The rules, in order. An administrator of the room may do everything. Nobody else does anything without the room's scope
(read, or write for the other rights), except that what `public` may read is readable by everybody, in every tenant, and
only readable. Everything else is its organisation's: registers, schemas and objects. Where the register's or the
schema's block names a right, each that does must grant it; where neither does, the scope suffices, but for `define`:
that is the owner's of a register or schema, and of those its block names. An object's owner keeps all rights on it.

What a caller may not see does not exist for it: NotFound, never Forbidden. No I/O here: memberships are in memory.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pentad.kernel.errors import Forbidden, NotFound, Unauthenticated
from pentad.kernel.principal import Principal
from pentad.rooms.registers.audiences import Audience
from pentad.rooms.registers.authorization import Block, Grant, Right, any_of, read_block
from pentad.rooms.registers.entity_access import EVERYBODY, ROOM, EntityRules, Memberships, groups, is_admin, refused
from pentad.rooms.registers.missing import Missing, missing_object
from pentad.rooms.registers.models import Caller, Pair, StoredObject
from pentad.rooms.registers.query.metadata import SELF
from pentad.rooms.registers.query.models import And, Compare, Filter, Or, filter_paths

_NONE: Final = Or(())
"""True of no object."""
_ELSEWHERE: Final = "It belongs to another organisation, which lets everybody read."
_OWNER: Final = ("@self", "owner")
_ORGANISATION: Final = ("@self", "organisation")


class AccessRules(EntityRules):
    """Answers every question of access in the room."""

    def __init__(self, memberships: Memberships) -> None:
        super().__init__(memberships)
        self._guarded: dict[int, tuple[object, dict[str, Block]]] = {}

    def tenant(self, caller: Caller) -> str | None:
        """The organisation whose objects the caller sees; None means those of all."""
        return None if is_admin(caller.principal) else self._memberships.of(caller.principal)

    def has_all(self, caller: Caller, pair: Pair, right: Right) -> bool:
        """Whether the caller has a right on every object of a pair that its organisation can have there."""
        principal = caller.principal
        if is_admin(principal):
            return True
        return principal.may(ROOM, "read" if right == "read" else "write") and all(
            block.gives_all(right, groups(principal)) for block in self._speaking(pair, right)
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
        if not self._is_own(principal, pair.register, pair.schema):
            raise refused(principal, right, f"objects of {pair.schema.slug!r}", hint=_ELSEWHERE)
        if right == "create":
            if not self._grants(principal, pair, right, data):
                raise refused(principal, right, f"objects of {pair.schema.slug!r}")
            if pair.schema.id not in pair.register.schemas and not self.defines(caller, pair.register):
                raise refused(
                    principal,
                    right,
                    f"objects of {pair.schema.slug!r} in {pair.register.slug!r}",
                    hint="The register does not have the schema; who may define the register can add it.",
                )
        elif not self._grants(principal, pair, right, None) and not self._grants(principal, pair, "create", None):
            raise refused(principal, right, f"objects of {pair.schema.slug!r}")

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
            raise refused(principal, right, f"object {stored.uuid}")
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

    def object_audience(self, pair: Pair, stored: StoredObject) -> Audience:
        """Whom `sees_object` is true of, for when the object is gone; without those who need a rule on `$userId`."""
        variables = {"$organisation": stored.organisation}

        def holds(grant: Grant) -> bool:
            return all(not one.names_caller and one.holds(stored.data, variables) for one in grant.match)

        named = tuple(
            tuple({grant.group: None for grant in block.grants["read"] if holds(grant)})
            for block in self._speaking(pair, "read")
        )
        return Audience(self._is_public(pair, stored.data), stored.organisation, stored.owner, named)

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
            given = block.given("read", EVERYBODY)
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

        What is made from something hidden is hidden with it.
        What is hidden must not be filtered, sorted or counted by either, or it could be guessed.
        """
        guarded = self._guarded_properties(pair)
        principal = caller.principal
        if not guarded or is_admin(principal) or (owner is not None and owner == principal.id):
            return frozenset()
        closed = frozenset(name for name, block in guarded.items() if not self._allows(principal, block, "read", data))
        return closed | _made_from(pair, closed) if closed and pair.definition.derived else closed

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
        unread = {name for name, block in guarded.items() if not self._allows(principal, block, "read", before)}
        derived = _made_from(pair, unread)
        for name in unread | derived:
            if name in before and name not in data:
                kept[name] = before[name]
        for name, block in guarded.items():
            asked = kept.get(name) != before.get(name) or (name in unread and name in named)
            if asked and not self._allows(principal, block, right, before or data):
                raise _unsettable(principal, pair, name)
        if previous is not None and (guessed := sorted(derived.intersection(named))):
            raise _unsettable(principal, pair, guessed[0])
        return kept

    def sets(self, caller: Caller, pair: Pair, name: str) -> bool:
        """Whether the caller may change a property of every object it may change at all."""
        block = self._guarded_properties(pair).get(name)
        return block is None or is_admin(caller.principal) or self._allows(caller.principal, block, "update", None)

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
        if not principal.may(ROOM, "read") or not self._is_own(principal, pair.register, pair.schema):
            return False
        makes = principal.may(ROOM, "write") and self._grants(principal, pair, "create", None)
        return makes or self._grants(principal, pair, "read", None)

    def _is_public(self, pair: Pair, data: Mapping[str, Any] | None) -> bool:
        """Whether everybody may read an object, or (without data) all objects of the pair."""
        speaking = list(self._speaking(pair, "read"))
        return bool(speaking) and all(
            any(
                not grant.match or (data is not None and all(one.holds(data, {}) for one in grant.match))
                for grant in block.given("read", EVERYBODY)
            )
            for block in speaking
        )

    def _speaking(self, pair: Pair, right: Right) -> Iterator[Block]:
        for entity in (pair.register, pair.schema):
            block = self._block(entity, pair)
            if block.speaks_of(right):
                yield block

    def _guarded_properties(self, pair: Pair) -> dict[str, Block]:
        """The properties that have an authorization block of their own."""
        definition = pair.definition
        known = self._guarded.get(pair.schema.id)
        if known is None or known[0] is not definition:
            guarded = {
                name: read_block(facts.authorization, f"{pair.schema.slug}.{name}", definition, of_property=True)
                for name, facts in definition.properties.items()
                if facts.authorization
            }
            known = self._guarded[pair.schema.id] = (definition, guarded)
        return known[1]

    def _variables(self, principal: Principal) -> dict[str, str]:
        return {"$userId": principal.id, "$organisation": self._memberships.of(principal)}


def _invisible(principal: Principal, pair: Pair) -> NotFound | Unauthenticated:
    if principal.kind == "anonymous":
        return Unauthenticated("This needs credentials.", hint="Send Authorization: Basic or Bearer.")
    return Missing(f"Schema {pair.schema.slug} not found in register {pair.register.slug}.", "schemas")


def _unsettable(principal: Principal, pair: Pair, name: str) -> Forbidden:
    return Forbidden(
        f"{principal.name!r} may not set the property {name!r} of {pair.schema.slug!r}.",
        hint="Leave it out of the change.",
        details={"property": name},
    )


def _made_from(pair: Pair, hidden: Collection[str]) -> frozenset[str]:
    """The properties that are made from hidden ones."""
    return frozenset(name for name, sources in pair.definition.derived.items() if not sources.isdisjoint(hidden))
