"""The console pages of the room: all avatars, one avatar with its sources and an answer, and one passage.

Questions are answered with quotes alone: viewing a page never calls a language model.
"""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.errors import NotFound
from pentad.kernel.pages import (
    Action,
    Block,
    Card,
    Cards,
    Cell,
    Column,
    Facts,
    Hint,
    Links,
    Marked,
    Page,
    Pager,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Visit,
    when,
)
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.answer_blocks import answer_blocks, page_text
from pentad.rooms.avatars.interface.chat_pages import chat, panel, say
from pentad.rooms.avatars.interface.presentation import InfoView, answer_view, info_view
from pentad.rooms.avatars.models import CorpusDocument, Role
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.avatars.verbs import FIRST_CONTENT

_AT_ONCE: Final = 50


async def everybody(avatars: Avatars, _visit: Visit) -> Sheet:
    """All avatars."""
    cards = [
        Card(
            Cell(one.name or one.id, Place((one.id,))),
            one.description,
            [("sources", f"{one.documents:,}"), ("passages", f"{one.passages:,}")],
        )
        for one in await avatars.list()
    ]
    empty = Hint("There are no avatars yet. Create one with", FIRST_CONTENT)
    together = [Links([Cell("Ask all of them", Place(("panel",)))])] if len(cards) > 1 else []
    lead = "Experts who answer from their own corpus and cite every statement."
    return Sheet("Avatars", [*together, Cards(cards, empty)], lead=lead)


async def one_avatar(avatars: Avatars, visit: Visit) -> Sheet:
    """An avatar: a question and its answer, then facts and sources."""
    avatar = await avatars.open(visit.path["avatar"])
    info, question = info_view(avatar, avatars.model), visit.asked()
    blocks: list[Block] = [
        SearchBox(f"Ask {info.name}", question, "Ask"),
        Links([Cell("Chat", Place((avatar.id, "chat")))]),
    ]
    if question:
        answer = await avatars.pipeline(avatar).answer(question)
        kept = await avatars.keep_answer(visit.principal, avatar, question, answer)
        blocks += await answer_blocks(avatar, answer_view(avatar.id, kept), question)
    blocks.append(Section("About", [Facts(_facts(avatar, info)), Links(info.expertise)]))
    columns = (
        "Source",
        Column("Kind", short=True),
        Column("Year", short=True),
        "By",
        Column("Pages", True),
        Column("Passages", True),
        "License",
    )
    rows = [_source(avatar.id, one) for one in await avatar.sources()]
    blocks.append(Section("Sources", [Table(columns, rows, "The corpus is empty.")]))
    return Sheet(info.name or avatar.id, blocks, lead=info.description)


async def one_passage(avatars: Avatars, visit: Visit) -> Sheet:
    """A passage and its source."""
    avatar, n = await avatars.open(visit.path["avatar"]), visit.path["n"]
    held = await avatar.passages([int(n)]) if n.isdecimal() and len(n) < 16 else ()
    if not held:
        raise NotFound(f"{avatar.id} has no passage {n[:20]}.", hint="An ingest may have replaced it: ask again.")
    passage = held[0]
    facts = Facts(
        [
            ("Source", passage.source),
            ("Section", passage.section or ""),
            ("Page", page_text(passage.cited_page, passage.cited_page_end)),
            ("Year", "" if passage.year is None else str(passage.year)),
            ("Written by", _by(passage.role)),
            ("Characters", f"{passage.char_start:,} to {passage.char_end:,}"),
            ("Hash of the file", passage.sha256),
        ]
    )
    trail = [Cell(info_view(avatar, None).name or avatar.id, Place((avatar.id,)))]
    begin, end = visit.number("from"), visit.number("to")
    cited = [] if begin is None or end is None else [(begin - passage.char_start, end - passage.char_start)]
    return Sheet(f"Passage {n}", [Marked(passage.content, cited), facts], trail=trail)


async def one_source(avatars: Avatars, visit: Visit) -> Sheet:
    """A document of the corpus: what it is, and its passages, a page at a time."""
    avatar, number = await avatars.open(visit.path["avatar"]), str(visit.path["source"])
    document = next((one for one in await avatar.sources() if str(one.id) == number), None)
    if document is None:
        raise NotFound(f"{avatar.id} has no source {number[:20]}.", hint="An ingest may have replaced it.")
    offset = visit.number("offset") or 0
    ids = await avatar.passage_ids(document.id)
    shown = await avatar.passages(ids[offset : offset + _AT_ONCE])
    rows = [
        (
            Cell(str(one.id), Place((avatar.id, "passages", one.id))),
            one.section or "",
            page_text(one.cited_page, one.cited_page_end),
            one.content,
        )
        for one in shown
    ]
    columns = (Column("Passage", short=True), "Section", Column("Page", short=True), "Text")
    end, here = offset + len(shown), (avatar.id, "sources", document.id)
    following = Place(here, {"offset": str(end)}) if end < len(ids) else None
    address = next((value for key in ("url", "archive_url") if isinstance(value := document.details.get(key), str)), "")
    facts = Facts(
        [
            ("Address", Cell(address, address)),
            ("File", document.path),
            ("Kind", document.type or document.format),
            ("Year", "" if document.year is None else str(document.year)),
            ("Written by", _by(document.role)),
            ("Holds", f"{document.characters:,} characters, {document.passages:,} passages"),
            ("Ingested", when(document.ingested_at)),
            ("Hash of the file", document.sha256),
            ("Notes", "; ".join(document.notes)),
        ]
    )
    pager = Pager(f"{len(ids):,} passages", following, Place(here) if offset else None)
    trail = [Cell(info_view(avatar, None).name or avatar.id, Place((avatar.id,)))]
    return Sheet(document.title, [facts, Table(columns, rows, "It has no text."), pager], trail=trail)


async def figures(avatars: Avatars, _visit: Visit) -> Sequence[tuple[str, str]]:
    every = await avatars.list()
    return [("avatars", f"{len(every):,}"), ("passages", f"{sum(one.passages for one in every):,}")]


PAGES: Final[Pages[Avatars]] = Pages(
    [
        Page("", everybody),
        Page("panel", panel),
        Page("{avatar}", one_avatar),
        Page("{avatar}/chat", chat),
        Page("{avatar}/sources/{source}", one_source),
        Page("{avatar}/passages/{n}", one_passage),
    ],
    figures,
    actions=[Action("{avatar}/chat", chat, say, "{avatar}/chat")],
    resources={"avatar://{avatar}": "{avatar}", "avatar://{avatar}/passages/{n}": "{avatar}/passages/{n}"},
)


def _by(role: Role) -> str:
    return "the avatar" if role == "by" else "others"


def _facts(avatar: AvatarSnapshot, info: InfoView) -> list[tuple[str, str]]:
    lived = " to ".join(str(year) for year in (info.born, info.died) if year is not None)
    return [
        ("Id", info.id),
        ("Lived", lived if info.born is not None or info.died is None else f"until {lived}"),
        ("Corpus", info.corpus_summary),
        ("Holds", f"{info.document_count:,} sources, {info.passage_count:,} passages, {info.corpus_size:,} characters"),
        ("Search", info.embedding_model or "by words alone, without a model"),
        ("Last ingest", f"{when(avatar.avatar.updated_at)} UTC, generation {info.generation}"),
    ]


def _source(avatar_id: str, one: CorpusDocument) -> tuple[str | Cell, ...]:
    license_ = one.details.get("license")
    return (
        Cell(one.title, Place((avatar_id, "sources", one.id))),
        one.type or one.format,
        "" if one.year is None else str(one.year),
        _by(one.role),
        "" if one.pages is None else f"{one.pages:,}",
        f"{one.passages:,}",
        license_ if isinstance(license_, str) else "",
    )
