"""Splits sentences into clauses, because one true clause must not carry an invented one."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from pentad.rooms.avatars.verification.normalization import normal_words, normalized
from pentad.search.text import STOP_WORDS

_BREAK: Final = re.compile(
    r"\s*[;:()\[\]]\s*|,\s+|\s+-+\s+"
    r"|\s+(?=(?:and|but|or|nor|because|since|which|who|whom|whose|while|whereas|although|though|until|when|where|after"
    r"|before|unless|if|so that|in order to)\s)",
    re.IGNORECASE,
)
_FEWEST_WORDS: Final = 2


@lru_cache(256)  # each check of a statement splits it, and the sentences it cites, again
def clauses(text: str) -> tuple[str, ...]:
    """The clauses of a sentence. A piece with hardly any content belongs to its neighbour."""
    found: list[str] = []
    for piece in _BREAK.split(normalized(text)):
        if not piece.strip():
            continue
        if found and (len(content_words(normal_words(piece))) < _FEWEST_WORDS or _is_short(found[-1])):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return tuple(found)


def content_words(words: Sequence[str]) -> list[str]:
    """The words that carry content."""
    return [word for word in words if word not in STOP_WORDS]


def _is_short(text: str) -> bool:
    return len(content_words(normal_words(text))) < _FEWEST_WORDS
