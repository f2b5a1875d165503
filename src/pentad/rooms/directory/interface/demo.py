"""Fills the room for `pentad demo`: agents of a library, an allotment, a software house and a town.

Records are validated and pushed like any other. The same record has the same CID, so a second start finds them all and
changes nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from pentad.kernel.cid import canonical_json, cid_of
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.publications import PublishRequest

if TYPE_CHECKING:
    from pentad.rooms.directory.service import Directory

SIGNED: Final = ("lindenlibrary.example/librarian", "v2.1.0")
"""Name and version of the record that the demo signs with the server's own key."""

_OWNER: Final = Principal("user:admin", "admin", frozenset({"*:*"}))


class DemoRecord(NamedTuple):
    """A record of the demo, and whether the demo publishes it."""

    cid: str
    data: dict[str, Any]
    published: bool


def demo_records() -> Iterator[DemoRecord]:
    """All records of `demo_records.json`, older versions of an agent before newer ones."""
    from importlib.resources import files

    text = (files("pentad.rooms.directory.interface") / "demo_records.json").read_bytes()
    for entry in msgspec.json.decode(text):
        data = entry["record"]
        yield DemoRecord(cid_of(canonical_json(data)), data, entry["published"])


async def fill_demo(directory: "Directory") -> None:
    """Push the records that are missing, publish some, sign one."""
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
    if not (await directory.trust.verify(cid)).success:
        await directory.trust.sign(_OWNER, cid, await directory.signing_keys.private_key())
