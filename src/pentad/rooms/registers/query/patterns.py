"""Patterns of `Like` as both dialects read them."""

from typing import Final

_CAPITALS: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_MEANINGFUL: Final = "%_!"


def small(text: str) -> str:
    """The text with A-Z as a-z and nothing else changed, as `lower` does it in both dialects."""
    return text.translate(_CAPITALS)


def like_parameter(pattern: str) -> str:
    """The pattern with `!` as the mark of plain characters: a backslash is read differently by each dialect."""
    written: list[str] = []
    characters = iter(small(pattern))
    for character in characters:
        if character == "\\":
            plain = next(characters, "\\")
            written.append(f"!{plain}" if plain in _MEANINGFUL else plain)
        else:
            written.append("!!" if character == "!" else character)
    return "".join(written)
