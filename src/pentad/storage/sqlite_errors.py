"""What SQLite's errors mean to a caller.

Only what a caller or an operator can act on is translated. Mistakes in our own SQL stay as they are: they are bugs,
and the dispatcher reports them as such.
"""

from typing import NoReturn

import apsw

from pentad.kernel.errors import InvalidInput, LimitExceeded, Misconfigured, PentadError, Unavailable
from pentad.storage.refusals import dangling, exists, unacceptable

_EXISTS = frozenset({apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY, apsw.SQLITE_CONSTRAINT_ROWID})
_RETRY = "Nothing was changed; try again in a moment."


def translated(error: Exception) -> Exception:
    """The error of Pentad that says the same, or the error itself where there is none."""
    if isinstance(error, apsw.ConstraintError):
        return _constraint(error)
    if isinstance(error, apsw.FullError):
        return Unavailable("The disk of the store is full.", hint="Nothing was changed. Free some space, then retry.")
    if isinstance(error, apsw.BusyError | apsw.LockedError | apsw.ProtocolError):
        return Unavailable("Another process keeps the store locked.", hint=_RETRY)
    if isinstance(error, apsw.IOError):
        return Unavailable("The disk of the store reported an error.", hint=_RETRY)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError):
        return Misconfigured(
            "The store's file is damaged, or it is not a Pentad store.",
            hint="Restore a backup with `pentad restore FILE`.",
        )
    return _misuse(error)


def fail(error: Exception) -> NoReturn:
    """Raise what the error means."""
    meaning = translated(error)
    if meaning is error:
        raise error
    raise meaning from error


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
    if code in _EXISTS:
        return exists()
    if code == apsw.SQLITE_CONSTRAINT_FOREIGNKEY:
        return dangling()
    return unacceptable()
