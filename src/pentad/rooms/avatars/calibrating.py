"""Learns, after an ingest, what the scores of an avatar's own corpus mean, and keeps it with that generation."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pentad.rooms.avatars import store
from pentad.rooms.avatars.opened import OpenedAvatar, sentences_of

if TYPE_CHECKING:
    from pentad.rooms.avatars.likeness import Likeness

_OWN: Final = 400
_OTHERS: Final = 6
_OF_EACH: Final = 40
_PASSAGES: Final = 8


def is_current(text: str | None, model: str | None) -> bool:
    """Whether a stored calibration was made with this embedding model."""
    return text is not None and json.loads(text).get("model") == model


async def calibrate(
    avatar: OpenedAvatar, others: Sequence[OpenedAvatar], likeness: "Likeness", model: str | None
) -> bool:
    """Fit the avatar's maps anew; False if another generation came in meanwhile and will have its own."""
    from pentad.rooms.avatars.fitting import fitted

    own = sentences_of(await avatar.some_passages(_OWN))
    theirs = [text for other in others[:_OTHERS] for text in sentences_of(await other.some_passages(_OF_EACH))]
    made = await fitted(lambda question: avatar.search(question, _PASSAGES), own, theirs, likeness, model)
    text, one = made.as_text(), avatar.avatar
    return await avatar.database.write(lambda tx: store.keep_calibration(tx, one.number, one.generation, text))
