"""The origin of records (`Room.lineage`): what they claim to replace and refer to."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from pentad.kernel.cid import is_cid
from pentad.kernel.provenance import Link, Origin, Thing
from pentad.rooms.directory.records.service import meta_of, uri_of
from pentad.rooms.directory.service import Directory

_RECORD: Final = re.compile(r"(?:directory://records/|cid:)([A-Za-z0-9]+)")


async def lineage(directory: Directory, uri: str) -> Origin | None:
    """The origin of a record. Everyone who may read the room may read all records."""
    if (found := _RECORD.fullmatch(uri)) is None:
        return None
    record = await directory.records.pull(found[1])
    data = record.data
    meta = meta_of(record.cid, data)
    facts = {"created": meta.created_at} if meta.created_at else {}
    thing = Thing(uri_of(meta.cid), "entity", "record", f"{meta.name} {meta.version}".strip(), facts=facts)
    previous = meta.annotations.get("previous-cid", "")
    links = [Link("wasDerivedFrom", uri_of(previous), role="previous version")] if is_cid(previous) else []
    return Origin(thing, [*links, *_locators(data.get("locators"))])


def _locators(given: Any) -> Iterator[Link]:
    """The places where a record's agent is found."""
    for locator in cast("list[Any]", given) if isinstance(given, list) else ():
        if not isinstance(locator, Mapping):
            continue
        members = cast("Mapping[str, Any]", locator)
        urls = members.get("urls") or [members.get("url")]
        for url in cast("list[Any]", urls) if isinstance(urls, list) else ():
            if isinstance(url, str) and ":" in url:
                yield Link("wasInfluencedBy", url, role=f"locator {members.get('type')}")
