"""The verbs of the avatars room."""

from typing import Final

from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "avatars": Verb(
        "pentad.rooms.avatars.interface.cli.commands:avatars",
        "Create avatars, ingest documents, ask, evaluate and publish them, or serve one.",
    ),
    "@avatar-sdk/mcp-server": Verb(
        "pentad.rooms.avatars.interface.cli.commands:serve",
        "Serve one avatar over stdin and stdout, under the name and version its config.json gives it.",
        listed=False,
    ),
}
FIRST_CONTENT: Final = "pentad avatars ingest FOLDER"
"""The command that adds the first content, suggested when the room is empty."""
