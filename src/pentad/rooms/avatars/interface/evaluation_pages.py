"""The evaluation of an avatar in the console: the last score card, and a form to evaluate again."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pentad.kernel.clock import to_minute
from pentad.kernel.errors import InvalidInput
from pentad.kernel.page_progress import Tell, growth
from pentad.kernel.page_values import filled_table
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Column,
    Facts,
    FileField,
    Form,
    Growing,
    Hint,
    Note,
    Section,
    Sheet,
    Step,
    Text,
    Visit,
)
from pentad.mcp.rights import check_right
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.interface.author_pages import in_turn, path_of, uploaded, way_back
from pentad.rooms.avatars.service import Avatars

_TITLE: Final = "Evaluation"
_LEAD: Final = "How often the avatar finds, quotes and declines correctly, tested on questions about its own corpus."


_GROUPS: Final = {
    "retrieval": "Finding the right passage",
    "answer": "Quoting the right sentence",
    "abstention": "Answering only what the corpus covers",
    "calibration": "Whether confidence matches the results",
    "mutation": "Catching altered statements",
    "questions": "Your own questions",
}


async def one_evaluation(avatars: Avatars, visit: Visit) -> Sheet:
    """The last score card of an avatar."""
    avatar = await avatars.open(visit.path["avatar"])
    card = await avatars.last_evaluation(avatar)
    may_write = visit.principal.may("avatars", "write")
    if card is None and not may_write:
        shown: list[Block] = [
            Hint(
                "This avatar has not been evaluated yet. Evaluate it with", f"pentad avatars eval --avatar {avatar.id}"
            )
        ]
    else:
        shown = [Note("Not evaluated yet.")] if card is None else _card(avatar, card)
    title = "Evaluate now" if card is None else "Evaluate again"
    form = [Section(title, [_form(avatar, visit.problems.get("questions", ""))])] if may_write else []
    return Sheet(_TITLE, [*shown, *form], lead=_LEAD, trail=[way_back(avatar)])


async def run_evaluation(avatars: Avatars, visit: Visit) -> Growing:
    """Evaluate the avatar, with progress, and show the score card."""
    from pentad.rooms.avatars.evaluation.author_questions import read_questions

    check_right(visit.principal, "avatars", "write")
    avatar = await avatars.open(visit.path["avatar"])
    content = uploaded(visit, "questions")
    try:
        questions = read_questions(content) if content else ()
    except InvalidInput as error:
        problem = {"path": "questions", "message": error.sentence()}
        raise InvalidInput(error.message, hint=error.hint, details={"problems": [problem]}) from None

    async def work(tell: Tell) -> Sequence[Block]:
        def told(group: str, done: int, total: int) -> None:
            tell(Step(f"{_GROUPS[group]}: {done:,} of {total:,}. Leaving this page stops it.", done, total))

        async with in_turn(avatars, tell):
            await avatars.evaluate(avatar.id, told, questions)
        now = await avatars.open(avatar.id)
        card = await avatars.last_evaluation(now)
        return [] if card is None else [*_card(now, card), Section("Evaluate again", [_form(now)])]

    sheet = Sheet(_TITLE, [], lead=_LEAD, trail=[way_back(avatar)])
    return Growing(sheet, growth(work), [_form(avatar)])


def _form(avatar: AvatarSnapshot, problem: str = "") -> Form:
    about = "Optional. A JSON file of questions with what their answers must say."
    return Form([FileField("questions", "Your own questions", about, error=problem)], [Button("Evaluate")],
                f"{path_of(avatar.id)}/evaluation")  # fmt: skip


def _card(avatar: AvatarSnapshot, card: Mapping[str, Any]) -> list[Block]:
    groups: dict[str, list[Sequence[Text]]] = {}
    for line in card["lines"]:
        groups.setdefault(line["group"], []).append(_figure(line))
    columns = ("Figure", Column("Value", True), Column("95 % interval", short=True), Column("Cases", True),
               Column("Goal", short=True), Column("Result", short=True))  # fmt: skip
    state = Note("All goals are met.", "good") if card["passed"] else Note("Some goals are not met.", "bad")
    stale = [] if card["generation"] == avatar.avatar.generation else [Note("The corpus has changed since.", "bad")]
    made = f"{to_minute(str(card['at']))} UTC"
    search = "by words" if card["retrieval"] == "lexical" else "by words and meaning"
    facts = Facts([("Evaluated", made), ("Search", search), ("Generation", str(card["generation"]))])
    sections = [Section(_GROUPS.get(name, name), [filled_table(columns, rows)]) for name, rows in groups.items()]
    return [state, *stale, *sections, *(Note(text) for text in card["notes"]), facts]


def _figure(line: Mapping[str, Any]) -> Sequence[Text]:
    goal = "" if line["goal"] is None else f"{'at most' if line['at_most'] else 'at least'} {line['goal']:.2f}"
    verdict = Cell("met", kind="good") if line["passed"] else Cell("missed", kind="bad")
    interval = f"{line['low']:.2f} to {line['high']:.2f}"
    return (
        line["name"],
        f"{line['value']:.3f}",
        interval,
        f"{line['of']:,}",
        goal,
        "" if line["goal"] is None else verdict,
    )
