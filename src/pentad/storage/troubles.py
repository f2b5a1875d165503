"""What can be wrong with a store: the same words in both dialects, for callers as for `/readyz` and `doctor`.

`details.reason` is the category. None of the texts names a path, a server or anything of the data.
"""

from typing import Final, Literal

from pentad.kernel.errors import Misconfigured, PentadError, Unavailable

Reason = Literal["disk-full", "disk-error", "read-only", "locked", "damaged", "unreachable"]
DAMAGED: Final = "damaged"
_RETRY: Final = "Nothing was changed; try again in a moment."


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
        hint="`pentad doctor` says more; `pentad restore FILE` puts a backup in its place.",
        details={"reason": DAMAGED},
    )


def reason_of(error: PentadError) -> Reason | None:
    """What is wrong with the store, where the error says that something is."""
    reason = error.details.get("reason")
    return reason if reason in _REASONS else None


_REASONS: Final = frozenset({"disk-full", "disk-error", "read-only", "locked", "damaged", "unreachable"})
