"""The errors a store raises, the same for both dialects.

A violated constraint carries `details.rule`; a fault of the store itself carries `details.reason`. Messages never
contain a path, a server name or data.
"""

from typing import Final, Literal

from pentad.kernel.errors import Conflict, InvalidInput, Misconfigured, PentadError, Unavailable

Reason = Literal["disk-full", "disk-error", "read-only", "locked", "damaged", "unreachable"]
DAMAGED: Final = "damaged"
_REASONS: Final = frozenset({"disk-full", "disk-error", "read-only", "locked", "damaged", "unreachable"})
_RETRY: Final = "Nothing was changed; try again in a moment."


def unique_violation() -> Conflict:
    return Conflict("Something with the same key exists already.", details={"rule": "unique"})


def reference_violation() -> Conflict:
    return Conflict(
        "It refers to something that does not exist, or something still refers to it.", details={"rule": "reference"}
    )


def check_violation() -> InvalidInput:
    return InvalidInput("A value is missing or of a kind that cannot be stored there.", details={"rule": "check"})


def disk_full() -> Unavailable:
    return Unavailable(
        "The store cannot write: the disk is full.",
        hint="Nothing was changed, and reading still works. Try again when the operator has freed some space.",
        details={"reason": "disk-full"},
    )


def disk_error() -> Unavailable:
    return Unavailable("The disk of the store reported an error.", hint=_RETRY, details={"reason": "disk-error"})


def read_only() -> Unavailable:
    return Unavailable(
        "The store cannot write: it is read-only.",
        hint="Nothing was changed, and reading still works. Try again when the operator has opened it for writing.",
        details={"reason": "read-only"},
    )


def locked() -> Unavailable:
    return Unavailable("Another process keeps the store locked.", hint=_RETRY, details={"reason": "locked"})


def unreachable() -> Unavailable:
    return Unavailable("The database server cannot be reached.", hint=_RETRY, details={"reason": "unreachable"})


def lost_in_commit() -> Unavailable:
    return Unavailable(
        "The database server was lost during the commit.",
        hint="The change may or may not have been kept; look before you repeat it.",
        details={"reason": "unreachable"},
    )


def damaged() -> Misconfigured:
    return Misconfigured(
        "The store is damaged, or it is not a Pentad store.",
        hint="Run `pentad doctor` for details; `pentad restore FILE` replaces the store with a backup.",
        details={"reason": DAMAGED},
    )


def closed() -> Unavailable:
    return Unavailable("The store is closed.", hint="The server is shutting down; connect again when it is back.")


def in_use() -> Conflict:
    return Conflict("Another process has the store open.", hint="Stop every Pentad server on it first.")


def reason_of(error: PentadError) -> Reason | None:
    """The store fault that an error reports; None if it reports something else."""
    reason = error.details.get("reason")
    return reason if reason in _REASONS else None
