"""The formats an answer can be told in, by name: each gives the body and the type of its content. Pure."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import msgspec

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.metrics.loaders.rows import Row, organisations, rows_of
from pentad.rooms.metrics.loaders.telemetry import exposition, otlp
from pentad.rooms.metrics.model import Info, Snapshot

Format = Literal["csv", "json", "ndjson", "prometheus", "otlp", "splunk", "elastic", "webhook"]
FORMATS: Final[tuple[str, ...]] = get_args(Format)
COLUMNS: Final = ("name", "value", "businessGroup", "date", "group", "environmentType", "environmentName")
_DANGEROUS: Final = ("=", "+", "-", "@", "\t", "\r")
_NDJSON: Final = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class Told:
    """A body and what it is."""

    body: str
    content_type: str
    records: int


@dataclass(frozen=True, slots=True)
class Words:
    """What a destination wants said besides the figures."""

    source: str = "metrics-toolkit"
    sourcetype: str = "_json"
    index: str = ""
    legacy: bool = False
    """Whether an organisation's rows are to be those of the toolkit."""


def told(form: str, snapshot: Snapshot, info: Info, words: Words | None = None) -> Told:
    """The answer in a format."""
    if (write := _WRITERS.get(form)) is None:
        guess = did_you_mean(form, FORMATS)
        raise InvalidInput(
            f"There is no format {form[:40]!r}.{' ' + guess if guess else ''}", hint=f"Formats: {', '.join(FORMATS)}."
        )
    return write(snapshot, info, words or Words())


def csv_text(rows: Sequence[Row]) -> str:
    """Rows under their columns. A text that a spreadsheet would take for a formula is told with an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        fields = msgspec.to_builtins(row)
        writer.writerow([_harmless(fields[name]) for name in COLUMNS])
    return out.getvalue()


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_DANGEROUS) else value


def _csv(snapshot: Snapshot, info: Info, words: Words) -> Told:
    rows = rows_of(snapshot, info.title, legacy=words.legacy)
    return Told(csv_text(rows), "text/csv; charset=utf-8", len(rows))


def _json(snapshot: Snapshot, info: Info, words: Words) -> Told:
    rows = rows_of(snapshot, info.title, legacy=words.legacy)
    return Told(msgspec.json.encode(rows).decode(), "application/json", len(rows))


def _ndjson(snapshot: Snapshot, info: Info, words: Words) -> Told:
    rows = rows_of(snapshot, info.title, legacy=words.legacy)
    return Told(_lines(rows), _NDJSON, len(rows))


def _prometheus(snapshot: Snapshot, info: Info, words: Words) -> Told:
    text = exposition(snapshot, info.catalogue)
    count = sum(1 for line in text.splitlines() if not line.startswith("#"))
    return Told(text, "text/plain; version=0.0.4; charset=utf-8", count)


def _otlp(snapshot: Snapshot, info: Info, words: Words) -> Told:
    body = otlp(snapshot, info.catalogue)
    count = len(body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"])
    return Told(_text(body), "application/json", count)


def _splunk(snapshot: Snapshot, info: Info, words: Words) -> Told:
    """Events for an HTTP Event Collector, one after the other."""
    events = [_event(document, snapshot, words) for document in _documents(snapshot)]
    return Told("".join(map(_text, events)), "application/json", len(events))


def _event(document: Any, snapshot: Snapshot, words: Words) -> dict[str, Any]:
    event = {"time": round(snapshot.as_of, 3), "source": words.source, "sourcetype": words.sourcetype}
    return {**event, **({"index": words.index} if words.index else {}), "event": document}


def _elastic(snapshot: Snapshot, info: Info, words: Words) -> Told:
    """A bulk request: a line that says what to do, then the document."""
    documents = _documents(snapshot)
    action = {"index": {"_index": words.index} if words.index else {}}
    return Told(_lines([line for one in documents for line in (action, one)]), _NDJSON, len(documents))


def _webhook(snapshot: Snapshot, info: Info, words: Words) -> Told:
    body = {
        "collector": snapshot.collector,
        "title": info.title,
        "scope": snapshot.scope,
        "asOf": iso(snapshot.as_of),
        "metrics": snapshot.tree,
        "coverage": snapshot.coverage,
        "problems": snapshot.problems,
    }
    return Told(_text(body), "application/json", len(_documents(snapshot)))


def _documents(snapshot: Snapshot) -> list[Any]:
    """One for each business group; of other collectors, one."""
    groups = organisations(snapshot.tree)
    return list(groups) or [{"date": iso(snapshot.as_of), "collector": snapshot.collector, "metrics": snapshot.tree}]


def _lines(values: Sequence[Any]) -> str:
    return "".join(f"{_text(value)}\n" for value in values)


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_WRITERS: Final[dict[str, Callable[[Snapshot, Info, Words], Told]]] = {
    "csv": _csv, "json": _json, "ndjson": _ndjson, "prometheus": _prometheus, "otlp": _otlp,
    "splunk": _splunk, "elastic": _elastic, "webhook": _webhook,
}  # fmt: skip
