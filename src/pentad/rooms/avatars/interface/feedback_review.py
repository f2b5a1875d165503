"""The score card and the review of ratings, for the command line and the REST routes."""

from collections.abc import Sequence
from typing import Any, Final, get_args

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.rooms.avatars.answers.answer_log import answer_uri
from pentad.rooms.avatars.answers.feedback import Feedback, State
from pentad.rooms.avatars.service import Avatars

_STATES: Final[dict[str, State]] = {name: name for name in get_args(State)}


async def evaluation_of(avatars: Avatars, avatar_id: str | None) -> dict[str, Any]:
    """The last score card of an avatar."""
    avatar = await avatars.open(avatar_id)
    if (found := await avatars.last_evaluation(avatar)) is None:
        hint = f"Run `pentad avatars eval --avatar {avatar.id}`."
        raise NotFound(f"{avatar.id} has not been evaluated yet.", hint=hint)
    return found


async def feedback_of(avatars: Avatars, avatar_id: str | None, state: str | None = None) -> dict[str, Any]:
    """The ratings of an avatar's answers in one state."""
    wanted = _STATES.get(state or "new")
    if wanted is None:
        raise InvalidInput(f"There is no state {state!r}.", hint=f"There are {', '.join(_STATES)}.")
    avatar = await avatars.open(avatar_id)
    found = await avatars.feedback.list(avatar.avatar.number, wanted)
    return {"avatar": avatar.id, "feedback": [_feedback_view(avatar.id, one) for one in found]}


async def review_ratings(
    avatars: Avatars, avatar_id: str | None, accept: Sequence[str], reject: Sequence[str]
) -> dict[str, Any]:
    """Accept and reject ratings. The result says how the accepted ones adjust the confidence of answers."""
    if not accept and not reject:
        raise InvalidInput("Nothing is accepted or rejected.", hint="Name the ids of rated answers.")
    if both := set(accept) & set(reject):
        raise InvalidInput(f"{min(both)[:40]!r} is both accepted and rejected.")
    decisions: dict[str, State] = dict.fromkeys(accept, "accepted")
    decisions |= dict.fromkeys(reject, "rejected")
    avatar = await avatars.review_feedback(avatar_id, decisions)
    learnt = avatar.calibration.answers
    adjustment = {"slope": learnt.slope, "bias": learnt.bias, "ratings": learnt.examples}
    return {"avatar": avatar.id, "accepted": len(accept), "rejected": len(reject), "adjustment": adjustment}


def _feedback_view(avatar_id: str, one: Feedback) -> dict[str, Any]:
    rating: dict[str, Any] = msgspec.to_builtins(one.rating)
    known = {"id": one.answer, "answer": answer_uri(avatar_id, one.answer), "at": iso(one.at), "state": one.state}
    return {**known, **rating}
