"""Counts in sentences."""


def counted(number: int, one: str, several: str = "") -> str:
    """A number with the word for that many: `1 object`, `2 objects`; `several` is the plural if it is irregular."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def figure(number: int, one: str, several: str = "") -> tuple[str, str]:
    """A figure of a card: the word for that many, and the number."""
    return one if number == 1 else several or one + "s", f"{number:,}"
