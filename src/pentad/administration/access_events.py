"""Logins and administration in the feed of events, read from the audit trail by the numbers of its batches."""

from functools import partial
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
_WHOLE: Final = 2**31
"""The place after all entries of a batch."""

_Place = tuple[int, int]
"""The number of a batch, and the place of an entry in it."""


def access_events(database: Database, audit: AuditTrail) -> Source:
    """The trail as a source of events; calls are left out."""

    async def read(principal: Principal, position: str, limit: int) -> tuple[list[Event], str]:
        found: list[Event] = []
        place: _Place | None = _parse(position)
        while place is not None:
            more, place = await database.read(partial(_after, place=place, limit=limit - len(found)))
            found += more
        return found, found[-1].position if found else position

    async def newest(back: int) -> str:
        return await database.read(lambda rows: _before_last(rows, back))

    return Source(EVENTS, read, newest, lambda principal: principal.may(AUDIT, "admin"), audit.flush)


# Batches may have a thousand entries. They are decoded here, in the store's thread.


def _after(rows: Rows, place: _Place, limit: int) -> tuple[list[Event], _Place | None]:
    """The next events, and where to go on if the batches that were read may not be the last ones."""
    sql = "SELECT number, entries FROM audit_batches WHERE number >= ? ORDER BY number LIMIT ?"
    batches = rows.all(sql, place[0], _BATCHES)
    found: list[Event] = []
    for batch, entries in batches:
        for index, event in _events(batch, bytes(entries)):
            if (batch, index) > place:
                found.append(event)
                if len(found) == limit:
                    return found, None
    return found, (batches[-1][0], _WHOLE) if len(batches) == _BATCHES else None


def _before_last(rows: Rows, back: int) -> str:
    """The position before the last events. Each batch has an entry, so no more batches are needed than events."""
    number = int(rows.value("SELECT coalesce(max(number), 0) FROM audit_batches"))
    left = back
    sql = "SELECT number, entries FROM audit_batches ORDER BY number DESC LIMIT ?"
    for batch, entries in rows.all(sql, back):
        events = _events(batch, bytes(entries))
        if len(events) >= left:
            return f"{batch}-{events[-left][0] - 1}"
        number, left = batch - 1, left - len(events)
    return f"{number}-{_WHOLE}"


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


def _parse(position: str) -> _Place:
    number, _, place = (position or "0-0").partition("-")
    if not (number.isascii() and number.isdigit() and place.isascii() and place.isdigit()):
        raise InvalidInput("That is not a position in the feed.", hint="Use the cursor of a response, or leave it out.")
    return int(number), int(place)
