"""What a store says when the data's own rules refuse a change: the same in both dialects, and nothing of the data."""

from pentad.kernel.errors import Conflict, InvalidInput


def exists() -> Conflict:
    """A unique key is taken."""
    return Conflict("Something with the same key exists already.", details={"rule": "unique"})


def dangling() -> Conflict:
    """A reference would point nowhere."""
    return Conflict(
        "It refers to something that does not exist, or something still refers to it.", details={"rule": "reference"}
    )


def unacceptable() -> InvalidInput:
    """A value breaks a rule of its column."""
    return InvalidInput("A value is missing or of a kind that cannot be stored there.", details={"rule": "check"})
