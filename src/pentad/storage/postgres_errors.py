"""Translates PostgreSQL's errors into Pentad's, and identifies those after which a unit of work may be retried.

A driver's message can quote the connection string, so none of its text is passed on.
"""

import re
from typing import NoReturn

import psycopg
from psycopg import errors

from pentad.kernel.errors import DeadlineExceeded, InvalidInput, LimitExceeded, Misconfigured, PentadError, Unavailable
from pentad.storage.errors import (
    check_violation,
    damaged,
    disk_error,
    disk_full,
    read_only,
    reference_violation,
    unique_violation,
    unreachable,
)

_CONFLICTS = (errors.SerializationFailure, errors.DeadlockDetected)
_LOST = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.IdleInTransactionSessionTimeout,
)


class SerializationConflict(Exception):
    """Two units of work conflicted; this one changed nothing and can run again."""


class ConnectionLost(Exception):
    """The connection broke before the commit was sent; the unit changed nothing and can run again."""


def translate_error(error: Exception, *, writing: bool = False) -> Exception:
    """Pentad's error for it, one of the two above, or the error itself.

    `writing`: it occurred in a unit of work that may write, so a server that refuses the write is read-only.
    """
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("A text holds half a surrogate pair.", hint="Send well-formed Unicode.")
    if not isinstance(error, psycopg.Error):
        return error
    if isinstance(error, _CONFLICTS):
        return SerializationConflict()
    if _is_lost(error):
        return ConnectionLost()
    if writing and isinstance(error, errors.ReadOnlySqlTransaction):
        return read_only()
    return _violation(error) or _fault(error) or error


def raise_translated(error: Exception, *, writing: bool = False) -> NoReturn:
    """Raise Pentad's error for it, or the error itself."""
    translation = translate_error(error, writing=writing)
    if translation is error:
        raise error
    raise translation from error


def _is_lost(error: psycopg.Error) -> bool:
    if isinstance(error, _LOST):
        return True
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith("08")


def _violation(error: psycopg.Error) -> PentadError | None:
    if isinstance(error, errors.UniqueViolation | errors.ExclusionViolation):
        return unique_violation()
    if isinstance(error, errors.ForeignKeyViolation | errors.RestrictViolation):
        return reference_violation()
    if isinstance(error, psycopg.IntegrityError | psycopg.DataError):
        return check_violation()
    if isinstance(error, errors.ProgramLimitExceeded):
        return LimitExceeded("A value is too large to be stored.")
    return None


def _fault(error: psycopg.Error) -> PentadError | None:
    if isinstance(error, errors.DiskFull):
        return disk_full()
    if isinstance(error, errors.DataCorrupted | errors.IndexCorrupted):
        return damaged()
    if isinstance(error, errors.IoError):
        return disk_error()
    if isinstance(error, errors.QueryCanceled):
        return DeadlineExceeded("The store took too long to respond.", hint="Ask for less at a time.")
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


def connection_error(error: psycopg.Error) -> PentadError:
    """The reason a connection failed, without any part of the connection string.

    A failed connection has no SQLSTATE, so the message text decides; in an unknown language it counts as an outage.
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
