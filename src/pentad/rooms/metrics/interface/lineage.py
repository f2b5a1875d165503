"""The lineage of recorded figures (`Room.lineage`): the poll and the collector behind them."""

import re
from typing import Final
from urllib.parse import quote, unquote

from pentad.kernel.clock import iso
from pentad.kernel.provenance import Link, Origin, Thing
from pentad.rooms.metrics.history.metric_history import DEFAULT_SCOPE
from pentad.rooms.metrics.interface.resources import split_moment
from pentad.rooms.metrics.service import Metrics

_FIGURE: Final = re.compile(r"metrics://([^/?#]+)/([^/?#]+)/([^/#]+)")


async def lineage(metrics: Metrics, uri: str) -> Origin | None:
    """The origin of a metric's value at a moment. Everyone with access to the room may read all figures."""
    found = _FIGURE.fullmatch(uri)
    if found is None or found[1] == "catalog":
        return None
    (collector,) = metrics.select_collectors([unquote(found[1])])
    bg = unquote(found[2])
    key, moment = split_moment(unquote(found[3]), metrics.now())
    values = await metrics.history.at(collector, key, moment, scope=None if bg == DEFAULT_SCOPE else bg)
    at = max(one.at for one in values)
    # a time in a URI has milliseconds, and must not be before the value
    address = f"metrics://{quote(collector)}/{quote(bg, safe='')}/{quote(key, safe='')}?at={iso(at + 0.001)}"
    poll = Thing(f"urn:pentad:poll:{collector}:{iso(at)}", "activity", "poll", collector, at, at)
    program = Thing(f"urn:pentad:collector:{collector}", "agent", "collector", metrics.info(collector).title)
    return Origin(
        Thing(address, "entity", "metric", key, at),
        [Link("wasGeneratedBy", poll, at), Link("wasAssociatedWith", program, source=poll.uri)],
    )
