"""Every call as the platform expects it: method, path, query, headers and body, from the fake platform's journal."""

import json
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from tests.anypoint.engine import APP, USER, platform_engine
from tests.anypoint.platform_request import PlatformRequest
from tests.anypoint.recorded import Recorded
from tests.anypoint.server import Platform

pytestmark = pytest.mark.anyio

ORG = "a0000000-0000-4000-8000-000000000001"
LIVE, TRIAL = "e0000000-0000-4000-8000-000000000002", "e0000000-0000-4000-8000-000000000003"
ACCOUNTS = f"/accounts/api/organizations/{ORG}"
APIS = f"/apimanager/api/v1/organizations/{ORG}"
HYBRID = f"/hybrid/api/v2/organizations/{ORG}/environments"
MQ = f"/organizations/{ORG}/environments/{LIVE}/regions"
SCOPES = ("x-anypnt-env-id", "x-anypnt-org-id", "x-organization-id")
ENV = {"x-anypnt-env-id": LIVE}
BOTH = {**ENV, "x-anypnt-org-id": ORG}
POLICIES = {"includeProxyTemplate": "true", "includeTlsContexts": "true", "includeValidation": "true"}
TYPES = ["rest-api", "raml-fragment", "http-api", "soap-api", "policy", "connector", "extension", "app", "custom"]

EXPECTED: dict[str, list[tuple[str, str, dict[str, str], dict[str, str]]]] = {
    "core": [("members", f"{ACCOUNTS}/members", {"offset": "0", "limit": "1000"}, {})],
    "ch": [
        ("usage", f"/accounts/api/cs/organizations/{ORG}/usage", {}, {}),
        ("applications", "/cloudhub/api/v2/applications", {}, ENV),
    ],
    "apm": [
        ("apis", f"{APIS}/environments/{LIVE}/apis", {"offset": "0", "limit": "100"}, {}),
        ("policies", f"{APIS}/environments/{LIVE}/apis/7001/policies", POLICIES, {}),
        ("policies", f"{APIS}/environments/{LIVE}/apis/7003/policies", POLICIES, {}),
    ],
    "ap": [("automated", f"{APIS}/automated-policies", {"environmentId": LIVE}, {})],
    "apc": [
        (
            "clients",
            f"/apiplatform/repository/v2/organizations/{ORG}/applications",
            {"offset": "0", "limit": "250", "targetAdminSite": "true"},
            {},
        )
    ],
    "dc": [("projects", "/designcenter/api-designer/projects", {}, {"x-organization-id": ORG})],
    "arm": [
        ("servers", "/hybrid/api/v1/servers", {}, BOTH),
        ("clusters", "/hybrid/api/v1/clusters", {}, BOTH),
        ("serverGroups", "/hybrid/api/v1/serverGroups", {}, BOTH),
        ("deployments", f"{HYBRID}/{LIVE}/deployments", {}, {}),
        ("deployment", f"{HYBRID}/{LIVE}/deployments/61001", {}, {}),
    ],
    "rtf": [("fabrics", f"/runtimefabric/api/organizations/{ORG}/fabrics", {}, {})],
    "amq": [
        ("regions", f"/mq/admin/api/v1{MQ}", {}, ENV),
        ("destinations", f"/mq/admin/api/v1{MQ}/eu-west-1/destinations", {"offset": "0", "limit": "100"}, ENV),
    ],
}


async def asked_for(collector: str, settings: dict[str, str] | None = None) -> list[tuple[str, PlatformRequest]]:
    platform = Platform(Recorded())
    async with platform_engine(platform, settings) as one:
        answer = await one.ask(collector, recursive=False)
        assert not answer.snapshot.problems
    assert "unknown" not in platform.journal.counts
    return platform.journal.calls


def scopes(call: PlatformRequest) -> dict[str, str]:
    return {name: call.headers[name] for name in SCOPES if name in call.headers}


@pytest.mark.requirement("metrics:anypoint:calls")
@pytest.mark.parametrize("collector", EXPECTED)
async def test_a_collectors_calls_have_their_path_query_and_headers(collector: str) -> None:
    calls = await asked_for(collector)
    told = [(route, call.path, call.query, scopes(call)) for route, call in calls]
    for expected in EXPECTED[collector]:
        assert told.count(expected) == 1, expected
    for route, call in calls:
        if not route.startswith("login"):
            assert call.method == "GET"
            assert call.headers["authorization"].startswith("Bearer tok-")
            assert call.headers["accept"] == "application/json"


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_the_tree_is_read_before_all_else() -> None:
    calls = await asked_for("core")
    assert [route for route, _ in calls][:2] == ["login-app", "hierarchy"]
    assert calls[1][1].path == f"{ACCOUNTS}/hierarchy"
    (environments,) = [call for route, call in calls if route == "environments"]
    assert (environments.path, environments.query) == (f"{ACCOUNTS}/environments", {})


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_a_connected_app_and_a_user_log_in_as_each_does() -> None:
    route, app = (await asked_for("dc", APP))[0]
    assert (route, app.method, app.path) == ("login-app", "POST", "/accounts/api/v2/oauth2/token")
    assert app.headers["content-type"] == "application/x-www-form-urlencoded"
    assert app.body == b"grant_type=client_credentials&client_id=app-1&client_secret=app-secret-CANARY"
    route, user = (await asked_for("dc", USER))[0]
    assert (route, user.method, user.path) == ("login-user", "POST", "/accounts/login")
    assert json.loads(user.body) == {"username": "pia", "password": "pia-password-CANARY"}
    assert not {"authorization"} & (app.headers.keys() | user.headers.keys())


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_exchange_is_asked_with_variables_and_its_token_is_one_of_them() -> None:
    calls = await asked_for("ex")
    (listed,) = [call for route, call in calls if route == "assets"]
    assert (listed.method, listed.path) == ("POST", "/graph/api/v2/graphql/")
    assert "authorization" not in listed.headers
    said: dict[str, Any] = json.loads(listed.body)
    token = said["variables"].pop("accessToken")
    assert token.startswith("tok-")
    assert said["operationName"] == "Platform"
    assert said["variables"] == {"organizationIds": [ORG], "types": TYPES, "limit": 250, "offset": 0}
    assert ORG not in said["query"]
    assert token not in said["query"]
    for field in ("latestVersionsOnly: true", "isGenerated", "numberOfRates", "minMuleVersion", "isSnapshot"):
        assert field in said["query"]
    (below,) = [call for route, call in calls if route == "dependencies"]
    variables = json.loads(below.body)["variables"]
    assert {name: variables[name] for name in ("groupId", "assetId", "version")} == {
        "groupId": ORG, "assetId": "stock-api", "version": "1.2.0"
    }  # fmt: skip


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_analytics_are_asked_for_thirty_days_by_api_and_by_client() -> None:
    (live, _) = [call for route, call in await asked_for("apma") if route == "analytics"]
    assert (live.method, live.path) == ("POST", f"/analytics/1.0/{ORG}/environments/{LIVE}/query")
    assert live.headers["accept"] == "application/json"
    assert json.loads(live.body) == {
        "type": "enriched-http-event", "duration": "30d", "include_policy_violation": True,
        "aggregators": [
            {"dimension": "api_id", "order": "descending"}, {"dimension": "client_id", "order": "descending"}
        ],
    }  # fmt: skip


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_messages_are_asked_for_the_last_day() -> None:
    stats = [call for route, call in await asked_for("amq") if route == "mq-stats" and LIVE in call.path]
    assert {call.path.split("regions/")[1] for call in stats} == {
        "eu-west-1/queues/orders", "eu-west-1/queues/orders-seq", "eu-west-1/exchanges/fanout"
    }  # fmt: skip
    for call in stats:
        assert call.path.startswith(f"/mq/stats/api/v1{MQ}/")
        assert scopes(call) == ENV
        assert call.query["period"] == "8640"
        begin, end = (parsedate_to_datetime(call.query[name]) for name in ("startDate", "endDate"))
        assert end - begin == timedelta(days=1)
        assert call.query["endDate"].endswith(" GMT")


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_the_object_store_is_asked_for_the_last_whole_day() -> None:
    days = [datetime.now(UTC).date()]
    (live,) = [call for route, call in await asked_for("osv2", USER) if route == "store-stats" and LIVE in call.path]
    days.append(datetime.now(UTC).date())  # midnight may have passed
    assert live.path == f"/api/v1/organizations/{ORG}/environments/{LIVE}"
    assert scopes(live) == ENV
    assert live.query in [
        {
            "period": "1day",
            "startDate": f"{today - timedelta(days=1)}T00:00:00.000Z",
            "endDate": f"{today}T00:00:00.000Z",
        }
        for today in days
    ]


@pytest.mark.requirement("metrics:anypoint:calls")
async def test_environments_for_designing_are_asked_for_nothing() -> None:
    design = "e0000000-0000-4000-8000-000000000001"
    for collector in ("ch", "arm", "amq", "osv2", "apm", "ap", "apma"):
        for _, call in await asked_for(collector):
            assert design not in f"{call.path} {call.query} {scopes(call)}"
