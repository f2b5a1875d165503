"""Printing and exit codes: data goes to stdout, everything else to stderr.

Commands in messages are printed as the reader has to type them (`terminal/program.py`). Text from the store may contain
terminal escapes; they never reach a terminal. rich is imported only to draw a table or a progress bar on a terminal.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Final, TextIO

import click

from pentad.kernel.errors import (
    DeadlineExceeded,
    Forbidden,
    Misconfigured,
    NotFound,
    Overloaded,
    PentadError,
    RateLimited,
    Unauthenticated,
    Unavailable,
)
from pentad.terminal.program import with_program

OnProgress = Callable[[str, int, int | None], None]
"""Receives a description, the amount done, and the total if known."""


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNKNOWN = 3
    REFUSED = 4
    UNAVAILABLE = 5
    INTERRUPTED = 130


EXIT_CODES: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "failure; stderr says why",
    ExitCode.USAGE: "wrong usage or configuration",
    ExitCode.UNKNOWN: "not found",
    ExitCode.REFUSED: "not logged in, or not allowed",
    ExitCode.UNAVAILABLE: "the store or the server cannot be reached",
    ExitCode.INTERRUPTED: "ended by Ctrl-C",
}

_BY_ERROR: Final[tuple[tuple[type[PentadError], ExitCode], ...]] = (
    (Misconfigured, ExitCode.USAGE),
    (NotFound, ExitCode.UNKNOWN),
    (Unauthenticated, ExitCode.REFUSED),
    (Forbidden, ExitCode.REFUSED),
    (Unavailable, ExitCode.UNAVAILABLE),
    (DeadlineExceeded, ExitCode.UNAVAILABLE),
    (RateLimited, ExitCode.UNAVAILABLE),
    (Overloaded, ExitCode.UNAVAILABLE),
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
_GAP: Final = "  "


def exit_code(error: PentadError) -> ExitCode:
    """The exit code of an error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), ExitCode.FAILED)


def print_text(text: str) -> None:
    """Print data unchanged, except that a terminal gets no control characters."""
    # color=True keeps click from removing escapes from data that goes to a file.
    click.echo(visible(text) if sys.stdout.isatty() else text, color=True)


def print_json(value: Any) -> None:
    """Print data as JSON, for programs."""
    click.echo(json.dumps(value, ensure_ascii=not _is_utf8(), indent=2, default=str))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """Print rows: a drawn table on a terminal, otherwise aligned columns. Without rows, `empty` goes to stderr."""
    texts = [[visible(str(cell)).replace("\n", " ") for cell in row] for row in rows]
    if not texts:
        say(empty)
    elif sys.stdout.isatty():
        _draw(columns, texts)
    else:
        widths = [max(map(len, column)) for column in zip(columns, *texts, strict=True)]
        for line in (columns, *texts):
            click.echo(_GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def say(text: str) -> None:
    """Print a message to stderr."""
    click.echo(visible(with_program(text)), err=True)


def warn(text: str) -> None:
    """Print a warning to stderr."""
    _labelled("warning", "yellow", text)


def print_error(message: str, hint: str | None = None) -> None:
    """Print why the command failed and what to do about it."""
    _labelled("error", "red", message)
    if hint:
        _labelled("hint", "cyan", hint)


@contextmanager
def progress_bar() -> Generator[OnProgress]:
    """A progress line on a terminal's stderr, removed at the end."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(line, description=what, completed=done, total=total)


def visible(text: str) -> str:
    """The text with control and direction characters escaped, so that it cannot manipulate a terminal."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def _labelled(label: str, colour: str, text: str) -> None:
    head = click.style(f"{label}:", fg=colour, bold=True) if wants_colour(sys.stderr) else f"{label}:"
    click.echo(f"{head} {visible(with_program(text))}", err=True)


def wants_colour(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal without NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def _is_utf8() -> bool:
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"


def _draw(columns: Sequence[str], texts: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column)
    for row in texts:
        table.add_row(*(Text(cell) for cell in row))
    Console(no_color=bool(os.environ.get("NO_COLOR"))).print(table)
