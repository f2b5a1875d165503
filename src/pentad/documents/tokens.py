"""Estimates how many tokens an embedding model sees in a text.

The estimate needs no model, so chunking is the same with and without one. It errs on the high side for prose: a window
that fits by this estimate fits the model.
"""

import re
from typing import Final

_PIECES: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]|[^\W\d_]+|\d+|[^\w\s]|_")
_WHOLE: Final = 8
"""Words of up to this many letters are mostly one token."""
_LETTERS_A_PIECE: Final = 4
_LETTERS_A_RARE_PIECE: Final = 3
_DIGITS_A_PIECE: Final = 2


def tokens(text: str) -> int:
    """The estimated number of tokens."""
    return sum(map(_pieces, _PIECES.findall(text)))


def _pieces(word: str) -> int:
    size = len(word)
    if size == 1:
        return 1
    if word[0].isdigit():
        return -(-size // _DIGITS_A_PIECE)
    if not word.isascii():
        return max(1, -(-size // 2))
    if not word[1:].islower():  # an abbreviation or a name in code, which no vocabulary contains
        return max(1, -(-size // _LETTERS_A_RARE_PIECE))
    if size <= _WHOLE:
        return 1
    return 1 + -(-(size - _WHOLE) // _LETTERS_A_PIECE)
