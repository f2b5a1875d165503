"""Import: read the whole file, check every row, then write all of them in one transaction, or none.

Reading and checking happen before the transaction and away from the event loop, with the rows on disk rather than in
memory. What only the store can know (unique values, references, versions) is checked while writing, and a row that
fails there takes everything back. `partial` writes what it can, some rows at a time, and says so.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Final, Literal

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.registers.models import Caller, Operation, Pair
from pentad.rooms.registers.objects import store, uniqueness
from pentad.rooms.registers.objects.indexes import unique_key
from pentad.rooms.registers.objects.lookup import visibility_of
from pentad.rooms.registers.objects.pending_changes import WriteContext, write_steps
from pentad.rooms.registers.objects.writer import ChangeNotifications
from pentad.rooms.registers.transfer.report import ImportReport, Tally, problems_of
from pentad.rooms.registers.transfer.rows import Format, Problem, RawRow, reader_of
from pentad.rooms.registers.transfer.spool import Spool

if TYPE_CHECKING:
    from pentad.rooms.registers.access import AccessRules
    from pentad.rooms.registers.objects.service import Objects

Progress = Callable[[Literal["reading", "writing"], int, int | None], None]
"""Called on the event loop with the phase, the rows done, and how many there are if that is known."""

_AT_ONCE: Final = 500
_STILL_TRIED: Final = 20_000
"""Rows up to which a file with bad rows is tried against the store all the same, so that the report names every one."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`key` names the properties that tell whether a row's object exists already."""

    key: tuple[str, ...] = ()
    partial: bool = False
    dry_run: bool = False
    encoding: str | None = None


class _Undone(Exception):
    """Takes a transaction back, and carries what it would have done."""

    def __init__(self, tally: Tally) -> None:
        super().__init__()
        self.tally = tally


class Importer:
    """Brings files into a pair."""

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
            if spool.rows and (options.partial or not report.failed or spool.rows <= _STILL_TRIED):
                await run.write()
        report.problems.sort(key=lambda problem: problem.row)
        return report

    def holders(
        self, rows: Rows, context: WriteContext, key: tuple[str, ...], found: Sequence[RawRow]
    ) -> list[str | None]:
        """The object each row is about: the one it names if that exists, else the one with the same key.

        An object that the caller may not see does not exist for its rows.
        """
        wanted = [row.uuid for row in found if row.uuid is not None]
        named = set(store.live_objects(rows, wanted))
        visible = visibility_of(rows, self._access, context.caller, self.objects.pairs_in(rows))
        if visible is not None:
            named.intersection_update(visible.objects(wanted))
        by_key: Sequence[str | None] = [None] * len(found)
        if key:
            by_key = uniqueness.find_by_key(
                rows, self._database.dialect, self._access, context.caller, context.pair,
                unique_key(context.pair.definition, key), [row.data for row in found],
            )  # fmt: skip
        return [row.uuid if row.uuid in named else holder for row, holder in zip(found, by_key, strict=True)]


@dataclass(slots=True)
class _Run:
    """One import on its way."""

    importer: Importer
    caller: Caller
    pair: Pair
    kind: Format
    options: ImportOptions
    report: ImportReport
    spool: Spool
    progress: Progress

    async def read(self, source: BinaryIO) -> None:
        """Put every row that could be imported into the spool and every other into the report."""
        rows = reader_of(self.kind)(source, self.pair.definition.body, self.options.encoding)
        while await asyncio.to_thread(self._read_some, rows):
            self.progress("reading", self.report.rows, None)

    def _read_some(self, rows: Iterator[RawRow]) -> bool:
        found = list(islice(rows, _AT_ONCE))
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
        """What the schema says against new objects; rows for objects that exist are complete only in the store."""
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
            for rows in self.spool.chunks(_AT_ONCE):
                report.add(await objects.write_with_retry(self.caller, self.pair, partial(self._some, rows)))
                report.written = bool(report.created or report.updated)
                self.progress("writing", report.done, report.rows)
            return
        try:
            report.add(
                await objects.write_with_retry(self.caller, self.pair, partial(self._all, asyncio.get_running_loop()))
            )
            report.written = bool(report.created or report.updated)
        except _Undone as undone:
            report.add(undone.tally if self.options.dry_run else undone.tally.failures())

    def _some(self, rows: Sequence[RawRow], pair: Pair) -> Callable[[Transaction], Tally]:
        return lambda tx: self._write_some(tx, pair, rows, None)

    def _all(self, loop: asyncio.AbstractEventLoop, pair: Pair) -> Callable[[Transaction], Tally]:
        return lambda tx: self._write_all(tx, pair, loop)

    def _write_all(self, tx: Transaction, pair: Pair, loop: asyncio.AbstractEventLoop) -> Tally:
        """Everything in one transaction; it is run again from the start when the store has to."""
        whole = Tally()
        news = ChangeNotifications()
        done = 0
        for chunk in self.spool.chunks(_AT_ONCE):
            whole.add(self._write_some(tx, pair, chunk, news))
            done += len(chunk)
            loop.call_soon_threadsafe(self.progress, "writing", done, self.spool.rows)
        if self.options.dry_run or self.report.failed or whole.failed:
            raise _Undone(whole)
        self.importer.objects.writer.send(tx, news)
        return whole

    def _write_some(
        self, tx: Transaction, pair: Pair, rows: Sequence[RawRow], news: ChangeNotifications | None
    ) -> Tally:
        objects = self.importer.objects
        context = objects.write_context(self.caller, pair)
        holders = self.importer.holders(tx, context, self.options.key, rows)
        steps = write_steps([self._operation(row, holder) for row, holder in zip(rows, holders, strict=True)])
        objects.writer.prepare_creates(context, steps)
        objects.writer.write(tx, context, steps, news)
        tally = Tally()
        for row, step in zip(rows, steps, strict=True):
            tally.count(row.number, step.status, step.error)
        return tally

    def _operation(self, row: RawRow, holder: str | None) -> Operation:
        """A table's row says nothing of the columns the file lacks, so it changes only those it has."""
        if holder is not None:
            version = row.version if holder == row.uuid else None
            whole = self.kind in ("json", "jsonl")
            return Operation("update" if whole else "patch", row.data, holder, if_version=version)
        if self.options.key:
            return Operation("upsert", row.data, key=self.options.key, uuid=row.uuid)
        return Operation("create", row.data, uuid=row.uuid)


def _check_key(pair: Pair, key: Sequence[str], hidden: Collection[str]) -> None:
    """What is hidden is no key: whether an object has a value would tell it."""
    for name in key:
        known = [one for one in pair.definition.properties if one not in hidden]
        if name not in known:
            meant = did_you_mean(name, known) or f"Its properties are {', '.join(known[:20])}."
            raise InvalidInput(f"The schema {pair.schema.slug} has no property {name[:60]!r} to be a key.", hint=meant)
