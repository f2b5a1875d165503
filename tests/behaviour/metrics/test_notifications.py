"""Alerts reach their receivers automatically: once, grouped, repeated, silenced, and when resolved."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.jobs.leases import CHANNEL
from pentad.jobs.signed_webhooks import signature, signing_key
from pentad.rooms.metrics.service import Metrics
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.receiving import Received, Receiver, receiving
from tests.rooms.metrics.sources import Request, Response, TurnedClock, http_source
from tests.waiting import until

pytestmark = pytest.mark.anyio
SECRET = "SECRET-MUST-NOT-LEAK"


def gave(number: int) -> Response:
    return Response(json={"status": "success", "data": {"resultType": "scalar", "result": [0, str(number)]}})


class Watched:
    """A server with one figure, thresholds, a receiver, and a clock that the test moves."""

    def __init__(self, app: App, clock: TurnedClock, answers: list[Response], receiver: Receiver) -> None:
        self.app = app
        self.metrics: Metrics = app.rooms[0].service
        self.clock = clock
        self.answers = answers
        self.receiver = receiver

    async def measured(self, answer: Response) -> None:
        """One more poll, a minute later."""
        self.answers.append(answer)
        await self.looked(60)
        await self.metrics.poll("prometheus")

    async def later(self, seconds: float) -> None:
        """Advance the time, and let the jobs run that are due by then."""
        self.clock.turn(seconds)
        await self.metrics.platform.database.write(lambda tx: tx.signal(CHANNEL))

    async def rested(self) -> None:
        """Wait until every job due now has run."""
        jobs = self.metrics.platform.jobs

        def has_run(job: Any) -> bool:
            return job.state == "queued" and job.run_at > self.clock.now()

        await until(lambda: jobs.stored(name="metrics.notify"), lambda found: found and all(map(has_run, found)))

    async def looked(self, seconds: float = 40) -> None:
        """By default longer than the interval of the receiver's job, which varies a little."""
        await self.later(seconds)
        await self.rested()

    async def told(self, count: int) -> Received:
        """The last message, of exactly this many."""
        await self.rested()
        assert len(self.receiver.requests) == count
        return self.receiver.requests[-1]

    async def call(self, tool: str, **given: Any) -> dict[str, Any]:
        async with self.app.client() as client:
            result = await client.call_tool(tool, given)
        assert result.get("isError") is not True, result
        return result["structuredContent"]


@asynccontextmanager
async def watched(
    folder: Path, *, answer: Any = None, thresholds: dict[str, Any] | None = None, **receiver: Any
) -> AsyncGenerator[Watched]:
    answers, clock = [gave(1)], TurnedClock()

    async def prometheus(_asked: Request) -> Response:
        return answers[-1]

    async with http_source(prometheus) as source, receiving(answer) as got:
        tables: dict[str, Any] = {
            "prometheus_url": source.url,
            "prometheus_queries": {"queue": "queue"},
            "thresholds": thresholds or {"prometheus.queue": {"warn": 10, "alarm": 100, "times": 1}},
            "poll": {"host": 0, "pentad": 0, "prometheus": 0},
            "receivers": {"oncall": {"type": "webhook", "url": got.url, "wait": 0, **receiver}},
        }
        settings = Settings(data=folder, rooms=("metrics",), auth="none", room_tables={"metrics": tables})
        async with open_app(settings, clock=clock) as app:
            yield Watched(app, clock, answers, got)


@pytest.mark.requirement("metrics:notifications")
async def test_a_webhook_gets_what_alertmanager_would_send_when_it_fires_and_when_it_is_over(tmp_path: Path) -> None:
    async with watched(tmp_path, secret=SECRET) as one:
        await one.measured(gave(50))
        begun = one.clock.now()
        await one.looked()
        first = await one.told(1)
        body = first.json
        assert (body["version"], body["status"], body["receiver"]) == ("4", "firing", "oncall")
        assert body["groupLabels"] == {"collector": "prometheus", "scope": ""}
        (alert,) = body["alerts"]
        assert alert["status"] == "firing"
        assert alert["labels"]["alertname"] == "prometheus.queue"
        assert alert["labels"]["severity"] == "warning"
        assert alert["endsAt"] == "0001-01-01T00:00:00Z"
        assert "is 50; the threshold is 10" in alert["annotations"]["summary"]
        stamp = int(first.headers["webhook-timestamp"])
        signed = signature(signing_key(SECRET), first.headers["webhook-id"], stamp, first.body)
        assert first.headers["webhook-signature"] == signed
        assert SECRET not in first.body.decode()

        await one.measured(gave(51))
        await one.looked()
        await one.told(1)

        await one.measured(gave(1))
        await one.looked()
        over = (await one.told(2)).json
        assert (over["status"], over["alerts"][0]["status"]) == ("resolved", "resolved")
        assert over["alerts"][0]["fingerprint"] == alert["fingerprint"]
        assert over["alerts"][0]["startsAt"] == alert["startsAt"]
        assert over["alerts"][0]["endsAt"] > alert["startsAt"]
        assert begun < one.clock.now()
        await one.looked(100_000)
        await one.told(2)


@pytest.mark.requirement("metrics:notifications")
async def test_a_warning_that_becomes_an_alarm_is_one_message(tmp_path: Path) -> None:
    async with watched(tmp_path) as one:
        await one.measured(gave(50))
        await one.looked()
        await one.measured(gave(500))
        await one.looked()
        body = (await one.told(2)).json
        assert body["status"] == "firing"
        assert [(alert["status"], alert["labels"]["severity"]) for alert in body["alerts"]] == [
            ("firing", "critical"), ("resolved", "warning"),
        ]  # fmt: skip


@pytest.mark.requirement("metrics:notifications:repeat")
async def test_what_still_fires_is_told_again_after_the_interval_and_not_before(tmp_path: Path) -> None:
    async with watched(tmp_path, repeat=600) as one:
        await one.measured(gave(50))
        await one.looked()
        await one.told(1)
        for _ in range(9):
            await one.looked(60)
        await one.told(1)
        await one.looked(120)
        again = await one.told(2)
        assert again.headers["webhook-id"] != one.receiver.requests[0].headers["webhook-id"]
        assert again.json["status"] == "firing"


@pytest.mark.requirement("metrics:notifications")
async def test_an_outage_of_the_source_resolves_nothing(tmp_path: Path) -> None:
    async with watched(tmp_path) as one:
        await one.measured(gave(50))
        await one.looked()
        await one.told(1)
        await one.measured(Response(body=b"<html>Sign in</html>", headers={"content-type": "text/html"}))
        await one.looked()
        body = (await one.told(2)).json
        assert {alert["labels"]["key"] for alert in body["alerts"]} == {"queue", "collector.up"}
        assert {alert["status"] for alert in body["alerts"]} == {"firing"}
        summaries = {alert["labels"]["key"]: alert["annotations"]["summary"] for alert in body["alerts"]}
        assert summaries["collector.up"] == "The collector prometheus does not reach its source."
        await one.measured(gave(50))
        await one.looked()
        body = (await one.told(3)).json
        assert [(alert["labels"]["key"], alert["status"]) for alert in body["alerts"]] == [
            ("queue", "firing"), ("collector.up", "resolved"),
        ]  # fmt: skip


@pytest.mark.requirement("metrics:notifications:silence")
async def test_a_silence_keeps_alerts_from_receivers_until_it_ends(tmp_path: Path) -> None:
    async with watched(tmp_path, repeat=100_000) as one:
        made = (await one.call("silenceAlerts", collector="prometheus", reason="move", **{"for": "10m"}))["silence"]
        await one.measured(gave(50))
        await one.looked()
        assert one.receiver.requests == []
        listed = await one.call("listAlerts")
        assert listed["alerts"][0]["silence"] == made["id"]
        assert (listed["silences"][0]["reason"], listed["silences"][0]["by"]) == ("move", "local")
        await one.looked(600)
        assert (await one.told(1)).json["status"] == "firing"

        other = (await one.call("silenceAlerts", metricKey="que*"))["silence"]
        await one.measured(gave(1))
        await one.looked()
        assert (await one.told(2)).json["status"] == "resolved", "the receiver still believed that it fires"
        await one.measured(gave(60))
        await one.looked()
        await one.told(2)
        assert await one.call("silenceAlerts", end=other["id"]) == {"ended": other["id"]}
        await one.looked(1)
        await one.told(3)
        assert "silences" not in await one.call("listAlerts")


@pytest.mark.requirement("metrics:notifications")
async def test_a_receiver_that_fails_is_told_later_and_readiness_says_so(tmp_path: Path) -> None:
    async with watched(tmp_path, answer=lambda n: "500 Down" if n == 0 else "200 OK") as one:
        await one.measured(gave(50))
        await one.told(1)
        ready = await send(front_of(one.app), "GET", "/readyz").json()
        room = ready["rooms"]["metrics"]
        assert (ready["status"], room["status"]) == ("degraded", "deliveries_failing")
        assert room["failing_deliveries"][0]["receiver"] == "oncall"
        assert "500" in room["failing_deliveries"][0]["problem"]
        await one.looked()
        again = await one.told(2)
        assert again.headers["webhook-id"] == one.receiver.requests[0].headers["webhook-id"], "the same message"
        ready = await send(front_of(one.app), "GET", "/readyz").json()
        assert ready["rooms"]["metrics"].get("status", "ok") == "ok"


@pytest.mark.requirement("metrics:notifications")
async def test_a_receiver_gets_only_the_levels_and_collectors_it_wants(tmp_path: Path) -> None:
    async with watched(tmp_path, level="alarm", resolved=False) as one:
        await one.measured(gave(50))
        await one.looked()
        assert one.receiver.requests == []
        await one.measured(gave(500))
        await one.looked()
        await one.told(1)
        await one.measured(gave(1))
        await one.looked()
        await one.told(1)
        await one.measured(gave(500))
        await one.looked()
        ids = {request.headers["webhook-id"] for request in one.receiver.requests}
        assert len(ids) == len(one.receiver.requests) == 2
