"""What waits for a person in the metrics room, for the console's home page: collectors whose polls fail, and alerts."""

from collections.abc import Sequence
from typing import Final

from pentad.kernel.pages import Cell, Place, Visit, when
from pentad.rooms.metrics.interface.presentation import full_name, label_text
from pentad.rooms.metrics.service import Metrics

_MOST: Final = 5
_FAILING: Final = {"failing": "polls fail", "late": "polls are overdue"}


async def needs(metrics: Metrics, _visit: Visit) -> Sequence[tuple[Cell, str]]:
    """The collectors that fail, then the raised alerts, the worst first."""
    alerts, infos = await metrics.history.alerts(), metrics.infos()
    titles = {info.id: info.title for info in infos}
    failing = [one for one in await metrics.history.health() if one.state in _FAILING]
    rows = [
        (
            Cell(f"{titles.get(one.collector, one.collector)} {one.scope}".rstrip(), Place((one.collector,))),
            f"{_FAILING[one.state]} since {when(one.since)}" + (f": {one.problem}" if one.problem else ""),
        )
        for one in failing[:_MOST]
    ]
    if len(failing) > _MOST:
        rows.append((Cell("All collectors", Place()), f"{len(failing) - _MOST:,} more without fresh figures"))
    rows += [
        (
            Cell(full_name(infos, one.collector, one.key), Place((one.collector, one.key))),
            f"{one.level} since {when(one.since)}" + (f", {labels}" if (labels := label_text(one.labels)) else ""),
        )
        for one in alerts[:_MOST]
    ]
    rest = len(alerts) - _MOST
    return [*rows, (Cell("All alerts", Place()), f"{rest:,} more")] if rest > 0 else rows
