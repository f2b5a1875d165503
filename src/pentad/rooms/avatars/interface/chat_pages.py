"""Talking to avatars in the console: a conversation with one, and one question to several.

The conversation is in the form, so it lasts as long as the page. Asking is a call of the room's tools.
"""

import json
from collections.abc import Sequence
from typing import Final

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Conversation,
    Form,
    Hidden,
    Links,
    Message,
    Note,
    Place,
    Prose,
    SearchBox,
    Section,
    Sheet,
    Table,
    TextField,
    Visit,
)
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.answer_blocks import ASK, answer_blocks
from pentad.rooms.avatars.interface.author_pages import RATE, THANKS, path_of, rating_form, send_rating
from pentad.rooms.avatars.interface.presentation import AnswerView, PairView, PanelView, QuotedView
from pentad.rooms.avatars.service import Avatars

_QUESTION: Final = "question"
_TURNS: Final = "turns"
_MOST_CHARACTERS: Final = 12_000
"""How much of a conversation the form keeps; the oldest turns are left out first."""
_LONGEST_TURN: Final = 2_000
_YOU: Final = "user"


class _Turn(msgspec.Struct):
    role: str
    content: str


async def chat(avatars: Avatars, visit: Visit) -> Sheet:
    """A conversation with an avatar; after an error, with what was said so far."""
    avatar = await avatars.open(visit.path["avatar"])
    return _sheet(avatar, visit, _turns(visit), [], visit.typed(_QUESTION))


async def say(avatars: Avatars, visit: Visit) -> Sheet:
    """What the form of the conversation does."""
    avatar = await avatars.open(visit.path["avatar"])
    question, turns = visit.typed(_QUESTION), _turns(visit)
    if visit.typed(RATE):
        await send_rating(visit)
        return _sheet(avatar, visit, turns, [], below=[Note(THANKS, "good")])
    if not question:
        problem = {"path": _QUESTION, "message": "There is nothing to answer. Ask something."}
        raise InvalidInput("There is nothing to answer.", details={"problems": [problem]})
    context = [{"role": one.role, "content": one.content} for one in turns]
    found = await visit.call(ASK, {"avatar": avatar.id, "question": question, "context": context})
    answer = AnswerView.model_validate(found)
    asked = [*turns, _Turn(_YOU, question[:_LONGEST_TURN])]
    blocks = await answer_blocks(avatar, answer, question)
    kept = Hidden(_TURNS, _kept([*asked, _Turn("assistant", answer.response[:_LONGEST_TURN])]))
    rating = rating_form(visit, answer, f"{path_of(avatar.id)}/chat", [kept])
    return _sheet(avatar, visit, asked, blocks, said=answer.response, below=rating)


def _sheet(
    avatar: AvatarSnapshot,
    visit: Visit,
    turns: Sequence[_Turn],
    answer: Sequence[Block],
    typed: str = "",
    said: str = "",
    below: Sequence[Block] = (),
) -> Sheet:
    name, you = avatar.persona.name, visit.principal.name
    messages = [
        Message(you if one.role == _YOU else name, "", [Prose(one.content)], own=one.role == _YOU) for one in turns
    ]
    if answer:
        messages.append(Message(name, "", answer))
        turns = [*turns, _Turn("assistant", said[:_LONGEST_TURN])]
    hidden = Hidden(_TURNS, _kept(turns))
    field = TextField(_QUESTION, f"Ask {name}", typed if not answer else "", error=visit.problems.get(_QUESTION, ""))
    form = Form(
        [field, hidden],
        [Button("Ask")],
        f"{path_of(avatar.id)}/chat",
        validated=True,
        focus=_QUESTION if answer else "",
    )
    blocks: list[Block] = [Conversation(messages, f"Ask {name} something, and go on from the answer."), *below, form]
    if messages:
        blocks.append(Links([Cell("New conversation", Place((avatar.id, "chat")))]))
    return Sheet(f"Chat with {name}", blocks, trail=[Cell(name, Place((avatar.id,)))])


def _turns(visit: Visit) -> list[_Turn]:
    """What was said before, as the form has it. Whoever has the form can change it; it is theirs."""
    text = visit.fields.get(_TURNS, "")
    try:
        return msgspec.json.decode(text, type=list[_Turn]) if text else []
    except msgspec.MsgspecError:
        return []


def _kept(turns: Sequence[_Turn]) -> str:
    kept = [{"role": one.role, "content": one.content} for one in turns]
    while len(json.dumps(kept)) > _MOST_CHARACTERS:
        del kept[0]
    return json.dumps(kept)


async def panel(avatars: Avatars, visit: Visit) -> Sheet:
    """One question to all avatars: their answers, and where these agree and differ."""
    question = visit.asked()
    blocks: list[Block] = [SearchBox("Ask all avatars", question, "Ask")]
    if question:
        found = PanelView.model_validate(await visit.call("ask_panel", {"question": question}))
        for seat in found.answers:
            if not seat.answer.abstained:
                avatar = await avatars.open(seat.avatar)
                chat_link = Links([Cell(f"Chat with {seat.name}", Place((seat.avatar, "chat")))])
                inner = [*await answer_blocks(avatar, seat.answer, question), chat_link]
                blocks.append(Section(seat.name, inner))
        blocks += _pairs("Where they agree", found.agreements) + _pairs("Where they differ", found.differences)
        if found.silent:
            blocks.append(Note(f"Without an answer: {', '.join(found.silent)}."))
    return Sheet("Panel", blocks, lead="One question to all avatars. Each answers from its own corpus.")


def _pairs(title: str, pairs: Sequence[PairView]) -> list[Block]:
    rows = [(_quoted(one.left), _quoted(one.right), one.sign or "") for one in pairs]
    return [Section(title, [Table(("One says", "The other says", "Sign"), rows)])] if rows else []


def _quoted(one: QuotedView) -> str:
    return f"{one.avatar}: {one.quote} ({one.source})"
