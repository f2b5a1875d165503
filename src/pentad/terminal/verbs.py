"""How a command is declared before it is imported.

`pentad --help`, `--version` and shell completion use only these declarations, because importing the commands would be
slow. So a module that declares verbs imports nothing but this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """Where a command lives (`module:attribute`) and its line in the help.

    A verb that is not `listed` is an alias: a name that the documents of another system use.
    """

    target: str
    help: str
    listed: bool = True


Verbs = Mapping[str, Verb]
"""Verbs by name."""
