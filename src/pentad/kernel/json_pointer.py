"""JSON Pointers (RFC 6901): `/name/0/inner`, in which `~1` stands for a slash and `~0` for a tilde."""

import re
from collections.abc import Sequence

from pentad.kernel.errors import InvalidInput


def pointer(path: Sequence[str | int]) -> str:
    """The pointer with these steps."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def steps_of(text: str) -> list[str]:
    """The steps of a pointer; none for the empty one, which is the whole document."""
    return [unescape(part) for part in text.split("/")[1:]]


def unescape(part: str) -> str:
    """One step of a pointer as it is named in the document."""
    return part.replace("~1", "/").replace("~0", "~")


def split_pointer(text: str) -> tuple[str, ...]:
    """The steps of a pointer; InvalidInput if a caller wrote something else."""
    if text and (not text.startswith("/") or re.search(r"~(?![01])", text)):
        raise InvalidInput(f"{text[:200]!r} is not a JSON pointer.", hint="Write it as /name/0/inner; ~1 is a slash.")
    return tuple(steps_of(text))
