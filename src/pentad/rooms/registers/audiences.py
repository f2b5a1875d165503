"""Who hears of a change in the catalogue, in a saved query or in a pair's objects, and of the end of an object.

What is gone cannot be looked up any more, and a list has no address that says what in it changed. So the announcement
itself says who may know, or where to look up what changed. A follower is compared with that just before it is told, by
the groups and the organisation it has then.
"""

from typing import Final

import msgspec

_LONGEST: Final = 6_000


class Audience(msgspec.Struct, frozen=True, array_like=True):
    """Everybody, or those who are of the organisation (if one is named) and in a group of each set, and the owner.

    Administrators are of every audience.
    """

    public: bool = False
    organisation: str | None = None
    owner: str | None = None
    groups: tuple[tuple[str, ...], ...] = ()

    def text(self) -> str:
        """As it is announced. One with more groups than fit is only the owner's, and administrators'."""
        text = msgspec.json.encode(self).decode()
        if len(text.encode()) <= _LONGEST:
            return text
        return msgspec.json.encode(Audience(self.public, self.organisation, self.owner, _NOBODY)).decode()


class PairChange(msgspec.Struct, frozen=True):
    """What a transaction changed among the objects of a pair, by its place in the history.

    It is for those who may see one of the objects, as they were or as they are; each is looked up before it is told.
    """

    register: int
    schema: int
    xact: int
    after: int
    last: int

    def text(self) -> str:
        return msgspec.json.encode(self).decode()


_NOBODY: Final[tuple[tuple[str, ...], ...]] = ((),)
_AUDIENCE: Final = msgspec.json.Decoder(Audience)
_PAIR_CHANGE: Final = msgspec.json.Decoder(PairChange)


def read_audience(text: str) -> Audience | PairChange:
    """What was announced: an audience is an array, a change in a pair an object."""
    return (_PAIR_CHANGE if text.startswith("{") else _AUDIENCE).decode(text)


def owners_alone(owner: str) -> Audience:
    """The owner and administrators."""
    return Audience(owner=owner, groups=_NOBODY)
