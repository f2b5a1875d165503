"""The platform's URLs, and the request behind each fact.

A query for raw answers has its own facts (`params` contain `raw`), which keep everything that `redact` leaves. All
others keep only what the formulas read. The vendor's object-store statistics have a host of their own.
"""

import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast
from urllib.parse import quote, urlsplit

from pentad.kernel.errors import Misconfigured
from pentad.rooms.metrics.collectors.anypoint.login import Login
from pentad.rooms.metrics.collectors.anypoint.pagination import (
    IncompleteList,
    Item,
    Page,
    check_complete,
    fetch_all_pages,
)
from pentad.rooms.metrics.collectors.anypoint.preview_api import PREVIEW_FETCHERS
from pentad.rooms.metrics.collectors.anypoint.response_projection import (
    FIELDS,
    UnexpectedShape,
    project,
    project_group,
    redact,
)
from pentad.rooms.metrics.collectors.contract import Upstream
from pentad.rooms.metrics.metric_keys import get_path
from pentad.rooms.metrics.models import Fact, FetchError
from pentad.rooms.metrics.settings import MetricsSettings

RAW: Final = (("raw", "true"),)
PAGE: Final = {"members": 1000, "clients": 250, "assets": 250, "apis": 100, "destinations": 100}
SHORTEST_PAGE: Final = 20
"""The smallest default page size of the platform. It may use that instead of a larger limit, so in lists without a
total only a shorter page is the last one."""

EXCHANGE_TYPES: Final = (
    "rest-api", "raml-fragment", "http-api", "soap-api", "policy", "connector", "extension", "app", "custom"
)  # fmt: skip
_ASSET_FIELDS: Final = (
    "organizationId groupId assetId version minorVersion versionGroup description name type status isPublic"
    " isLatestVersion createdDate updatedDate originalFormat minMuleVersion isGenerated isMozartTemplate isSnapshot"
    " rating numberOfRates"
)
# Non-null variables fit nullable and non-null arguments alike. The token is not declared: Exchange reads it from the
# values, and GraphQL rejects a declared variable that no argument uses.
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


PLANES: Final = {
    "us": "anypoint.mulesoft.com",
    "eu": "eu1.anypoint.mulesoft.com",
    "gov": "gov.anypoint.mulesoft.com",
}
PRIVATE: Final = "private"
"""The platform in the operator's own data centre."""

NOT_THERE: Final = {
    "gov": frozenset({"rtf", "apma", "arm"}),
    PRIVATE: frozenset({"ch", "rtf", "apma", "amq", "osv2"}),
}
"""The collectors that have no data on a control plane."""


@dataclass(frozen=True, slots=True)
class PlatformUrls:
    """Base URLs without a trailing slash."""

    base: str
    store: str
    lacking: frozenset[str] = frozenset()
    """The collectors that have no data there."""


def platform_urls(settings: MetricsSettings) -> PlatformUrls:
    """The URLs of the settings; by default those of the control plane `us`.

    If both a URL and a plane are set, the plane only says what is behind the URL.
    """
    url = (settings.anypoint_url or "").strip().rstrip("/")
    plane = (settings.anypoint_plane or "us").strip().casefold()
    if plane not in PLANES and plane != PRIVATE:
        known = ", ".join((*PLANES, PRIVATE))
        raise Misconfigured(f"There is no control plane {plane[:40]!r}.", hint=f"One of: {known}.")
    if plane == PRIVATE and not url:
        raise Misconfigured("A private control plane needs a URL.", hint="Set PENTAD_ANYPOINT_URL.")
    base = url or f"https://{PLANES[plane]}"
    host = (urlsplit(base).hostname or "").casefold()
    if not host or urlsplit(base).scheme not in ("http", "https"):
        raise Misconfigured(
            "PENTAD_ANYPOINT_URL is not an http or https address.", hint="As in https://anypoint.mulesoft.com."
        )
    store = (settings.anypoint_object_store_url or "").strip().rstrip("/")
    if not store:
        store = f"https://object-store-stats.{host}" if host in PLANES.values() else base
    return PlatformUrls(base, store, NOT_THERE.get("gov" if host == PLANES["gov"] else plane, frozenset()))


@dataclass(frozen=True, slots=True)
class PlatformApi:
    """Requests to the platform for one fact."""

    fact: Fact
    upstream: Upstream
    login: Login
    urls: PlatformUrls

    async def get(
        self, path: str, params: Mapping[str, str | int] | None = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        base = self.urls.store if self.fact.name == "osv2.stats" else self.urls.base
        return await self.upstream.get(
            f"{base}{path}", params=params, headers=headers, login=self.login, scope="/".join(self.fact.scope[:2])
        )

    async def post(self, path: str, body: Any) -> Any:
        return await self.upstream.post(
            f"{self.urls.base}{path}", json=body, login=self.login, scope="/".join(self.fact.scope[:2])
        )

    async def graphql(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """A GraphQL query to Exchange, which takes its token from the variables."""
        for last in (False, True):
            proof = await self.login.headers(self.upstream)
            token = proof["authorization"].removeprefix("Bearer ")
            body = {"query": query, "operationName": "Platform", "variables": {**variables, "accessToken": token}}
            try:
                answer = await self.upstream.post(
                    f"{self.urls.base}/graph/api/v2/graphql/", json=body, scope=self.fact.scope[0]
                )
            except FetchError as failed:
                if failed.problem.http != 401 or last:
                    raise
                self.login.refused(proof)
                continue
            data = self.members(answer).get("data")
            if not isinstance(data, dict) or answer.get("errors"):
                raise self.unexpected("Exchange answered with an error instead of data.")
            return cast("dict[str, Any]", data)
        raise AssertionError("the second round answers or raises")

    def unexpected(self, message: str) -> FetchError:
        return FetchError.of("parse", message, call=self.fact.name, scope="/".join(self.fact.scope[:2]))

    def members(self, answer: Any) -> dict[str, Any]:
        if not isinstance(answer, dict):
            raise self.unexpected("An object was expected.")
        return cast("dict[str, Any]", answer)

    def items(self, answer: Any, name: str | None = None) -> list[Item]:
        """A list of objects: the answer itself, or its member of this name."""
        value = answer if name is None else self.members(answer).get(name)
        if not isinstance(value, list) or any(not isinstance(entry, dict) for entry in cast("list[Any]", value)):
            raise self.unexpected("A list was expected.")
        return cast("list[Item]", value)

    def whole_list(self, answer: Any, name: str) -> list[Item]:
        """A list that is not paged, with its total if it has one."""
        found = self.items(answer, name)
        check_complete(len(found), self.members(answer).get("total"))
        return found

    async def pages(self, path: str, name: str, limit: int, more: Mapping[str, str | int] | None = None) -> list[Item]:
        async def page(offset: int) -> Page:
            answer = await self.get(path, {"offset": offset, "limit": limit, **(more or {})})
            total = self.members(answer).get("total")
            return self.items(answer, name), total if isinstance(total, int) else None

        return await fetch_all_pages(page, lambda item: item.get("id"))

    async def post_pages(self, path: str, name: str, limit: int, body: Mapping[str, Any]) -> list[Item]:
        async def page(offset: int) -> Page:
            answer = await self.post(path, {**body, "offset": offset, "limit": limit})
            total = self.members(answer).get("total")
            return self.items(answer, name), total if isinstance(total, int) else None

        return await fetch_all_pages(page, lambda item: item.get("id"), SHORTEST_PAGE)


def _q(part: str) -> str:
    return quote(part, safe="")


def _ids(env: str, org: str | None = None) -> dict[str, str]:
    return {"x-anypnt-env-id": env} if org is None else {"x-anypnt-env-id": env, "x-anypnt-org-id": org}


async def _hierarchy(api: PlatformApi) -> Any:
    answer = api.members(await api.get(f"/accounts/api/organizations/{_q(api.fact.scope[0])}/hierarchy"))
    slim = project_group(answer)
    return answer if api.fact.params else slim


async def _environments(api: PlatformApi) -> Any:
    answer = await api.get(f"/accounts/api/organizations/{_q(api.fact.scope[0])}/environments")
    return api.whole_list(answer, "data")


async def _members(api: PlatformApi) -> Any:
    return await api.pages(f"/accounts/api/organizations/{_q(api.fact.scope[0])}/members", "data", PAGE["members"])


async def _usage(api: PlatformApi) -> Any:
    return api.members(await api.get(f"/accounts/api/cs/organizations/{_q(api.fact.scope[0])}/usage"))


async def _applications(api: PlatformApi) -> Any:
    return api.items(await api.get("/cloudhub/api/v2/applications", headers=_ids(api.fact.scope[1])))


async def _assets(api: PlatformApi) -> Any:
    async def page(offset: int) -> Page:
        limits = {"limit": PAGE["assets"], "offset": offset}
        variables = {"organizationIds": [api.fact.scope[0]], "types": list(EXCHANGE_TYPES), **limits}
        return api.items(await api.graphql(_ASSETS, variables), "assets"), None

    return await fetch_all_pages(
        page, lambda item: (item.get("groupId"), item.get("assetId"), item.get("version")), SHORTEST_PAGE
    )


async def _dependencies(api: PlatformApi) -> Any:
    group, asset, version = api.fact.scope[1:]
    data = await api.graphql(_DEPENDENCIES, {"groupId": group, "assetId": asset, "version": version})
    asset_found = api.members(data.get("asset"))
    if "dependencies" not in asset_found:
        raise api.unexpected("An asset has no list of dependencies.")
    return [] if asset_found["dependencies"] is None else api.items(asset_found, "dependencies")


async def _apis(api: PlatformApi) -> Any:
    org, env = api.fact.scope
    path = f"/apimanager/api/v1/organizations/{_q(org)}/environments/{_q(env)}/apis"
    return await api.pages(path, "assets", PAGE["apis"])


async def _policies(api: PlatformApi) -> Any:
    org, env, instance = api.fact.scope
    path = f"/apimanager/api/v1/organizations/{_q(org)}/environments/{_q(env)}/apis/{_q(instance)}/policies"
    wanted = {"includeProxyTemplate": "true", "includeTlsContexts": "true", "includeValidation": "true"}
    return api.whole_list(await api.get(path, wanted), "policies")


async def _automated(api: PlatformApi) -> Any:
    org, env = api.fact.scope
    path = f"/apimanager/api/v1/organizations/{_q(org)}/automated-policies"
    return api.whole_list(await api.get(path, {"environmentId": env}), "automatedPolicies")


async def _clients(api: PlatformApi) -> Any:
    path = f"/apiplatform/repository/v2/organizations/{_q(api.fact.scope[0])}/applications"
    return await api.pages(path, "applications", PAGE["clients"], {"targetAdminSite": "true"})


async def _projects(api: PlatformApi) -> Any:
    return api.items(
        await api.get("/designcenter/api-designer/projects", headers={"x-organization-id": api.fact.scope[0]})
    )


async def _hybrid(api: PlatformApi) -> Any:
    org, env = api.fact.scope
    name = {"arm.servers": "servers", "arm.clusters": "clusters", "arm.groups": "serverGroups"}[api.fact.name]
    return api.items(await api.get(f"/hybrid/api/v1/{name}", headers=_ids(env, org)), "data")


def _deployments_path(api: PlatformApi) -> str:
    return f"/hybrid/api/v2/organizations/{_q(api.fact.scope[0])}/environments/{_q(api.fact.scope[1])}/deployments"


async def _deployments(api: PlatformApi) -> Any:
    """Usually one request; further pages if the answer announces them."""

    async def page(offset: int) -> Page:
        answer = api.members(await api.get(_deployments_path(api), {"offset": offset} if offset else None))
        total = answer.get("total")
        return api.items(answer, "items"), total if isinstance(total, int) else None

    return _with_status(api, await fetch_all_pages(page, lambda item: item.get("id"), sys.maxsize))


async def _deployment(api: PlatformApi) -> Any:
    found = api.members(await api.get(f"{_deployments_path(api)}/{_q(api.fact.scope[2])}"))
    _with_status(api, [found])
    return found


def _with_status(api: PlatformApi, found: list[Item]) -> list[Item]:
    """Refuse deployments that do not say whether they run; they have that in different places."""
    for item in found:
        is_standalone = get_path(item, "target", "provider") == "RR"
        if not (item.get("status") if is_standalone else get_path(item, "application", "status")):
            raise api.unexpected("A deployment has no status.")
    return found


async def _fabrics(api: PlatformApi) -> Any:
    return api.items(await api.get(f"/runtimefabric/api/organizations/{_q(api.fact.scope[0])}/fabrics"))


async def _analytics(api: PlatformApi) -> Any:
    org, env = api.fact.scope
    dimensions = [{"dimension": name, "order": "descending"} for name in ("api_id", "client_id")]
    body = {
        "type": "enriched-http-event", "duration": "30d", "aggregators": dimensions, "include_policy_violation": True
    }  # fmt: skip
    answer = api.members(await api.post(f"/analytics/1.0/{_q(org)}/environments/{_q(env)}/query", body))
    found = api.items(answer, "response")
    if (
        answer.get("success") is False
        or answer.get("error")
        or (found and all(one.get("api_id") is None for one in found))
    ):
        raise api.unexpected("Analytics answered without the requests of the APIs.")
    return found


def _mq_path(api: PlatformApi, service: str) -> str:
    org, env = api.fact.scope[:2]
    return f"/mq/{service}/api/v1/organizations/{_q(org)}/environments/{_q(env)}/regions"


async def _regions(api: PlatformApi) -> Any:
    return api.items(await api.get(_mq_path(api, "admin"), headers=_ids(api.fact.scope[1])))


async def _destinations(api: PlatformApi) -> Any:
    env, region = api.fact.scope[1:]

    async def page(offset: int) -> Page:
        limits = {"offset": offset, "limit": PAGE["destinations"]}
        path = f"{_mq_path(api, 'admin')}/{_q(region)}/destinations"
        found = api.items(await api.get(path, limits, _ids(env)))
        if not all(item.get("queueId") or item.get("exchangeId") for item in found):
            raise api.unexpected("A destination has no id.")
        return found, None

    return await fetch_all_pages(
        page, lambda item: (item.get("type"), item.get("queueId") or item.get("exchangeId")), SHORTEST_PAGE
    )


async def _stats(api: PlatformApi) -> Any:
    env, region, kind, name = api.fact.scope[1:]
    now = datetime.fromtimestamp(api.upstream.clock.now(), UTC)
    form = "%a, %d %b %Y %H:%M:%S GMT"
    day = {"period": 8640, "startDate": (now - timedelta(days=1)).strftime(form), "endDate": now.strftime(form)}
    return api.members(await api.get(f"{_mq_path(api, 'stats')}/{_q(region)}/{kind}/{_q(name)}", day, _ids(env)))


async def _store(api: PlatformApi) -> Any:
    org, env = api.fact.scope
    today = datetime.fromtimestamp(api.upstream.clock.now(), UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    form = "%Y-%m-%dT00:00:00.000Z"
    day = {"period": "1day", "startDate": (today - timedelta(days=1)).strftime(form), "endDate": today.strftime(form)}
    return api.items(await api.get(f"/api/v1/organizations/{_q(org)}/environments/{_q(env)}", day, _ids(env)))


FETCHERS: Final[Mapping[str, Callable[[PlatformApi], Awaitable[Any]]]] = {
    "hierarchy": _hierarchy, "environments": _environments, "members": _members, "usage": _usage,
    "ch.applications": _applications, "ex.assets": _assets, "ex.dependencies": _dependencies, "apm.apis": _apis,
    "apm.policies": _policies, "ap.policies": _automated, "apc.clients": _clients, "dc.projects": _projects,
    "arm.servers": _hybrid, "arm.clusters": _hybrid, "arm.groups": _hybrid, "arm.deployments": _deployments,
    "arm.deployment": _deployment, "rtf.fabrics": _fabrics, "apma.analytics": _analytics, "amq.regions": _regions,
    "amq.destinations": _destinations, "amq.stats": _stats, "osv2.stats": _store,
    **PREVIEW_FETCHERS,
}  # fmt: skip


async def fetch_fact(api: PlatformApi) -> Any:
    """Fetch a fact and reduce it to what may be kept."""
    try:
        answer = await FETCHERS[api.fact.name](api)
        fields = FIELDS.get(api.fact.name)
        slim = answer if fields is None else project(answer, fields)
    except (IncompleteList, UnexpectedShape) as error:
        raise api.unexpected(str(error)) from None
    return redact(answer) if api.fact.params else slim
