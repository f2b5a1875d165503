"""Counts in sentences."""


def counted(number: int, one: str, several: str = "") -> str:
    """A number with the word for that many: `1 object`, `2 objects`; `several` is the plural if it is irregular."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
