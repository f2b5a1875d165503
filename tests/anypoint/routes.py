"""From a request to what the platform answers: which route it is, who may ask, in which scope, and which page."""

import re
from typing import Any
from urllib.parse import parse_qs

from tests.anypoint.checks import checked_analytics, checked_day, checked_graph, checked_meter
from tests.anypoint.faults import Fault
from tests.anypoint.logins import Logins
from tests.anypoint.platform_request import PlatformRequest, Refused
from tests.anypoint.world import World

PAGES = {
    "members": (500, 500),
    "rolegroups": (500, 500),
    "clients": (25, 250),
    "apis": (20, 100),
    "destinations": (20, 100),
    "deployments": (50, 50),
    "assets": (20, 250),
}
"""By route, how many come without a limit, and how many at most."""

USER_ONLY = frozenset({"usage", "clients", "rolegroups", "store-stats"})


ROUTES = tuple(
    (name, method, re.compile(path.replace("{}", "[^/]+") + "/?"))
    for name, method, path in (
        ("login-user", "POST", "/accounts/login"),
        ("login-app", "POST", "/accounts/api/v2/oauth2/token"),
        ("hierarchy", "GET", "/accounts/api/organizations/{}/hierarchy"),
        ("environments", "GET", "/accounts/api/organizations/{}/environments"),
        ("members", "GET", "/accounts/api/organizations/{}/members"),
        ("rolegroups", "GET", "/accounts/api/organizations/{}/rolegroups"),
        ("usage", "GET", "/accounts/api/cs/organizations/{}/usage"),
        ("applications", "GET", "/cloudhub/api/v2/applications"),
        ("assets", "POST", "/graph/api/v2/graphql"),
        ("automated", "GET", "/apimanager/api/v1/organizations/{}/automated-policies"),
        ("apis", "GET", "/apimanager/api/v1/organizations/{}/environments/{}/apis"),
        ("policies", "GET", "/apimanager/api/v1/organizations/{}/environments/{}/apis/{}/policies"),
        ("clients", "GET", "/apiplatform/repository/v2/organizations/{}/applications"),
        ("projects", "GET", "/designcenter/api-designer/projects"),
        ("servers", "GET", "/hybrid/api/v1/servers"),
        ("clusters", "GET", "/hybrid/api/v1/clusters"),
        ("serverGroups", "GET", "/hybrid/api/v1/serverGroups"),
        ("deployments", "GET", "/hybrid/api/v2/organizations/{}/environments/{}/deployments"),
        ("deployment", "GET", "/hybrid/api/v2/organizations/{}/environments/{}/deployments/{}"),
        ("fabrics", "GET", "/runtimefabric/api/organizations/{}/fabrics"),
        ("analytics", "POST", "/analytics/1.0/{}/environments/{}/query"),
        ("regions", "GET", "/mq/admin/api/v1/organizations/{}/environments/{}/regions"),
        ("destinations", "GET", "/mq/admin/api/v1/organizations/{}/environments/{}/regions/{}/destinations"),
        ("mq-stats", "GET", "/mq/stats/api/v1/organizations/{}/environments/{}/regions/{}/(queues|exchanges)/{}"),
        ("store-stats", "GET", "/api/v1/organizations/{}/environments/{}"),
        ("gateways", "GET", "/gatewaymanager/api/v1/organizations/{}/environments/{}/gateways"),
        ("audit", "POST", "/audit/v2/organizations/{}/query"),
        ("meters", "POST", "/metering/usage/api/v1/meters:search"),
    )
)


def route_of(asked: PlatformRequest) -> str:
    """The name of the route; of one that does not exist, `unknown`."""
    for name, method, path in ROUTES:
        if method == asked.method and path.fullmatch(asked.path):
            return "dependencies" if name == "assets" and b"dependencies" in asked.body else name
    return "unknown"


def answered(
    world: World,
    logins: Logins,
    asked: PlatformRequest,
    route: str,
    *,
    user_only: bool = False,
    fault: Fault | None = None,
) -> Any:
    """The platform's answer; raises `Refused`."""
    if route == "unknown":
        raise Refused(404)
    if route.startswith("login"):
        return _login(logins, asked, route)
    org = _org_of(asked, route)
    _admit(world, logins, asked, route, org, user_only=user_only)
    if route in ("assets", "dependencies"):
        return _graph(world, asked, route, fault)
    if route == "gateways":
        return _gateways(asked, world.gateways(_environment(asked)))
    if route == "audit":
        return _audit(world, asked, org)
    if route == "meters":
        return {"metadata": {"responseAsOf": "2024-03-04T00:00:00Z"}, "data": world.meter(checked_meter(asked))}
    value = _content(world, asked, route, org)
    if route in PAGES:
        return _page(asked, route, value, fault)
    return value


def _login(logins: Logins, asked: PlatformRequest, route: str) -> Any:
    if route == "login-user":
        said = asked.json()
        token = logins.user(str(said.get("username")), str(said.get("password")))
        answer: dict[str, Any] = {"token_type": "bearer", "redirectUrl": "/home/"}
    else:
        form = {name: values[-1] for name, values in parse_qs(asked.body.decode()).items()}
        if form.get("grant_type") != "client_credentials":
            raise Refused(400)
        token = logins.app(form.get("client_id", ""), form.get("client_secret", ""))
        answer = {"token_type": "bearer", "expires_in": int(logins.lifetime)}
    if token is None:
        raise Refused(401)
    return {"access_token": token, **answer}


def _org_of(asked: PlatformRequest, route: str) -> str:
    parts = asked.parts
    if route == "analytics":
        return parts[2]
    if route in ("assets", "dependencies"):
        variables = asked.json().get("variables", {})
        return str((variables.get("organizationIds") or [variables.get("groupId")])[0])
    if "organizations" in parts:
        return parts[parts.index("organizations") + 1]
    return asked.headers.get("x-anypnt-org-id") or asked.headers.get("x-organization-id") or ""


def _admit(world: World, logins: Logins, asked: PlatformRequest, route: str, org: str, *, user_only: bool) -> None:
    if route in ("assets", "dependencies"):
        token = str(asked.json().get("variables", {}).get("accessToken"))
    else:
        token = asked.headers.get("authorization", "").removeprefix("Bearer ")
    who = logins.who(token)
    if who is None:
        raise Refused(401)
    name, is_app = who
    if user_only and is_app and route in USER_ONLY:
        raise Refused(403)
    if org and not world.owns(logins.tops.get(name, world.root), org):
        raise Refused(403)


def _environment(asked: PlatformRequest) -> str:
    return asked.parts[asked.parts.index("environments") + 1]


def _gateways(asked: PlatformRequest, items: list[Any]) -> Any:
    size, number = min(int(asked.query.get("pageSize", 20)), 100), int(asked.query.get("pageNumber", 0))
    page = items[size * number : size * (number + 1)]
    return {"content": page, "pageSize": size, "pageNumber": number, "totalElements": len(items)}


def _audit(world: World, asked: PlatformRequest, org: str) -> Any:
    said = asked.json()
    if not said.get("startDate") or not said.get("endDate"):
        raise Refused(400)
    entries = world.audit_log(org)
    offset, limit = int(said.get("offset", 0)), min(int(said.get("limit", 25)), 100)
    return {"data": entries[offset : offset + limit], "total": len(entries)}


def _content(world: World, asked: PlatformRequest, route: str, org: str) -> Any:
    parts, header = asked.parts, asked.headers.get("x-anypnt-env-id", "")
    env = parts[parts.index("environments") + 1] if "environments" in parts[:-1] else header
    if route == "automated":
        env = asked.query.get("environmentId", "")
    if route == "applications":
        return world.applications(header) if header else []
    if route in ("servers", "clusters", "serverGroups"):
        named = {"servers": world.servers, "clusters": world.clusters, "serverGroups": world.server_groups}[route]
        return {"data": named(header) if header and org else []}
    if route in ("regions", "destinations", "mq-stats", "store-stats") and header != env:
        return []
    if route in ("mq-stats", "store-stats"):
        checked_day(asked, seconds=route == "mq-stats")
    if route == "analytics":
        checked_analytics(asked)
    simple = {
        "hierarchy": lambda: world.hierarchy(org),
        "environments": lambda: {"data": world.environments(org), "total": len(world.environments(org))},
        "members": lambda: world.members(org),
        "rolegroups": lambda: world.rolegroups(org),
        "usage": lambda: world.usage(org),
        "automated": lambda: world.automated(env),
        "apis": lambda: world.apis(org, env),
        "policies": lambda: world.policies(env, parts[-2]),
        "clients": lambda: world.clients(org) if asked.query.get("targetAdminSite") == "true" else [],
        "projects": lambda: world.projects(org) if org else [],
        "deployments": lambda: world.deployments(env),
        "deployment": lambda: world.deployment(env, parts[-1]),
        "fabrics": lambda: world.fabrics(org),
        "analytics": lambda: world.analytics(env),
        "regions": lambda: world.regions(env),
        "destinations": lambda: world.destinations(env, parts[-2]),
        "mq-stats": lambda: (world.queue_stats if parts[-2] == "queues" else world.exchange_stats)(
            env, parts[-3], parts[-1]
        ),
        "store-stats": lambda: world.store_stats(env),
    }
    return simple[route]()


def _page(asked: PlatformRequest, route: str, items: list[Any], fault: Fault | None) -> Any:
    usual, most = PAGES[route]
    offset, limit = int(asked.query.get("offset", 0)), min(int(asked.query.get("limit", usual)), most)
    page, total = _cut(items, offset, limit, fault), _total(items, offset, fault)
    if route == "destinations":
        return page
    name = {"clients": "applications", "apis": "assets", "deployments": "items"}.get(route, "data")
    return {name: page, "total": total}


def _cut(items: list[Any], offset: int, limit: int, fault: Fault | None) -> list[Any]:
    """A page; with duplicates it begins a few items before where it should. A list that ends early lacks its last."""
    if fault is not None and fault.kind == "ends-early":
        items = items[:-1]
    start = max(0, offset - 3) if fault is not None and fault.kind == "duplicates" else offset
    return items[start : start + limit]


def _total(items: list[Any], offset: int, fault: Fault | None) -> int:
    """How many there are; a total that changes is wrong on the first page, too low or too high by turns."""
    if fault is None or fault.kind != "total-changes" or offset:
        return len(items)
    return len(items) + int(fault.seconds)


def _graph(world: World, asked: PlatformRequest, route: str, fault: Fault | None) -> Any:
    variables = checked_graph(asked)
    if route == "dependencies":
        return {"data": {"asset": world.dependencies(str(variables["groupId"]), str(variables["assetId"]))}}
    items = [one for one in world.assets(str(variables["organizationIds"][0])) if one["type"] in variables["types"]]
    return {
        "data": {"assets": _cut(items, int(variables["offset"]), min(int(variables["limit"]), PAGES[route][1]), fault)}
    }
