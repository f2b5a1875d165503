"""What SQLite's errors mean to a caller.

Only what a caller or an operator can act on is translated. Mistakes in our own SQL stay as they are: they are bugs,
and the dispatcher reports them as such.
"""

from collections.abc import Callable
from typing import Final, NoReturn

import apsw

from pentad.kernel.errors import InvalidInput, LimitExceeded, Misconfigured, PentadError
from pentad.storage.refusals import dangling, exists, unacceptable
from pentad.storage.troubles import damaged, disk_error, disk_full, locked, read_only

_EXISTS = frozenset({apsw.SQLITE_CONSTRAINT_UNIQUE, apsw.SQLITE_CONSTRAINT_PRIMARYKEY, apsw.SQLITE_CONSTRAINT_ROWID})
_TROUBLES: Final[tuple[tuple[tuple[type[Exception], ...], Callable[[], PentadError]], ...]] = (
    ((apsw.FullError,), disk_full),
    ((apsw.BusyError, apsw.LockedError, apsw.ProtocolError), locked),
    ((apsw.IOError,), disk_error),
    ((apsw.CorruptError, apsw.NotADBError, apsw.FormatError), damaged),
)


def translated(error: Exception, *, writing: bool = False) -> Exception:
    """The error of Pentad that says the same, or the error itself where there is none.

    `writing`: it was met by a unit of work that may write, so a store that does not let it is read-only.
    """
    if isinstance(error, apsw.ConstraintError):
        return _constraint(error)
    for kinds, trouble in _TROUBLES:
        if isinstance(error, kinds):
            return trouble()
    if writing and isinstance(error, apsw.ReadOnlyError):
        return read_only()
    return _misuse(error)


def fail(error: Exception, *, writing: bool = False) -> NoReturn:
    """Raise what the error means."""
    meaning = translated(error, writing=writing)
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
