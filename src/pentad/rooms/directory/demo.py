"""Fills the room for `pentad demo`: agents of a library, an allotment, a software house and a town.

Records go through the room's own parts and are checked like anybody's. A record is the same every time, and so is its
CID: one that is there already is left alone, so a second start only looks.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.publications import PublishRequest

if TYPE_CHECKING:
    from pentad.rooms.directory.service import Directory

SIGNED: Final = ("lindenlibrary.example/librarian", "v2.1.0")
"""The record that is signed, with the key of the demo's own server."""

_OWNER: Final = Principal("user:admin", "admin", frozenset({"*:*"}))


class Prepared(NamedTuple):
    """A record of the demo as it will be kept."""

    cid: str
    data: dict[str, Any]
    published: bool


def demo_records() -> Iterator[Prepared]:
    """All of them, older versions of an agent before newer ones."""
    from pentad.rooms.directory.demo_records import garden, library, town, workshop
    from pentad.rooms.directory.demo_records.entry import record

    for theme in (library, garden, workshop, town):
        latest: dict[str, str] = {}
        for entry in theme.RECORDS:
            data = record(entry, latest.get(entry.name))
            cid = latest[entry.name] = cid_of(canonical_json(data))
            yield Prepared(cid, data, entry.published)


async def fill_demo(directory: "Directory") -> None:
    """Push the records that are not there yet, publish some, sign one."""
    records = sorted(demo_records(), key=lambda one: one.data["created_at"])
    known = await directory.records.known([one.cid for one in records])
    new = [one for one in records if one.cid not in known]
    for one in new:
        await directory.check(one.data)
    if new:
        await directory.records.push_many(_OWNER, [one.data for one in new])
    listed = {one.cid for one in await directory.routing.list()}
    unlisted = tuple(one.cid for one in records if one.published and one.cid not in listed)
    if unlisted:
        await directory.routing.publish(_OWNER, PublishRequest(record_refs=unlisted))
    for one in records:
        if (one.data["name"], one.data["version"]) == SIGNED:
            await _sign(directory, one.cid)


async def _sign(directory: "Directory", cid: str) -> None:
    """Loads what signing takes only when the record is not signed yet."""
    if (await directory.trust.verify(cid)).success:
        return
    await directory.trust.sign(_OWNER, cid, await directory.signing_keys.private_key())
