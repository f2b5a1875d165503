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
    block: int | None = None
    """Show this block of the answer's text instead of its data."""


@dataclass(frozen=True)
class Command:
    """A command line. `file` is a file in the current folder that it reads, with its content."""

    line: str
    file: tuple[str, str] | None = None
    on_store: bool = True
    """Whether it works on the store of the tour."""
