"""Snapshots for tests of the history."""

from collections.abc import Callable

from pentad.kernel.ports import Database, Transaction
from pentad.rooms.metrics.history.recording import write_samples
from pentad.rooms.metrics.models import Info, Metric, Sample, Scalar, Snapshot, State
from pentad.storage.migrations import MigrationSet
from tests.jobs.working import SETS as JOB_SETS

EVENTS = MigrationSet("events", "pentad.events.schema")
SETS = (*JOB_SETS, EVENTS, MigrationSet("metrics", "pentad.rooms.metrics.schema"))
NOON = 1_700_049_600.0
"""The beginning of an hour, and of the second half of a day."""

INFO = Info(
    id="toy",
    title="Toy",
    description="",
    catalogue=(
        Metric(key="used", description="", unit="By", better="lower", limit="total"),
        Metric(key="total", description="", unit="By"),
        Metric(key="busy", description="", unit="%", better="lower", warn=80, alarm=95),
        Metric(key="calls", description="", kind="counter"),
        Metric(key="versions", description="", kind="list"),
        Metric(key="passing", description="", kept=False),
    ),
)


def snapshot(
    at: float, scope: str = "", state: State = "ok", labels: tuple[tuple[str, str], ...] = (), **values: Scalar
) -> Snapshot:
    samples = [Sample(key=key, value=value, labels=labels, state=state) for key, value in values.items()]
    return Snapshot(collector="toy", scope=scope, as_of=at, tree={}, samples=samples)


async def record(
    database: Database, info: Info, shot: Snapshot, beside: Callable[[Transaction], object] | None = None
) -> int:
    """Write a snapshot, and do something else in the same transaction."""

    def work(transaction: Transaction) -> int:
        count = write_samples(transaction, info, shot)
        if beside is not None:
            beside(transaction)
        return count

    return await database.write(work)
