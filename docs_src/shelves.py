from collections.abc import Sequence
from typing import Any

from pentad.rooms.metrics.collectors.contract import Collector, CollectorContext, Upstream
from pentad.rooms.metrics.models import Fact, Facts, Info, Metric, Plan, Query, Sample, Snapshot, missing_samples

STOCK = Fact("shelves.stock")
CATALOGUE = (
    Metric(key="items", description="Items on the shelves.", facts=(STOCK.name,)),
    Metric(
        key="full", description="Share of the places in use.", unit="%", formula="items / places x 100",
        facts=(STOCK.name,), better="lower", warn=80, alarm=95,
    ),
)  # fmt: skip


class Shelves:
    id, title, aliases = "shelves", "Shelves", ("warehouse",)

    def __init__(self, url: str) -> None:
        self._url = url

    def info(self) -> Info:
        return Info(
            id=self.id, title=self.title, description="How full the shelves are.", catalogue=CATALOGUE, ttl=30.0,
            poll_seconds=300.0, ready=bool(self._url), missing="Set rooms.metrics.shelves_url.",
        )  # fmt: skip

    def plan(self, query: Query, known: Facts) -> Plan:
        return Plan(() if STOCK in known else (STOCK,), calls=1)

    async def fetch(self, fact: Fact, upstream: Upstream) -> Any:
        return await upstream.get(f"{self._url}/stock")

    def reduce(self, query: Query, facts: Facts) -> Snapshot:
        samples, stock = missing_samples(CATALOGUE, query, facts), facts.value(STOCK)
        tree: dict[str, Any] = {}
        if stock is not None:
            tree = {"items": stock["items"], "full": round(100 * stock["items"] / stock["places"], 1)}
            samples += [Sample(key=m.key, value=tree[m.key], unit=m.unit) for m in CATALOGUE]
        return Snapshot(collector=self.id, scope="", as_of=query.now, tree=tree, samples=samples)


def collectors(context: CollectorContext) -> Sequence[Collector]:
    url = context.settings.get("shelves_url")
    return [Shelves(context.trust(url) if url else "")]
