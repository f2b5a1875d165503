"""Import: read the whole file, check every row, then write all rows in one transaction, or none.

Reading and checking happen before the transaction and off the event loop, with the rows on disk rather than in memory.
What only the store can check (unique values, references, versions) is checked while writing; a row that fails then
rolls everything back. `partial` writes the good rows, some at a time.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, Self, cast

import msgspec

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.objects import store, uniqueness
from pentad.rooms.registers.objects.indexes import unique_key
from pentad.rooms.registers.objects.lookup import visibility_of
from pentad.rooms.registers.objects.pending_changes import WriteContext, write_steps
from pentad.rooms.registers.objects.writer import ChangeNotifications
from pentad.rooms.registers.presentation import undeclared_in
from pentad.rooms.registers.transfer.formats import Format, Problem, RawRow, reader_of

if TYPE_CHECKING:
    from pentad.rooms.registers.access.rules import AccessRules
    from pentad.rooms.registers.objects.service import Objects

Mode = Literal["all or nothing", "partial", "dry run"]
Progress = Callable[[Literal["reading", "writing"], int, int | None], None]
"""Called on the event loop with the phase, the rows done, and the number of rows if known."""

MOST_PROBLEMS: Final = 200
"""A report lists this many problems; it only counts the rest."""
MOST_BYTES: Final = 2048 * MIB
_IN_MEMORY: Final = 8 * MIB
_CHUNK_ROWS: Final = 500
_STILL_CHECKED: Final = 20_000
"""A file with bad rows is still tried against the store up to this many rows, so that the report is complete."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`key` names the properties that identify the existing object of a row."""

    key: tuple[str, ...] = ()
    partial: bool = False
    dry_run: bool = False
    encoding: str | None = None


@dataclass(slots=True)
class Tally:
    """The results of some rows in one transaction."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])
    undeclared: Counter[str] = field(default_factory=Counter[str])
    """Properties that the schema does not declare, with the number of rows that have them."""

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
        """A row that cannot be imported."""
        self.failed += 1
        self.problems.extend(problems[: MOST_PROBLEMS - len(self.problems)])

    def failures(self) -> "Tally":
        """Only the failures: the rest was rolled back."""
        return Tally(failed=self.failed, problems=self.problems)

    def add(self, other: "Tally") -> None:
        self.created += other.created
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.failed += other.failed
        self.problems.extend(other.problems[: MOST_PROBLEMS - len(self.problems)])
        self.undeclared.update(other.undeclared)


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
    """Rows between reading and writing, on disk beyond a few megabytes. Read again if a transaction is retried."""

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
        line = msgspec.json.encode((row.number, row.uuid, row.version, row.data)) + b"\n"
        self._bytes += len(line)
        self.rows += 1
        if self._bytes > MOST_BYTES:
            raise LimitExceeded(f"The file holds more than {MOST_BYTES // MIB:,} MiB of data.", hint="Split it.")
        self._file.write(line)

    def chunks(self, size: int) -> Iterator[list[RawRow]]:
        """All rows, some at a time."""
        self._file.seek(0)
        chunk: list[RawRow] = []
        for line in self._file:
            number, uuid, version, data = msgspec.json.decode(
                line, type=tuple[int, str | None, int | None, dict[str, Any]]
            )
            chunk.append(RawRow(number, data, uuid, version))
            if len(chunk) == size:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


class _RolledBack(Exception):
    """Rolls a transaction back and carries what it would have done."""

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
        self, caller: Caller, pair: Pair, source: BinaryIO, kind: Format, options: ImportOptions, progress: Progress
    ) -> ImportReport:
        """Import a seekable stream from its beginning."""
        self._access.check(caller, pair, "create")
        _check_key(pair, options.key, self._access.hidden(caller, pair))
        report = ImportReport(mode="dry run" if options.dry_run else "partial" if options.partial else "all or nothing")
        with Spool() as spool:
            run = _Run(self, caller, pair, kind, options, report, spool, progress)
            await run.read(source)
            if spool.rows and (options.partial or not report.failed or spool.rows <= _STILL_CHECKED):
                await run.write()
        report.problems.sort(key=lambda problem: problem.row)
        report.warnings = undeclared_in(self._access, caller, pair, report.undeclared)
        return report

    def holders(
        self, rows: Rows, write_context: WriteContext, key: tuple[str, ...], found: Sequence[RawRow]
    ) -> list[str | None]:
        """The uuid of the existing object of each row: the one it names, else the one with the same key.

        Objects that the caller may not see do not count.
        """
        named_uuids = [row.uuid for row in found if row.uuid is not None]
        named = set(store.live_objects(rows, named_uuids))
        visible = visibility_of(rows, self._access, write_context.caller, self.objects.pairs_in(rows))
        if visible is not None:
            named.intersection_update(visible.objects(named_uuids))
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

    async def read(self, source: BinaryIO) -> None:
        """Put good rows into the spool and the problems of the others into the report."""
        rows = reader_of(self.kind)(source, self.pair.definition.body, self.options.encoding)
        while await asyncio.to_thread(self._read_some, rows):
            self.progress("reading", self.report.rows, None)

    def _read_some(self, rows: Iterator[RawRow]) -> bool:
        found = list(islice(rows, _CHUNK_ROWS))
        sound = [row for row in found if not row.problems]
        self.report.rows += len(found)
        for row in found:
            if row.problems:
                self.report.fail(row.problems)
        fresh = [row for row in sound if not self.options.key and row.uuid is None]
        refused = self._refused(fresh)
        for row in sound:
            if row.number in refused:
                self.report.fail(refused[row.number])
            else:
                self.spool.add(row)
        return bool(found)

    def _refused(self, fresh: Sequence[RawRow]) -> dict[int, list[Problem]]:
        """The schema's problems with new objects. Rows of existing objects are complete only in the store."""
        steps = write_steps([Operation("create", row.data) for row in fresh])
        self.importer.objects.writer.prepare_creates(self.importer.objects.write_context(self.caller, self.pair), steps)
        return {
            row.number: problems_of(row.number, step.error)
            for row, step in zip(fresh, steps, strict=True)
            if step.error is not None
        }

    async def write(self) -> None:
        objects, report = self.importer.objects, self.report
        if self.options.partial and not self.options.dry_run:
            for rows in self.spool.chunks(_CHUNK_ROWS):
                report.add(await objects.write_with_retry(self.caller, self.pair, partial(self._some, rows)))
                report.written = bool(report.created or report.updated)
                self.progress("writing", report.done, report.rows)
            return
        try:
            report.add(
                await objects.write_with_retry(self.caller, self.pair, partial(self._all, asyncio.get_running_loop()))
            )
            report.written = bool(report.created or report.updated)
        except _RolledBack as error:
            report.add(error.tally if self.options.dry_run else error.tally.failures())

    def _some(self, rows: Sequence[RawRow], pair: Pair) -> Callable[[Transaction], Tally]:
        return lambda tx: self._write_some(tx, pair, rows, None)

    def _all(self, loop: asyncio.AbstractEventLoop, pair: Pair) -> Callable[[Transaction], Tally]:
        return lambda tx: self._write_all(tx, pair, loop)

    def _write_all(self, tx: Transaction, pair: Pair, loop: asyncio.AbstractEventLoop) -> Tally:
        """Write everything in one transaction. The store may run it again from the start."""
        whole = Tally()
        news = ChangeNotifications()
        done = 0
        for chunk in self.spool.chunks(_CHUNK_ROWS):
            whole.add(self._write_some(tx, pair, chunk, news))
            done += len(chunk)
            loop.call_soon_threadsafe(self.progress, "writing", done, self.spool.rows)
        if self.options.dry_run or self.report.failed or whole.failed:
            raise _RolledBack(whole)
        self.importer.objects.writer.send(tx, news)
        return whole

    def _write_some(
        self, tx: Transaction, pair: Pair, rows: Sequence[RawRow], news: ChangeNotifications | None
    ) -> Tally:
        objects = self.importer.objects
        write_context = objects.write_context(self.caller, pair)
        holders = self.importer.holders(tx, write_context, self.options.key, rows)
        steps = write_steps([self._operation(row, holder) for row, holder in zip(rows, holders, strict=True)])
        objects.writer.prepare_creates(write_context, steps)
        objects.writer.write(tx, write_context, steps, news)
        tally = Tally()
        for row, step in zip(rows, steps, strict=True):
            tally.count(row.number, step.status, step.error)
            if step.error is None and step.stored is not None:
                tally.undeclared.update(pair.definition.undeclared(step.stored.data))
        return tally

    def _operation(self, row: RawRow, holder: str | None) -> Operation:
        """The row of a table changes only the columns that the file has; JSON replaces the whole object."""
        if holder is not None:
            version = row.version if holder == row.uuid else None
            whole = self.kind in ("json", "jsonl")
            return Operation("update" if whole else "patch", row.data, holder, if_version=version)
        if self.options.key:
            return Operation("upsert", row.data, key=self.options.key, uuid=row.uuid)
        return Operation("create", row.data, uuid=row.uuid)


def _check_key(pair: Pair, key: Sequence[str], hidden: Collection[str]) -> None:
    """Refuse unknown and hidden properties as keys: a match would reveal a hidden value."""
    for name in key:
        known = [one for one in pair.definition.properties if one not in hidden]
        if name not in known:
            guess = did_you_mean(name, known) or f"Its properties are {', '.join(known[:20])}."
            raise InvalidInput(f"The schema {pair.schema.slug} has no property {name[:60]!r} to be a key.", hint=guess)


def problems_of(row: int, error: PentadError) -> list[Problem]:
    """An error as problems of a row, one for each property it names."""
    found = error.details.get("problems")
    named = cast("list[Any]", found) if isinstance(found, list) else []
    problems = [_problem(row, cast("dict[str, Any]", one)) for one in named if isinstance(one, dict)]
    return problems or [Problem(row, "", error.message)]


def _problem(row: int, found: dict[str, Any]) -> Problem:
    pointer = str(found.get("path", "")).strip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    return Problem(row, pointer, str(found.get("message", "This value is not valid.")))
