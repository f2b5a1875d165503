"""Silences: alerts that are not sent to receivers, until when, and why."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from pentad.kernel.ports import Rows, Transaction
from pentad.rooms.metrics.history.alerts import Alert

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long an expired silence stays in the store."""
_COLUMNS: Final = "id, collector, key, scope, labels, ends, reason, created_by, created_at"
_GROUP_LABELS: Final = ("businessGroup", "businessGroupId")


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """A selection of alerts; an empty field matches everything. `key` may contain `*`."""

    id: str
    collector: str = ""
    key: str = ""
    scope: str = ""
    """The scope of a collector, or a business group in it, by name or id."""
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    ends: float
    reason: str
    created_by: str
    created_at: float

    def covers(self, alert: Alert) -> bool:
        """Whether this alert is silenced."""
        labels = dict(alert.labels)
        groups = {alert.scope.casefold(), *(labels.get(name, "").casefold() for name in _GROUP_LABELS)}
        return (
            self.collector in ("", alert.collector)
            and (not self.key or fnmatchcase(alert.key, self.key))
            and (not self.scope or self.scope.casefold() in groups)
            and all(labels.get(name) == value for name, value in self.labels.items())
        )


def silence_of(alert: Alert, silences: Iterable[Silence]) -> Silence | None:
    """The silence of an alert that lasts longest, if any."""
    return max((one for one in silences if one.covers(alert)), key=lambda one: one.ends, default=None)


def active_silences(rows: Rows, now: float) -> list[Silence]:
    """The silences in force, those that end first first."""
    found = rows.all(f"SELECT {_COLUMNS} FROM metric_silences WHERE ends > ? ORDER BY ends, id", now)  # noqa: S608  constants
    return [
        Silence(
            id=row[0], collector=row[1], key=row[2], scope=row[3],
            labels=msgspec.json.decode(row[4], type=dict[str, str]),
            ends=row[5], reason=row[6], created_by=row[7], created_at=row[8],
        )
        for row in found
    ]  # fmt: skip


def add_silence(transaction: Transaction, one: Silence) -> None:
    """Store a silence, and delete those that expired long ago."""
    transaction.run("DELETE FROM metric_silences WHERE ends < ?", one.created_at - KEPT_SECONDS)
    transaction.run(
        f"INSERT INTO metric_silences ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608  constants
        one.id, one.collector, one.key, one.scope, msgspec.json.encode(one.labels).decode(), one.ends, one.reason,
        one.created_by, one.created_at,
    )  # fmt: skip


def end_silence(transaction: Transaction, silence_id: str, now: float) -> bool:
    """End a silence now; False if there is none in force."""
    return bool(
        transaction.run("UPDATE metric_silences SET ends = ? WHERE id = ? AND ends > ?", now, silence_id, now)
    )  # fmt: skip
