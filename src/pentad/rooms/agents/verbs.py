"""The agents room's commands."""

from typing import Final

from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "agents": Verb(
        "pentad.rooms.agents.interface.cli.commands:agents", "Find agents, send them tasks, follow and cancel tasks."
    ),
}
FIRST_CONTENT: Final = "pentad agents register CARD"
"""The command that adds the first content, suggested when the room is empty."""
