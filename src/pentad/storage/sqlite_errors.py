"""Translates SQLite's errors into Pentad's.

Only errors that a caller or an operator can act on are translated. Mistakes in our own SQL stay as they are: they are
bugs, and the dispatcher reports them as such.
"""

from collections.abc import Callable
from typing import Final, NoReturn

import apsw

from pentad.kernel.errors import InvalidInput, LimitExceeded, Misconfigured, PentadError
from pentad.storage.errors import (
    check_violation,
    damaged,
    disk_error,
    disk_full,
    locked,
    read_only,
    reference_violation,
    unique_violation,
)

_UNIQUE = frozenset({apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY, apsw.SQLITE_CONSTRAINT_ROWID})
_FAULTS: Final[tuple[tuple[tuple[type[Exception], ...], Callable[[], PentadError]], ...]] = (
    ((apsw.FullError,), disk_full),
    ((apsw.BusyError, apsw.LockedError, apsw.ProtocolError), locked),
    ((apsw.IOError,), disk_error),
    ((apsw.CorruptError, apsw.NotADBError, apsw.FormatError), damaged),
)


def translate_error(error: Exception, *, writing: bool = False) -> Exception:
    """Pentad's error for an SQLite error, or the error itself if there is none.

    `writing` means that it occurred in a unit of work that may write, so a store that refuses the write is read-only.
    """
    if isinstance(error, apsw.ConstraintError):
        return _constraint(error)
    for kinds, fault in _FAULTS:
        if isinstance(error, kinds):
            return fault()
    if writing and isinstance(error, apsw.ReadOnlyError):
        return read_only()
    return _misuse(error)


def raise_translated(error: Exception, *, writing: bool = False) -> NoReturn:
    """Raise Pentad's error for it, or the error itself."""
    translation = translate_error(error, writing=writing)
    if translation is error:
        raise error
    raise translation from error


def _misuse(error: Exception) -> Exception:
    if isinstance(error, apsw.ReadOnlyError):
        return Misconfigured(
            "The store cannot be written to here.",
            hint="A reading unit of work must not write; otherwise check the rights of the store's file.",
        )
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError):
        return Misconfigured("The store's file cannot be opened.", hint="Check that it exists and who may write it.")
    if isinstance(error, apsw.TooBigError):
        return LimitExceeded("A value is too large to be stored.")
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("A text holds half a surrogate pair.", hint="Send well-formed Unicode.")
    return error


def _constraint(error: apsw.ConstraintError) -> PentadError:
    code: int = getattr(error, "extendedresult", 0)  # set by SQLite, missing in the stubs
    if code in _UNIQUE:
        return unique_violation()
    if code == apsw.SQLITE_CONSTRAINT_FOREIGNKEY:
        return reference_violation()
    return check_violation()
