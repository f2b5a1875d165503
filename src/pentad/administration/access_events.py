"""Logins and administration in the feed of events, read from the audit trail by the numbers of its batches."""

from typing import Final

from pentad.access.audit import EVENT_MARK, EVENTS, AuditTrail, decode_entries
from pentad.administration.rights import AUDIT
from pentad.events.feed import Source
from pentad.kernel.errors import InvalidInput
from pentad.kernel.events import Event
from pentad.kernel.ports import Database, Rows
from pentad.kernel.principal import Principal
from pentad.kernel.trace import position_in

KINDS: Final = {"reported": "A login, or an action of an administrator. Only readers of the audit trail see it."}
KIND: Final = "reported"
_BATCHES: Final = 200


def access_events(database: Database, audit: AuditTrail) -> Source:
    """The trail as a source of events; calls are left out."""

    async def read(principal: Principal, position: str, limit: int) -> tuple[list[Event], str]:
        found: list[Event] = []
        number, index = _parse(position)
        while True:
            rows = await database.read(lambda rows, number=number: _batches(rows, number))
            for batch, entries in rows:
                first = index if batch == number else 0
                for place, event in _events(batch, entries):
                    if place > first:
                        found.append(event)
                        if len(found) == limit:
                            return found, event.position
            if len(rows) < _BATCHES:
                return found, found[-1].position if found else position
            number, index = rows[-1][0], 2**31

    async def newest(back: int) -> str:
        number = await database.read(_last)
        left = back
        for batch, entries in await database.read(lambda rows: _last_batches(rows, back)):
            events = _events(batch, entries)
            if len(events) >= left:
                return f"{batch}-{events[-left][0] - 1}"
            number, left = batch - 1, left - len(events)
        return f"{number}-{2**31}"

    return Source(EVENTS, read, newest, lambda principal: principal.may(AUDIT, "admin"), audit.flush)


def _last(rows: Rows) -> int:
    return int(rows.value("SELECT coalesce(max(number), 0) FROM audit_batches"))


def _batches(rows: Rows, number: int) -> list[tuple[int, bytes]]:
    sql = "SELECT number, entries FROM audit_batches WHERE number >= ? ORDER BY number LIMIT ?"
    return [(batch, bytes(entries)) for batch, entries in rows.all(sql, number, _BATCHES)]


def _last_batches(rows: Rows, most: int) -> list[tuple[int, bytes]]:
    """The newest first. Each has at least one entry, so no more of them are needed than entries."""
    sql = "SELECT number, entries FROM audit_batches ORDER BY number DESC LIMIT ?"
    return [(batch, bytes(entries)) for batch, entries in rows.all(sql, most)]


def _events(batch: int, encoded: bytes) -> list[tuple[int, Event]]:
    if EVENT_MARK not in encoded:
        return []
    return [
        (
            place,
            Event(
                EVENTS, KIND, entry.target or _account(entry.login), entry.at, f"{batch}-{place}", entry.principal,
                position_in(entry.trace) if entry.trace else "",
                {"action": entry.tool, "outcome": entry.outcome, **({"reason": entry.reason} if entry.reason else {})},
            ),
        )
        for place, entry in enumerate(decode_entries(encoded), 1)
        if entry.room == EVENTS and (entry.login or not entry.transport)  # a call has a transport, as a login does
    ]  # fmt: skip


def _account(login: str) -> str:
    """The account that a login claimed: `user ada` is `user:ada`."""
    return f"user:{login.removeprefix('user ')}" if login.startswith("user ") else login


def _parse(position: str) -> tuple[int, int]:
    number, _, place = (position or "0-0").partition("-")
    if not (number.isascii() and number.isdigit() and place.isascii() and place.isdigit()):
        raise InvalidInput("This is no position of the feed.", hint="Use the cursor of an answer, or leave it out.")
    return int(number), int(place)
