"""The verbs of the directory."""

from typing import Final

from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "directory": Verb(
        "pentad.rooms.directory.interface.cli.commands:directory",
        "Validate, push, find, translate and sign agent records.",
    ),
}
FIRST_CONTENT: Final = "pentad directory import FOLDER"
"""The command that adds the first content, suggested when the room is empty."""
