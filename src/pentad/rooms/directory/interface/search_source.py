"""Makes records findable in the search over all rooms."""

from typing import Final

from pentad.rooms.directory.records.service import RecordSummary, uri_of
from pentad.rooms.directory.search.query import PushFilter, Query
from pentad.rooms.directory.service import LOCAL_ADDRESS, Directory
from pentad.search.sources import FoundItem, FoundItems, SearchRequest, SearchSource


async def find_records(directory: Directory, request: SearchRequest) -> FoundItems:
    """The records that match a request. Everyone who may read the room may read them."""
    pushed = PushFilter(request.owner, request.since, request.until)
    query = Query(words=request.text, limit=request.limit, pushed=None if pushed == PushFilter() else pushed)
    found = await directory.search.find(query)
    known = {one.cid: one for one in await directory.records.summaries([hit.cid for hit in found.hits])}
    items = [
        FoundItem(
            uri=uri_of(hit.cid),
            title=_title(record),
            score=hit.score or 0.0,
            text=record.description or record.name,
            why=hit.why,
            owner=record.pushed_by,
            time=record.pushed_at,
            page=("records", hit.cid),
        )
        for hit in found.hits
        if (record := known.get(hit.cid)) is not None
    ]
    remote = directory.node.address
    missing = None if remote == LOCAL_ADDRESS else f"The records of the directory at {remote} are not searched."
    return FoundItems(items, found.has_more, found.waiting or 0, missing)


def _title(record: RecordSummary) -> str:
    """Name and version, and the state unless the record is approved."""
    state = "" if record.state == "approved" else f"({record.state})"
    return " ".join(part for part in (record.name, record.version, state) if part)


RECORDS: Final = SearchSource("record", find_records)
