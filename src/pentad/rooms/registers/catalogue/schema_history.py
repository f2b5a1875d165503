"""The history of schemas: who changed what and when, earlier definitions, and undo.

A version is the number of changes a schema has had (`Schema.changes`). Each change keeps the definition it replaced, so
a past definition is either the current one or the one the next change replaced. In stores older than this history,
schemas begin with the first recorded change.

An undo is an ordinary change. Objects that the undone change migrated get their old values back from their own history,
unless they were edited since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import Conflict, NotFound
from pentad.kernel.json_patch import same_json
from pentad.kernel.json_pointer import pointer, split_pointer
from pentad.kernel.json_values import as_object
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.registers.definitions.change_lines import change_lines as lines_of_change
from pentad.rooms.registers.definitions.change_lines import reordered as lines_of_order
from pentad.rooms.registers.definitions.json_diff import as_patch
from pentad.rooms.registers.definitions.migration import MigrationStep, migrate, read_steps
from pentad.rooms.registers.definitions.renames import renames_of
from pentad.rooms.registers.definitions.schema_patch import touched_names
from pentad.rooms.registers.models import Caller, Page, Schema, StoredObject
from pentad.rooms.registers.objects.change_log import ERASED

Action = Literal["create", "update", "patch", "undo", "parent"]
"""`parent`: a schema this one is composed of changed, or one it refers to was renamed."""

_COLUMNS: Final = "version, action, at, since, before, change, principal, agent, session, call, reason"
_INSERT: Final = (
    "INSERT INTO schema_changes (schema, version, action, at, since, before, change, principal, agent, session, call,"
    " reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_NOT_COMPARED: Final = frozenset({"owner", "organisation", "version"})


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """One change of a schema. `details` has the operations, the migration, or the version it undid."""

    version: int
    action: Action
    at: float
    since: float | None
    before: str | None
    details: Mapping[str, Any]
    principal: str
    agent: str | None
    session: str | None
    call: str | None
    reason: str | None

    def wire(self, changes: Sequence[str], *, discreet: bool) -> dict[str, Any]:
        """Who did what and when; `changes` are readable lines.

        If `discreet`, omits the values in steps, which may repeat stored values.
        """
        details = _without_values(self.details) if discreet else self.details
        wire: dict[str, Any] = {
            "version": self.version, "action": self.action, "at": iso(self.at), "principal": self.principal,
            "agent": self.agent, "session": self.session, "call": self.call, "reason": self.reason, **details,
            "changes": list(changes),
        }  # fmt: skip
        return {name: value for name, value in wire.items() if value is not None}

    @property
    def steps(self) -> list[MigrationStep]:
        return read_steps(self.details.get("migration") or ())


def _without_values(details: Mapping[str, Any]) -> dict[str, Any]:
    def bare(entry: Any) -> Any:
        return {name: value for name, value in as_object(entry).items() if name not in ("value", "values")}

    lists = ("operations", "migration")
    return {name: [bare(one) for one in value] if name in lists else value for name, value in details.items()}


def plan_of(schema: int, version: int) -> str:
    """The plan id under which objects' histories record a schema change."""
    return f"schema-{schema}-{version}"


def record(
    tx: Transaction, caller: Caller, before: Schema | None, after: Schema, action: Action, details: Mapping[str, Any]
) -> None:
    """Record one change."""
    told = {name: value for name, value in details.items() if value}
    tx.run(
        _INSERT, after.id, after.changes, action, after.updated_at, None if before is None else before.updated_at,
        None if before is None else _text(before), msgspec.json.encode(told).decode(), caller.principal.id,
        caller.agent, caller.session, caller.call, caller.reason,
    )  # fmt: skip


def history(rows: Rows, current: Schema, limit: int, offset: int, *, discreet: bool) -> Page[dict[str, Any]]:
    """The changes of a schema, newest first, each with what it changed; `discreet` for all but administrators."""
    sql = f"SELECT {_COLUMNS} FROM schema_changes WHERE schema = ? ORDER BY version DESC LIMIT ? OFFSET ?"  # noqa: S608  own columns
    found = [_version(row) for row in rows.all(sql, current.id, limit, offset)]
    total = int(rows.value("SELECT count(*) FROM schema_changes WHERE schema = ?", current.id))
    wires: list[dict[str, Any]] = []
    for one in found:
        new = at_version(rows, current, one.version)
        old = None if one.before is None else _schema(current, one.before, one.version - 1, one.since)
        changes = [] if new is None or old is None else change_lines(old, new, one.steps)
        wires.append(one.wire(changes, discreet=discreet))
    return Page(wires, total, limit, offset)


def migrations(rows: Rows, schema: int) -> list[SchemaVersion]:
    """The changes of a schema that migrated its objects, or undid such a change, oldest first."""
    columns = _COLUMNS.replace("before", "NULL")
    sql = f"SELECT {columns} FROM schema_changes WHERE schema = ? AND change <> '{{}}' ORDER BY version"  # noqa: S608  own columns
    found = [_version(row) for row in rows.all(sql, schema)]
    return [one for one in found if one.details.get("migration") or "undoes" in one.details]


def at_version(rows: Rows, current: Schema, version: int) -> Schema | None:
    """The schema at one of its versions; None if the history does not go back to it."""
    if version == current.changes:
        return current
    row = rows.one("SELECT before, since FROM schema_changes WHERE schema = ? AND version = ?", current.id, version + 1)
    return None if row is None or row[0] is None else _schema(current, row[0], version, row[1])


def at_time(rows: Rows, current: Schema, at: float) -> Schema:
    """The schema at a time; NotFound if it did not exist or the history does not go back that far."""
    if current.updated_at <= at:
        return current
    row = rows.one(
        "SELECT version, before, since FROM schema_changes WHERE schema = ? AND since <= ? AND at > ?"
        " ORDER BY version DESC LIMIT 1",
        current.id, at, at,
    )  # fmt: skip
    if row is None:
        raise NotFound(f"Schema {current.slug!r} has no known definition of that time.", hint=_reach(rows, current))
    return _schema(current, row[1], row[0] - 1, row[2])


def version_of(rows: Rows, current: Schema, version: int) -> Schema:
    """Like `at_version`, but NotFound if there is no such version."""
    found = at_version(rows, current, version)
    if found is None:
        raise NotFound(f"Schema {current.slug!r} has no known version {version}.", hint=_reach(rows, current))
    return found


def change_lines(old: Schema, new: Schema, steps: Sequence[MigrationStep] = ()) -> list[str]:
    """The differences between two definitions as readable lines, without owner, organisation and version.

    `steps` are the migration steps between them, which tell renamed properties from new ones.
    """
    return lines_of_change(_compared(old), _compared(new), renames_of(steps))


def reordered(old: Schema, new: Schema) -> list[str]:
    """The places where properties are in a different order, as readable lines."""
    return lines_of_order(old.body, new.body)


def schema_diff(rows: Rows, current: Schema, a: int, b: int | None) -> dict[str, Any]:
    """The difference between two versions, or a version and now, as a JSON Patch and as readable lines."""
    old = version_of(rows, current, a)
    new = current if b is None else version_of(rows, current, b)
    return {
        "id": current.id,
        "from": old.changes,
        "to": new.changes,
        "patch": as_patch(_compared(old), _compared(new)),
        "changes": change_lines(old, new, _steps_between(rows, current, old.changes, new.changes)),
    }


def _steps_between(rows: Rows, current: Schema, a: int, b: int) -> list[MigrationStep]:
    """The renames from one version to another, forwards or backwards."""
    sql = f"SELECT {_COLUMNS} FROM schema_changes WHERE schema = ? AND version > ? AND version <= ? ORDER BY version"  # noqa: S608  own columns
    found = [step for row in rows.all(sql, current.id, min(a, b), max(a, b)) for step in _version(row).steps]
    moves = [step for step in found if step.kind == "rename"]
    return moves if a <= b else [_opposite(step) for step in reversed(moves)]


class Undo:
    """Undoes one change of a schema, together with its migration.

    Only a change still in effect can be undone: the definition after it must be the current one.
    """

    def __init__(self, rows: Rows, current: Schema, version: int | None) -> None:
        taken = _newest_in_effect(rows, current) if version is None else _change(rows, current, version)
        if taken is None or taken.before is None:
            what = "is where its known history begins" if taken is not None else "is not in its history"
            named = f"version {version if version is not None else current.changes}"
            raise Conflict(f"There is nothing to take back: {named} of {current.slug!r} {what}.")
        after = version_of(rows, current, taken.version)
        if not same_json(_definition(after), _definition(current)) or reordered(after, current):
            raise Conflict(
                f"Version {taken.version} of {current.slug!r} is not in effect any more: there are later changes.",
                hint="Take back the later changes first, newest first.",
                details={"current": current.changes},
            )
        self.taken = taken
        self.earlier = _schema(current, taken.before, taken.version - 1, taken.since)
        self.steps = [_opposite(step) for step in reversed(taken.steps) if step.kind == "rename"]
        self._plan = plan_of(current.id, taken.version)
        self.names = frozenset((*touched_names(taken.steps), *(taken.details.get("restored") or ())))
        """The properties it may write."""
        self.kept = 0
        """Values that stay because the object was edited since; counted again in each pass."""

    def summary(self, uuids: Sequence[str]) -> dict[str, Any]:
        """What was undone, with the first objects that got their old values back."""
        return {
            "version": self.taken.version, "action": self.taken.action, **({"ids": list(uuids)} if uuids else {})
        }  # fmt: skip

    def migrate(self, rows: Rows, stored: StoredObject, data: Mapping[str, Any]) -> dict[str, Any]:
        """An object's data before the change: from its history or, if the change did not touch it, renamed back."""
        if not self.names:
            return dict(data)
        row = rows.one(
            "SELECT version, before FROM object_changes WHERE uuid = ? AND plan = ?", stored.uuid, self._plan
        )
        renamed = migrate(data, self.steps)
        if row is None or row[1] is None or row[1].startswith(ERASED):
            return renamed
        before: dict[str, Any] = msgspec.json.decode(row[1])
        if row[0] == stored.version:  # `data` may lack properties the caller may not read; they must not come back here
            return {name: value for name, value in before.items() if name in self.names or name in data}
        led_to = rows.value(
            "SELECT before FROM object_changes WHERE uuid = ? AND version = ? AND before IS NOT NULL",
            stored.uuid, row[0] + 1,
        )  # fmt: skip
        if led_to is None or led_to.startswith(ERASED):
            return renamed
        then = migrate(msgspec.json.decode(led_to), self.steps)
        for name in self.names:
            if not same_json(renamed.get(name), then.get(name)):
                self.kept += 1
            elif name in before:
                renamed[name] = before[name]
            else:
                renamed.pop(name, None)
        return renamed


def _opposite(rename: MigrationStep) -> MigrationStep:
    if not rename.property.startswith("/"):
        return MigrationStep("rename", rename.to, to=rename.property)
    *parents, name = split_pointer(rename.property)
    return MigrationStep("rename", pointer((*parents, rename.to)), to=name)


def _newest_in_effect(rows: Rows, current: Schema) -> SchemaVersion | None:
    """The newest change that is not an undo and was not undone; an undo and the change it undid cancel out."""
    version = current.changes
    while (found := _change(rows, current, version)) is not None and found.action in ("undo", "parent"):
        version = int(found.details.get("undoes", found.version)) - 1
    return found


def _change(rows: Rows, current: Schema, version: int) -> SchemaVersion | None:
    row = rows.one(
        f"SELECT {_COLUMNS} FROM schema_changes WHERE schema = ? AND version = ?",  # noqa: S608  own columns
        current.id, version,
    )  # fmt: skip
    return None if row is None else _version(row)


def _reach(rows: Rows, current: Schema) -> str:
    first = rows.value("SELECT min(version) FROM schema_changes WHERE schema = ?", current.id)
    oldest = current.changes if first is None else int(first)
    known = rows.value("SELECT before FROM schema_changes WHERE schema = ? AND version = ?", current.id, oldest)
    oldest -= 1 if known is not None else 0
    return (
        f"Its known versions are {oldest} to {current.changes}." if oldest < current.changes else "It has one version."
    )


def _compared(schema: Schema) -> dict[str, Any]:
    return {"slug": schema.slug, **_definition(schema)}


def _definition(schema: Schema) -> dict[str, Any]:
    """The undoable part of a definition. Excludes the slug, an address that may belong to another schema by now."""
    return {"title": schema.title, **{k: value for k, value in schema.body.items() if k not in _NOT_COMPARED}}


def _text(schema: Schema) -> str:
    return msgspec.json.encode([schema.slug, schema.title, schema.version, schema.body]).decode()


def _schema(current: Schema, text: str, version: int, since: float | None) -> Schema:
    slug, title, label, body = msgspec.json.decode(text)
    updated = current.created_at if since is None else since
    return Schema(current.id, current.uuid, slug, title, label, body, version, current.created_at, updated)


def _version(row: Row) -> SchemaVersion:
    version, action, at, since, before, details, *who = row
    return SchemaVersion(version, action, at, since, before, msgspec.json.decode(details), *who)
