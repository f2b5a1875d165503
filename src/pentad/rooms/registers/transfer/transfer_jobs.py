"""Imports and exports as jobs: one call starts a job, it runs in the background, and other calls follow it.

The file is kept in the store, so any process can run the job. An import commits its rows together with its progress and
a check of its lease. So a killed import resumes where it stopped, and an all-or-nothing import is written once or not
at all. A killed export starts again. A job runs with its owner's current rights, but never more than when it was
started.

Imports that run within a request are recorded here too. An import can be undone as long as its record is kept.
"""

import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal

import msgspec

from pentad.access.owners import owner_is_gone
from pentad.jobs.job import JobRun, LeaseLost
from pentad.kernel.clock import iso
from pentad.kernel.counts import counted
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Conflict, Forbidden, LimitExceeded, NotFound, PentadError, Unavailable
from pentad.kernel.ids import opaque_id
from pentad.kernel.ports import Row, Transaction
from pentad.kernel.principal import Principal
from pentad.mcp.changes import resource_updated
from pentad.platform import Platform
from pentad.rooms.registers.access.rules import AccessRules
from pentad.rooms.registers.catalogue.catalogue import Catalogue
from pentad.rooms.registers.models import Caller, Pair
from pentad.rooms.registers.objects.undo import Undo
from pentad.rooms.registers.transfer.formats import MEDIA_TYPES, Format
from pentad.rooms.registers.transfer.service import Transfer

if TYPE_CHECKING:
    from pentad.rooms.registers.transfer.imports import ImportOptions
    from pentad.rooms.registers.transfer.imports import Progress as ImportProgress

JOB: Final = "registers.transfer"
KEPT_SECONDS: Final[Mapping["Kind", float]] = {"export": 24 * 3600.0, "import": 30 * 24 * 3600.0}
MOST_UNFINISHED: Final = 10
MOST_KEPT: Final[Mapping["Kind", int]] = {"export": 10, "import": 100}
"""How many finished transfers to keep per principal. An export has a file, an import only its record."""
MOST_EXPORTED: Final = 64 * MIB
_GIVEN_UP: Final = {"code": "internal", "message": "The processes that ran it failed or were lost. It was given up."}
_LONGEST_NAME: Final = 200
_PIECE: Final = 1 * MIB
_PIECES_AT_ONCE: Final = 8
_UNFINISHED: Final = "state IN ('queued', 'running')"
_COLUMNS: Final = (
    "id, kind, principal, register, schema, request, state, rows_done, tally, result, size, created_at, updated_at"
)

Kind = Literal["import", "export"]
State = Literal["queued", "running", "done", "failed", "cancelled", "undone"]
Progress = tuple[str, int, int | None]
"""The phase, the rows done, and the number of rows if it is known."""


class Request(msgspec.Struct, frozen=True):
    """What to do, and the owner's rights when it was started."""

    format: Format
    options: dict[str, Any]
    scopes: tuple[str, ...]
    user: str | None
    agent: str | None
    reason: str | None
    file: str | None = None
    """The name of the imported file, if it is known."""
    register: str | None = None
    schema: str | None = None
    """The slugs of register and schema when it was started."""


@dataclass(frozen=True, slots=True)
class TransferState:
    """One import or export, and its progress."""

    id: str
    kind: Kind
    principal: str
    register: int
    schema: int
    request: Request
    state: State
    rows_done: int
    tally: dict[str, Any] | None
    result: dict[str, Any] | None
    size: int
    created_at: float
    updated_at: float

    @property
    def uri(self) -> str:
        return f"openregister://transfers/{self.id}"

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled", "undone")

    @property
    def has_file(self) -> bool:
        """Whether there is an exported file to download."""
        return self.kind == "export" and self.state == "done"

    @property
    def can_be_undone(self) -> bool:
        """Whether an import wrote something that was not undone yet."""
        counts = self.result if self.result and "created" in self.result else self.tally or {}
        wrote = bool(counts.get("created") or counts.get("updated")) and counts.get("written", True)
        return self.kind == "import" and self.is_over and self.state != "undone" and wrote

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[self.request.format]

    def wire(self) -> dict[str, Any]:
        wire: dict[str, Any] = {
            "id": self.id, "kind": self.kind, "state": self.state, "register": self.register, "schema": self.schema,
            "format": self.request.format, "started": iso(self.created_at), "principal": self.principal,
        }  # fmt: skip
        request = self.request
        known: dict[str, Any] = {
            "register_slug": request.register, "schema_slug": request.schema, "agent": request.agent,
            "reason": request.reason, "file": request.file, "key": request.options.get("key"),
        }  # fmt: skip
        wire |= {name: value for name, value in known.items() if value}
        if self.is_over:
            wire["ended"] = iso(self.updated_at)
        if self.has_file:
            wire |= {"size": self.size, "uri": self.uri, "download": f"/api/transfers/{self.id}/content"}
        if self.tally is not None and (self.state == "cancelled" or not self.result):
            wire |= {name: self.tally[name] for name in ("created", "updated", "unchanged", "failed")}
        return {**wire, **(self.result or {})}


class _Cancelled(Exception):
    """Ends an import whose cancellation was requested in this process; its transaction is rolled back."""


class TransferJobs:
    """Starts, follows, runs and cancels imports and exports."""

    def __init__(
        self, platform: Platform, catalogue: Catalogue, access: AccessRules, transfer: Transfer, undo: Undo
    ) -> None:
        self._platform = platform
        self._database = platform.database
        self._catalogue = catalogue
        self._access = access
        self._transfer = transfer
        self._undo = undo
        self._progress: dict[str, Progress] = {}
        self._running: set[str] = set()
        self._cancelled: set[str] = set()

    # for callers

    async def start_import(
        self, caller: Caller, pair: Pair, content: bytes, kind: Format, options: Mapping[str, Any],
        file: str | None = None,
    ) -> TransferState:  # fmt: skip
        """Queue the import of a file; `options` are those of `ImportOptions`."""
        most = self._platform.limits.upload_bytes
        if len(content) > most:
            raise LimitExceeded(f"The file has {len(content):,} bytes; the limit is {most:,}.", hint="Split it.")
        return await self._start("import", caller, pair, kind, options, content, file)

    async def import_now(
        self,
        caller: Caller,
        pair: Pair,
        source: BinaryIO,
        kind: Format,
        options: "ImportOptions",
        progress: "ImportProgress | None" = None,
        file: str | None = None,
    ) -> dict[str, Any]:
        """Import a seekable stream now, and record it so that it can be undone. Returns its report.

        The record is written together with the objects; an import that writes nothing has no record.
        """
        from pentad.rooms.registers.transfer.imports import Checkpoint, Tally

        identity, now = opaque_id(size=12), self._platform.clock.now()
        request = msgspec.json.encode(_request(caller, pair, kind, msgspec.to_builtins(options), file)).decode()
        recorded = False

        def save(tx: Transaction, rows_done: int, tally: Tally) -> None:
            nonlocal recorded
            if not (tally.created or tally.updated):
                return
            self._forget_old(tx, caller.principal.id, "import", now)
            tx.run(
                f"INSERT INTO transfers ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 'done', ?, ?, NULL, 0, ?, ?)"  # noqa: S608
                " ON CONFLICT (id) DO UPDATE SET rows_done = excluded.rows_done, tally = excluded.tally",
                identity, "import", caller.principal.id, pair.register.id, pair.schema.id, request, rows_done,
                msgspec.json.encode(tally).decode(), now, now,
            )  # fmt: skip
            recorded = True

        checkpoint = Checkpoint(0, Tally(), save, lambda: None, identity)
        caller = replace(caller, call=identity)
        report = (await self._transfer.import_file(caller, pair, source, kind, options, progress, checkpoint)).wire()
        if not recorded or not report["written"]:
            return report
        sql = "UPDATE transfers SET result = ?, updated_at = ? WHERE id = ?"
        values = msgspec.json.encode(report).decode(), self._platform.clock.now(), identity
        await self._database.write(lambda tx: tx.run(sql, *values))
        return {**report, "transfer": identity}

    async def start_export(
        self, caller: Caller, pair: Pair, kind: Format, selection: Mapping[str, Any]
    ) -> TransferState:  # fmt: skip
        """Queue an export; `selection` has members of a query."""
        await self._transfer.check_selection(caller, pair, selection)
        return await self._start("export", caller, pair, kind, selection, b"", None)

    async def get(self, caller: Caller, transfer_id: str) -> TransferState:
        """One of the caller's own transfers; NotFound for those of others."""
        row = await self._database.lookup(
            f"SELECT {_COLUMNS} FROM transfers WHERE id = ? AND principal = ?",  # noqa: S608  own columns
            transfer_id.replace("\0", ""), caller.principal.id,
        )  # fmt: skip
        if row is None:
            kept = "An export is kept for a day, an import for a month."
            raise NotFound(f"You have no transfer {transfer_id[:60]!r}.", hint=kept)
        state = _state(row)
        if not state.is_over and not await self._platform.jobs.is_pending(JOB, state.id):
            again = await self._database.lookup(f"SELECT {_COLUMNS} FROM transfers WHERE id = ?", state.id)  # noqa: S608
            state = state if again is None else _state(again)  # it may have ended between the two reads
            return state if state.is_over else replace(state, state="failed", result={"error": _GIVEN_UP})
        return state

    async def list(self, caller: Caller) -> list[TransferState]:
        """The caller's own transfers, newest first."""
        sql = f"SELECT {_COLUMNS} FROM transfers WHERE principal = ? ORDER BY created_at DESC LIMIT 100"  # noqa: S608
        return [_state(row) for row in await self._database.read(lambda rows: rows.all(sql, caller.principal.id))]

    def progress(self, state: TransferState) -> Progress | None:
        """The progress of a transfer; None if it is not running, or its process has not reported yet."""
        if state.is_over:
            return None
        return self._progress.get(state.id) or (("writing", state.rows_done, None) if state.rows_done else None)

    async def cancel(self, caller: Caller, transfer_id: str) -> TransferState:
        """Stop a transfer. An all-or-nothing import then writes nothing; a partial one keeps what it wrote."""
        state = await self.get(caller, transfer_id)
        if state.is_over:
            return state
        if state.id in self._running:
            self._cancelled.add(state.id)
        # if everything was written while we waited, it is too late to cancel
        possible = _UNFINISHED if state.request.options.get("partial") else f"{_UNFINISHED} AND rows_done = 0"

        def cancel(tx: Transaction) -> None:
            sql = f"UPDATE transfers SET state = 'cancelled', updated_at = ? WHERE id = ? AND {possible}"  # noqa: S608
            if tx.run(sql, self._platform.clock.now(), state.id):
                self._platform.jobs.cancel(tx, JOB, state.id)
                tx.run("DELETE FROM transfer_pieces WHERE transfer = ?", state.id)

        await self._database.write(cancel)
        return await self.get(caller, transfer_id)

    async def undo(self, caller: Caller, transfer_id: str) -> TransferState:
        """Undo an import in one transaction. Whatever was changed since is left alone and reported."""
        self._access.require_write(caller)
        state = await self.get(caller, transfer_id)
        if state.kind != "import":
            raise Conflict(f"The transfer {state.id} is an export: it changed nothing.", hint="Name an import.")
        if not state.is_over:
            raise Conflict(f"The import {state.id} is {state.state}.", hint="Cancel it, or wait until it is over.")
        if state.state != "undone" and not state.can_be_undone:
            raise Conflict(f"The import {state.id} wrote nothing.", hint="There is nothing to undo.")

        def undo(tx: Transaction) -> None:
            now = self._platform.clock.now()
            claimed = "UPDATE transfers SET state = 'undone' WHERE id = ? AND state <> 'undone'"
            if not tx.run(claimed, state.id):
                raise Conflict(f"The import {state.id} is undone.", hint="Import the file again to have it back.")
            report = self._undo.import_(tx, caller, state.id)
            result = {**(state.result or state.tally or {}), "undo": {"at": iso(now), **report.wire()}}
            tx.run(
                "UPDATE transfers SET state = ?, result = ? WHERE id = ?",
                state.state if report.did_nothing else "undone", msgspec.json.encode(result).decode(), state.id,
            )  # fmt: skip
            resource_updated(tx, state.uri)

        await self._catalogue.locks.write(undo)
        return await self.get(caller, transfer_id)

    async def content(self, caller: Caller, transfer_id: str) -> tuple[TransferState, AsyncIterator[bytes]]:
        """An exported file, piece by piece."""
        state = await self.get(caller, transfer_id)
        if not state.has_file:
            raise Conflict(f"The {state.kind} {state.id} is {state.state} and has no file.", hint="Look at its state.")
        return state, self._pieces(state.id)

    # the job

    async def run(self, run: JobRun) -> None:
        """Run one transfer."""
        transfer_id = run.key or ""

        def begin(tx: Transaction) -> tuple[TransferState, Principal | None] | None:
            run.check(tx)
            row = tx.one(f"SELECT {_COLUMNS} FROM transfers WHERE id = ?", transfer_id)  # noqa: S608  own columns
            if row is None or (state := _state(row)).is_over:
                return None
            tx.run("UPDATE transfers SET state = 'running' WHERE id = ?", transfer_id)
            scopes = frozenset(state.request.scopes)
            saved = Principal(state.principal, state.principal, scopes, user=state.request.user)
            return state, self._platform.owner_now(tx, saved)

        begun = await self._database.write(begin)
        if begun is None:
            return
        state, owner = begun
        self._running.add(state.id)
        try:
            if owner is None:
                raise Forbidden(owner_is_gone(state.principal))
            caller = Caller(owner, agent=state.request.agent, call=state.id, reason=state.request.reason)
            right = "create" if state.kind == "import" else "read"
            pair = await self._catalogue.pair(caller, state.register, state.schema, right)
            work = self._import if state.kind == "import" else self._export
            result, size = await work(run, state, caller, pair)
        except _Cancelled:
            return
        except (Unavailable, LeaseLost):
            raise
        except PentadError as error:
            await self._finish(run, state, "failed", {"error": error.as_json()}, 0)
        else:
            await self._finish(run, state, "failed" if _wrote_nothing(result) else "done", result, size)
        finally:
            self._progress.pop(state.id, None)
            self._running.discard(state.id)
            self._cancelled.discard(state.id)

    async def _import(
        self, run: JobRun, state: TransferState, caller: Caller, pair: Pair
    ) -> tuple[dict[str, Any], int]:  # fmt: skip
        from pentad.rooms.registers.transfer.imports import Checkpoint, ImportOptions, Tally

        def save(tx: Transaction, rows_done: int, tally: Tally) -> None:
            run.check(tx)
            tx.run(
                "UPDATE transfers SET rows_done = ?, tally = ?, updated_at = ? WHERE id = ?",
                rows_done, msgspec.json.encode(tally).decode(), self._platform.clock.now(), state.id,
            )  # fmt: skip

        def refuse_cancelled() -> None:
            if state.id in self._cancelled:
                raise _Cancelled

        tally = Tally() if state.tally is None else Tally.from_json(state.tally)
        checkpoint = Checkpoint(state.rows_done, tally, save, refuse_cancelled, state.id)
        options = msgspec.convert(state.request.options, ImportOptions)
        with tempfile.SpooledTemporaryFile(max_size=8 * MIB) as file:
            async for piece in self._pieces(state.id):
                file.write(piece)
            file.seek(0)
            report = await self._transfer.import_file(
                caller, pair, _binary(file), state.request.format, options, self._reporter(state.id), checkpoint
            )
        return report.wire(), 0

    async def _export(
        self, run: JobRun, state: TransferState, caller: Caller, pair: Pair
    ) -> tuple[dict[str, Any], int]:  # fmt: skip
        tell = self._reporter(state.id)
        rows = size = number = 0
        waiting: list[bytes] = []

        async def store() -> None:
            nonlocal number
            first, pieces = number, list(waiting)

            def write(tx: Transaction) -> None:
                run.check(tx)
                if first == 0:
                    tx.run("DELETE FROM transfer_pieces WHERE transfer = ?", state.id)
                insert = "INSERT INTO transfer_pieces (transfer, number, content) VALUES (?, ?, ?)"
                tx.run_many(insert, [(state.id, first + place, piece) for place, piece in enumerate(pieces)])

            await self._database.write(write)
            number += len(pieces)
            waiting.clear()

        def counted(more: int) -> None:
            nonlocal rows
            rows += more
            tell("writing", rows, None)

        async for part in self._transfer.export(caller, pair, state.request.format, state.request.options, counted):
            size += len(part)
            if size > MOST_EXPORTED:
                raise LimitExceeded(
                    f"The export has more than {MOST_EXPORTED // MIB} MiB.", hint="Filter it, or export it over REST."
                )
            waiting += [part[start : start + _PIECE] for start in range(0, len(part), _PIECE)]
            if len(waiting) >= _PIECES_AT_ONCE or number == 0:
                await store()
        await store()
        return {"rows": rows}, size

    def _reporter(self, transfer_id: str) -> Callable[[str, int, int | None], None]:
        def tell(phase: str, done: int, total: int | None) -> None:
            self._progress[transfer_id] = (phase, done, total)

        return tell

    async def _finish(
        self, run: JobRun, state: TransferState, end: State, result: Mapping[str, Any], size: int
    ) -> None:  # fmt: skip
        def finish(tx: Transaction) -> None:
            run.finish(tx)
            tx.run(
                "UPDATE transfers SET state = ?, result = ?, size = ?, updated_at = ? WHERE id = ?",
                end, msgspec.json.encode(result).decode(), size, self._platform.clock.now(), state.id,
            )  # fmt: skip
            resource_updated(tx, state.uri)
            if state.kind == "import" or end == "failed":
                tx.run("DELETE FROM transfer_pieces WHERE transfer = ?", state.id)

        await self._database.write(finish)

    async def _start(
        self, kind: Kind, caller: Caller, pair: Pair, format_: Format, options: Mapping[str, Any], content: bytes,
        file: str | None,
    ) -> TransferState:  # fmt: skip
        principal = caller.principal
        identity, now = opaque_id(size=12), self._platform.clock.now()
        text = msgspec.json.encode(_request(caller, pair, format_, options, file)).decode()

        def start(tx: Transaction) -> None:
            count = tx.value(
                f"SELECT count(*) FROM transfers WHERE principal = ? AND {_UNFINISHED}",  # noqa: S608  own condition
                principal.id,
            )
            if int(count) >= MOST_UNFINISHED:
                raise LimitExceeded(
                    f"You have {counted(count, 'unfinished transfer')}.", hint="Wait for one, or cancel it."
                )
            self._forget_old(tx, principal.id, kind, now)
            tx.run(
                f"INSERT INTO transfers ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, 'queued', 0, NULL, NULL, 0, ?, ?)",  # noqa: S608
                identity, kind, principal.id, pair.register.id, pair.schema.id, text, now, now,
            )  # fmt: skip
            for number, first in enumerate(range(0, len(content), _PIECE)):
                tx.run(
                    "INSERT INTO transfer_pieces (transfer, number, content) VALUES (?, ?, ?)",
                    identity, number, content[first : first + _PIECE],
                )  # fmt: skip
            self._platform.jobs.enqueue(tx, JOB, key=identity)

        await self._database.write(start)
        return await self.get(caller, identity)

    def _forget_old(self, tx: Transaction, principal: str, kind: Kind, now: float) -> None:
        """Make room for one more transfer."""
        for each, seconds in KEPT_SECONDS.items():
            tx.run("DELETE FROM transfers WHERE updated_at < ? AND kind = ?", now - seconds, each)
        old = tx.all(
            f"SELECT id FROM transfers WHERE principal = ? AND kind = ? AND NOT {_UNFINISHED}"  # noqa: S608
            " ORDER BY created_at DESC LIMIT 100 OFFSET ?",
            principal, kind, MOST_KEPT[kind] - 1,
        )  # fmt: skip
        tx.run_many("DELETE FROM transfers WHERE id = ?", old)

    async def _pieces(self, transfer_id: str) -> AsyncIterator[bytes]:
        number = 0
        sql = "SELECT content FROM transfer_pieces WHERE transfer = ? AND number = ?"
        while (row := await self._database.lookup(sql, transfer_id, number)) is not None:
            yield bytes(row[0])
            number += 1


def _request(caller: Caller, pair: Pair, format_: Format, options: Mapping[str, Any], file: str | None) -> Request:
    principal = caller.principal
    scopes = tuple(sorted(principal.scopes))
    name = None if file is None else file[:_LONGEST_NAME]
    slugs = pair.register.slug, pair.schema.slug
    return Request(format_, dict(options), scopes, principal.user, caller.agent, caller.reason, name, *slugs)


def _wrote_nothing(result: Mapping[str, Any]) -> bool:
    """Whether an all-or-nothing import had bad rows."""
    return result.get("mode") == "all or nothing" and bool(result["failed"])


def _binary(file: Any) -> BinaryIO:
    """A spooled file as a binary stream, which it is; only its declared type differs."""
    return file


def _state(row: Row) -> TransferState:
    identity, kind, principal, register, schema, request, state, rows_done, tally, result, *rest = row
    return TransferState(
        identity, kind, principal, register, schema, msgspec.json.decode(request, type=Request), state, rows_done,
        None if tally is None else msgspec.json.decode(tally), None if result is None else msgspec.json.decode(result),
        *rest,
    )  # fmt: skip
