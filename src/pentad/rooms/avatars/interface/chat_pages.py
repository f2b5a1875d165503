"""Conversations with avatars in the console, and one question to a panel of all avatars.

The form carries the conversation, so it lasts as long as the page. Asking is a call of the room's tools.
"""

import json
from collections.abc import Sequence
from typing import Final

import msgspec
from pydantic import ValidationError

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.page_progress import Tell, growth
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Conversation,
    Form,
    Growing,
    Hidden,
    Links,
    Message,
    Note,
    Place,
    Prose,
    SearchBox,
    Section,
    Sheet,
    Step,
    Table,
    TextField,
    Visit,
)
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.answer_blocks import ASK, answer_blocks
from pentad.rooms.avatars.interface.author_pages import RATE, THANKS, path_of, rating_form, send_rating, way_back
from pentad.rooms.avatars.interface.presentation import AnswerView, PairView, PanelView, QuotedView
from pentad.rooms.avatars.service import Avatars

_QUESTION: Final = "question"
_TURNS: Final = "turns"
_GIVEN: Final = "given"
"""The answer that a rating is about, as JSON. The page shows it again with its sources."""
_MOST_CHARACTERS: Final = 12_000
"""How much of a conversation the form keeps. The oldest turns are dropped first."""
_LONGEST_TURN: Final = 2_000
_YOU: Final = "user"


class _Turn(msgspec.Struct):
    role: str
    content: str


async def chat(avatars: Avatars, visit: Visit) -> Sheet:
    """A conversation with an avatar. An error keeps what was said so far."""
    avatar = await avatars.open(visit.path["avatar"])
    return await _sheet(avatar, visit, (), visit.typed(_QUESTION))


async def say(avatars: Avatars, visit: Visit) -> Sheet | Growing:
    """Ask the next question. The page shows each step until the answer is there."""
    avatar = await avatars.open(visit.path["avatar"])
    question, turns = visit.typed(_QUESTION), _turns(visit)
    if visit.typed(RATE):
        await send_rating(visit)
        return await _sheet(avatar, visit, [Note(THANKS, "good")])
    if not question:
        problem = {"path": _QUESTION, "message": "The question is empty. Type one."}
        raise InvalidInput("The question is empty.", details={"problems": [problem]})
    context = [{"role": one.role, "content": one.content} for one in turns]
    asked = [*turns, _Turn(_YOU, question[:_LONGEST_TURN])]

    async def work(tell: Tell) -> Sequence[Block]:
        async def told(_done: float, _total: float | None, text: str | None) -> None:
            tell(Step(text or ""))

        arguments = {"avatar": avatar.id, "question": question, "context": context}
        answer = AnswerView.model_validate(await visit.call(ASK, arguments, progress=told))
        said = [*asked, _Turn("assistant", answer.response[:_LONGEST_TURN])]
        spoken = Conversation([Message(avatar.persona.name, "", await answer_blocks(avatar, answer, question))])
        kept = [Hidden(_TURNS, _kept(said)), Hidden(_GIVEN, answer.model_dump_json())]
        rating = rating_form(visit, answer, f"{path_of(avatar.id)}/chat", kept)
        return [spoken, *rating, *_next(avatar, visit, said, focus=True)]

    so_far = Sheet(_title(avatar), [_conversation(avatar, visit, asked)], trail=[way_back(avatar)])
    return Growing(so_far, growth(work), _next(avatar, visit, turns, question))


async def _sheet(avatar: AvatarSnapshot, visit: Visit, below: Sequence[Block], typed: str = "") -> Sheet:
    """The conversation so far. After a rating the last answer has its sources, as before it."""
    turns, given = _turns(visit), _given(visit)
    if given is None or len(turns) < 2:
        shown: list[Block] = [_conversation(avatar, visit, turns)]
    else:
        answered = await answer_blocks(avatar, given, turns[-2].content)
        spoken = Conversation([Message(avatar.persona.name, "", answered)])
        shown = [_conversation(avatar, visit, turns[:-1]), spoken]
    blocks = [*shown, *below, *_next(avatar, visit, turns, typed)]
    return Sheet(_title(avatar), blocks, trail=[way_back(avatar)])


def _conversation(avatar: AvatarSnapshot, visit: Visit, turns: Sequence[_Turn]) -> Conversation:
    name, you = avatar.persona.name, visit.principal.name
    messages = [
        Message(you if one.role == _YOU else name, "", [Prose(one.content)], own=one.role == _YOU) for one in turns
    ]
    return Conversation(messages, f"Ask {name} a question. Follow-up questions build on earlier answers.")


def _next(
    avatar: AvatarSnapshot, visit: Visit, turns: Sequence[_Turn], typed: str = "", *, focus: bool = False
) -> list[Block]:
    """The form for the next question, with the conversation so far."""
    problem = visit.problems.get(_QUESTION, "")
    field = TextField(_QUESTION, f"Ask {avatar.persona.name}", typed, error=problem)
    form = Form(
        [field, Hidden(_TURNS, _kept(turns))],
        [Button("Ask")],
        f"{path_of(avatar.id)}/chat",
        validated=True,
        focus=_QUESTION if focus else "",
    )
    return [form, *([Links([Cell("New conversation", Place((avatar.id, "chat")))])] if turns else [])]


def _title(avatar: AvatarSnapshot) -> str:
    return f"Chat with {avatar.persona.name}"


def _turns(visit: Visit) -> list[_Turn]:
    """The conversation so far, from the form. Visitors can change only their own."""
    text = visit.fields.get(_TURNS, "")
    try:
        return msgspec.json.decode(text, type=list[_Turn]) if text else []
    except msgspec.MsgspecError:
        return []


def _given(visit: Visit) -> AnswerView | None:
    """The rated answer, from the form. Visitors can change only their own."""
    try:
        return AnswerView.model_validate_json(visit.fields.get(_GIVEN, ""))
    except ValidationError:
        return None


def _kept(turns: Sequence[_Turn]) -> str:
    kept = [{"role": one.role, "content": one.content} for one in turns]
    while len(json.dumps(kept)) > _MOST_CHARACTERS:
        del kept[0]
    return json.dumps(kept)


async def panel(avatars: Avatars, visit: Visit) -> Sheet:
    """One question to all avatars: their answers, and where they agree and differ."""
    question = visit.asked()
    blocks: list[Block] = [SearchBox("Ask all avatars", question, "Ask")]
    lead = "One question to all avatars. Each answers from its own corpus."
    if question:
        try:
            found = PanelView.model_validate(await visit.call("ask_panel", {"question": question}))
        except PentadError as error:
            return Sheet("Panel", blocks, lead=lead, error=error)
        for seat in found.answers:
            if not seat.answer.abstained:
                avatar = await avatars.open(seat.avatar)
                chat_link = Links([Cell(f"Chat with {seat.name}", Place((seat.avatar, "chat")))])
                inner = [*await answer_blocks(avatar, seat.answer, question), chat_link]
                blocks.append(Section(seat.name, inner))
        blocks += _pairs("Where they agree", found.agreements) + _pairs("Where they differ", found.differences)
        if found.silent:
            names = {seat.avatar: seat.name for seat in found.answers}
            blocks.append(Note(f"No answer from {', '.join(names.get(one, one) for one in found.silent)}."))
    return Sheet("Panel", blocks, lead=lead)


def _pairs(title: str, pairs: Sequence[PairView]) -> list[Block]:
    rows = [(_quoted(one.left), _quoted(one.right), one.sign or "") for one in pairs]
    return [Section(title, [Table(("One says", "The other says", "Why"), rows)])] if rows else []


def _quoted(one: QuotedView) -> str:
    return f"{one.avatar}: {one.quote} ({one.source})"
