"""Converts text to token ids as in the model's training.

The tokenizer's own file truncates at 128 tokens and pads everything to 128; both are overridden here, because otherwise
half of each passage would be lost and every short text would cost as much as a long one.
"""

import unicodedata
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, Protocol

from pentad.kernel.errors import InvalidInput

LONGEST: Final = 256
"""Tokens that contribute to the vector, including the two that begin and end a text."""


class Encoded(Protocol):
    """One text in tokens."""

    @property
    def ids(self) -> list[int]: ...


class Tokenizer(Protocol):
    """The parts of the tokenizers library in use; its own types are incomplete."""

    def encode_batch(self, texts: list[str], /) -> list[Encoded]: ...


def open_tokenizer(content: bytes) -> Tokenizer:
    """Load the tokenizer from its file, set to truncate at 256 tokens and not to pad."""
    library: Any = import_module("tokenizers")
    tokenizer = library.Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


def token_ids(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """The ids of each text. Ligatures and wide letters are decomposed first: the tokenizer does not know them."""
    return [encoded.ids for encoded in tokenizer.encode_batch([normalised(text) for text in texts])]


def normalised(text: str) -> str:
    """The text in the form that is embedded; empty if there is nothing to embed."""
    if not (plain := unicodedata.normalize("NFKC", text).strip()):
        raise InvalidInput("An empty text cannot be embedded.", hint="Leave it out.")
    return plain
