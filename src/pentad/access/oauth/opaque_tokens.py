"""Codes and tokens: `pentad-<kind>-<43 characters>`, 255 random bits, stored only as SHA-256.

They cannot be guessed, so a fast hash is enough, and looking them up by hash takes the same time for any guess.
"""

import re
from typing import Final, Literal

from pentad.kernel.clock import Randomness
from pentad.kernel.ids import opaque_id

Kind = Literal["access", "refresh", "code", "device", "secret"]

_TOKEN: Final = re.compile(r"pentad-([a-z]{4,10})-[A-Za-z0-9_-]{43}")


def new_token(kind: Kind, randomness: Randomness) -> str:
    """A new secret of that kind."""
    return f"pentad-{kind}-{opaque_id(randomness, 32)}"


def kind_of(text: str) -> str | None:
    """The kind in a well-formed token; None for anything else."""
    found = _TOKEN.fullmatch(text)
    return None if found is None else found[1]
