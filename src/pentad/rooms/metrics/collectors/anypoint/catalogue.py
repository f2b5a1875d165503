"""The thirteen collectors of the platform as data (`catalogue.json`): names, place in the tree, filters, metrics."""

from collections.abc import Mapping
from functools import cache

import msgspec

from pentad.rooms.metrics.models import Metric


class CollectorSpec(msgspec.Struct, frozen=True):
    """One collector. `root` is where its figures stand in the tree; `takes` are the filters it supports."""

    title: str
    description: str
    aliases: tuple[str, ...]
    root: tuple[str, ...]
    takes: frozenset[str]
    metrics: tuple[Metric, ...]


@cache
def collector_specs() -> Mapping[str, CollectorSpec]:
    """All specifications by collector id."""
    from importlib.resources import files  # slow to import

    text = files("pentad.rooms.metrics.collectors.anypoint").joinpath("catalogue.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, CollectorSpec])
