"""Object Store v2: requests of the last whole day."""

from typing import Final

from pentad.rooms.metrics.collectors.anypoint.cells import Entry, Node, added, made, number
from pentad.rooms.metrics.collectors.anypoint.environments import by_kind
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

KEYS: Final = ("requestCount",)


def object_store(known: Known) -> dict[str, Node]:
    return {"stats": dict(by_kind(known, KEYS, {}, lambda environment: figures(known, environment)))}


def figures(known: Known, environment: Environment) -> Entry:
    counts = known.cell("osv2.stats", environment.id)
    return {
        "requestCount": made(lambda found: added(number(one.get("objectStoreRequestCount")) for one in found), counts)
    }
