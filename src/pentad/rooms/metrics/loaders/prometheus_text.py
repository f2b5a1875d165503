"""Figures as Prometheus text or OpenMetrics, with names and units that `promtool check metrics` accepts.

Names are lower-case words and end with the base unit; only counters end with `_total`. A figure of a business group and
those of its environments have the same name and different values of the label `level`, so a sum over one level counts
nothing twice. A stale figure has the timestamp of its fetch, so Prometheus does not treat it as current.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pentad.rooms.metrics.models import Labels, Metric, Sample, Snapshot

_STRANGE: Final = re.compile(r"[^A-Za-z0-9]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SPAN_OF_TIME: Final = re.compile(r"(\d+)_(days|hours|minutes)(?=_|$)")
_BASE_UNITS: Final = {
    "By": ("bytes", 1.0), "s": ("seconds", 1.0), "ms": ("seconds", 0.001), "%": ("ratio", 0.01),
    "MHz": ("hertz", 1_000_000.0),
}  # fmt: skip
"""The base unit of a unit, and the factor."""
_NOT_IN_NAMES: Final = frozenset({"gauge", "counter", "summary", "histogram"})
_RESERVED: Final = {"count": "number", "sum": "amount", "bucket": "part"}
"""Suffixes that are reserved for histograms, and their replacements."""
_UNIT_ABBREVIATIONS: Final = frozenset({"ms", "us", "ns", "sec", "kb", "mb", "gb", "tb", "pb"})
"""Words that `promtool` reads as units, besides single letters."""


class FamilyWriter:
    """Writes the figures of one collector, grouped by metric: as OpenMetrics, or in Prometheus' older text format."""

    def __init__(self, collector: str, catalogue: Iterable[Metric], *, openmetrics: bool = False) -> None:
        self._collector = collector
        self._metrics = {metric.key: metric for metric in catalogue}
        self._names = metric_names(collector, self._metrics)
        self._openmetrics = openmetrics
        self._families: dict[str, tuple[str, float, list[str]]] = {}
        """By key: the name of the metric, the factor to its base unit, and its lines."""
        self._labels: dict[tuple[str, Labels], str] = {}

    def add(
        self, key: str, value: float, labels: Labels = (), *, scope: str = "", unit: str | None = None, at: float = 0.0
    ) -> None:
        """Add one figure. `at` is the timestamp of a stale one."""
        family = self._families.get(key)
        if family is None:
            family = self._families[key] = self._begin(key, unit)
        name, factor, lines = family
        text = self._labels.get((scope, labels))
        if text is None:
            text = self._labels[scope, labels] = _label_text(scope, labels)
        number = repr(value) if factor == 1.0 else repr(float(f"{value * factor:.15g}"))
        if not at:
            lines.append(f"{name}{text} {number}\n")
        elif self._openmetrics:
            lines.append(f"{name}{text} {number} {at:.3f}\n")
        else:
            lines.append(f"{name}{text} {number} {round(at * 1000)}\n")

    def text(self) -> str:
        """All families. A page of OpenMetrics ends with `EOF_LINE` after its last collector."""
        together: dict[str, list[str]] = {}
        for name, _, lines in self._families.values():
            if name in together:
                together[name] += lines[_heads(lines) :]
            else:
                together[name] = lines
        return "".join(line for lines in together.values() for line in lines)

    def _begin(self, key: str, unit: str | None) -> tuple[str, float, list[str]]:
        metric = self._metrics.get(key)
        name = self._names.get(key) or metric_name(self._collector, key, unit)
        base, factor = _BASE_UNITS.get((metric.unit if metric is not None else unit) or "", ("", 1.0))
        is_counter = metric is not None and metric.kind == "counter"
        family = name.removesuffix("_total") if is_counter and self._openmetrics else name
        about = (metric.description if metric is not None else "") or key
        help_text = about.replace("\\", "\\\\").replace("\n", "\\n")
        if self._openmetrics:
            help_text = help_text.replace('"', '\\"')
        lines = [f"# HELP {family} {help_text}\n", f"# TYPE {family} {'counter' if is_counter else 'gauge'}\n"]
        if self._openmetrics and base and family.endswith(f"_{base}"):
            lines.append(f"# UNIT {family} {base}\n")
        return name, factor, lines


EOF_LINE: Final = "# EOF\n"
"""The last line of a page of OpenMetrics."""


def prometheus_text(snapshot: Snapshot, catalogue: Iterable[Metric], numbers: Iterable[tuple[Sample, float]]) -> str:
    """The text a Prometheus server reads, grouped by metric."""
    writer = FamilyWriter(snapshot.collector, catalogue)
    for sample, number in numbers:
        at = sample.as_of if sample.state == "stale" else 0.0
        labels = (*sample.labels, ("state", "partial")) if sample.state == "partial" else sample.labels
        writer.add(sample.key, number, labels, scope=snapshot.scope, unit=sample.unit, at=at)
    return writer.text()


def _heads(lines: Sequence[str]) -> int:
    """How many lines describe a family, before its figures."""
    return next((place for place, line in enumerate(lines) if not line.startswith("#")), len(lines))


def metric_names(collector: str, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """The metric names of a catalogue by key. If two keys would get the same name, the later one ends with `value`."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for key, metric in metrics.items():
        if metric.kind not in ("gauge", "counter"):
            continue
        name = metric_name(collector, key, metric.unit, is_counter=metric.kind == "counter")
        if name in taken:
            name = metric_name(collector, f"{key}.value", metric.unit, is_counter=metric.kind == "counter")
        taken.add(name)
        names[key] = name
    return names


def metric_name(collector: str, key: str, unit: str | None, *, is_counter: bool = False) -> str:
    """The name of one metric: lower-case words, then the base unit, then `total` for counters."""
    text = _SPAN_OF_TIME.sub(lambda found: f"{found[1]}{found[2][0]}", _snake_case(key))
    words = _without_abbreviations(word for word in text.split("_") if word not in _NOT_IN_NAMES)
    if words[-1:] == ["total"]:
        words.pop()
    words = ["pentad", _snake_case(collector), *(words or ["all"])]
    words[-1] = _RESERVED.get(words[-1], words[-1])
    base = base_unit(unit)
    if base == "ratio" and words[-1] == "percent":
        words.pop()
    if base and words[-1] != base:
        words.append(base)
    return "_".join([*words, "total"] if is_counter else words)


def base_unit(unit: str | None) -> str:
    """The base unit that names end with; empty if there is none."""
    return _BASE_UNITS.get(unit or "", ("", 1.0))[0]


def _without_abbreviations(words: Iterable[str]) -> list[str]:
    """Join a single letter or abbreviated unit to the word before it: `coresReservedB` becomes `cores_reservedb`."""
    joined: list[str] = []
    for word in words:
        if joined and ((len(word) == 1 and word.isalpha()) or word in _UNIT_ABBREVIATIONS):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _snake_case(text: str) -> str:
    return _STRANGE.sub("_", _CAMEL.sub("_", text)).strip("_").lower()


def level_of(labels: Labels) -> str | None:
    """Whether a figure is that of a business group, of an environment or of a region in it; None for others."""
    known = dict(labels)
    if "environmentName" in known:
        return "environment"
    if "businessGroup" not in known:
        return None
    return "region" if "id" in known else "group"


def _label_text(scope: str, labels: Labels) -> str:
    level = level_of(labels)
    given = [*((("scope", scope),) if scope else ()), *((("level", level),) if level else ()), *labels]
    named: dict[str, str] = {}
    for name, text in given:
        label = _label_name(name)
        while label in named:  # as Prometheus does with labels of a source that are taken
            label = f"exported_{label}"
        named[label] = text
    inner = ",".join(f'{name}="{_quoted(text)}"' for name, text in named.items())
    return f"{{{inner}}}" if inner else ""


def _label_name(name: str) -> str:
    text = _snake_case(name)
    return f"_{text}" if text[:1].isdigit() else text or "_"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
