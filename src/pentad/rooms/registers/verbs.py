"""The registers room's commands."""

from typing import Final

from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "registers": Verb(
        "pentad.rooms.registers.interface.cli.commands:registers",
        "List registers; change schemas; import and export objects; save and run views.",
    ),
}
FIRST_CONTENT: Final = """pentad call registers action=create data='{"slug": "books", "title": "Books"}'"""
"""The command that adds the first content, suggested when the room is empty."""
