"""Import: read the whole file, check every row, then write all rows in one transaction, or none.

Rows for the same object, by id or by key, are refused, because the importer cannot decide which should win. Reading and
checking happen before the transaction and off the event loop, with the rows on disk rather than in memory. What only
the store can check (unique values, references, versions) is checked while writing; a row that fails then rolls
everything back. `partial` writes the good rows, in batches.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Self, cast

import msgspec

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.json_pointer import steps_of
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.catalogue.compiled_schemas import target as find_target
from pentad.rooms.registers.definitions.json_diff import quoted
from pentad.rooms.registers.definitions.references import replaced_at
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.objects import store, uniqueness
from pentad.rooms.registers.objects.indexes import unique_key
from pentad.rooms.registers.objects.lookup import visibility_of
from pentad.rooms.registers.objects.pending_changes import WriteContext, broken_rules, write_steps
from pentad.rooms.registers.objects.writer import ChangeNotifications
from pentad.rooms.registers.presentation import tolerated_in, undeclared_in
from pentad.rooms.registers.transfer.cells import Schema
from pentad.rooms.registers.transfer.formats import Format, Problem, RawRow, reader_of
from pentad.rooms.registers.transfer.tables import with_natural_keys

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.objects.service import Objects

Mode = Literal["all or nothing", "partial", "dry run"]
Progress = Callable[[Literal["reading", "writing"], int, int | None], None]
"""Called on the event loop with the phase, the rows done, and the number of rows if known."""

MOST_PROBLEMS: Final = 200
"""A report lists this many problems; it only counts the rest."""
_MOST_IN_ROW: Final = 20
"""Problems of one row in a report."""
MOST_BYTES: Final = 2048 * MIB
_IN_MEMORY: Final = 8 * MIB
_CHUNK_ROWS: Final = 500
_NEW_IDS: Final = "To copy it here, import with new ids (--new-ids, or new_ids=true)."
_STILL_CHECKED: Final = 20_000
"""Up to this many rows, a file with bad rows is still checked against the store, so that the report is complete."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`key` names the properties that identify the existing object of a row.

    With `new_ids`, ids in the file are used only for references between its rows, and every object gets a new id.
    """

    key: tuple[str, ...] = ()
    new_ids: bool = False
    partial: bool = False
    dry_run: bool = False
    encoding: str | None = None


@dataclass(slots=True)
class Tally:
    """The results of rows in one transaction."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])
    undeclared: Counter[str] = field(default_factory=Counter[str])
    """Properties that the schema does not declare, with the number of rows that have them."""
    tolerated: Counter[str] = field(default_factory=Counter[str])
    """Rules that stored rows break (`broken_rules`), with the number of rows."""

    def count(self, row: int, status: str, error: PentadError | None) -> None:
        if error is not None:
            self.fail(problems_of(row, error))
        elif status == "created":
            self.created += 1
        elif status == "updated":
            self.updated += 1
        else:
            self.unchanged += 1

    def fail(self, problems: list[Problem]) -> None:
        """Count a row that cannot be imported."""
        self.failed += 1
        self.problems.extend(problems[: MOST_PROBLEMS - len(self.problems)])

    def failures(self) -> "Tally":
        """A tally with only the failures, because the rest was rolled back."""
        return Tally(failed=self.failed, problems=self.problems)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Tally":
        """Read a tally stored as JSON."""
        problems = [Problem(**one) for one in raw["problems"]]
        undeclared: Counter[str] = Counter(raw["undeclared"])
        tolerated: Counter[str] = Counter(raw.get("tolerated", {}))
        return cls(raw["created"], raw["updated"], raw["unchanged"], raw["failed"], problems, undeclared, tolerated)

    def __copy__(self) -> "Tally":
        return Tally(
            self.created, self.updated, self.unchanged, self.failed, list(self.problems), Counter(self.undeclared),
            Counter(self.tolerated),
        )  # fmt: skip

    def add(self, other: "Tally") -> None:
        self.created += other.created
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.failed += other.failed
        self.problems.extend(other.problems[: MOST_PROBLEMS - len(self.problems)])
        self.undeclared.update(other.undeclared)
        self.tolerated.update(other.tolerated)
        if len(self.tolerated) > MOST_PROBLEMS:  # every list position is a separate place
            self.tolerated = Counter(dict(self.tolerated.most_common(MOST_PROBLEMS)))


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Saves the progress of an import that may be interrupted, in the transactions that write its rows.

    An earlier attempt committed `rows` of the file, with the results in `tally`.
    """

    rows: int
    tally: Tally
    save: Callable[[Transaction, int, Tally], None]
    """Stores the rows done and their results; raises if this attempt was superseded."""
    refuse_cancelled: Callable[[], None]
    transfer: str | None = None
    """The id of the import. The history records it, so that the import can be undone."""


NO_CHECKPOINT: Final = Checkpoint(0, Tally(), lambda _tx, _rows, _tally: None, lambda: None)


@dataclass(slots=True)
class ImportReport(Tally):
    """If nothing was `written`, the counts say what would have happened."""

    mode: Mode = "all or nothing"
    rows: int = 0
    written: bool = False
    warnings: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @property
    def ok(self) -> bool:
        return not self.failed

    @property
    def done(self) -> int:
        return self.created + self.updated + self.unchanged + self.failed

    def wire(self) -> dict[str, Any]:
        return {
            "mode": self.mode, "rows": self.rows, "created": self.created, "updated": self.updated,
            "unchanged": self.unchanged, "failed": self.failed, "written": self.written,
            "problems": [problem.wire() for problem in self.problems],
            **({"warnings": self.warnings} if self.warnings else {}),
        }  # fmt: skip


class Spool:
    """Rows between reading and writing, on disk beyond a few megabytes; read again if a transaction is retried."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115  closed by __exit__
        self._bytes = 0
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, row: RawRow) -> None:
        line = msgspec.json.encode((row.number, row.uuid, row.version, row.whole, row.data)) + b"\n"
        self._bytes += len(line)
        self.rows += 1
        if self._bytes > MOST_BYTES:
            raise LimitExceeded(f"The file holds more than {MOST_BYTES // MIB:,} MiB of data.", hint="Split it.")
        self._file.write(line)

    def chunks(self, size: int, start: int = 0) -> Iterator[list[RawRow]]:
        """All rows from a position, in chunks."""
        self._file.seek(0)
        chunk: list[RawRow] = []
        for line in islice(self._file, start, None):
            number, uuid, version, whole, data = msgspec.json.decode(
                line, type=tuple[int, str | None, int | None, bool, dict[str, Any]]
            )
            chunk.append(RawRow(number, data, uuid, version, whole=whole))
            if len(chunk) == size:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


class _RolledBack(Exception):
    """Rolls back a transaction, and carries what it would have done."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally


class Importer:
    """Imports files into a pair."""

    def __init__(self, database: Database, objects: "Objects", access: "AccessRules") -> None:
        self._database = database
        self._access = access
        self.objects = objects

    async def run(
        self,
        caller: Caller,
        pair: Pair,
        source: BinaryIO,
        kind: Format,
        options: ImportOptions,
        progress: Progress,
        checkpoint: Checkpoint = NO_CHECKPOINT,
    ) -> ImportReport:
        """Import a seekable stream from its beginning."""
        self._access.check(caller, pair, "create")
        _check_key(pair, options.key, self._access.hidden(caller, pair))
        report = ImportReport(mode="dry run" if options.dry_run else "partial" if options.partial else "all or nothing")
        keys = self.objects.writer.natural_keys
        available = await self._database.read(lambda rows: keys.available(rows, caller, pair))
        own = await self._database.read(lambda rows: self_references(rows, pair))
        with Spool() as spool:
            run = _Run(self, caller, pair, kind, options, report, spool, progress, checkpoint, own)
            await run.read(source, with_natural_keys(pair.definition.body, available))
            if spool.rows and (options.partial or not report.failed or spool.rows <= _STILL_CHECKED):
                await run.write()
        report.problems.sort(key=lambda problem: problem.row)
        report.warnings = undeclared_in(self._access, caller, pair, report.undeclared)
        report.warnings += tolerated_in(self._access, caller, pair, report.tolerated)
        return report

    def holders(
        self, rows: Rows, write_context: WriteContext, key: tuple[str, ...], found: Sequence[RawRow]
    ) -> list[str | None]:
        """The uuid of each row's existing object: the one it names, otherwise the one with the same key.

        Objects hidden from the caller do not count. A row that names an object in another pair gets a problem.
        """
        named_uuids = [row.uuid for row in found if row.uuid is not None]
        named = store.places_of(rows, named_uuids)
        visible = visibility_of(rows, self._access, write_context.caller, self.objects.pairs_in(rows))
        if visible is not None:
            seen = visible.objects(named_uuids)
            named = {uuid: place for uuid, place in named.items() if uuid in seen}
        here = (write_context.pair.register.id, write_context.pair.schema.id)
        pair_of = self.objects.pairs_in(rows)
        for row in found:
            if row.uuid is not None and named.get(row.uuid, here) != here:
                other = pair_of(*named[row.uuid]).label
                row.problems.append(Problem(row.number, "id", f"The object {row.uuid} is in {other}. {_NEW_IDS}"))
        by_key: Sequence[str | None] = [None] * len(found)
        if key:
            by_key = uniqueness.find_by_key(
                rows, self._database.dialect, self._access, write_context.caller, write_context.pair,
                unique_key(write_context.pair.definition, key), [row.data for row in found],
            )  # fmt: skip
        return [row.uuid if row.uuid in named else holder for row, holder in zip(found, by_key, strict=True)]


@dataclass(slots=True)
class _Run:
    """One import."""

    importer: Importer
    caller: Caller
    pair: Pair
    kind: Format
    options: ImportOptions
    report: ImportReport
    spool: Spool
    progress: Progress
    checkpoint: Checkpoint
    own: Sequence[tuple[str, ...]]
    """The paths of references to objects of the same schema."""
    first_rows: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """The first row with each id and key."""
    new_ids: dict[str, str] = field(default_factory=dict[str, str])
    unreadable: dict[str, str] = field(default_factory=dict[str, str])
    """URIs of `uri-reference` properties that lead to nothing the caller may read."""

    async def read(self, source: BinaryIO, schema: Schema) -> None:
        """Put good rows into the spool, and the problems of other rows into the report."""
        rows = reader_of(self.kind)(source, schema, self.options.encoding)
        while await asyncio.to_thread(self._read_some, rows):
            self.checkpoint.refuse_cancelled()
            self.progress("reading", self.report.rows, None)

    def _read_some(self, rows: Iterator[RawRow]) -> bool:
        found = list(islice(rows, _CHUNK_ROWS))
        self.report.rows += len(found)
        refused = self._refused([row for row in found if self._can_be_checked(row)])
        for row in found:
            claims = self._claims(row)
            if problems := self._problems(row, refused.get(row.number, ()), claims):
                self.report.fail(problems[:_MOST_IN_ROW])
            else:
                self.first_rows.update(dict.fromkeys(claims, row.number))
                self.spool.add(self._with_new_id(row) if self.options.new_ids else row)
        return bool(found)

    def _is_new(self, row: RawRow) -> bool:
        return not self.options.key and (row.uuid is None or self.options.new_ids)

    def _can_be_checked(self, row: RawRow) -> bool:
        """Whether a row can be checked without the store: new objects, and the rest of a row with bad cells."""
        natural_keys = self.importer.objects.writer.natural_keys
        alone = bool(row.data) if row.problems else self._is_new(row)
        return alone and not natural_keys.occur_in(self.pair, [Operation("create", row.data)])

    def _problems(
        self, row: RawRow, refused: Sequence[Problem], claims: Mapping[Hashable, tuple[str, str]]
    ) -> list[Problem]:
        """All problems of a row: bad cells, schema problems in the others, and earlier rows for the same object."""
        bad = [problem.column for problem in row.problems if problem.column]
        rest = [one for one in refused if not any(_overlap(one.column, column) for column in bad)]
        if row.problems and not self._is_new(row):  # an existing object may have what the row leaves out
            rest = [one for one in rest if one.column.partition(".")[0] in row.data]
        first = {claim: self.first_rows[claim] for claim in claims if claim in self.first_rows}
        repeated = [
            Problem(row.number, claims[claim][0], f"Row {number} has {claims[claim][1]} too.{self._kept(number)}")
            for claim, number in first.items()
        ]
        return [*row.problems, *rest, *repeated]

    def _claims(self, row: RawRow) -> dict[Hashable, tuple[str, str]]:
        """The key and id, which only one row of a file may have, each with its column and wording."""
        claims: dict[Hashable, tuple[str, str]] = {}
        names = self.options.key
        if names and (claim := uniqueness.claim_of(unique_key(self.pair.definition, names), "", row.data)) is not None:
            claims[claim] = (names[0], ", ".join(f"{name} = {quoted(row.data[name])}" for name in names))
        if row.uuid is not None:
            claims[row.uuid] = ("id", f"the id {row.uuid[:80]}")
        return claims

    def _kept(self, first: int) -> str:
        return f" Only row {first} is imported." if self.options.partial else ""

    def _with_new_id(self, row: RawRow) -> RawRow:
        """The row as a new object. It gets its uuid early only if other rows may refer to it."""
        uuid = None
        if self.own and row.uuid is not None:
            uuid = self.new_ids[row.uuid] = str(uuid7())
        return replace(row, uuid=uuid, version=None, whole=True)

    @property
    def _chunk_rows(self) -> int:
        """How many rows to write together; rows that refer to each other should be, as far as memory allows."""
        return max(_CHUNK_ROWS, min(self.spool.rows, _STILL_CHECKED)) if self.own else _CHUNK_ROWS

    def _refused(self, fresh: Sequence[RawRow]) -> dict[int, list[Problem]]:
        """The schema problems of new objects. Rows for existing objects are incomplete without the store."""
        steps = write_steps([Operation("create", row.data) for row in fresh])
        self.importer.objects.writer.prepare_creates(self.importer.objects.write_context(self.caller, self.pair), steps)
        return {
            row.number: problems_of(row.number, step.error)
            for row, step in zip(fresh, steps, strict=True)
            if step.error is not None
        }

    async def write(self) -> None:
        objects, report = self.importer.objects, self.report
        report.add(self.checkpoint.tally)
        report.written = bool(report.created or report.updated)
        if self.options.partial and not self.options.dry_run:
            written = copy(self.checkpoint.tally)
            done = self.checkpoint.rows
            for rows in self.spool.chunks(self._chunk_rows, done):
                self.checkpoint.refuse_cancelled()
                done += len(rows)
                await self._check_uris(rows)
                write = partial(self._some, rows, done, written)
                tally = await objects.write_with_retry(self.caller, self.pair, write)
                written.add(tally)
                report.add(tally)
                report.written = bool(report.created or report.updated)
                self.progress("writing", report.done, report.rows)
            return
        if self.checkpoint.rows:  # all rows were written, but not the report
            return
        for rows in self.spool.chunks(self._chunk_rows) if self.pair.definition.uri_references else ():
            await self._check_uris(rows)
        try:
            report.add(
                await objects.write_with_retry(self.caller, self.pair, partial(self._all, asyncio.get_running_loop()))
            )
            report.written = bool(report.created or report.updated)
        except _RolledBack as error:
            report.add(error.tally if self.options.dry_run else error.tally.failures())

    async def _check_uris(self, rows: Sequence[RawRow]) -> None:
        """Record the URIs that lead nowhere, because a transaction cannot ask other rooms."""
        given = [Operation("create", row.data) for row in rows]
        self.unreadable.update(await self.importer.objects.unreadable(self.caller, self.pair, given))

    def _some(
        self, rows: Sequence[RawRow], done: int, before: Tally, pair: Pair
    ) -> Callable[[Transaction], Tally]:  # fmt: skip
        def write(tx: Transaction) -> Tally:
            tally = self._write_some(tx, pair, rows, None)
            whole = copy(before)
            whole.add(tally)
            self.checkpoint.save(tx, done, whole)
            return tally

        return write

    def _all(self, loop: asyncio.AbstractEventLoop, pair: Pair) -> Callable[[Transaction], Tally]:
        return lambda tx: self._write_all(tx, pair, loop)

    def _write_all(self, tx: Transaction, pair: Pair, loop: asyncio.AbstractEventLoop) -> Tally:
        """Write everything in one transaction, which the store may run again from the start."""
        whole = Tally()
        news = ChangeNotifications()
        done = 0
        for chunk in self.spool.chunks(self._chunk_rows):
            self.checkpoint.refuse_cancelled()
            whole.add(self._write_some(tx, pair, chunk, news))
            done += len(chunk)
            loop.call_soon_threadsafe(self.progress, "writing", done, self.spool.rows)
        if self.options.dry_run or self.report.failed or whole.failed:
            raise _RolledBack(whole)
        self.importer.objects.writer.send(tx, news)
        self.checkpoint.save(tx, done, whole)
        return whole

    def _write_some(
        self, tx: Transaction, pair: Pair, rows: Sequence[RawRow], news: ChangeNotifications | None
    ) -> Tally:
        objects = self.importer.objects
        write_context = objects.write_context(self.caller, pair, self.checkpoint.transfer, self.unreadable)
        holders = self.importer.holders(tx, write_context, self.options.key, rows)
        ids = self._ids(rows, holders)
        steps = write_steps([self._operation(row, holder, ids) for row, holder in zip(rows, holders, strict=True)])
        for row, step in zip(rows, steps, strict=True):
            if row.problems:
                named = [{"path": f"/{one.column}", "message": one.problem} for one in row.problems]
                step.fail(InvalidInput(row.problems[0].problem, details={"problems": named}))
        objects.writer.natural_keys.resolve(tx, self.caller, pair, steps)
        objects.writer.prepare_creates(write_context, steps)
        objects.writer.write(tx, write_context, steps, news)
        tally = Tally()
        made = {step.stored.uuid: row.number for row, step in zip(rows, steps, strict=True) if step.stored is not None}
        for row, step in zip(rows, steps, strict=True):
            taken_by = None if step.error is None else made.get(step.error.details.get("existing", ""))
            if step.error is not None and taken_by is not None:
                names: list[str] = step.error.details["properties"]
                problem = f"Row {taken_by} has the same {' + '.join(names)}.{self._kept(taken_by)}"
                tally.fail([Problem(row.number, names[0], problem)])
                continue
            tally.count(row.number, step.status, step.error)
            if step.error is None and step.stored is not None:
                tally.undeclared.update(pair.definition.undeclared(step.stored.data))
                tally.tolerated.update(broken_rules(pair.definition, step.stored.data))
        return tally

    def _ids(self, rows: Sequence[RawRow], holders: Sequence[str | None]) -> Mapping[str, str]:
        """The ids that replace those in the file: new ones, or those of objects with the same key."""
        known = {row.uuid: holder for row, holder in zip(rows, holders, strict=True) if holder is not None}
        if not self.new_ids or not known:
            return self.new_ids
        return {old: known.get(new, new) for old, new in self.new_ids.items()}

    def _operation(self, row: RawRow, holder: str | None, ids: Mapping[str, str]) -> Operation:
        data = row.data
        for path in self.own if ids else ():
            data = replaced_at(data, path, lambda value: ids.get(value, value) if isinstance(value, str) else value)
        if holder is not None:
            version = row.version if holder == row.uuid else None
            whole = row.whole and self.kind in ("json", "jsonl")
            return Operation("update" if whole else "patch", data, holder, if_version=version)
        if self.options.key:
            return Operation("upsert", data, key=self.options.key, uuid=row.uuid)
        return Operation("create", data, uuid=row.uuid)


def self_references(rows: Rows, pair: Pair) -> list[tuple[str, ...]]:
    """The paths of a schema's references to objects of the same schema."""
    found: list[tuple[str, ...]] = []
    for facts in pair.definition.references:
        schema = find_target(rows, facts.target, pair.definition.organisation)
        if schema is not None and schema.id == pair.schema.id:
            found.append(facts.path)
    return found


def _check_key(pair: Pair, key: Sequence[str], hidden: Collection[str]) -> None:
    """Refuse unknown and hidden properties as keys; a match would reveal a hidden value."""
    for name in key:
        known = [one for one in pair.definition.properties if one not in hidden]
        if name not in known:
            guess = did_you_mean(name, known) or f"Its properties are {', '.join(known[:20])}."
            raise InvalidInput(f"The schema {pair.schema.slug} has no property {name[:60]!r} to be a key.", hint=guess)


def _overlap(one: str, other: str) -> bool:
    """Whether two dotted names mean the same place, or one contains the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def problems_of(row: int, error: PentadError) -> list[Problem]:
    """An error as problems of a row, one per property it names."""
    found = error.details.get("problems")
    named = cast("list[Any]", found) if isinstance(found, list) else []
    problems = [_problem(row, cast("dict[str, Any]", one)) for one in named if isinstance(one, dict)]
    return problems or [Problem(row, "", error.message)]


def _problem(row: int, found: dict[str, Any]) -> Problem:
    name = ".".join(steps_of(str(found.get("path", ""))))
    return Problem(row, name, str(found.get("message", "This value is not valid.")))
