"""Anypoint MQ: queues and exchanges of each environment and region, and their messages of the last day."""

from collections.abc import Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Entry, Node, added, made, number, summed
from pentad.rooms.metrics.collectors.anypoint.environments import labelled
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

QUEUES: Final = {
    "messagesInFlight": "inflightMessages", "messagesSent": "messagesSent", "messagesReceived": "messagesReceived",
    "messagesAck": "messagesAcked",
}  # fmt: skip
EXCHANGES: Final = {"messagesPublished": "messagesPublished", "messagesDelivered": "messagesDelivered"}
QUEUE_KEYS: Final = ("commonQueues", "fifoQueues", *QUEUES)
EXCHANGE_KEYS: Final = ("exchangeQueues", *EXCHANGES)

Figures = tuple[Entry, Entry]
"""Of queues, and of exchanges."""

Seen = dict[tuple[str, str], Figures]
"""The figures of environments and regions that were worked out already; they are in the summary and by region."""


def mq(known: Known) -> dict[str, Node]:
    seen: Seen = {}
    by_region = {kind: regions_listed(known, environments, seen=seen) for kind, environments in known.kinds()}
    return {"stats": {"summary": summary(known, seen=seen), "byRegion": by_region}}


def regions_of(known: Known, environment: Environment) -> Cell:
    """The regions of an environment that are asked for, by id."""
    return made(
        lambda found: [
            str(one.get("regionId"))
            for one in found
            if known.in_region(one.get("regionId")) or (one.get("regionName") and known.in_region(one["regionName"]))
        ],
        known.cell("amq.regions", environment.id),
    )


def destination(item: Any) -> tuple[str, str]:
    """How its statistics are asked for."""
    if item.get("type") == "exchange":
        return "exchanges", str(item.get("exchangeId"))
    return "queues", str(item.get("queueId"))


def _once(known: Known, environment: Environment, region: str, most: int | None, seen: Seen | None) -> Figures:
    if seen is None:
        return in_region(known, environment, region, most)
    place = (environment.id, region)
    if place not in seen:
        seen[place] = in_region(known, environment, region, most)
    return seen[place]


def in_region(known: Known, environment: Environment, region: str, most: int | None = None) -> Figures:
    """The figures of one region; of the first so many destinations, if that is asked for."""
    listed = known.cell("amq.destinations", environment.id, region)
    items: Sequence[Any] = (listed.value or ())[:most]
    stats = [(item, known.cell("amq.stats", environment.id, region, *destination(item))) for item in items]
    queues = [cell for item, cell in stats if item.get("type") == "queue"]
    exchanges = [cell for item, cell in stats if item.get("type") == "exchange"]

    def number_of(kind: str, *fifo: bool) -> Cell:
        fits = [item for item in items if item.get("type") == kind and (not fifo or bool(item.get("fifo")) in fifo)]
        return made(lambda _: len(fits), listed)

    return (
        {
            "commonQueues": number_of("queue", False),
            "fifoQueues": number_of("queue", True),
            **{key: _points(listed, queues, name) for key, name in QUEUES.items()},
        },
        {
            "exchangeQueues": number_of("exchange"),
            **{key: _points(listed, exchanges, name) for key, name in EXCHANGES.items()},
        },
    )


def _points(listed: Cell, stats: Sequence[Cell], name: str) -> Cell:
    if listed.value is None:
        return listed
    return summed(
        [made(lambda said: added(number(point.get("value")) for point in said.get(name) or ()), cell) for cell in stats]
    )


def in_environment(
    known: Known, environment: Environment, most: int | None = None, seen: Seen | None = None
) -> Figures:
    regions = regions_of(known, environment)
    if regions.value is None:
        return dict.fromkeys(QUEUE_KEYS, regions), dict.fromkeys(EXCHANGE_KEYS, regions)
    return added_up([_once(known, environment, region, most, seen) for region in regions.value])


def added_up(figures: Sequence[Figures]) -> Figures:
    return (
        {key: summed([queues[key] for queues, _ in figures]) for key in QUEUE_KEYS},
        {key: summed([exchanges[key] for _, exchanges in figures]) for key in EXCHANGE_KEYS},
    )


def lacking(known: Known) -> Figures:
    return (
        dict.fromkeys(QUEUE_KEYS, known.environments_cell),
        dict.fromkeys(EXCHANGE_KEYS, known.environments_cell),
    )


def summary(known: Known, most: int | None = None, *, seen: Seen | None = None) -> dict[str, Node]:
    """By kind of environment; over the first so many destinations of each region, if that is asked for."""
    found: dict[str, Node] = {}
    for kind, environments in known.kinds():
        each = [in_environment(known, environment, most, seen) for environment in environments]
        queues, exchanges = lacking(known) if known.environments_cell.value is None else added_up(each)
        pairs = list(zip(environments, each, strict=True))
        found[kind] = {
            "queues": {**queues, "details": [labelled(one, figures[0]) for one, figures in pairs]},
            "exchanges": {**exchanges, "details": [labelled(one, figures[1]) for one, figures in pairs]},
        }
    return found


def regions_listed(
    known: Known, environments: Sequence[Environment], most: int | None = None, *, seen: Seen | None = None
) -> list[Node]:
    """For every region of these environments their figures together."""
    places: dict[str, list[Figures]] = {}
    for environment in environments:
        for region in regions_of(known, environment).value or ():
            places.setdefault(region, []).append(_once(known, environment, region, most, seen))
    found: list[Node] = []
    for region, figures in places.items():
        queues, exchanges = added_up(figures)
        found.append({"id": region, "queues": queues, "exchanges": exchanges})
    return found
