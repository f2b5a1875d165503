"""The console pages of the room: avatars, sources, passages.

These pages answer questions with quotes alone: viewing a page never calls a language model.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final

from pentad.documents.instructions import WARNING, instructs_at
from pentad.kernel.counts import counted, figure
from pentad.kernel.errors import NotFound
from pentad.kernel.page_values import filled_table
from pentad.kernel.pages import (
    Action,
    Block,
    Card,
    Cards,
    Cell,
    Column,
    Facts,
    Hidden,
    Hint,
    Image,
    Links,
    Marked,
    Note,
    Page,
    Pager,
    Pages,
    Place,
    SearchBox,
    Section,
    Sheet,
    Table,
    Text,
    Visit,
    when,
)
from pentad.rooms.avatars.answers.source_excerpt import source_excerpt
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.answer_blocks import answer_blocks, page_text
from pentad.rooms.avatars.interface.author_pages import (
    THANKS,
    add,
    add_form,
    author_links,
    feedback,
    path_of,
    rate,
    rating_form,
    review,
    way_back,
)
from pentad.rooms.avatars.interface.chat_pages import chat, panel, say
from pentad.rooms.avatars.interface.evaluation_pages import one_evaluation, run_evaluation
from pentad.rooms.avatars.interface.presentation import InfoView, answer_view, info_view
from pentad.rooms.avatars.models import CorpusDocument, Passage, Role
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.avatars.verbs import FIRST_CONTENT

_AT_ONCE: Final = 50
_FIRST_SOURCES: Final = 12
"""How many sources the page of an avatar shows."""
_LONGEST_NUMBER: Final = 16


async def everybody(avatars: Avatars, _visit: Visit) -> Sheet:
    """All avatars."""
    cards = [
        Card(
            Cell(one.name or one.id, Place((one.id,))),
            one.description,
            [figure(one.documents, "source"), figure(one.passages, "passage")],
        )
        for one in await avatars.list()
    ]
    empty = Hint("There are no avatars yet. Create one with", FIRST_CONTENT)
    together = [Links([Cell("Ask all of them", Place(("panel",)))], actions=True)] if len(cards) > 1 else []
    lead = "Experts that answer from their own corpus and cite every statement."
    return Sheet("Avatars", [*together, Cards(cards, empty)], lead=lead)


async def one_avatar(avatars: Avatars, visit: Visit) -> Sheet:
    """An avatar: a question with its answer, then facts and sources."""
    avatar = await avatars.open(visit.path["avatar"])
    info, question = info_view(avatar, avatars.model), visit.asked()
    ways = [Cell("Chat", Place((avatar.id, "chat"))), Cell("Evaluation", Place((avatar.id, "evaluation")))]
    ways += author_links(avatar.id, visit)
    blocks: list[Block] = [Links(ways, actions=True), SearchBox(f"Ask {info.name}", question, "Ask")]
    if question:
        answer = await avatars.pipeline(avatar).answer(question)
        kept = await avatars.keep_answer(visit.principal, avatar, question, answer)
        shown = answer_view(avatar.id, kept)
        blocks += await answer_blocks(avatar, shown, question)
        if visit.query.get("rated"):
            blocks.append(Note(THANKS, "good"))
        else:
            blocks += rating_form(visit, shown, f"{path_of(avatar.id)}/rate", [Hidden("q", question)])
    blocks.append(Section("About", [Facts(_facts(avatar, info)), Links(info.expertise)]))
    found = await avatar.some_sources("", _FIRST_SOURCES + 1)
    table = _source_table(avatar.id, found[:_FIRST_SOURCES], "The corpus is empty.")
    every = [Links([Cell("All sources", Place((avatar.id, "sources")))])] if len(found) > _FIRST_SOURCES else []
    blocks.append(Section("Sources of the corpus" if question else "Sources", [table, *every]))
    return Sheet(info.name or avatar.id, blocks, lead=info.description)


async def all_sources(avatars: Avatars, visit: Visit) -> Sheet:
    """The documents of the corpus, filtered by words of their titles."""
    avatar = await avatars.open(visit.path["avatar"])
    words, offset = visit.asked(), visit.number("offset") or 0
    found = await avatar.some_sources(words, _AT_ONCE + 1, offset)
    shown, here = found[:_AT_ONCE], (avatar.id, "sources")
    following = Place(here, {"q": words, "offset": str(offset + _AT_ONCE)}) if len(found) > _AT_ONCE else None
    total = info_view(avatar, None).document_count
    empty = "No title has these words. Try fewer or other words." if words else "The corpus is empty."
    blocks = [
        SearchBox("Find a source by its title", words),
        _source_table(avatar.id, shown, empty),
        Pager("" if words else counted(total, "source"), following, Place(here, {"q": words}) if offset else None),
    ]
    return Sheet("Sources", blocks, lead="What the answers are quoted from.", trail=[way_back(avatar)])


async def one_passage(avatars: Avatars, visit: Visit) -> Sheet:
    """A passage in its source. With `from` and `to`, the offsets of a citation, that span is marked."""
    avatar, n = await avatars.open(visit.path["avatar"]), visit.path["n"]
    found = await source_excerpt(avatar, n, visit.number("from"), visit.number("to"))
    passage, page = found.passage, page_text(found.pages.first, found.pages.last)
    document = await avatar.source(passage.document)
    previous, following = await avatar.neighbours(passage)
    facts = Facts(
        [
            ("Source", _original(passage.source, document, found.pages.physical)),
            ("Section", passage.section or ""),
            ("Page", page),
            ("Year", "" if passage.year is None else str(passage.year)),
            ("Written by", _by(passage.role)),
            (
                "Text",
                "" if passage.recognition is None else f"from a scan, confidence {passage.recognition:.2f}",
            ),
            ("Characters", f"{found.char_start:,} to {found.char_end:,}"),
            ("Hash of the file", passage.sha256),
        ]
    )
    before = found.before if found.begins else f"… {found.before}"
    after = found.after if found.ends else f"{found.after} …"
    trail = [way_back(avatar), Cell(passage.source, Place((avatar.id, "sources", passage.document)))]
    steps = (("Previous passage", previous), ("Next passage", following))
    ways = Links([Cell(word, Place((avatar.id, "passages", one))) for word, one in steps if one is not None])
    span = found.char_start - passage.char_start, found.char_end - passage.char_start
    warning = [Note(WARNING, "bad")] if instructs_at(passage.content, *span) else []
    marked = Marked(before + found.marked + after, [(len(before), len(before) + len(found.marked))])
    return Sheet(
        f"Passage {n}",
        [*warning, marked, ways, *await _picture(avatar, passage, found.pages.physical), facts],
        trail=trail,
    )


async def _picture(avatar: AvatarSnapshot, passage: Passage, page: int | None) -> list[Block]:
    """The scanned page, to compare with the recognized text."""
    if passage.recognition is None or page is None:
        return []
    try:
        picture = await avatar.page_picture(passage.source_id, str(page))
    except NotFound:  # another page of the passage is the scan
        return []
    data = b64encode(picture).decode("ascii")
    return [Section("The page", [Image(data, "image/webp", f"Page {page} of {passage.source}")])]


def _original(title: str, document: CorpusDocument | None, page: int | None) -> Text:
    """The title, as a link to the source's address if it has one; in a PDF, to the page."""
    address = None if document is None else document.details.get("url")
    if document is None or not isinstance(address, str):
        return title
    return Cell(title, f"{address}#page={page}" if document.format == "pdf" and page is not None else address)


async def one_source(avatars: Avatars, visit: Visit) -> Sheet:
    """A document of the corpus and its passages."""
    avatar, number = await avatars.open(visit.path["avatar"]), str(visit.path["source"])
    document = await avatar.source(int(number)) if number.isdecimal() and len(number) < _LONGEST_NUMBER else None
    if document is None:
        raise NotFound(
            f"{avatar.id} has no source {number[:20]}.",
            hint="A newer ingest may have replaced it. See the avatar's sources.",
        )
    offset = visit.number("offset") or 0
    shown = await avatar.passages(await avatar.passage_ids(document.id, _AT_ONCE, offset))
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
    following = Place(here, {"offset": str(end)}) if end < document.passages else None
    address = next((value for key in ("url", "archive_url") if isinstance(value := document.details.get(key), str)), "")
    facts = Facts(
        [
            ("Address", Cell(address, address)),
            ("File", document.path),
            ("Kind", document.type or document.format),
            ("Year", "" if document.year is None else str(document.year)),
            ("Written by", _by(document.role)),
            ("Holds", f"{counted(document.characters, 'character')}, {counted(document.passages, 'passage')}"),
            ("Ingested", when(document.ingested_at)),
            ("Hash of the file", document.sha256),
            ("Notes", "; ".join(document.notes)),
        ]
    )
    pager = Pager(counted(document.passages, "passage"), following, Place(here) if offset else None)
    trail = [way_back(avatar), Cell("Sources", Place((avatar.id, "sources")))]
    return Sheet(document.title, [facts, filled_table(columns, rows, "This source has no text."), pager], trail=trail)


async def figures(avatars: Avatars, _visit: Visit) -> Sequence[tuple[str, str]]:
    every = await avatars.list()
    return [figure(len(every), "avatar"), figure(sum(one.passages for one in every), "passage")]


PAGES: Final[Pages[Avatars]] = Pages(
    [
        Page("", everybody),
        Page("panel", panel),
        Page("{avatar}", one_avatar),
        Page("{avatar}/chat", chat),
        Page("{avatar}/sources", all_sources),
        Page("{avatar}/sources/{source}", one_source),
        Page("{avatar}/passages/{n}", one_passage),
        Page("{avatar}/evaluation", one_evaluation),
        Page("{avatar}/feedback", feedback),
        Page("{avatar}/add", add_form),
    ],
    figures,
    actions=[
        Action("{avatar}/chat", chat, say, "{avatar}/chat"),
        Action("{avatar}/rate", one_avatar, rate, ""),
        Action("{avatar}/feedback", feedback, review, ""),
        Action("{avatar}/add", add_form, add, ""),
        Action("{avatar}/evaluation", one_evaluation, run_evaluation, "{avatar}/evaluation"),
    ],
    resources={"avatar://{avatar}": "{avatar}", "avatar://{avatar}/passages/{n}": "{avatar}/passages/{n}"},
)


def _by(role: Role) -> str:
    return "the avatar" if role == "by" else "others"


def _facts(avatar: AvatarSnapshot, info: InfoView) -> list[tuple[str, str]]:
    lived = " to ".join(str(year) for year in (info.born, info.died) if year is not None)
    held = ((info.document_count, "source"), (info.passage_count, "passage"), (info.corpus_size, "character"))
    return [
        ("Id", info.id),
        ("Lived", lived if info.born is not None or info.died is None else f"until {lived}"),
        ("Corpus", info.corpus_summary),
        ("Holds", ", ".join(counted(*one) for one in held)),
        ("Search", info.embedding_model or "by words"),
        ("Last ingest", f"{when(avatar.avatar.updated_at)} UTC, generation {info.generation}"),
    ]


def _source_table(avatar_id: str, sources: Sequence[CorpusDocument], empty: str) -> Table:
    columns = (
        "Source",
        Column("Kind", short=True),
        Column("Year", short=True),
        Column("By", short=True),
        Column("Pages", True),
        Column("Passages", True),
        "License",
    )
    return filled_table(columns, [_source(avatar_id, one) for one in sources], empty)


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
