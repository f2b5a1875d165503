"""The past as a source kept it itself, for collectors whose source does: Prometheus has had these figures long before
anybody polled them here."""

import math
from collections.abc import Sequence
from typing import Final

from pentad.kernel.errors import Unavailable
from pentad.rooms.metrics.collectors.contract import Remembering
from pentad.rooms.metrics.engine.answering import Engine
from pentad.rooms.metrics.engine.fetching import Question
from pentad.rooms.metrics.history.store import Point, Series, sampled
from pentad.rooms.metrics.model import Failed

SECONDS: Final = 25.0
FINEST: Final = 15


async def remembered(
    engine: Engine, collector: str, keys: Sequence[str], begin: float, end: float, *, step: int | None, most: int
) -> list[tuple[Series, list[Point]]]:
    """Lines of the source's own memory; none where it has none."""
    chosen = engine.catalogue.find(collector)
    if not isinstance(chosen, Remembering) or not chosen.info().ready:
        return []
    width = max(FINEST, math.ceil((end - begin) / most), step or 0)
    question = Question(engine.wires, deadline=engine.clock.monotonic() + SECONDS)
    found: list[tuple[Series, list[Point]]] = []
    for key in keys:
        try:
            lines = await chosen.past(key, begin, end, width, question)
        except Failed as failed:
            raise Unavailable(f"{chosen.title} did not give the past of {key!r}: {failed.problem.message}") from None
        for label, points in lines.items():
            series = Series(0, chosen.id, "", key, (("id", label),) if label else (), "gauge", None)
            found.append((series, [sampled(at, value) for at, value in points if value is not None]))
    return found
