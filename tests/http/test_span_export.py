"""Spans for an OpenTelemetry collector: built from the stored trail, sent again after the collector was unreachable."""

from pathlib import Path
from typing import Any

import pytest

from pentad.administration import span_export
from pentad.app import open_app
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import Settings, TelemetrySettings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.http.conftest import PAGES
from tests.receiving import Received, receiving

pytestmark = pytest.mark.anyio

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.mark.requirement("trace:spans")
async def test_calls_are_sent_as_spans_and_again_until_the_collector_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_export, "_RETRY_SECONDS", 0.01)
    async with receiving(lambda number: "503 Busy" if number == 0 else "200 OK") as collector:
        settings = Settings(
            data=tmp_path,
            rooms=(PAGES,),
            auth="none",
            fetch=FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True),
            telemetry=TelemetrySettings(f"http://127.0.0.1:{collector.port}", "x-team=blue, x-key = secret"),
        )
        async with open_app(settings) as app:
            await send(front_of(app), "GET", "/api/whoami", {"traceparent": PARENT}).body()
            await send(front_of(app), "GET", "/api/crash").body()
            await app.audit.flush()
            _, taken = await collector.until(2)
    called, crashed = _spans(taken)
    assert (called["traceId"], called["parentSpanId"], called["name"]) == (
        TRACE,
        PARENT[36:52],
        "pages GET /api/whoami",
    )
    assert (called["status"]["code"], crashed["status"]["code"], called["kind"]) == (1, 2, 2)
    assert (len(crashed["traceId"]), len(crashed["spanId"]), "parentSpanId" in crashed) == (32, 16, False)
    assert int(called["startTimeUnixNano"]) <= int(called["endTimeUnixNano"])
    assert (taken.headers["x-team"], taken.headers["x-key"]) == ("blue", "secret")


@pytest.mark.requirement("trace:spans")
async def test_without_a_collector_nothing_is_sent_or_loaded(tmp_path: Path) -> None:
    async with open_app(Settings(data=tmp_path, rooms=(PAGES,), auth="none")) as app:
        assert app.span_export is None
        assert app.audit.on_stored is None


def _spans(received: Received) -> list[dict[str, Any]]:
    return received.json["resourceSpans"][0]["scopeSpans"][0]["spans"]
