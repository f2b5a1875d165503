"""`pentad avatars eval`, `rate` and `feedback`: score an avatar, and review what readers say of its answers."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pentad.terminal.client import server_options
from pentad.terminal.launcher import run_in_room
from pentad.terminal.options import json_option
from pentad.terminal.output import ExitCode, print_json, print_table, print_text, progress_bar, say

if TYPE_CHECKING:
    from pentad.rooms.avatars.service import Avatars
    from pentad.terminal.client import Target

_LONGEST_QUESTION: Final = 100
avatar_option: Final = click.option("--avatar", metavar="ID", help="Which avatar; needed only where there are several.")


@click.command("eval")
@avatar_option
@click.option("--questions", "file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              help="Your own questions, as JSON.")  # fmt: skip
@click.option("--goal", "goals", multiple=True, metavar="ID=NUMBER", help="A goal of your own: mutation.swap=0.9")
@click.option("--strict", is_flag=True, help="Fail if a figure misses its goal.")
@json_option
@server_options()
def evaluate(
    avatar: str | None, file: Path | None, goals: tuple[str, ...], strict: bool, as_json: bool, target: "Target"
) -> int:
    """Evaluate an avatar on its own corpus and print a score card.

    Measures retrieval, answers, abstention, calibration, and how often the checks catch altered statements. Needs no
    labels; --questions adds your own questions. The console shows the last score card on the avatar's page.
    """
    written = None if file is None else file.read_bytes()
    if target.server is None:
        card = run_in_room(target.settings, lambda room: _evaluated(room, avatar, written, goals), "avatars")
    else:
        query = {"avatar": avatar, "goal": list(goals)}
        media_type = "" if written is None else "application/json"
        card = target.run(lambda client: client.call_route("POST", "/api/avatars/eval", query, written, media_type))
    if as_json:
        print_json(card)
    else:
        for line in card_lines(card):
            print_text(line)
    return ExitCode.FAILED if strict and not card["passed"] else ExitCode.OK


@click.command()
@click.argument("answer", metavar="URI")
@click.option("--helpful/--unhelpful", required=True, default=None, help="Whether the answer helped.")
@click.option("--correction", help="Words of the corpus that answer the question.")
@json_option
@server_options()
def rate(answer: str, helpful: bool, correction: str | None, as_json: bool, target: "Target") -> None:
    """Rate an answer, by its URI. The avatar's author decides whether the scores learn from it."""
    kept = target.call_tool(
        "rate_answer", {"answer": answer, "helpful": helpful, "correction": correction}, "avatars"
    )  # fmt: skip
    if as_json:
        print_json(kept)
    else:
        say(f"{kept['answer']}: {'helpful' if kept['helpful'] else 'not helpful'}. The author will see it.")


@click.command()
@avatar_option
@click.option("--state", type=click.Choice(("new", "accepted", "rejected")), default="new", help="Which to list.")
@click.option("--accept", multiple=True, metavar="ID", help="Let the scores learn from this rating.")
@click.option("--reject", multiple=True, metavar="ID", help="Ignore this rating.")
@json_option
@server_options()
def feedback(
    avatar: str | None, state: str, accept: tuple[str, ...], reject: tuple[str, ...], as_json: bool, target: "Target"
) -> None:
    """List the ratings of an avatar's answers, and accept or reject them.

    Scores are fitted only to ratings that you accept.
    """
    if accept or reject:
        done = _author_call(
            target, "POST", {"avatar": avatar, "accept": list(accept), "reject": list(reject)},
            lambda room: _reviewed(room, avatar, accept, reject),
        )  # fmt: skip
        if as_json:
            print_json(done)
        else:
            say(f"{done['avatar']}: {done['accepted']} accepted, {done['rejected']} rejected. The scores are updated.")
        return
    found = _author_call(target, "GET", {"avatar": avatar, "state": state}, lambda room: _ratings(room, avatar, state))
    if as_json:
        print_json(found)
        return
    rows = [
        (
            one["id"],
            "helpful" if one["helpful"] else "not helpful",
            one["confidence"],
            one["question"][:_LONGEST_QUESTION],
        )
        for one in found["feedback"]
    ]
    print_table(("id", "rating", "confidence", "question"), rows, empty="There is no feedback in this state.")


def _author_call(
    target: "Target",
    method: str,
    query: Mapping[str, Any],
    here: "Callable[[Avatars], Coroutine[Any, Any, dict[str, Any]]]",
) -> dict[str, Any]:
    if target.server is None:
        return run_in_room(target.settings, here, "avatars")
    return target.run(lambda client: client.call_route(method, "/api/avatars/feedback", query))


async def _ratings(room: "Avatars", avatar_id: str | None, state: str) -> dict[str, Any]:
    from pentad.rooms.avatars.interface.feedback_review import feedback_of

    return await feedback_of(room, avatar_id, state)


async def _reviewed(
    room: "Avatars", avatar_id: str | None, accept: Sequence[str], reject: Sequence[str]
) -> dict[str, Any]:
    from pentad.rooms.avatars.interface.feedback_review import review_ratings

    return await review_ratings(room, avatar_id, accept, reject)


async def _evaluated(
    room: "Avatars", avatar_id: str | None, written: bytes | None, goals: Sequence[str]
) -> dict[str, Any]:
    from pentad.rooms.avatars.evaluation.author_questions import read_questions
    from pentad.rooms.avatars.evaluation.score_card import read_goals

    questions = () if written is None else read_questions(written)
    wanted = read_goals(goals, with_questions=bool(questions))
    with progress_bar() as told:
        return (await room.evaluate(avatar_id, told, questions, wanted)).as_json()


def card_lines(card: Mapping[str, Any]) -> Iterator[str]:
    """One figure per line, with its 95 % interval and its goal."""
    yield f"{card['avatar']} ({card['retrieval']} search)"
    group = ""
    for line in card["lines"]:
        if line["group"] != group:
            group = line["group"]
            yield f"\n{group}"
        sign = "at most " if line["at_most"] else ""
        goal = "" if line["goal"] is None else f"  goal {sign}{line['goal']:.2f} {'ok' if line['passed'] else 'MISSED'}"
        interval = f"{line['low']:.2f}-{line['high']:.2f}"
        name = f"{line['id'].partition('.')[2]:17} {line['name']:36}"
        yield f"  {name} {line['value']:.3f}  {interval} of {line['of']:4}{goal}"
    if card["notes"]:
        yield ""
    yield from card["notes"]


QUALITY_VERBS: Final = (evaluate, rate, feedback)
