"""What waits for a person in the metrics room: raised alerts, for the console's home page."""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.pages import Cell, Place, Visit, when
from pentad.rooms.metrics.interface.presentation import full_name, label_text
from pentad.rooms.metrics.service import Metrics

_MOST: Final = 5


async def needs(metrics: Metrics, _visit: Visit) -> Sequence[tuple[Cell, str]]:
    """The raised alerts, the worst first."""
    alerts, infos = await metrics.history.alerts(), metrics.infos()
    rows = [
        (
            Cell(full_name(infos, one.collector, one.key), Place((one.collector, one.key))),
            f"{one.level} since {when(one.since)}" + (f", {labels}" if (labels := label_text(one.labels)) else ""),
        )
        for one in alerts[:_MOST]
    ]
    rest = len(alerts) - len(rows)
    return [*rows, (Cell("All alerts", Place()), f"{rest:,} more")] if rest else rows
