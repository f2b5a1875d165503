"""The console pages of the room: all avatars, one avatar with its sources and an answer, one passage in its source, and
an evaluation.

Questions are answered with quotes alone: viewing a page never calls a language model.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pentad.documents.instructions import WARNING, instructs
from pentad.kernel.pages import (
    Block,
    Card,
    Cards,
    Cell,
    Column,
    Excerpt,
    Facts,
    Hint,
    Links,
    Note,
    Page,
    Pages,
    Place,
    Prose,
    Quote,
    SearchBox,
    Section,
    Sheet,
    Table,
    Text,
    Visit,
    when,
)
from pentad.rooms.avatars.answers.answer import Answer, Citation, Nearest
from pentad.rooms.avatars.answers.source_excerpt import source_excerpt
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.presentation import InfoView, info_view
from pentad.rooms.avatars.models import CorpusDocument, Role, section_below
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.avatars.verbs import FIRST_CONTENT

_SURE: Final = {"high": "very sure", "medium": "fairly sure", "low": "not sure", "none": "silent"}


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
    return Sheet(
        "Avatars", [Cards(cards, empty)], lead="Experts who answer from their own corpus and cite every statement."
    )


async def one_avatar(avatars: Avatars, visit: Visit) -> Sheet:
    """An avatar: a question and its answer, then facts and sources."""
    avatar = await avatars.open(visit.path["avatar"])
    info, question = info_view(avatar, avatars.model), visit.asked()
    blocks: list[Block] = [SearchBox(f"Ask {info.name}", question, "Ask")]
    if question:
        answer = await avatars.pipeline(avatar).answer(question)
        blocks += _answered(avatar.id, await avatars.keep_answer(visit.principal, avatar, question, answer))
    blocks.append(Section("About", [Facts(_facts(avatar, info)), Links([*info.expertise, *_more(avatar)])]))
    columns = (
        "Source",
        Column("Kind", short=True),
        Column("Year", short=True),
        "By",
        Column("Pages", True),
        Column("Passages", True),
        "License",
    )
    rows = [_source(one) for one in await avatar.sources()]
    blocks.append(Section("Sources", [Table(columns, rows, "The corpus is empty.")]))
    return Sheet(info.name or avatar.id, blocks, lead=info.description)


async def one_passage(avatars: Avatars, visit: Visit) -> Sheet:
    """A passage in its source. With `from` and `to`, the offsets of a citation, that span is marked."""
    avatar, n = await avatars.open(visit.path["avatar"]), visit.path["n"]
    found = await source_excerpt(avatar, n, visit.number("from"), visit.number("to"))
    passage, page = found.passage, _page(found.pages.first, found.pages.last)
    document = next((one for one in await avatar.sources() if one.id == passage.document), None)
    facts = Facts(
        [
            ("Source", _original(passage.source, document, found.pages.physical)),
            ("Section", passage.section or ""),
            ("Page", page),
            ("Year", "" if passage.year is None else str(passage.year)),
            ("Written by", _by(passage.role)),
            ("Characters", f"{found.char_start:,} to {found.char_end:,}"),
            ("Hash of the file", passage.sha256),
        ]
    )
    before = found.before if found.begins else f"… {found.before}"
    after = found.after if found.ends else f"{found.after} …"
    trail = [Cell(info_view(avatar, None).name or avatar.id, Place((avatar.id,)))]
    warning = [Note(WARNING, "bad")] if instructs(found.marked) else []
    return Sheet(f"Passage {n}", [*warning, Excerpt(before, found.marked, after), facts], trail=trail)


def _original(title: str, document: CorpusDocument | None, page: int | None) -> Text:
    """The title, as a link to the source's own address if it has one: to the page of a PDF."""
    address = None if document is None else document.details.get("url")
    if document is None or not isinstance(address, str):
        return title
    return Cell(title, f"{address}#page={page}" if document.format == "pdf" and page is not None else address)


async def one_evaluation(avatars: Avatars, visit: Visit) -> Sheet:
    """The last score card of an avatar."""
    avatar = await avatars.open(visit.path["avatar"])
    trail = [Cell(info_view(avatar, None).name or avatar.id, Place((avatar.id,)))]
    card = await avatars.last_evaluation(avatar)
    if card is None:
        empty = Hint("There is no evaluation yet. Make one with", f"pentad avatars eval --avatar {avatar.id}")
        return Sheet("Evaluation", [empty], trail=trail)
    groups: dict[str, list[Sequence[Text]]] = {}
    for line in card["lines"]:
        groups.setdefault(line["group"], []).append(_figure(line))
    columns = ("Figure", Column("Value", True), Column("95 % interval", short=True), Column("Cases", True),
               Column("Goal", short=True), Column("", short=True))  # fmt: skip
    state = Note("Every goal is reached.", "good") if card["passed"] else Note("A goal is missed.", "bad")
    stale = [] if card["generation"] == avatar.avatar.generation else [Note("The corpus has changed since.", "bad")]
    facts = Facts([("Made", f"{card['at']}"), ("Search", card["retrieval"]), ("Generation", str(card["generation"]))])
    sections = [Section(name.capitalize(), [Table(columns, rows)]) for name, rows in groups.items()]
    notes = [Note(text) for text in card["notes"]]
    return Sheet("Evaluation", [state, *stale, *sections, *notes, facts], trail=trail)


def _figure(line: Mapping[str, Any]) -> Sequence[Text]:
    goal = "" if line["goal"] is None else f"{'at most' if line['at_most'] else 'at least'} {line['goal']:.2f}"
    verdict = "" if line["goal"] is None else "reached" if line["passed"] else "missed"
    interval = f"{line['low']:.2f} to {line['high']:.2f}"
    return (line["name"], f"{line['value']:.3f}", interval, f"{line['of']:,}", goal, verdict)


async def figures(avatars: Avatars, _visit: Visit) -> Sequence[tuple[str, str]]:
    every = await avatars.list()
    return [("avatars", f"{len(every):,}"), ("passages", f"{sum(one.passages for one in every):,}")]


PAGES: Final[Pages[Avatars]] = Pages(
    [
        Page("", everybody),
        Page("{avatar}", one_avatar),
        Page("{avatar}/passages/{n}", one_passage),
        Page("{avatar}/evaluation", one_evaluation),
    ],
    figures,
)


def _answered(avatar_id: str, answer: Answer) -> list[Block]:
    if answer.abstained:
        silent: list[Block] = [Prose(answer.response)]
        if answer.suggestion:
            silent.append(Note(answer.suggestion))
        if answer.redirect:
            silent.append(Links([Cell(f"Ask {answer.redirect}", Place((answer.redirect,)))]))
        if answer.nearest:
            silent.append(Section("Closest passages", [_near(one) for one in answer.nearest]))
        return [Section("No answer", silent)]
    sure = _SURE[answer.confidence]
    return [
        Section(
            "Answer",
            [
                Prose(answer.response),
                *_evidence(avatar_id, answer),
                Note(f"The avatar is {sure} ({answer.confidence_score:.2f}). {answer.ai_label}"),
                *_origin(answer),
            ],
        )
    ]


def _origin(answer: Answer) -> list[Block]:
    if answer.uri is None:
        return []
    return [Links([Cell("What made this answer", Place(query={"uri": answer.uri}, room="lineage"))])]


def _evidence(avatar_id: str, answer: Answer) -> list[Block]:
    """Where the quotes of the answer are, and the words of what it cites without quoting."""
    said = {number for one in answer.statements if one.verdict == "quoted" for number in one.citations}
    cells = {
        one.n: Cell(f"[{one.n}] {_reference(one.source, one)}", _quoted_at(avatar_id, one)) for one in answer.citations
    }
    quotes = [Quote(one.quote, cells[one.n]) for one in answer.citations if one.n not in said]
    return [Links([cells[number] for number in cells if number in said]), *quotes] if said else list[Block](quotes)


def _more(avatar: AvatarSnapshot) -> list[Cell]:
    return [Cell("Evaluation", Place((avatar.id, "evaluation")))]


def _quoted_at(avatar_id: str, one: Citation) -> Place:
    span = {"from": str(one.char_start), "to": str(one.char_end)}
    return Place((avatar_id, "passages", one.chunk_id), span)


def _near(one: Nearest) -> Quote:
    return Quote(one.quote, _reference(one.source, one))


def _reference(source: str, one: Citation | Nearest) -> str:
    page = _page(one.page, one.page_end if isinstance(one, Citation) else None)
    return ", ".join(filter(None, (source, section_below(one.section, source), page and f"page {page}")))


def _page(first: int | str | None, last: int | str | None) -> str:
    if first is None:
        return ""
    return str(first) if last in (None, first) else f"{first} to {last}"


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


def _source(one: CorpusDocument) -> tuple[str | Cell, ...]:
    address = next((value for key in ("url", "archive_url") if isinstance(value := one.details.get(key), str)), None)
    license_ = one.details.get("license")
    return (
        Cell(one.title, address),
        one.type or one.format,
        "" if one.year is None else str(one.year),
        _by(one.role),
        "" if one.pages is None else f"{one.pages:,}",
        f"{one.passages:,}",
        license_ if isinstance(license_, str) else "",
    )
