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
"""The command that adds the first content, suggested when the room is empty."""
