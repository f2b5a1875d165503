"""Requests for newer products: Flex Gateway, usage meters and the audit log.

Their answers are known from public clients only, not from a specification, so these collectors are off unless the
operator turns them on (`anypoint_preview`). The vendor's limits for meters: a query ends at least three days ago and
spans at most thirty days if it is by day.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from pentad.rooms.metrics.collectors.anypoint.cells import DAY
from pentad.rooms.metrics.collectors.anypoint.pagination import MOST_PAGES, IncompleteList, check_complete

if TYPE_CHECKING:  # it imports this module
    from pentad.rooms.metrics.collectors.anypoint.platform_api import PlatformApi

GATEWAYS_PAGE: Final = 100
AUDIT_PAGE: Final = 100
AUDIT_DAYS: Final = 7
METER_DAYS: Final = 30
METER_DELAY_DAYS: Final = 3
METERS: Final[Mapping[str, tuple[str, str]]] = {
    "meters.flows": ("runtime_flow_count", "mule_flow_count"),
    "meters.messages": ("runtime_mule_message_count", "mule_message_count"),
    "meters.networkBytes": ("runtime_network_bytes_count", "network_bytes_count"),
}
"""By fact name: the meter, and what it measures."""


async def fetch_gateways(api: "PlatformApi") -> Any:
    """The managed Flex Gateways of an environment."""
    org, env = api.fact.scope
    path = f"/gatewaymanager/api/v1/organizations/{quote(org, safe='')}/environments/{quote(env, safe='')}/gateways"
    found: list[dict[str, Any]] = []
    for number in range(MOST_PAGES):
        answer = api.members(await api.get(path, {"pageNumber": number, "pageSize": GATEWAYS_PAGE}))
        page = api.items(answer, "content")
        found += page
        total = answer.get("totalElements")
        if isinstance(total, int) and len(found) >= total:
            return found
        if not page:
            check_complete(len(found), total)
            return found
    raise IncompleteList(f"The list does not end after {MOST_PAGES} pages.")


async def fetch_audit_log(api: "PlatformApi") -> Any:
    """Changes in a business group during the last seven days, and who made them."""
    org, now = api.fact.scope[0], api.upstream.clock.now()
    body = {"startDate": _iso(now - AUDIT_DAYS * DAY), "endDate": _iso(now), "organizationId": org, "ascending": False}
    return await api.post_pages(f"/audit/v2/organizations/{quote(org, safe='')}/query", "data", AUDIT_PAGE, body)


async def fetch_meter(api: "PlatformApi") -> Any:
    """One meter of the whole organisation, by day and application."""
    meter, measurement = METERS[api.fact.name]
    end = int(api.upstream.clock.now() // DAY * DAY - METER_DELAY_DAYS * DAY)
    begin = end - METER_DAYS * int(DAY)
    columns = f"org_name, env_name, env_type, app_name, {measurement}"
    span = f"timestamp between {begin * 1000} and {end * 1000 - 1}"
    query = f"SELECT {columns} FROM {meter} WHERE {span} TIMESERIES P1D"  # noqa: S608  constants and numbers
    return api.items(await api.post("/metering/usage/api/v1/meters:search", {"query": query}), "data")


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


PREVIEW_FETCHERS: Final[Mapping[str, Callable[["PlatformApi"], Awaitable[Any]]]] = {
    "flex.gateways": fetch_gateways, "audit.log": fetch_audit_log, **dict.fromkeys(METERS, fetch_meter)
}  # fmt: skip
