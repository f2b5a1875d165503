"""Sends figures to the destinations of the settings. Callers can choose a destination but not add one.

    [rooms.metrics.loaders.splunk]
    format = "splunk"
    url = "https://splunk.example/services/collector/event"
    token = "..."
    index = "platform_metrics"
    collectors = ["ch", "core"]
    every = 3600

With `collectors` and `every`, a job sends on a schedule. No answer or error contains a secret of the settings.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec
import msgspec.structs

from pentad.kernel.errors import Misconfigured, NotFound, Unavailable
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Fetcher
from pentad.rooms.metrics.loaders.formats import FORMATS, Export, ExportOptions, export_snapshot
from pentad.rooms.metrics.models import Info, Snapshot

_ALIASES: Final = {"elk": "elastic", "elasticsearch": "elastic", "hec": "splunk"}
_SECONDS: Final = 30.0
_MOST_ANSWER: Final = 1 << 20


class Destination(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A destination of the settings."""

    url: str
    format: str = "webhook"
    token: str = ""
    user: str = ""
    password: str = ""
    index: str = ""
    source: str = "pentad"
    sourcetype: str = "_json"
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    collectors: tuple[str, ...] = ()
    """The collectors to send on a schedule, with a scope after a slash, as in `ch/Root/Sub`."""
    every: float = 0.0
    """Seconds between scheduled loads; 0 is never."""


class Destinations:
    """All destinations of the settings, by name."""

    def __init__(self, given: Any, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._known = {name: _destination(name, table) for name, table in _tables(given).items()}

    def names(self) -> list[str]:
        """The names of all destinations."""
        return sorted(self._known)

    def scheduled(self) -> dict[str, Destination]:
        """The destinations with a schedule, by name."""
        return {name: one for name, one in self._known.items() if one.every}

    async def send(self, name: str, snapshot: Snapshot, info: Info, *, legacy: bool = False) -> Export:
        """Send a snapshot; raises Unavailable if the destination does not accept it."""
        destination = self._find(name)
        options = ExportOptions(destination.source, destination.sourcetype, destination.index, legacy)
        message = export_snapshot(destination.format, snapshot, info, options)
        answer = await self._fetcher.fetch(
            destination.url,
            method="POST",
            headers={**_headers(destination), "content-type": message.content_type},
            body=message.body.encode(),
            max_bytes=_MOST_ANSWER,
            timeout=_SECONDS,
            trusted=True,
        )
        if not 200 <= answer.status < 300:
            raise Unavailable(
                f"The destination {name!r} answered with HTTP {answer.status}.", hint=_advice(answer.status)
            )
        if destination.format == "elastic" and _has_errors(answer.body):
            raise Unavailable(f"The destination {name!r} refused some of the documents.", hint="Check its index.")
        if destination.format == "otlp" and (refused := _rejected_points(answer.body)):
            raise Unavailable(f"The destination {name!r} rejected {refused} data points.", hint="Check its log.")
        return message

    def _find(self, name: str) -> Destination:
        if (found := self._known.get(name)) is not None:
            return found
        guess = did_you_mean(name, self._known)
        hint = (
            f"Destinations: {', '.join(self.names())}." if self._known else "Set one up: [rooms.metrics.loaders.NAME]."
        )
        raise NotFound(f"There is no destination {name[:80]!r}.{' ' + guess if guess else ''}", hint=hint)


def _tables(given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise Misconfigured("rooms.metrics.loaders is not a table.", hint="Write [rooms.metrics.loaders.NAME].")
    return cast("Mapping[str, Any]", given)


def _destination(name: str, table: Any) -> Destination:
    try:
        found = msgspec.convert(table, Destination)
    except msgspec.ValidationError as error:
        raise Misconfigured(f"rooms.metrics.loaders.{name}: {error}") from None
    form = _ALIASES.get(found.format, found.format)
    if form not in FORMATS:
        raise Misconfigured(
            f"rooms.metrics.loaders.{name} has the format {form!r}.", hint=f"Formats: {', '.join(FORMATS)}."
        )
    if not found.url.startswith(("http://", "https://")):
        raise Misconfigured(f"rooms.metrics.loaders.{name} has no http(s) address.")
    if bool(found.every) is not bool(found.collectors) or not 0 <= found.every < float("inf"):
        raise Misconfigured(
            f"rooms.metrics.loaders.{name} needs both collectors and every, with every a positive number.",
            hint='Write both: collectors = ["ch"] and every = 3600 (seconds); or neither, to send only when asked.',
        )
    return msgspec.structs.replace(found, format=form)


def _headers(destination: Destination) -> dict[str, str]:
    headers = dict(destination.headers)
    if destination.token:
        scheme = "Splunk" if destination.format == "splunk" else "Bearer"
        headers["authorization"] = f"{scheme} {destination.token}"
    elif destination.user:
        pair = f"{destination.user}:{destination.password}".encode()
        headers["authorization"] = f"Basic {base64.b64encode(pair).decode()}"
    return headers


def _has_errors(body: bytes) -> bool:
    """Whether the answer to a bulk request reports failures."""
    try:
        answer = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return isinstance(answer, dict) and cast("dict[str, Any]", answer).get("errors") is True


def _rejected_points(body: bytes) -> int:
    """How many data points an OTLP receiver rejected."""
    try:
        answer = msgspec.json.decode(body, type=dict[str, Any])
        return int(answer["partialSuccess"].get("rejectedDataPoints", 0))
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, AttributeError):
        return 0


def _advice(status: int) -> str:
    return "Check its token in the settings." if status in (401, 403) else "Try again later, or check its log."
