"""What PostgreSQL's errors mean to a caller, and which of them mean "run it again".

A driver's message can quote the connection string, so none of its text is passed on.
"""

import re
from typing import NoReturn

import psycopg
from psycopg import errors

from pentad.kernel.errors import DeadlineExceeded, InvalidInput, LimitExceeded, Misconfigured, PentadError, Unavailable
from pentad.storage.refusals import dangling, exists, unacceptable
from pentad.storage.troubles import damaged, disk_error, disk_full, read_only, unreachable

_COLLIDED = (errors.SerializationFailure, errors.DeadlockDetected)
_LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)


class Collided(Exception):
    """Two units of work got into each other's way; this one did nothing and can run again."""


class Lost(Exception):
    """The connection broke before the commit was asked for; the unit did nothing and can run again."""


def translated(error: Exception, *, writing: bool = False) -> Exception:
    """The error of Pentad that says the same, one of the two above, or the error itself.

    `writing`: it was met by a unit of work that may write, so a server that does not let it is read-only.
    """
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("A text holds half a surrogate pair.", hint="Send well-formed Unicode.")
    if not isinstance(error, psycopg.Error):
        return error
    if isinstance(error, _COLLIDED):
        return Collided()
    if _is_lost(error):
        return Lost()
    if writing and isinstance(error, errors.ReadOnlySqlTransaction):
        return read_only()
    return _refusal(error) or _trouble(error) or error


def fail(error: Exception, *, writing: bool = False) -> NoReturn:
    """Raise what the error means."""
    meaning = translated(error, writing=writing)
    if meaning is error:
        raise error
    raise meaning from error


def _is_lost(error: psycopg.Error) -> bool:
    if isinstance(error, _LOST):
        return True
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith("08")


def _refusal(error: psycopg.Error) -> PentadError | None:
    if isinstance(error, errors.UniqueViolation | errors.ExclusionViolation):
        return exists()
    if isinstance(error, errors.ForeignKeyViolation | errors.RestrictViolation):
        return dangling()
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return unacceptable()
    if isinstance(error, errors.ProgramLimitExceeded):
        return LimitExceeded("A value is too large to be stored.")
    return None


def _trouble(error: psycopg.Error) -> PentadError | None:
    if isinstance(error, errors.DiskFull):
        return disk_full()
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return damaged()
    if isinstance(error, errors.IoError):
        return disk_error()
    if isinstance(error, errors.QueryCanceled):
        return DeadlineExceeded("The store took too long to answer.", hint="Ask for less at a time.")
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return Misconfigured(
            "The store cannot be written to here.",
            hint="A reading unit of work must not write; otherwise the server may be a read-only replica.",
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return Misconfigured("The database user lacks a right.", hint="Let Pentad's user own its database.")
    if isinstance(error, psycopg.OperationalError):
        return Unavailable("The database server could not do it.", hint="Nothing was changed; try again in a moment.")
    return None


def connecting(error: psycopg.Error) -> PentadError:
    """Why a connection could not be made, without a word of the connection string.

    A failed connection has no SQLSTATE, so the text has to tell; in a language not known here it is just an outage.
    """
    text = str(error)
    if "authentication failed" in text or "no password supplied" in text or re.search(r'role ".*" does not', text):
        return Misconfigured(
            "The database server refused the user or the password.", hint="Check the credentials in --database."
        )
    if re.search(r'database ".*" does not exist', text):
        return Misconfigured(
            "There is no such database on the server.",
            hint="Create it: CREATE DATABASE pentad ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0",
        )
    if isinstance(error, psycopg.ProgrammingError):
        return Misconfigured(
            "The database URL cannot be understood.", hint="It has the form postgresql://user:password@host:5432/name"
        )
    return unreachable()
