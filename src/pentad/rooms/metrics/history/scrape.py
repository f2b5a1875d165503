"""The page that Prometheus scrapes: the samples of the last poll of each collector.

It reads the store, never a source. A figure without a value in the last poll is not on the page, so Prometheus ends
its series. A collector whose polls are late has only `collector.up`, which is 0. The page of a single business group
includes `collector.up`, too. The text of a collector is cached until its next poll.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import msgspec

from pentad.kernel.ports import Database, Row, Rows
from pentad.rooms.metrics import store
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.collector_health import UP, CollectorHealth
from pentad.rooms.metrics.history.recording import with_up_metric
from pentad.rooms.metrics.loaders.prometheus_text import EOF_LINE, FamilyWriter
from pentad.rooms.metrics.models import Labels

OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PLAIN_TEXT: Final = "text/plain; version=0.0.4; charset=utf-8"
_GROUP_LABELS: Final = ("businessGroup", "businessGroupId")
_decode_labels: Final = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True)
class PollKey:
    """The cache key of a collector's text: for each scope, the time of its last poll and whether it is late."""

    polls: tuple[tuple[str, float, bool], ...]
    bg: str | None
    openmetrics: bool


class ScrapePage:
    """Renders the last polls of all collectors."""

    def __init__(self, database: Database, catalogue: Catalogue) -> None:
        self._database = database
        self._catalogue = catalogue
        self._texts: dict[tuple[str, str | None, bool], tuple[PollKey, str]] = {}
        self._rendering = asyncio.Lock()

    async def text(
        self,
        health: Sequence[CollectorHealth],
        *,
        collectors: Collection[str] = (),
        bg: str | None = None,
        openmetrics: bool = True,
    ) -> str:
        """The page of these collectors, or of all; of one business group, or of all."""
        polled = sorted(health, key=lambda one: (one.collector, one.scope))
        parts: list[str] = []
        async with self._rendering:  # concurrent scrapes share the rendered texts
            for collector, found in groupby(polled, key=lambda one: one.collector):
                if not collectors or collector in collectors:
                    parts.append(await self._collector_text(collector, list(found), bg, openmetrics=openmetrics))
        return "".join([*parts, EOF_LINE] if openmetrics else parts)

    async def _collector_text(
        self, collector: str, found: Sequence[CollectorHealth], bg: str | None, *, openmetrics: bool
    ) -> str:
        last = {one.series_scope: one for one in sorted(found, key=lambda one: one.tried_at)}
        polls = tuple((scope, one.tried_at, one.state == "late") for scope, one in sorted(last.items()))
        key = PollKey(polls, bg, openmetrics)
        place = (collector, bg, openmetrics)
        kept = self._texts.get(place)
        if kept is not None and kept[0] == key:
            return kept[1]
        rows = await self._database.read(lambda rows: _last_samples(rows, collector, polls))
        text = await asyncio.to_thread(self._render, collector, rows, polls, bg, openmetrics=openmetrics)
        if bg is None:  # groups come from callers, so caching them would have no bound
            self._texts[place] = (key, text)
        return text

    def _render(
        self, collector: str, rows: Sequence[Row], polls: Sequence[tuple[str, float, bool]], bg: str | None,
        *, openmetrics: bool,
    ) -> str:  # fmt: skip
        catalogue = with_up_metric(self._catalogue.find(collector).info()).catalogue
        writer = FamilyWriter(collector, catalogue, openmetrics=openmetrics)
        wanted = None if bg is None else bg.casefold()
        known: dict[str, Labels] = {}
        for key, label_text, scope, unit, value in rows:
            labels = known.get(label_text)
            if labels is None:
                labels = known[label_text] = tuple(_decode_labels(label_text).items())
            if wanted is None or key == UP.key or _is_of_group(scope, labels, wanted):
                writer.add(key, value, labels, scope=scope, unit=unit)
        for scope, _, is_late in polls:
            if is_late:
                writer.add(UP.key, 0, scope=scope)
        return writer.text()


def _last_samples(rows: Rows, collector: str, polls: Sequence[tuple[str, float, bool]]) -> list[Row]:
    return [
        row
        for scope, polled_at, is_late in polls
        if not is_late
        for row in store.samples_at(rows, collector, scope, polled_at)
    ]


def _is_of_group(scope: str, labels: Labels, wanted: str) -> bool:
    if scope.casefold() == wanted:
        return True
    return any(name in _GROUP_LABELS and text.casefold() == wanted for name, text in labels)
