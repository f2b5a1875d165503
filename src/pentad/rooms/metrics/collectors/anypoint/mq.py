"""Anypoint MQ: queues and exchanges of each environment and region, and their messages of the last day."""

from collections.abc import Sequence
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts, with_environment
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Entry, Node, derive, exact_sum, sum_cells

QUEUES: Final = {
    "messagesInFlight": "inflightMessages", "messagesSent": "messagesSent", "messagesReceived": "messagesReceived",
    "messagesAck": "messagesAcked",
}  # fmt: skip
EXCHANGES: Final = {"messagesPublished": "messagesPublished", "messagesDelivered": "messagesDelivered"}
QUEUE_KEYS: Final = ("commonQueues", "fifoQueues", *QUEUES)
EXCHANGE_KEYS: Final = ("exchangeQueues", *EXCHANGES)

Figures = tuple[Entry, Entry]
"""The figures of queues, and of exchanges."""

FigureCache = dict[tuple[str, str], Figures]
"""Figures already computed, by environment and region; both the summary and the list of regions need them."""


def mq(known: GroupFacts) -> dict[str, Node]:
    seen: FigureCache = {}
    by_region = {
        kind: figures_by_region(known, environments, seen=seen)
        for kind, environments in known.by_type()
        if known.missing(kind) is None
    }
    return {"stats": {"summary": summary(known, seen=seen), "byRegion": by_region}}


def regions_of(known: GroupFacts, environment: Environment) -> Cell:
    """The ids of the regions of an environment that the query includes."""
    return derive(
        lambda found: [
            str(one.get("regionId"))
            for one in found
            if known.in_region(one.get("regionId")) or (one.get("regionName") and known.in_region(one["regionName"]))
        ],
        known.cell("amq.regions", environment.id),
    )


def destination(item: Any) -> tuple[str, str]:
    """The kind and id under which its statistics are fetched."""
    if item.get("type") == "exchange":
        return "exchanges", str(item.get("exchangeId"))
    return "queues", str(item.get("queueId"))


def _cached_figures(
    known: GroupFacts, environment: Environment, region: str, most: int | None, seen: FigureCache | None
) -> Figures:
    if seen is None:
        return region_figures(known, environment, region, most)
    place = (environment.id, region)
    if place not in seen:
        seen[place] = region_figures(known, environment, region, most)
    return seen[place]


def region_figures(known: GroupFacts, environment: Environment, region: str, most: int | None = None) -> Figures:
    """The figures of one region, of the first `most` destinations if given."""
    listed = known.cell("amq.destinations", environment.id, region)
    items: Sequence[Any] = (listed.value or ())[:most]
    stats = [(item, known.cell("amq.stats", environment.id, region, *destination(item))) for item in items]
    queues = [cell for item, cell in stats if item.get("type") == "queue"]
    exchanges = [cell for item, cell in stats if item.get("type") == "exchange"]

    def number_of(kind: str, *fifo: bool) -> Cell:
        fits = [item for item in items if item.get("type") == kind and (not fifo or bool(item.get("fifo")) in fifo)]
        return derive(lambda _: len(fits), listed)

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
    return sum_cells(
        [derive(lambda stats: exact_sum(point["value"] for point in stats.get(name) or ()), cell) for cell in stats]
    )


def environment_figures(
    known: GroupFacts, environment: Environment, most: int | None = None, seen: FigureCache | None = None
) -> Figures:
    regions = regions_of(known, environment)
    if regions.value is None:
        return dict.fromkeys(QUEUE_KEYS, regions), dict.fromkeys(EXCHANGE_KEYS, regions)
    return sum_figures([_cached_figures(known, environment, region, most, seen) for region in regions.value])


def sum_figures(figures: Sequence[Figures]) -> Figures:
    return (
        {key: sum_cells([queues[key] for queues, _ in figures]) for key in QUEUE_KEYS},
        {key: sum_cells([exchanges[key] for _, exchanges in figures]) for key in EXCHANGE_KEYS},
    )


def summary(known: GroupFacts, most: int | None = None, *, seen: FigureCache | None = None) -> dict[str, Node]:
    """The figures by type of environment, over the first `most` destinations of each region if given."""
    found: dict[str, Node] = {}
    for kind, environments in known.by_type():
        if (missing := known.missing(kind)) is not None:
            found[kind] = {
                "queues": dict.fromkeys(QUEUE_KEYS, missing), "exchanges": dict.fromkeys(EXCHANGE_KEYS, missing)
            }  # fmt: skip
            continue
        each = [environment_figures(known, environment, most, seen) for environment in environments]
        queues, exchanges = sum_figures(each)
        pairs = list(zip(environments, each, strict=True))
        found[kind] = {
            "queues": {**queues, "details": [with_environment(one, figures[0]) for one, figures in pairs]},
            "exchanges": {**exchanges, "details": [with_environment(one, figures[1]) for one, figures in pairs]},
        }
    return found


def figures_by_region(
    known: GroupFacts, environments: Sequence[Environment], most: int | None = None, *, seen: FigureCache | None = None
) -> list[Node]:
    """The combined figures of these environments for each region."""
    places: dict[str, list[Figures]] = {}
    for environment in environments:
        for region in regions_of(known, environment).value or ():
            places.setdefault(region, []).append(_cached_figures(known, environment, region, most, seen))
    found: list[Node] = []
    for region, figures in places.items():
        queues, exchanges = sum_figures(figures)
        found.append({"id": region, "queues": queues, "exchanges": exchanges})
    return found
