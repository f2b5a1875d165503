"""Every call the collectors make, as facts: where it goes, in whose scope, and what is kept of the answer.

A question for raw answers has facts of its own (`params` say `raw`), which keep everything but what `redaction` cuts
out; of all others only what the formulas read is kept.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from urllib.parse import quote

from pentad.rooms.metrics.collectors.anypoint.hosts import Places
from pentad.rooms.metrics.collectors.anypoint.keeping import KEPT, kept, slim_group
from pentad.rooms.metrics.collectors.anypoint.login import Login
from pentad.rooms.metrics.collectors.anypoint.paging import Item, Page, walked
from pentad.rooms.metrics.collectors.anypoint.redaction import redacted
from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.model import Fact, Failed, Problem

RAW: Final = (("raw", "true"),)
PAGE: Final = {"members": 1000, "clients": 250, "assets": 250, "apis": 100, "destinations": 100}
SHORTEST_MQ_PAGE: Final = 20
"""What a page of destinations holds by default; a shorter one is the last whatever was asked for."""

EXCHANGE_TYPES: Final = (
    "rest-api", "raml-fragment", "http-api", "soap-api", "policy", "connector", "extension", "app", "custom"
)  # fmt: skip
_ASSET_FIELDS: Final = (
    "organizationId groupId assetId version minorVersion versionGroup description name type status isPublic"
    " isLatestVersion createdDate updatedDate originalFormat minMuleVersion isGenerated isMozartTemplate isSnapshot"
    " rating numberOfRates"
)
# A variable that may not be null fits an argument whether that may be null or not. The token is not declared: Exchange
# takes it from among the values, and a variable that is declared and used by no argument would be an error.
_ASSETS: Final = (
    "query Platform($organizationIds: [String!]!, $types: [String!]!, $limit: Int!, $offset: Int!) {"
    " assets(organizationIds: $organizationIds, types: $types, latestVersionsOnly: true, limit: $limit,"
    f" offset: $offset) {{ {_ASSET_FIELDS} }} }}"
)
_DEPENDENCIES: Final = (
    "query Platform($groupId: String!, $assetId: String!, $version: String!) {"
    " asset(groupId: $groupId, assetId: $assetId, version: $version) {"
    " organizationId groupId assetId version dependencies { groupId assetId version type } } }"
)


@dataclass(frozen=True, slots=True)
class Wire:
    """The way to the platform for one fact."""

    fact: Fact
    upstream: Upstream
    login: Login
    places: Places

    async def get(
        self, path: str, params: Mapping[str, str | int] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        base = self.places.store if self.fact.name == "osv2.stats" else self.places.base
        return await self.upstream.get(
            f"{base}{path}", params=params, headers=headers, login=self.login, scope="/".join(self.fact.scope[:2])
        )

    async def post(self, path: str, body: Any) -> Any:
        return await self.upstream.post(
            f"{self.places.base}{path}", json=body, login=self.login, scope="/".join(self.fact.scope[:2])
        )

    async def graph(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """A query of Exchange, which wants its token among the variables and nowhere else."""
        for last in (False, True):
            proof = await self.login.headers(self.upstream)
            token = proof["authorization"].removeprefix("Bearer ")
            body = {"query": query, "operationName": "Platform", "variables": {**variables, "accessToken": token}}
            try:
                answer = await self.upstream.post(
                    f"{self.places.base}/graph/api/v2/graphql/", json=body, scope=self.fact.scope[0]
                )
            except Failed as failed:
                if failed.problem.http != 401 or last:
                    raise
                self.login.refused(proof)
                continue
            data = self.members(answer).get("data")
            if not isinstance(data, dict):
                raise self.strange("Exchange answered with an error instead of data.")
            return cast("dict[str, Any]", data)
        raise AssertionError("the second round answers or raises")

    def strange(self, message: str) -> Failed:
        return Failed(Problem(scope="/".join(self.fact.scope[:2]), call=self.fact.name, kind="parse", message=message))

    def members(self, answer: Any) -> dict[str, Any]:
        if not isinstance(answer, dict):
            raise self.strange("An object was expected.")
        return cast("dict[str, Any]", answer)

    def items(self, answer: Any, name: str | None = None) -> list[Item]:
        """A list of objects, or the one that stands in the answer under a name."""
        value = answer if name is None else self.members(answer).get(name)
        if not isinstance(value, list) or any(not isinstance(entry, dict) for entry in cast("list[Any]", value)):
            raise self.strange("A list was expected.")
        return cast("list[Item]", value)

    async def pages(self, path: str, name: str, limit: int, more: Mapping[str, str | int] | None = None) -> list[Item]:
        async def page(offset: int) -> Page:
            answer = await self.get(path, {"offset": offset, "limit": limit, **(more or {})})
            total = self.members(answer).get("total")
            return self.items(answer, name), total if isinstance(total, int) else None

        return await walked(page, lambda item: item.get("id"))


def _q(part: str) -> str:
    return quote(part, safe="")


def _ids(env: str, org: str | None = None) -> dict[str, str]:
    return {"x-anypnt-env-id": env} if org is None else {"x-anypnt-env-id": env, "x-anypnt-org-id": org}


async def _hierarchy(wire: Wire) -> Any:
    answer = wire.members(await wire.get(f"/accounts/api/organizations/{_q(wire.fact.scope[0])}/hierarchy"))
    return answer if wire.fact.params else slim_group(answer)


async def _environments(wire: Wire) -> Any:
    found = wire.items(await wire.get(f"/accounts/api/organizations/{_q(wire.fact.scope[0])}/environments"), "data")
    if any(not entry.get("id") for entry in found):
        raise wire.strange("An environment has no id.")
    return found


async def _members(wire: Wire) -> Any:
    return await wire.pages(f"/accounts/api/organizations/{_q(wire.fact.scope[0])}/members", "data", PAGE["members"])


async def _usage(wire: Wire) -> Any:
    return wire.members(await wire.get(f"/accounts/api/cs/organizations/{_q(wire.fact.scope[0])}/usage"))


async def _applications(wire: Wire) -> Any:
    return wire.items(await wire.get("/cloudhub/api/v2/applications", headers=_ids(wire.fact.scope[1])))


async def _assets(wire: Wire) -> Any:
    async def page(offset: int) -> Page:
        limits = {"limit": PAGE["assets"], "offset": offset}
        said = {"organizationIds": [wire.fact.scope[0]], "types": list(EXCHANGE_TYPES), **limits}
        return wire.items(await wire.graph(_ASSETS, said), "assets"), None

    return await walked(
        page, lambda item: (item.get("groupId"), item.get("assetId"), item.get("version")), PAGE["assets"]
    )


async def _dependencies(wire: Wire) -> Any:
    group, asset, version = wire.fact.scope[1:]
    data = await wire.graph(_DEPENDENCIES, {"groupId": group, "assetId": asset, "version": version})
    return wire.members(data.get("asset") or {}).get("dependencies") or []


async def _apis(wire: Wire) -> Any:
    org, env = wire.fact.scope
    path = f"/apimanager/api/v1/organizations/{_q(org)}/environments/{_q(env)}/apis"
    return await wire.pages(path, "assets", PAGE["apis"])


async def _policies(wire: Wire) -> Any:
    org, env, api = wire.fact.scope
    path = f"/apimanager/api/v1/organizations/{_q(org)}/environments/{_q(env)}/apis/{_q(api)}/policies"
    wanted = {"includeProxyTemplate": "true", "includeTlsContexts": "true", "includeValidation": "true"}
    return wire.items(await wire.get(path, wanted), "policies")


async def _automated(wire: Wire) -> Any:
    org, env = wire.fact.scope
    path = f"/apimanager/api/v1/organizations/{_q(org)}/automated-policies"
    return wire.items(await wire.get(path, {"environmentId": env}), "automatedPolicies")


async def _clients(wire: Wire) -> Any:
    path = f"/apiplatform/repository/v2/organizations/{_q(wire.fact.scope[0])}/applications"
    return await wire.pages(path, "applications", PAGE["clients"], {"targetAdminSite": "true"})


async def _projects(wire: Wire) -> Any:
    answer = await wire.get("/designcenter/api-designer/projects", headers={"x-organization-id": wire.fact.scope[0]})
    return wire.items(answer) if isinstance(answer, list) else []


async def _hybrid(wire: Wire) -> Any:
    org, env = wire.fact.scope
    name = {"arm.servers": "servers", "arm.clusters": "clusters", "arm.groups": "serverGroups"}[wire.fact.name]
    return wire.items(await wire.get(f"/hybrid/api/v1/{name}", headers=_ids(env, org)), "data")


def _deployments_path(wire: Wire) -> str:
    return f"/hybrid/api/v2/organizations/{_q(wire.fact.scope[0])}/environments/{_q(wire.fact.scope[1])}/deployments"


async def _deployments(wire: Wire) -> Any:
    """All at once, as a rule; where the answer says that there are more, the rest."""

    async def page(offset: int) -> Page:
        answer = wire.members(await wire.get(_deployments_path(wire), {"offset": offset} if offset else None))
        total = answer.get("total")
        return wire.items(answer, "items"), total if isinstance(total, int) else None

    return await walked(page, lambda item: item.get("id"), sys.maxsize)


async def _deployment(wire: Wire) -> Any:
    return wire.members(await wire.get(f"{_deployments_path(wire)}/{_q(wire.fact.scope[2])}"))


async def _fabrics(wire: Wire) -> Any:
    return wire.items(await wire.get(f"/runtimefabric/api/organizations/{_q(wire.fact.scope[0])}/fabrics"))


async def _analytics(wire: Wire) -> Any:
    org, env = wire.fact.scope
    dimensions = [{"dimension": name, "order": "descending"} for name in ("api_id", "client_id")]
    body = {
        "type": "enriched-http-event", "duration": "30d", "aggregators": dimensions, "include_policy_violation": True
    }  # fmt: skip
    path = f"/analytics/1.0/{_q(org)}/environments/{_q(env)}/query"
    found = wire.items(await wire.post(path, body), "response")
    for entry in found:
        wire.items(entry.get("api_id") or [])
    return found


def _mq_path(wire: Wire, service: str) -> str:
    org, env = wire.fact.scope[:2]
    return f"/mq/{service}/api/v1/organizations/{_q(org)}/environments/{_q(env)}/regions"


async def _regions(wire: Wire) -> Any:
    return wire.items(await wire.get(_mq_path(wire, "admin"), headers=_ids(wire.fact.scope[1])))


async def _destinations(wire: Wire) -> Any:
    env, region = wire.fact.scope[1:]

    async def page(offset: int) -> Page:
        limits = {"offset": offset, "limit": PAGE["destinations"]}
        path = f"{_mq_path(wire, 'admin')}/{_q(region)}/destinations"
        return wire.items(await wire.get(path, limits, _ids(env))), None

    return await walked(
        page, lambda item: (item.get("type"), item.get("queueId") or item.get("exchangeId")), SHORTEST_MQ_PAGE
    )


async def _stats(wire: Wire) -> Any:
    env, region, kind, name = wire.fact.scope[1:]
    now = datetime.fromtimestamp(wire.upstream.clock.now(), UTC)
    form = "%a, %d %b %Y %H:%M:%S GMT"
    day = {"period": 8640, "startDate": (now - timedelta(days=1)).strftime(form), "endDate": now.strftime(form)}
    return wire.members(await wire.get(f"{_mq_path(wire, 'stats')}/{_q(region)}/{kind}/{_q(name)}", day, _ids(env)))


async def _store(wire: Wire) -> Any:
    org, env = wire.fact.scope
    today = datetime.fromtimestamp(wire.upstream.clock.now(), UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    form = "%Y-%m-%dT00:00:00.000Z"
    day = {"period": "1day", "startDate": (today - timedelta(days=1)).strftime(form), "endDate": today.strftime(form)}
    return wire.items(await wire.get(f"/api/v1/organizations/{_q(org)}/environments/{_q(env)}", day, _ids(env)))


FETCHERS: Final[Mapping[str, Callable[[Wire], Awaitable[Any]]]] = {
    "hierarchy": _hierarchy, "environments": _environments, "members": _members, "usage": _usage,
    "ch.applications": _applications, "ex.assets": _assets, "ex.dependencies": _dependencies, "apm.apis": _apis,
    "apm.policies": _policies, "ap.policies": _automated, "apc.clients": _clients, "dc.projects": _projects,
    "arm.servers": _hybrid, "arm.clusters": _hybrid, "arm.groups": _hybrid, "arm.deployments": _deployments,
    "arm.deployment": _deployment, "rtf.fabrics": _fabrics, "apma.analytics": _analytics, "amq.regions": _regions,
    "amq.destinations": _destinations, "amq.stats": _stats, "osv2.stats": _store,
}  # fmt: skip


async def fetched(wire: Wire) -> Any:
    """One fact as it may be kept."""
    answer = await FETCHERS[wire.fact.name](wire)
    fields = KEPT.get(wire.fact.name)
    slim = answer if fields is None else kept(answer, fields)
    return redacted(answer) if wire.fact.params else slim
