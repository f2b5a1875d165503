"""API Manager: APIs, their policies and contracts, client applications, transactions."""

from collections.abc import Iterable
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
    state_of,
    worst,
)
from pentad.rooms.metrics.collectors.anypoint.core import DAY, moment
from pentad.rooms.metrics.collectors.anypoint.environments import by_kind
from pentad.rooms.metrics.collectors.anypoint.known import Known
from pentad.rooms.metrics.collectors.anypoint.tree import Environment

APIS: Final = (
    "total", "active", "inactive", "apiInstances", "apiVersions", "apisWithPolicies", "apisWithoutPolicies",
    "apisWithSecurity", "apisWithoutSecurity", "apisWithContracts", "apisWithoutContracts",
    "apisWithMoreThanOneConsumer", "apisWithOneOrMoreConsumers", "contracts", "policiesUsed", "policiesUsedTotal",
)  # fmt: skip
AUTOMATED: Final = ("automatedPoliciesUsed", "automatedPoliciesUsedTotal")
TRANSACTIONS: Final = ("transactions",)
LISTS: Final = {
    "policiesUsed": "policiesUsedTotal", "automatedPoliciesUsed": "automatedPoliciesUsedTotal",
    "_versions": "apiVersions",
}  # fmt: skip


def api_manager(known: Known) -> dict[str, Node]:
    keys = ("_versions", *APIS, *AUTOMATED, *TRANSACTIONS)
    return {
        "clients": made(len, known.cell("apc.clients")),
        "apis": by_kind(known, keys, LISTS, lambda environment: figures(known, environment)),
    }


def instances(assets: Iterable[Any]) -> list[Any]:
    return [instance for asset in assets for instance in asset.get("apis") or ()]


def figures(known: Known, environment: Environment) -> Entry:
    assets = known.cell("apm.apis", environment.id)
    running = made(instances, assets)
    automated = made(
        lambda found: list(dict.fromkeys(str(policy.get("assetId")) for policy in found)),
        known.cell("ap.policies", environment.id),
    )
    versions = made(lambda found: list(dict.fromkeys(one.get("productVersion") for one in found)), running)
    active, inactive = _activity(running, known.now)
    return {
        "_versions": versions,
        "total": made(len, assets),
        "active": active,
        "inactive": inactive,
        "apiInstances": made(lambda found: added(number(asset.get("totalApis")) for asset in found), assets),
        "apiVersions": counted(versions),
        **_by_policies(known, environment, running),
        **_by_contracts(running),
        "automatedPoliciesUsed": automated,
        "automatedPoliciesUsedTotal": counted(automated),
        "transactions": transactions(known, environment),
    }


def _activity(running: Cell, now: float) -> tuple[Cell, Cell]:
    """Called within a day, or not. An instance that does not say counts in neither."""
    telling = made(lambda found: [one["lastActiveDate"] for one in found if "lastActiveDate" in one], running)
    active = made(lambda dates: sum(1 for date in dates if moment(date) >= now - DAY), telling)
    return active, made(lambda dates, recent: len(dates) - recent, telling, active)


def policies_of(known: Known, environment: Environment, running: Cell) -> list[Cell]:
    """For every instance its policies."""
    return [known.cell("apm.policies", environment.id, str(one.get("id"))) for one in running.value or ()]


def template(policy: Any) -> tuple[Any, Any]:
    return at(policy, "template", "groupId"), at(policy, "template", "assetId")


def applied_templates(known: Known, environment: Environment) -> Cell:
    """The templates of all policies that are applied in an environment, one entry for each time."""
    running = made(instances, known.cell("apm.apis", environment.id))
    cells = policies_of(known, environment, running)
    if running.value is None or (cells and all(cell.value is None for cell in cells)):
        return Cell(None, worst((running, *cells)))
    return Cell([template(policy) for cell in cells for policy in cell.value or ()], state_of(cells))


def _by_policies(known: Known, environment: Environment, running: Cell) -> Entry:
    cells = policies_of(known, environment, running)
    told = [cell.value for cell in cells if cell.value is not None]
    if running.value is None or (cells and not told):
        lack = Cell(None, worst((running, *cells)))
        return dict.fromkeys((*APIS[5:9], "policiesUsed", "policiesUsedTotal"), lack)
    state = state_of((running, *cells)) if cells else running.state
    used = list(dict.fromkeys(str(template(policy)[1]) for policies in told for policy in policies))
    with_any = sum(1 for policies in told if policies)
    secured = sum(1 for policies in told if any(template(policy)[1] in known.security for policy in policies))
    return {
        "apisWithPolicies": Cell(with_any, state),
        "apisWithoutPolicies": Cell(len(told) - with_any, state),
        "apisWithSecurity": Cell(secured, state),
        "apisWithoutSecurity": Cell(len(told) - secured, state),
        "policiesUsed": Cell(used, state),
        "policiesUsedTotal": Cell(len(used), state),
    }


def _by_contracts(running: Cell) -> Entry:
    counts = made(
        lambda found: [
            number(one["activeContractsCount"]) for one in found if one.get("activeContractsCount") is not None
        ],
        running,
    )
    return {
        "apisWithContracts": made(lambda found: sum(1 for count in found if count > 0), counts),
        "apisWithoutContracts": made(lambda found: sum(1 for count in found if count == 0), counts),
        "apisWithMoreThanOneConsumer": made(lambda found: sum(1 for count in found if count > 1), counts),
        "apisWithOneOrMoreConsumers": made(lambda found: sum(1 for count in found if count > 0), counts),
        "contracts": made(added, counts),
    }


def is_measured(environment: Environment) -> bool:
    """Whether there are analytics of it; an environment called Design has none."""
    return environment.name != "Design"


def transactions(known: Known, environment: Environment) -> Cell:
    """Requests of the last 30 days, counted by API."""
    if not is_measured(environment):
        return Cell(0)
    return made(_rows, known.cell("apma.analytics", environment.id))


def _rows(response: Any) -> int | float:
    return added(
        number(at(counts, "count"))
        for entry in response
        for row in entry.get("api_id") or ()
        for counts in row.values()
    )
