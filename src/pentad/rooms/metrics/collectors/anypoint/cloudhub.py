"""CloudHub: applications and the vCores they take, beside what the group may use."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.cells import (
    Cell,
    Entry,
    Node,
    added,
    at,
    counted,
    made,
    number,
    plain,
)
from pentad.rooms.metrics.collectors.anypoint.core import networking, vcores
from pentad.rooms.metrics.collectors.anypoint.environments import by_kind
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

KEYS: Final = (
    "vcoresUsed", "applicationsTotal", "applicationsStarted", "applicationsStopped", "runtimesUsed", "runtimesUsedTotal"
)  # fmt: skip
LISTS: Final = {"runtimesUsed": "runtimesUsedTotal"}


def cloudhub(known: Known) -> dict[str, Node]:
    return {"networking": networking(known), "applications": applications(known)}


def applications(known: Known) -> dict[str, Node]:
    found = by_kind(known, KEYS, LISTS, lambda environment: figures(known, environment))
    for kind, part in found.items():
        total, used = vcores(known, kind), part["vcoresUsed"]
        left = made(lambda all_of_it, taken: added((all_of_it, -taken)), total, used)
        if known.filtered and left.value is not None:
            left = Cell(left.value, "partial")
        found[kind] = {"vcoresTotal": total, "vcoresUsed": used, "vcoresAvailable": left, **part}
    return dict(found)


def figures(known: Known, environment: Environment) -> Entry:
    apps = made(
        lambda found: [app for app in found if known.in_region(app.get("region"))],
        known.cell("ch.applications", environment.id),
    )
    started = made(lambda found: sum(1 for app in found if _is_started(app)), apps)
    runtimes = made(lambda found: different(at(app, "muleVersion", "version") for app in found), apps)
    return {
        "vcoresUsed": made(_used, apps),
        "applicationsTotal": made(len, apps),
        "applicationsStarted": started,
        "applicationsStopped": made(lambda found, running: len(found) - running, apps, started),
        "runtimesUsed": runtimes,
        "runtimesUsedTotal": counted(runtimes),
    }


def different(values: Iterable[Any]) -> list[str]:
    """Texts there are, each once, in the order they are first seen."""
    return list(dict.fromkeys(str(value) for value in values if value is not None))


def _is_started(app: Any) -> bool:
    return app.get("status") == "STARTED"


def _used(apps: Iterable[Any]) -> int | float:
    return plain(
        sum(
            (
                Decimal(str(number(at(app, "workers", "type", "weight"))))
                * Decimal(str(number(at(app, "workers", "amount"))))
                for app in apps
                if _is_started(app)
            ),
            Decimal(0),
        )
    )
