"""Finds the object that has a unique value before writing, so the error can name it.

The unique indexes decide in the end; this check comes first and takes a few statements for any number of rows. Within a
batch the earlier row wins, as if the rows were written one by one.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Dialect, Rows, Value
from pentad.kernel.sql import Sql, chunks
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.objects import store
from pentad.rooms.registers.objects.indexes import UniqueKey
from pentad.rooms.registers.objects.integrity import Seen
from pentad.rooms.registers.objects.pending_changes import ExistingObject, PendingChange
from pentad.rooms.registers.query.conditions import condition
from pentad.rooms.registers.query.datetimes import datetime_key, datetime_text
from pentad.rooms.registers.query.dialects import sql_dialect
from pentad.rooms.registers.query.models import Kind, Path

Claim = tuple[Any, ...]
"""An organisation and the values that are taken in it."""

_KEYS_AT_ONCE: Final = 100
_TYPES: Final[dict[Kind, tuple[type, ...]]] = {
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "moment": (str,),
}


def conflicts(
    rows: Rows,
    dialect: Dialect,
    pair: Pair,
    keys: Sequence[UniqueKey],
    pending_changes: Sequence[PendingChange],
    hidden: Collection[str] = (),
    seen: Seen | None = None,
) -> dict[int, Conflict]:
    """The changes, by position, whose unique values belong to another object.

    The error may always say that a value is taken, because the write fails anyway. It names the object only if the
    property is not `hidden` from the caller and the caller may see the object (`seen`).
    """
    mates = {pending.after.uuid for pending in pending_changes}
    refused: dict[int, Conflict] = {}
    for key in keys:
        needed = [claim_of(key, pending.after.organisation, pending.after.data) for pending in pending_changes]
        holders = _holders(rows, dialect, pair, key, {claim for claim in needed if claim is not None})
        for position, (pending, claim) in enumerate(zip(pending_changes, needed, strict=True)):
            if claim is None:
                continue
            uuid = pending.after.uuid
            holder = holders.get(claim, uuid)
            if holder != uuid:
                named = not _is_hidden(key, hidden) and (seen is None or holder in mates or holder in seen([holder]))
                refused.setdefault(position, _taken(key, claim, holder if named else None))
                continue
            _release(holders, key, pending)
            holders[claim] = uuid
    return refused


def find_by_key(
    rows: Rows, dialect: Dialect, access: AccessRules, caller: Caller, pair: Pair, key: UniqueKey,
    data: Sequence[Mapping[str, Any]],
) -> list[str | None]:  # fmt: skip
    """For each item of data, the visible object with the same values in the properties of a key."""
    organisation = access.organisation(caller)
    claims = [claim_of(key, organisation, one) for one in data]
    rule = access.row_filter(caller, pair)
    seen = None if rule is None else condition(sql_dialect(dialect), rule)
    needed = {claim for claim in claims if claim is not None}
    holders = _holders(rows, dialect, pair, key, needed, seen)
    return [None if claim is None else holders.get(claim) for claim in claims]


def existing_by_values(
    rows: Rows, dialect: Dialect, pair: Pair, key: UniqueKey, values: Sequence[Any], *, deleted: bool
) -> Iterator[tuple[Any, ExistingObject]]:
    """The live (or deleted) objects of a pair that have one of these values in a property."""
    expressions = key.expressions(dialect)
    here = f"schema = {int(pair.schema.id)} AND deleted IS {'NOT NULL' if deleted else 'NULL'} AND register = ?"
    for part in chunks(values):
        condition = f"{here} AND {_any_of(expressions, len(part))}"
        for existing in store.existing_where(rows, condition, (pair.register.id, *part), store.CHUNK * len(part)):
            if (claim := claim_of(key, "", existing.stored.data)) is not None:
                yield claim[1], existing


def _release(holders: dict[Claim, str], key: UniqueKey, pending: PendingChange) -> None:
    """Free the value an earlier row of the batch gave up, for later rows."""
    if pending.before is None:
        return
    old = claim_of(key, pending.before.stored.organisation, pending.before.stored.data)
    if old is not None and holders.get(old) == pending.after.uuid:
        del holders[old]


def claim_digest(key: UniqueKey, scope: tuple[int, str], data: Mapping[str, Any]) -> bytes | None:
    """A digest of the data's unique values within a register and organisation; None if it has none."""
    claim = claim_of(key, scope[1], data)
    if claim is None:
        return None
    return hashlib.blake2b(repr((key.names, scope[0], claim)).encode(), digest_size=16).digest()


def claim_of(key: UniqueKey, organisation: str, data: Mapping[str, Any]) -> Claim | None:
    """The values of a key in the data, made comparable; None if one is missing."""
    values = [_value(data, path, kind) for path, kind in zip(key.paths, key.kinds, strict=True)]
    return None if None in values else (organisation, *values)


def _value(data: Any, path: Path, kind: Kind) -> Any:
    for step in path:
        data = cast("dict[str, Any]", data).get(str(step)) if isinstance(data, dict) else None
    if not isinstance(data, _TYPES[kind]) or (kind == "number" and isinstance(data, bool)):
        return None
    return datetime_key(data) if kind == "moment" else data


def _holders(
    rows: Rows, dialect: Dialect, pair: Pair, key: UniqueKey, claims: Iterable[Claim], seen: Sql | None = None
) -> dict[Claim, str]:
    """Which object has which values; with `seen`, only objects that pass it."""
    found: dict[Claim, str] = {}
    expressions = key.expressions(dialect)
    # one parameter per value keeps its type; the organisation is compared afterwards
    values = sorted({claim[1:] for claim in claims}, key=repr)
    for start in range(0, len(values), _KEYS_AT_ONCE):
        part = values[start : start + _KEYS_AT_ONCE]
        taken = _any_of(expressions, len(part))
        sql = (
            f"SELECT uuid, organisation, {', '.join(expressions)} FROM objects"  # noqa: S608  quoted by expressions
            f" WHERE schema = {int(pair.schema.id)} AND deleted IS NULL AND register = ? AND ({taken})"
        )
        bound: list[Value] = [pair.register.id, *(value for group in part for value in group)]
        if seen is not None:
            sql, bound = f"{sql} AND ({seen.text})", [*bound, *seen.params]
        for uuid, organisation, *taken_values in rows.all(sql, *bound):
            found[organisation, *taken_values] = uuid
    return found


def _any_of(expressions: Sequence[str], count: int) -> str:
    """A condition for one of `count` groups of values; for a single expression an IN list, which uses the index."""
    if len(expressions) == 1:
        return f"({expressions[0]}) IN ({', '.join('?' * count)})"
    one = " AND ".join(f"({expression}) = ?" for expression in expressions)
    return " OR ".join([f"({one})"] * count)


def _is_hidden(key: UniqueKey, hidden: Collection[str]) -> bool:
    return any(path[0] in hidden for path in key.paths)


def _taken(key: UniqueKey, claim: Claim, holder: str | None) -> Conflict:
    said = [
        datetime_text(value) if kind == "moment" else value for value, kind in zip(claim[1:], key.kinds, strict=True)
    ]
    values = ", ".join(f"{name} = {value!r}" for name, value in zip(key.names, said, strict=True))
    if holder is None:
        return Conflict(
            f"{values[:200]} is taken already, and must be unique.",
            hint=f"Choose another {' and '.join(key.names)}.",
            details={"rule": "unique", "properties": list(key.names)},
        )
    return Conflict(
        f"{values[:200]} belongs to object {holder} already, and must be unique.",
        hint=f"Update that object, or choose another {' and '.join(key.names)}.",
        details={"rule": "unique", "properties": list(key.names), "existing": holder},
    )
