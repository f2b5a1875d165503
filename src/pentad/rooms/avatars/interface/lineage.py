"""Where answers and passages come from (`Room.lineage`): answers from passages, passages from sources."""

import hashlib
import re
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.principal import Principal
from pentad.kernel.provenance import Link, Origin, Thing, person
from pentad.rooms.avatars.answers.answer_log import StoredAnswer
from pentad.rooms.avatars.models import passage_uri
from pentad.rooms.avatars.service import Avatars

_PASSAGE: Final = re.compile(r"avatar://([^/?#]+)/passages/([0-9]{1,15})(?:/[0-9]{1,15}-[0-9]{1,15})?")
_ANSWER: Final = re.compile(r"avatar://([^/?#]+)/answers/([^/?#]+)")
_LONGEST_LABEL: Final = 200


async def lineage(avatars: Avatars, caller: Principal, uri: str) -> Origin | None:
    """The origin of an answer or a passage. Answers are for the caller who asked, passages for every reader."""
    if (given := _ANSWER.fullmatch(uri)) is not None:
        return _answer(await avatars.answers.find(caller, given[1], given[2]))
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
    source = await opened.source(passage.document)
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


def _answer(found: StoredAnswer) -> Origin:
    answer = found.answer
    digest = hashlib.sha256(answer.response.encode()).hexdigest()
    facts = {"sha256": digest, "mode": answer.mode, "corpus": f"generation {answer.generation}"}
    facts |= {name: one for name, one in (("model", answer.model), ("trace", found.trace)) if one}
    thing = Thing(found.uri, "entity", "answer", answer.question[:_LONGEST_LABEL], found.at, facts=facts)
    avatar = Thing(f"avatar://{found.avatar}", "agent", "avatar", found.avatar)
    links = [Link("wasAttributedTo", avatar)]
    if found.made_by:
        links.append(Link("wasGeneratedBy", found.made_by.partition("#")[0], found.at, "generate_response"))
    else:
        call = Thing(f"urn:pentad:call:{found.id}", "activity", "call", "generate_response", found.at, found.at)
        links.append(Link("wasGeneratedBy", call, found.at))
        links.append(Link("wasAssociatedWith", person(found.owner), source=call.uri))
    return Origin(
        thing, [*links, *(Link("wasDerivedFrom", uri) for uri in dict.fromkeys(one.uri for one in answer.citations))]
    )
