"""Figures as Prometheus text, with names and units that `promtool check metrics` accepts.

Names are lower-case words and end with the base unit; only counters end with `_total`. A figure of a business group and
those of its environments have the same name and different values of the label `level`, so a sum over one level counts
nothing twice. A stale figure has the time it was fetched, so that Prometheus does not take it for a current one.
"""

import re
from collections.abc import Iterable, Mapping
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
"""Last words that belong to histograms, and what stands in for them."""
_UNIT_ABBREVIATIONS: Final = frozenset({"ms", "us", "ns", "sec", "kb", "mb", "gb", "tb", "pb"})
"""Words that `promtool` takes for units, besides single letters."""


def prometheus_text(snapshot: Snapshot, catalogue: Iterable[Metric], numbers: Iterable[tuple[Sample, float]]) -> str:
    """The text a Prometheus server scrapes, grouped by metric."""
    metrics = {metric.key: metric for metric in catalogue}
    names = metric_names(snapshot.collector, metrics)
    families: dict[str, list[str]] = {}
    for sample, number in numbers:
        metric = metrics.get(sample.key)
        name = names.get(sample.key) or metric_name(snapshot.collector, sample.key, sample.unit)
        if name not in families:
            families[name] = _head(name, sample.key, metric)
        unit = metric.unit if metric is not None else sample.unit
        at = f" {round(sample.as_of * 1000)}" if sample.state == "stale" else ""
        families[name].append(f"{name}{_labels(snapshot, sample)} {_number(number, unit)}{at}")
    return "".join(f"{line}\n" for lines in families.values() for line in lines)


def metric_names(collector: str, metrics: Mapping[str, Metric]) -> dict[str, str]:
    """The names of a catalogue's numbers by key. Of two keys with one name the later ends with `value`."""
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
    base, _ = _BASE_UNITS.get(unit or "", ("", 1.0))
    if base == "ratio" and words[-1] == "percent":
        words.pop()
    if base and words[-1] != base:
        words.append(base)
    return "_".join([*words, "total"] if is_counter else words)


def _without_abbreviations(words: Iterable[str]) -> list[str]:
    """The words; a letter that stands alone, or an abbreviated unit, joins the word before: `coresReservedB` becomes
    `cores_reservedb`."""
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


def _head(name: str, key: str, metric: Metric | None) -> list[str]:
    kind = "counter" if metric is not None and metric.kind == "counter" else "gauge"
    about = (metric.description if metric is not None else "") or key
    help_text = about.replace("\\", "\\\\").replace("\n", "\\n")
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]


def _labels(snapshot: Snapshot, sample: Sample) -> str:
    level = level_of(sample.labels)
    labels = {
        **({"scope": snapshot.scope} if snapshot.scope else {}),
        **({"level": level} if level else {}),
        **dict(sample.labels),
    }
    if not labels:
        return ""
    inner = ",".join(f'{_label_name(name)}="{_quoted(text)}"' for name, text in labels.items())
    return f"{{{inner}}}"


def _label_name(name: str) -> str:
    text = _snake_case(name)
    return f"_{text}" if text[:1].isdigit() else text or "_"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float, unit: str | None) -> str:
    """A number in its base unit, as Prometheus reads it."""
    factor = _BASE_UNITS.get(unit or "", ("", 1.0))[1]
    return repr(value) if factor == 1.0 else repr(float(f"{value * factor:.15g}"))
