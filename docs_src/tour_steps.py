"""The steps of a tour: a page of the documentation shows each with what it answers."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Ask:
    """A tool call. `keep` names members of the answer, with dots, that later calls use as `$name`."""

    tool: str
    arguments: dict[str, Any]
    keep: dict[str, str] = field(default_factory=dict)
    shown: bool = True
    answered: bool = True
    """Whether the page shows the answer too."""
    block: int | None = None
    """Show this block of the answer's text instead of its data."""
    hosted: tuple[str, ...] = ()
    """Agents to host for this call, from files of earlier commands: `module:Agent`."""
    later: float = 0.0
    """How many seconds later than the others it is made, if their order matters."""


@dataclass(frozen=True)
class Read:
    """A resource, by its URI, and its JSON."""

    uri: str


@dataclass(frozen=True)
class Command:
    """A command line. `file` is a file in the current folder that it reads, with its content."""

    line: str
    file: tuple[str, str] | None = None
    on_store: bool = True
    """Whether it works on the store of the tour."""


@dataclass(frozen=True)
class Request:
    """A request over HTTP and the body of its answer. A body of bytes is sent as it is, anything else as JSON.

    `path` and `body` may have `$name`; `keep` names members of the answer, or of the first event of a stream.
    """

    method: str
    path: str
    body: Any = None
    hosted: tuple[str, ...] = ()
    """Agents to host for this request, from files of earlier commands: `module:Agent`."""
    headers: dict[str, str] = field(default_factory=dict)
    """Headers that the page shows, too."""
    keep: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """Calls as rows of a table: what each one asks, what that means, and the answer in short.

    `arguments` are what all calls have in common and the table does not show. With `path`, a row is the query of a
    REST request instead, and `arguments` are more parameters. `column` is an argument with a column of its own.
    """

    tool: str
    arguments: dict[str, Any]
    rows: tuple[tuple[Any, str], ...]
    heads: tuple[str, ...] = ("query", "finds", "answer")
    column: str | None = None
    hidden: dict[str, dict[str, Any]] = field(default_factory=dict)
    """More arguments that the table does not show, by the value of that column."""
    argument: str | None = None
    """The argument that a row is, if it is not all of them."""
    shown: str | None = None
    """The only argument of a row that the table shows."""
    path: str | None = None
    member: str = "results"
    """The list in the answer that the table shows."""
