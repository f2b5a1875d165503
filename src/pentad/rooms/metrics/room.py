"""What the metrics room offers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.platform import Platform, Room


@asynccontextmanager
async def open_metrics(platform: Platform) -> AsyncGenerator[Platform]:
    yield platform


ROOM = Room(
    name="metrics",
    title="Metrics",
    instructions=(
        "Metrics of platforms, of this machine and of Pentad itself, by collector and by key, with their history."
        " Values that could not be had say why; they are never zeros."
    ),
    open=open_metrics,
    schema="pentad.rooms.metrics.schema",
)
