"""Sends the calls and jobs of the audit trail to an OpenTelemetry collector, as spans (OTLP over HTTP, JSON).

Spans are made from stored batches of the trail, so they cost a call nothing. While the collector is unreachable,
batches wait; if too many wait, the oldest are dropped and counted.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

import msgspec

from pentad.access.audit import AuditEntry, decode_entries
from pentad.administration.traces import span_of
from pentad.kernel.background import Background
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError
from pentad.kernel.incidents import Incidents
from pentad.kernel.ports import Fetcher
from pentad.kernel.trace import trace_id_of

MOST_BATCHES: Final = 600
"""The most batches that wait for the collector: ten minutes' worth, at one a second."""
_RETRY_SECONDS: Final = 5.0
_TIMEOUT: Final = 10.0
_SERVER: Final = 2
_INTERNAL: Final = 1
_OK: Final = 1
_ERROR: Final = 2
_AWAY: Final = "away"
_DROPPED: Final = "dropped"

_log = logging.getLogger(__name__)


class SpanExport:
    """Sends batches between `start` and `stop`."""

    def __init__(self, fetcher: Fetcher, endpoint: str, headers: Mapping[str, str], version: str, clock: Clock) -> None:
        self._fetcher = fetcher
        self._url = f"{endpoint.rstrip('/')}/v1/traces"
        self._headers = {**headers, "content-type": "application/json"}
        self._version = version
        self._waiting: deque[bytes] = deque()
        self._more = asyncio.Event()
        self._background = Background()
        self._incidents = Incidents(_log, clock=clock)
        self.dropped = 0
        """Batches dropped because the collector was unreachable for too long."""

    def start(self) -> None:
        self._background.start(self._serve(), "span-export")

    async def stop(self) -> None:
        """Send the waiting batches if the collector answers, then stop."""
        await self._background.stop()
        try:
            async with asyncio.timeout(_TIMEOUT):
                while self._waiting:
                    await self._send(self._waiting[0])
                    self._waiting.popleft()
        except (PentadError, TimeoutError):
            _log.warning("%d batches of spans were not sent.", len(self._waiting))

    def take(self, entries: bytes) -> None:
        """Queue a stored batch of the trail."""
        if len(self._waiting) >= MOST_BATCHES:
            self._waiting.popleft()
            self.dropped += 1
            self._incidents.note(_DROPPED, "The oldest spans are dropped: too many wait", dropped=self.dropped)
        self._waiting.append(entries)
        self._more.set()

    async def _serve(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting:
                batch = self._waiting[0]
                try:
                    await self._send(batch)
                except PentadError as error:
                    text = "The span collector is not available; spans are kept in memory"
                    self._incidents.note(_AWAY, text, level=logging.WARNING, code=error.code)
                    await asyncio.sleep(_RETRY_SECONDS)
                    continue
                self._incidents.over(_AWAY, "The span collector is available again.")
                if self._waiting and self._waiting[0] is batch:
                    self._waiting.popleft()

    async def _send(self, entries: bytes) -> None:
        spans = [_otlp(entry) for entry in decode_entries(entries) if entry.trace]
        if not spans:
            return
        resource = {"attributes": [_attribute("service.name", "pentad"), _attribute("service.version", self._version)]}
        scope = {"name": "pentad", "version": self._version}
        body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": spans}]}]}
        answer = await self._fetcher.fetch(
            self._url, method="POST", headers=self._headers, body=msgspec.json.encode(body), timeout=_TIMEOUT,
            max_bytes=65_536, trusted=True, follow_redirects=False,
        )  # fmt: skip
        if answer.status >= 500 or answer.status == 429:
            raise PentadError(f"The span collector answered {answer.status}.")
        if answer.status >= 400:
            self._incidents.note(
                _DROPPED, "The span collector refuses spans", level=logging.WARNING, status=answer.status
            )


def _otlp(entry: AuditEntry) -> dict[str, Any]:
    """An entry of the trail as a span in OTLP JSON."""
    span = span_of(entry)
    start = int(span.at * 1_000_000_000)
    end = start + int((span.seconds or 0.0) * 1_000_000_000)
    own = blake2b(f"{entry.trace} {entry.at} {entry.tool} {entry.request_id}".encode(), digest_size=8).hexdigest()
    attributes = {
        "pentad.room": span.room,
        "pentad.kind": span.kind,
        "pentad.outcome": span.outcome,
        "enduser.id": span.principal,
        "network.transport": span.via,
    }
    found: dict[str, Any] = {
        "traceId": trace_id_of(entry.trace),
        "spanId": span.span_id or own,
        "name": f"{span.room} {span.name}".strip(),
        "kind": _INTERNAL if span.via in ("internal", "job", "") else _SERVER,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [_attribute(name, value) for name, value in attributes.items() if value],
        "status": {"code": _OK if span.outcome == "ok" else _ERROR},
    }
    return {**found, "parentSpanId": span.parent_span_id} if span.parent_span_id else found


def _attribute(name: str, value: str) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": value}}
