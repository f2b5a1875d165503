"""The job that notifies receivers: compares the current alerts with the last notice, and sends the difference.

Each receiver has one job, which runs in one process at a time. Only the process that holds the job records what was
sent. A message that is sent again after a crash has the same id.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

import msgspec
import msgspec.structs

from pentad.jobs.job import JobRun, Schedule
from pentad.jobs.queue import JobQueue
from pentad.kernel.clock import Clock
from pentad.kernel.errors import PentadError, Unavailable
from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.metrics.engine.catalogue import Catalogue
from pentad.rooms.metrics.history.metric_history import MetricHistory
from pentad.rooms.metrics.history.silences import active_silences, silence_of
from pentad.rooms.metrics.notifications.groups import (
    GroupedAlert,
    Notice,
    SentNotice,
    group_key,
    group_of,
    grouped_alert,
    plan_notices,
)
from pentad.rooms.metrics.notifications.receivers import Messenger, Receiver

JOB: Final = "metrics.notify"
"""The job of a receiver, whose name is its key."""
LOOK_SECONDS: Final = 30.0
"""How often a receiver's job runs without a change of alerts: for repeats, expired silences and failed messages."""


class Notifier:
    """Notifies the receivers of the settings."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        jobs: JobQueue,
        catalogue: Catalogue,
        receivers: Mapping[str, Receiver],
        messenger: Messenger,
    ) -> None:
        self._database = database
        self._clock = clock
        self._jobs = jobs
        self._catalogue = catalogue
        self._receivers = receivers
        self._messenger = messenger

    def schedules(self) -> list[Schedule]:
        """One job per receiver."""
        return [Schedule(LOOK_SECONDS, key=name) for name in self._receivers]

    def wake(self, transaction: Transaction) -> None:
        """Schedule the receivers' jobs, because alerts change in this transaction."""
        now = self._clock.now()
        for name, receiver in self._receivers.items():
            self._jobs.enqueue(transaction, JOB, key=name, run_at=now + receiver.wait)

    async def notify(self, history: MetricHistory, run: JobRun) -> None:
        """Send a receiver its notices. A group that fails does not delay the others."""
        name = run.key or ""
        if (receiver := self._receivers.get(name)) is None:  # no longer in the settings
            return
        troubles: list[str] = []
        for notice in await self._notices(history, run, name, receiver):
            try:
                if not (message := _as_wanted(receiver, notice)).is_empty:
                    await self._messenger.send(name, receiver, message, _id_of(name, notice))
            except PentadError as error:
                troubles.append(error.sentence())
                continue
            await self._database.write(lambda tx, notice=notice: self._record(tx, run, name, notice))
        if troubles:
            raise Unavailable(f"The receiver {name!r} did not get every notice. {' '.join(dict.fromkeys(troubles))}")

    async def _notices(
        self, history: MetricHistory, run: JobRun, name: str, receiver: Receiver
    ) -> list[Notice]:  # fmt: skip
        alerts = await history.alerts(("ok", "warn", "alarm"))
        now = self._clock.now()
        silences = await self._database.read(lambda rows: active_silences(rows, now))
        sent = await self._sent(run, name, receiver)
        about = {(owner, metric.key): metric.description for owner, metric in self._catalogue.metrics()}
        standing = [
            (grouped_alert(one, about.get((one.collector, one.key), "")), silence_of(one, silences) is not None)
            for one in alerts
            if receiver.wants(one.collector, one.level)
        ]
        changed = {_identity(grouped_alert(one)): one.since for one in alerts}
        return plan_notices(
            standing, sent, now, group_by=receiver.group_by, repeat=receiver.repeat,
            ended_at=lambda alert: changed.get(_identity(alert), now),
        )  # fmt: skip

    async def _sent(self, run: JobRun, name: str, receiver: Receiver) -> dict[str, SentNotice]:
        """The receiver's last notices by group. If `group_by` has changed since, the rows are regrouped."""
        found = await self._database.read(lambda rows: _read_sent(rows, name))
        regrouped: dict[str, SentNotice] = {}
        for sent in found.values():
            for alert in sent.alerts:
                key = group_key(group_of(alert, receiver.group_by))
                known = regrouped.get(key) or SentNotice(alerts=[], number=found[key].number if key in found else 0)
                regrouped[key] = SentNotice(
                    alerts=[*known.alerts, alert],
                    number=max(known.number, sent.number),
                    sent_at=max(known.sent_at, sent.sent_at),
                )
        if regrouped.keys() != {key for key, sent in found.items() if sent.alerts}:

            def work(transaction: Transaction) -> None:
                run.check(transaction)
                transaction.run("UPDATE metric_notifications SET alerts = '[]' WHERE receiver = ?", name)
                for key, sent in regrouped.items():
                    _write_sent(transaction, name, key, sent)

            await self._database.write(work)
        return found | regrouped

    def _record(self, transaction: Transaction, run: JobRun, name: str, notice: Notice) -> None:
        run.check(transaction)
        sent = SentNotice(alerts=notice.known, number=notice.number, sent_at=self._clock.now())
        _write_sent(transaction, name, notice.group_key, sent)


def _as_wanted(receiver: Receiver, notice: Notice) -> Notice:
    return notice if receiver.resolved else msgspec.structs.replace(notice, resolved=[])


def _id_of(name: str, notice: Notice) -> str:
    """The id of a message: the same if it is sent again."""
    return blake2b(f"{name}\n{notice.group_key}\n{notice.number}".encode(), digest_size=16).hexdigest()


def _identity(alert: GroupedAlert) -> tuple[tuple[str, str], ...]:
    """The labels of an alert without its severity."""
    return tuple(sorted((name, text) for name, text in alert.labels.items() if name != "severity"))


def _read_sent(rows: Rows, receiver: str) -> dict[str, SentNotice]:
    found = rows.all(
        "SELECT group_key, alerts, number, sent_at FROM metric_notifications WHERE receiver = ?", receiver
    )  # fmt: skip
    return {
        key: SentNotice(alerts=msgspec.json.decode(alerts, type=list[GroupedAlert]), number=number, sent_at=sent_at)
        for key, alerts, number, sent_at in found
    }


def _write_sent(transaction: Transaction, receiver: str, key: str, sent: SentNotice) -> None:
    """Store the last notice about a group. The row stays when nothing fires, because its number keeps counting."""
    transaction.run(
        "INSERT INTO metric_notifications (receiver, group_key, alerts, number, sent_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (receiver, group_key) DO UPDATE SET alerts = excluded.alerts, number = excluded.number,"
        " sent_at = excluded.sent_at",
        receiver, key, msgspec.json.encode(sent.alerts).decode(), sent.number, sent.sent_at,
    )  # fmt: skip
