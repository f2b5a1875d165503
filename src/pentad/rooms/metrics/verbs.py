"""The verbs of the metrics room."""

from typing import Final

from pentad.terminal.verbs import Verb, Verbs

VERBS: Final[Verbs] = {
    "metrics": Verb(
        "pentad.rooms.metrics.interface.cli.commands:metrics",
        "Figures by collector and by key, their history, charts, alerts and exports.",
    ),
}
FIRST_CONTENT: Final = "pentad metrics poll host"
"""Puts the first content into the room; for people who find it empty."""
