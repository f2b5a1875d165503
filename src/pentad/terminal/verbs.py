"""Declares commands without importing them.

`pentad --help`, `--version` and shell completion use only these declarations, because importing the commands is slow. A
module that declares verbs must import nothing but this one.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """The target of a command (`module:attribute`) and its line in the help.

    A verb that is not `listed` is an alias from another system's documentation.
    """

    target: str
    help: str
    listed: bool = True


Verbs = Mapping[str, Verb]
"""Verbs by name."""
