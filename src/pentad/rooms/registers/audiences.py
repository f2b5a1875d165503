"""Whom a change of the catalogue, of a saved query or the end of an object is told to.

What is gone cannot be looked up any more, and a list has no address that says what in it changed. So the announcement
itself says who may know; who is about to be told is compared with that, with the groups and organisation it has then.
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


_NOBODY: Final[tuple[tuple[str, ...], ...]] = ((),)
_DECODER: Final = msgspec.json.Decoder(Audience)


def read_audience(text: str) -> Audience:
    return _DECODER.decode(text)


def owners_alone(owner: str) -> Audience:
    """The owner and administrators."""
    return Audience(owner=owner, groups=_NOBODY)
