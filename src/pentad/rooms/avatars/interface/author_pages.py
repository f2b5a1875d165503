"""What readers and authors do with an avatar in the console: rate an answer, review the ratings, add documents."""

import base64
import io
from binascii import Error
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pentad.kernel.clock import to_minute
from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_progress import Tell, growth
from pentad.kernel.page_values import filled_table
from pentad.kernel.pages import (
    FILE_NAME,
    Block,
    Button,
    Cell,
    Column,
    Event,
    Field,
    FileField,
    Form,
    Growing,
    Hidden,
    Links,
    Note,
    Place,
    Section,
    Sheet,
    Step,
    TextField,
    Timeline,
    Visit,
)
from pentad.mcp.rights import check_right
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.feedback_review import feedback_of, review_ratings
from pentad.rooms.avatars.interface.presentation import AnswerView
from pentad.rooms.avatars.service import Avatars

if TYPE_CHECKING:
    from pentad.rooms.avatars.corpus.ingest_report import IngestReport, Phase

THANKS: Final = "Thank you. The avatar's author will review your rating."
RATE: Final = "rate"
_ADD_LEAD: Final = "A new document is split into passages and can be cited at once. A preview stores nothing."
_LEAVING: Final = "Leaving this page stops it; sending the same document again resumes it."
_ANSWER: Final = "answer"
_PHASES: Final = {
    "reading": "Reading documents",
    "embedding": "Embedding passages",
    "storing": "Storing passages",
    "calibrating": "Calibrating confidence",
}


def rating_form(visit: Visit, answer: AnswerView, path: str, kept: Sequence[Field]) -> list[Block]:
    """Two buttons to rate an answer, if the visitor may."""
    if answer.uri is None or visit.principal.read_only:
        return []
    buttons = [Button("Helpful", RATE, "yes", kind="plain"), Button("Not helpful", RATE, "no", kind="plain")]
    return [Form([Hidden(_ANSWER, answer.uri), *kept], buttons, path)]


async def send_rating(visit: Visit) -> None:
    """Rate an answer."""
    helpful = visit.typed(RATE) == "yes"
    await visit.call("rate_answer", {"answer": visit.typed(_ANSWER), "helpful": helpful})


async def rate(avatars: Avatars, visit: Visit) -> Place:
    """Rate the answer on an avatar's page."""
    avatar = await avatars.open(visit.path["avatar"])
    await send_rating(visit)
    return Place((avatar.id,), {"q": visit.typed("q"), "rated": "yes"})


async def feedback(avatars: Avatars, visit: Visit) -> Sheet:
    """Ratings of answers that nobody has reviewed yet."""
    check_right(visit.principal, "avatars", "write")
    avatar = await avatars.open(visit.path["avatar"])
    found = await feedback_of(avatars, avatar.id)
    path = f"{path_of(avatar.id)}/feedback"
    events = [_rated(one, path) for one in found["feedback"]]
    lead = "Readers' ratings of answers. The ratings you accept adjust the avatar's confidence."
    return Sheet("Feedback", [Timeline(events, "No ratings wait for a review.")], lead=lead, trail=[way_back(avatar)])


async def review(avatars: Avatars, visit: Visit) -> Place:
    """Accept or reject one rating."""
    check_right(visit.principal, "avatars", "write")
    avatar = await avatars.open(visit.path["avatar"])
    one = [visit.typed(_ANSWER)]
    is_accepted = visit.typed("do") == "accept"
    async with avatars.author_work:
        await review_ratings(avatars, avatar.id, one if is_accepted else [], [] if is_accepted else one)
    return Place((avatar.id, "feedback"))


async def add_form(avatars: Avatars, visit: Visit) -> Sheet:
    """The form to add a document."""
    check_right(visit.principal, "avatars", "write")
    avatar = await avatars.open(visit.path["avatar"])
    return Sheet("Add a document", [_add_form(avatar)], lead=_ADD_LEAD, trail=[way_back(avatar)])


def _add_form(avatar: AvatarSnapshot, uri: str = "") -> Form:
    kinds = "PDF, Markdown, plain text, HTML, DOCX or EPUB."
    fields = [
        FileField("file", "File", kinds),
        TextField("uri", "Or its address", uri, "A web address, or the URI of an object or artifact.", required=False),
    ]
    buttons = [Button("Add", "do", "add"), Button("Preview", "do", "try", kind="plain")]
    return Form(fields, buttons, f"{path_of(avatar.id)}/add")


async def add(avatars: Avatars, visit: Visit) -> Growing:
    """Ingest the document, with progress, and show the result."""
    check_right(visit.principal, "avatars", "write")
    avatar = await avatars.open(visit.path["avatar"])
    content, uri = uploaded(visit, "file"), visit.typed("uri")
    if not content and not uri:
        raise InvalidInput("There is nothing to add.", hint="Choose a file, or give its address.")
    name = visit.fields.get(f"{FILE_NAME}file", "").replace("\\", "/").rpartition("/")[2]
    dry_run = visit.typed("do") != "add"

    async def work(tell: Tell) -> Sequence[Block]:
        def told(phase: "Phase", done: int, total: int) -> None:
            position = f", {done:,} of {total:,}" if total else ""
            tell(Step(f"{_PHASES[phase]}{position}. {_LEAVING}", done, total))

        from pentad.net.multipart import UploadedFile
        from pentad.rooms.avatars.corpus.ingest import IngestOptions
        from pentad.rooms.avatars.corpus.upload import unpack

        files = [UploadedFile("file", name, "", io.BytesIO(content))] if content else []
        async with unpack(files) as folder, in_turn(avatars, tell):
            paths, uris = [folder] if files else [], [uri] if uri else []
            options = IngestOptions(dry_run=dry_run)
            report = await avatars.add(avatar.id, paths, options, told, uris=uris, caller=visit.principal)
        return _became(avatar, report, visit)

    sheet = Sheet("Add a document", [], lead=_ADD_LEAD, trail=[way_back(avatar)])
    return Growing(sheet, growth(work), [_add_form(avatar, uri)])


@asynccontextmanager
async def in_turn(avatars: Avatars, tell: Tell) -> AsyncGenerator[None]:
    """Wait until no other ingest or evaluation runs on this server."""
    if avatars.author_work.locked():
        tell(Step("Waiting for another ingest or evaluation"))
    async with avatars.author_work:
        yield


def _became(avatar: AvatarSnapshot, report: "IngestReport", visit: Visit) -> list[Block]:
    """The result for each document. After a preview, the form to add it for good."""
    rows = [
        (one.path, _status(one.status, is_preview=report.dry_run), f"{one.passages:,}", one.note or one.reason or "")
        for one in report.lines
    ]
    good = bool(report.of("added") or report.of("changed"))
    said = f"{counted(sum(one.passages for one in report.lines), 'passage')} can be cited." if good else "Nothing new."
    if report.dry_run:
        said = "This was a preview. Nothing was stored."
    links = [Cell("Add another", Place((avatar.id, "add"))), Cell("Chat", Place((avatar.id, "chat")))]
    return [
        Note(said, "good" if good else "plain"),
        *(Note(warning, "bad") for warning in report.warnings),
        filled_table(
            ("Document", "Result", Column("Passages", numeric=True), "Remark"), rows, "No document was found."
        ),
        Section("Add it", [_add_form(avatar, visit.typed("uri"))]) if report.dry_run else Links(links, actions=True),
    ]


def path_of(avatar_id: str) -> str:
    return f"/console/avatars/{quote(avatar_id, safe='')}"


def author_links(avatar_id: str, visit: Visit) -> list[Cell]:
    """Links for visitors who may change the avatar."""
    if not visit.principal.may("avatars", "write"):
        return []
    return [Cell("Add a document", Place((avatar_id, "add"))), Cell("Feedback", Place((avatar_id, "feedback")))]


def way_back(avatar: AvatarSnapshot) -> Cell:
    """The link to the avatar's page."""
    return Cell(avatar.persona.name or avatar.id, Place((avatar.id,)))


def _status(status: str, *, is_preview: bool) -> Cell:
    is_stored = status in ("added", "changed")
    kind = "bad" if status in ("failed", "skipped") else "good" if is_stored else "plain"
    return Cell(f"would be {status}" if is_preview and is_stored else status, kind=kind)


def _rated(one: Mapping[str, Any], path: str) -> Event:
    verdict = "helpful" if one.get("helpful") else "not helpful"
    correction = f"Better: “{one['correction']}”" if one.get("correction") else ""
    buttons = [Button("Accept", "do", "accept", kind="plain"), Button("Reject", "do", "reject", kind="plain")]
    form = Form([Hidden(_ANSWER, str(one["id"]))], buttons, path)
    when = to_minute(one.get("at"))
    told = [Note(str(one.get("response") or "")), *([Note(correction)] if correction else [])]
    return Event(str(one.get("question") or ""), when, [verdict], blocks=[*told, form])


def uploaded(visit: Visit, name: str) -> bytes:
    """An uploaded file; empty if none was chosen."""
    try:
        return base64.b64decode(visit.fields.get(name, ""), validate=True)
    except (Error, ValueError):
        raise InvalidInput("The upload is incomplete.", hint="Send the file again.") from None
