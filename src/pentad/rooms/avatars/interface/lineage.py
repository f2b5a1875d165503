"""Where passages come from (`Room.lineage`): from a source of their avatar."""

import re
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.provenance import Link, Origin, Thing
from pentad.rooms.avatars.interface.presentation import passage_uri
from pentad.rooms.avatars.service import Avatars

_PASSAGE: Final = re.compile(r"avatar://([^/?#]+)/passages/([0-9]{1,15})")


async def lineage(avatars: Avatars, uri: str) -> Origin | None:
    """What the room knows of a passage. Everyone who may read the room may read all avatars."""
    if (found := _PASSAGE.fullmatch(uri)) is None:
        return None
    opened = await avatars.open(found[1])
    held = await opened.passages([int(found[2])])
    if not held:
        raise NotFound(f"{opened.id} has no passage {found[2]}.", hint="An ingest may have replaced it.")
    (passage,) = held
    place = passage.section or (f"page {passage.cited_page}" if passage.cited_page else "")
    facts = {"sha256": passage.content_sha256}
    thing = Thing(
        passage_uri(opened.id, passage.id), "entity", "passage", f"{passage.source}{place and ', '}{place}", facts=facts
    )
    source = next((one for one in await opened.sources() if one.source_id == passage.source_id), None)
    address = f"avatar://{opened.id}/sources#{passage.source_id}"
    about = {"sha256": passage.sha256}
    links: list[Link] = []
    if source is None:
        return Origin(thing)
    links.append(
        Link("wasDerivedFrom", Thing(address, "entity", "source", source.title, source.ingested_at, facts=about))
    )
    if isinstance(url := source.details.get("url"), str) and ":" in url:
        links.append(Link("wasDerivedFrom", url, source=address))
    authors = source.details.get("authors")
    for author in authors if isinstance(authors, list | tuple) else ():  # pyright: ignore[reportUnknownVariableType]  foreign JSON
        name = str(author)[:200]  # pyright: ignore[reportUnknownArgumentType]  foreign JSON
        writer = Thing(f"urn:pentad:author:{name}", "agent", "author", name)
        links.append(Link("wasAttributedTo", writer, source=address))
    return Origin(thing, links)
