"""The verbs of the agents room."""

from typing import Final

from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "agents": Verb(
        "pentad.rooms.agents.interface.cli.commands:agents", "Find agents, send them tasks, follow and cancel tasks."
    ),
}
FIRST_CONTENT: Final = "pentad agents register CARD"
"""Puts the first content into the room; for people who find it empty."""
