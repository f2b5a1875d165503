"""Planted secrets, searched for everywhere: answers, errors, logs, pages, the cache, and every byte in the store."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.rooms.metrics.service import Metrics
from pentad.settings.catalogue import list_settings
from pentad.settings.model import Settings
from tests.anypoint.server import Platform, serving
from tests.anypoint.world import World
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio

# Every planted secret contains one of these: those of the platform's answers, tokens and logins, and those set up here.
MARKS = ("MUST-NOT-LEAK", "CANARY")
CLOSED = "http://127.0.0.1:9"
HEADERS = (
    {"x-anypnt-client-id": "nobody", "x-anypnt-client-secret": "header-CANARY"},
    {"x-anypnt-username": "pia", "x-anypnt-password": "plain-CANARY", "x-plaintext-password": "true"},
    {"x-anypnt-username": "pia", "x-anypnt-password": "not-base64-CANARY"},
    {"x-anypnt-client-id": "app-1", "x-anypnt-client-secret": "app-secret-CANARY"},
)
TABLES: dict[str, Any] = {
    "loaders": {
        "gone": {"url": f"{CLOSED}/x", "token": "loader-CANARY", "headers": {"x-extra": "loader-header-CANARY"}},
        "login": {"url": f"{CLOSED}/_bulk", "format": "elastic", "user": "u", "password": "elastic-CANARY"},
    },
    "sdlc": {"jira": {"url": CLOSED, "user": "u", "token": "jira-CANARY"}},
    "http_json": {
        "shop": {"url": CLOSED, "values": {"orders": "/o"}, "headers": {"authorization": "Bearer json-CANARY"}}
    },
    "prometheus_url": CLOSED,
    "prometheus_token": "prometheus-CANARY",
    "postgres_url": "postgresql://u:postgres-CANARY@127.0.0.1:9/x",
}
TIMES = {
    "developAPIHistoricTime": 10, "developAPICurrentTime": 5, "maintainAPIHistoricTime": 4, "maintainAPICurrentTime": 1,
    "developerDayRate": 100,
}  # fmt: skip


def settings_for(platform: Platform, data: Path) -> Settings:
    variables = {
        "URL": platform.url, "ORG": platform.world.root, "CLIENT_ID": "app-1", "CLIENT_SECRET": "app-secret-CANARY",
        "USERNAME": "pia", "PASSWORD": "pia-password-CANARY",
    }  # fmt: skip
    environment = {f"PENTAD_ANYPOINT_{name}": value for name, value in variables.items()}
    return Settings(
        data=data, rooms=("metrics",), auth="none", room_tables={"metrics": TABLES}, environment=environment
    )


async def told(app: App, ids: list[str], headers: dict[str, str]) -> list[Any]:
    """Everything one client receives, whatever it asks."""
    client = await connect_http(app, HTTP_MODERN, None, **headers)
    questions: list[tuple[str, dict[str, Any]]] = [("getCapabilities", {}), ("listMetricKeys", {"limit": 1000})]
    for one in ids:
        brief = {"collector": one, "timeout_seconds": 2}
        questions += [
            ("getPlatformMetricsByCollector", brief),
            ("getPlatformMetricsByCollector", {**brief, "raw": True}),
            ("getPlatformMetricsByCollector", {**brief, "compat": "legacy"}),
            ("exportMetrics", {**brief, "format": "webhook"}),
            ("loadMetrics", {**brief, "to": "gone"}),
        ]
    questions += [
        ("explainMetric", {"collector": "ch", "metricKey": "networking"}),
        ("loadMetrics", {"collector": "host", "to": "login", "keys": "memory"}),
        ("getPlatformBenefits", TIMES),
        ("getSdlcMetrics", {"raw": True}),
        ("getMetricHistory", {"collector": "ch", "metricKey": "**"}),
        ("listAlerts", {}),
    ]
    heard = [(await client.call(tool, given)).result for tool, given in questions]
    for uri in ("metrics://catalog", "metrics://alerts", "metrics://ch/default"):
        reply = await client.request("resources/read", {"uri": uri})
        heard.append(reply.final)
    await client.close()
    return heard


async def pages(app: App, ids: list[str]) -> list[str]:
    own = ["/rooms/metrics", *(f"/rooms/metrics/{one}" for one in ids)]
    paths = ["/", "/console", "/metrics", "/healthz", "/readyz", *own]
    return [(await send(front_of(app), "GET", path, {}).body()).decode(errors="replace") for path in paths]


@pytest.mark.requirement("metrics:secrets")
async def test_no_planted_secret_is_found_anywhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    platform = Platform(World())
    async with serving(platform):
        settings = settings_for(platform, tmp_path)
        async with open_app(settings) as app:
            metrics: Metrics = app.rooms[0].service
            metrics.engine.pool.tries = 1
            ids = metrics.catalogue.ids()
            heard: list[Any] = [await told(app, ids, {})]
            platform.faults.set(
                [
                    {"route": "applications", "kind": "truncated"},
                    {"route": "clients", "kind": "html"},
                    {"route": "usage", "status": 500},
                    {"route": "policies", "status": 403},
                ]
            )
            heard += [await told(app, ["ch", "apm", "apc", "core"], headers) for headers in HEADERS]
            for one in ("ch", "core", "apm", "host"):
                await metrics.poll(one)
            heard.append(await pages(app, ids))
            heard.append(repr([known.value for known in metrics.engine.cache._facts._entries.values()]))
            heard.append(repr(list(metrics.engine.cache._facts._entries)))
            heard.append(repr(metrics.engine.catalogue.collectors))
        heard.append(repr(list_settings(settings)) + repr(settings))
    assert platform.journal.counts["login-app"] > 1, "the secrets were in use"
    logs = [record for record in caplog.records if not record.name.startswith("aiohttp")]
    assert not leaks([f"{record.getMessage()} {record.__dict__}" for record in logs])
    for part in heard:
        assert not leaks([part if isinstance(part, str) else json.dumps(part)])
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in written) > 100_000, "there is a store to look into"
    assert not leaks([path.read_bytes().decode("latin-1") for path in written])


def leaks(texts: list[str]) -> list[str]:
    """Where a secret was found, with its surroundings."""
    return [
        text[max(0, text.index(mark) - 200) : text.index(mark) + 50] for text in texts for mark in MARKS if mark in text
    ]
