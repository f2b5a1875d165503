"""Groups alerts, and decides which notices a receiver gets.

As in Alertmanager, the labels of an alert identify it, severity included. A notice is the difference between the alerts
that fire now and those in the last notice.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec
import msgspec.structs

from pentad.kernel.charts import format_number
from pentad.rooms.metrics.history.alerts import Alert, Level
from pentad.rooms.metrics.history.collector_health import UP

SEVERITIES: Final[Mapping[Level, str]] = {"warn": "warning", "alarm": "critical"}
_PARENT_LABELS: Final = frozenset({"businessGroupId", "environmentType"})


class GroupedAlert(msgspec.Struct, frozen=True, kw_only=True):
    """An alert as receivers see it."""

    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: float
    ends_at: float | None = None
    """When it was resolved; None while it fires."""

    @property
    def fingerprint(self) -> str:
        """A hash of the labels, as in Alertmanager."""
        return _digest(self.labels)


class SentNotice(msgspec.Struct, frozen=True, kw_only=True):
    """The last notice about a group that a receiver got."""

    alerts: list[GroupedAlert]
    """The alerts that were firing then."""
    number: int = 0
    sent_at: float = 0.0


NOTHING_SENT: Final = SentNotice(alerts=[])


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """A message about a group. `known` are the alerts that the receiver considers firing after it."""

    group_key: str
    group: dict[str, str]
    firing: list[GroupedAlert]
    resolved: list[GroupedAlert]
    known: list[GroupedAlert]
    number: int

    @property
    def status(self) -> str:
        return "firing" if self.firing else "resolved"

    @property
    def is_empty(self) -> bool:
        return not self.firing and not self.resolved

    def common_labels(self) -> dict[str, str]:
        """The labels that all its alerts share."""
        first, *others = [one.labels for one in (*self.firing, *self.resolved)]
        return {name: text for name, text in first.items() if all(one.get(name) == text for one in others)}


def grouped_alert(alert: Alert, description: str = "") -> GroupedAlert:
    """An alert with its labels and a sentence about it."""
    labels = {
        "alertname": f"{alert.collector}.{alert.key}",
        "severity": SEVERITIES.get(alert.level, alert.level),
        "collector": alert.collector,
        "key": alert.key,
        **({"scope": alert.scope} if alert.scope else {}),
    }
    labels |= {name: text for name, text in alert.labels if name not in labels}
    of = ", ".join(text for name, text in alert.labels if name not in _PARENT_LABELS)
    value = "unknown" if alert.value is None else format_number(alert.value, alert.unit)
    limit = "" if alert.threshold is None else f"; the threshold is {format_number(alert.threshold, alert.unit)}"
    summary = f"{alert.collector} {alert.key}{f' of {of}' if of else ''} is {value}{limit}."
    if alert.key == UP.key:
        summary = (
            f"The collector {alert.collector}{f' ({alert.scope})' if alert.scope else ''} does not reach its source."
        )
    annotations = {"summary": summary}
    if description:
        annotations["description"] = description
    return GroupedAlert(labels=labels, annotations=annotations, starts_at=alert.since)


def group_key(group: Mapping[str, str]) -> str:
    """The key of a group, in Alertmanager's notation."""
    return "{}:{" + ", ".join(f"{name}={msgspec.json.encode(text).decode()}" for name, text in group.items()) + "}"


def plan_notices(
    standing: Sequence[tuple[GroupedAlert, bool]],
    sent: Mapping[str, SentNotice],
    now: float,
    *,
    group_by: Sequence[str],
    repeat: float,
    ended_at: Callable[[GroupedAlert], float],
) -> list[Notice]:
    """The notices to send now. `standing` are the firing alerts, each with whether it is silenced."""
    groups: dict[str, tuple[dict[str, str], list[tuple[GroupedAlert, bool]]]] = {
        key: (group_of(known.alerts[0], group_by), []) for key, known in sent.items() if known.alerts
    }
    for alert, is_silenced in standing:
        group = group_of(alert, group_by)
        groups.setdefault(group_key(group), (group, []))[1].append((alert, is_silenced))
    notices: list[Notice] = []
    for key, (group, alerts) in groups.items():
        before = sent.get(key, NOTHING_SENT)
        believed = {one.fingerprint for one in before.alerts}
        lasting = {alert.fingerprint for alert, _ in alerts}
        firing = [alert for alert, is_silenced in alerts if not is_silenced]
        resolved = [
            msgspec.structs.replace(one, ends_at=ended_at(one))
            for one in before.alerts
            if one.fingerprint not in lasting
        ]
        is_news = bool(resolved) or any(one.fingerprint not in believed for one in firing)
        if is_news or (firing and now - before.sent_at >= repeat):
            known = [alert for alert, is_silenced in alerts if not is_silenced or alert.fingerprint in believed]
            notices.append(
                Notice(
                    group_key=key, group=group, firing=firing, resolved=resolved, known=known,
                    number=before.number + 1,
                )
            )  # fmt: skip
    return notices


def group_of(alert: GroupedAlert, group_by: Sequence[str]) -> dict[str, str]:
    """The labels by which an alert is grouped."""
    return {name: alert.labels.get(name, "") for name in group_by}


def _digest(labels: Mapping[str, str]) -> str:
    return blake2b(msgspec.json.encode(dict(sorted(labels.items()))), digest_size=8).hexdigest()
