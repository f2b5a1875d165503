"""API Manager: APIs, their policies and contracts, client applications, transactions."""

from collections.abc import Iterable
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, GroupFacts, by_environment_type
from pentad.rooms.metrics.collectors.anypoint.cells import (
    DAY,
    Cell,
    Entry,
    Node,
    combined_state,
    count_of,
    derive,
    exact_sum,
    missing_state,
    timestamp,
)
from pentad.rooms.metrics.metric_keys import get_path

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


def api_manager(known: GroupFacts) -> dict[str, Node]:
    keys = ("_versions", *APIS, *AUTOMATED, *TRANSACTIONS)
    return {
        "clients": derive(len, known.cell("apc.clients")),
        "apis": by_environment_type(known, keys, LISTS, lambda environment: api_figures(known, environment)),
    }


def api_instances(assets: Iterable[Any]) -> list[Any]:
    return [instance for asset in assets for instance in asset["apis"]]


def api_figures(known: GroupFacts, environment: Environment) -> Entry:
    assets = known.cell("apm.apis", environment.id)
    running = derive(api_instances, assets)
    automated = derive(
        lambda found: list(dict.fromkeys(str(policy.get("assetId")) for policy in found)),
        known.cell("ap.policies", environment.id),
    )
    versions = derive(lambda found: list(dict.fromkeys(one["productVersion"] for one in found)), running)
    active, inactive = _activity(running, known.now)
    return {
        "_versions": versions,
        "total": derive(len, assets),
        "active": active,
        "inactive": inactive,
        "apiInstances": derive(lambda found: exact_sum(asset["totalApis"] for asset in found), assets),
        "apiVersions": count_of(versions),
        **_by_policies(known, environment, running),
        **_by_contracts(running),
        "automatedPoliciesUsed": automated,
        "automatedPoliciesUsedTotal": count_of(automated),
        "transactions": transactions(known, environment),
    }


def _activity(running: Cell, now: float) -> tuple[Cell, Cell]:
    """Instances called within a day, and others. Instances without a date count in neither."""
    dates = derive(lambda found: [one["lastActiveDate"] for one in found if "lastActiveDate" in one], running)
    active = derive(lambda dates: sum(1 for date in dates if timestamp(date) >= now - DAY), dates)
    return active, derive(lambda dates, recent: len(dates) - recent, dates, active)


def policies_of(known: GroupFacts, environment: Environment, running: Cell) -> list[Cell]:
    """The policies of each instance."""
    return [known.cell("apm.policies", environment.id, str(one.get("id"))) for one in running.value or ()]


def template(policy: Any) -> tuple[Any, Any]:
    return get_path(policy, "template", "groupId"), get_path(policy, "template", "assetId")


def applied_templates(known: GroupFacts, environment: Environment) -> Cell:
    """The templates of all policies applied in an environment, one entry per application."""
    running = derive(api_instances, known.cell("apm.apis", environment.id))
    cells = policies_of(known, environment, running)
    if running.value is None or (cells and all(cell.value is None for cell in cells)):
        return Cell(None, missing_state((running, *cells)))
    return Cell([template(policy) for cell in cells for policy in cell.value or ()], combined_state(cells))


def _by_policies(known: GroupFacts, environment: Environment, running: Cell) -> Entry:
    cells = policies_of(known, environment, running)
    known_policies = [cell.value for cell in cells if cell.value is not None]
    if running.value is None or (cells and not known_policies):
        missing = Cell(None, missing_state((running, *cells)))
        return dict.fromkeys((*APIS[5:9], "policiesUsed", "policiesUsedTotal"), missing)
    state = combined_state((running, *cells)) if cells else running.state
    used = list(dict.fromkeys(str(template(policy)[1]) for policies in known_policies for policy in policies))
    with_any = sum(1 for policies in known_policies if policies)
    secured = sum(1 for policies in known_policies if any(template(policy)[1] in known.security for policy in policies))
    return {
        "apisWithPolicies": Cell(with_any, state),
        "apisWithoutPolicies": Cell(len(known_policies) - with_any, state),
        "apisWithSecurity": Cell(secured, state),
        "apisWithoutSecurity": Cell(len(known_policies) - secured, state),
        "policiesUsed": Cell(used, state),
        "policiesUsedTotal": Cell(len(used), state),
    }


def _by_contracts(running: Cell) -> Entry:
    counts = derive(
        lambda found: [one["activeContractsCount"] for one in found if one.get("activeContractsCount") is not None],
        running,
    )
    return {
        "apisWithContracts": derive(lambda found: sum(1 for count in found if count > 0), counts),
        "apisWithoutContracts": derive(lambda found: sum(1 for count in found if count == 0), counts),
        "apisWithMoreThanOneConsumer": derive(lambda found: sum(1 for count in found if count > 1), counts),
        "apisWithOneOrMoreConsumers": derive(lambda found: sum(1 for count in found if count > 0), counts),
        "contracts": derive(exact_sum, counts),
    }


def transactions(known: GroupFacts, environment: Environment) -> Cell:
    """Requests of the last 30 days, counted by API."""
    return derive(_request_count, known.cell("apma.analytics", environment.id))


def _request_count(response: Any) -> int | float:
    return exact_sum(
        counts["count"] for entry in response for row in entry.get("api_id") or () for counts in row.values()
    )
