"""Figures of newer products: Flex Gateway, usage meters, the audit log; `preview_api.py` says why a preview."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts, by_environment_type
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Entry, Node, derive, exact_sum
from pentad.rooms.metrics.collectors.anypoint.preview_api import METERS

GATEWAY_KEYS: Final = ("total", "running", "notRunning")
RUNNING: Final = frozenset({"running", "active", "started"})
ACTIONS: Final = {"created": "create", "updated": "update", "deleted": "delete"}


def is_gateway_running(gateway: Any) -> bool:
    return str(gateway.get("status")).casefold() in RUNNING


def flex_gateways(known: GroupFacts) -> dict[str, Node]:
    """Managed Flex Gateways by whether they run."""

    def figures(environment: Environment) -> Entry:
        listed = known.cell("flex.gateways", environment.id)
        running = derive(lambda found: sum(1 for one in found if is_gateway_running(one)), listed)
        return {
            "total": derive(len, listed),
            "running": running,
            "notRunning": derive(lambda found, up: len(found) - up, listed, running),
        }

    return {"gateways": dict(by_environment_type(known, GATEWAY_KEYS, {}, figures))}


def group_rows(known: GroupFacts, fact: str) -> Cell:
    """The rows of a meter that are this group's. The meters are those of the whole organisation."""
    return derive(lambda rows: [row for row in rows if row.get("org_name") == known.group.name], known.top_cell(fact))


def usage_meters(known: GroupFacts) -> dict[str, Node]:
    """Messages and bytes of the period, and flows on the day with the most of them."""
    flows = derive(_greatest_day, group_rows(known, "meters.flows"))
    sums = {
        name.partition(".")[2]: derive(lambda rows, column=column: _sum(rows, column), group_rows(known, name))
        for name, (_, column) in METERS.items()
        if name != "meters.flows"
    }
    return {"meters": {"flows": flows, **sums}}


def _sum(rows: Iterable[Mapping[str, Any]], column: str) -> int | float:
    return exact_sum(row[column] for row in rows)


def _greatest_day(rows: Iterable[Mapping[str, Any]]) -> int | float:
    days: dict[Any, list[Any]] = {}
    for row in rows:
        days.setdefault(row["timestamp"], []).append(row["mule_flow_count"])
    return max((exact_sum(counts) for counts in days.values()), default=0)


def audit_log(known: GroupFacts) -> dict[str, Node]:
    """Changes by people in the last days."""
    entries = known.cell("audit.log")

    def count(action: str) -> Cell:
        return derive(lambda found: sum(1 for one in found if action_of(one) == action), entries)

    people = derive(lambda found: len({one.get("userName") for one in found if one.get("userName")}), entries)
    return {
        "changes": {
            "total": derive(len, entries), **{key: count(action) for key, action in ACTIONS.items()}, "people": people
        }
    }  # fmt: skip


def action_of(entry: Any) -> str:
    return str(entry.get("action") or "").casefold()
