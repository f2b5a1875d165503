"""Delivers notices to the receivers of the settings: by webhook, Slack, e-mail, or as a task for an agent.

    [rooms.metrics.receivers.oncall]
    type = "webhook"                       # as Alertmanager sends it
    url = "https://alerts.example/hook"

    [rooms.metrics.receivers.team]
    type = "email"
    host = "smtp.example"
    to = ["team@example.org"]
    level = "alarm"

No message, answer or error contains a secret of the settings.
"""

import asyncio
import smtplib
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, Final, Literal, cast

import msgspec

from pentad.jobs.signed_webhooks import Message, deliver, signing_key
from pentad.kernel.clock import Clock, iso
from pentad.kernel.errors import Misconfigured, PentadError, Unavailable
from pentad.kernel.ports import Fetcher
from pentad.kernel.principal import Principal
from pentad.platform import Neighbours
from pentad.rooms.metrics.history.alerts import Level
from pentad.rooms.metrics.notifications.groups import GroupedAlert, Notice

MOST_ALERTS: Final = 100
"""The maximum number of alerts in a message; the rest are counted."""
SERVER: Final = Principal("server", "server", frozenset({"agents:read", "agents:write"}), kind="local")
"""The sender of tasks for agents."""
_NEVER: Final = "0001-01-01T00:00:00Z"
"""`endsAt` of a firing alert, as in Alertmanager."""
_SMTP_SECONDS: Final = 30.0
_SEND_TASK: Final = "agents_send_task"
_COLOURS: Final = {"critical": "#b91c1c", "warning": "#d97706"}
_RESOLVED_COLOUR: Final = "#15803d"


class Receiver(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A receiver of the settings. `wait` is the delay before the first message, `repeat` the interval between messages
    about alerts that still fire; both in seconds."""

    type: Literal["webhook", "slack", "email", "agent"]
    level: Literal["warn", "alarm"] = "warn"
    collectors: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ("collector", "scope")
    wait: float = 10.0
    repeat: float = 14_400.0
    resolved: bool = True
    """Whether to send resolved notices."""
    url: str = ""
    token: str = ""
    secret: str = ""
    """Signs webhooks as in the Standard Webhooks specification."""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    agent: str = ""
    text: str = "Metric alerts have changed. Find the cause and suggest what to do."
    host: str = ""
    port: int = 587
    tls: Literal["starttls", "tls", "none"] = "starttls"
    user: str = ""
    password: str = ""
    sender: str = "pentad@localhost"
    to: tuple[str, ...] = ()

    def wants(self, collector: str, level: Level) -> bool:
        """Whether it gets alerts of this collector and level."""
        levels = ("alarm",) if self.level == "alarm" else ("warn", "alarm")
        return level in levels and (not self.collectors or collector in self.collectors)


_NEEDS: Final[Mapping[str, Sequence[str]]] = {
    "webhook": ("url",), "slack": ("url",), "email": ("host", "to"), "agent": ("agent",),
}  # fmt: skip


def read_receivers(given: Any) -> dict[str, Receiver]:
    """The receivers of the settings by name; Misconfigured if one is incomplete."""
    if not isinstance(given, Mapping):
        raise Misconfigured("rooms.metrics.receivers is not a table.", hint="Write [rooms.metrics.receivers.NAME].")
    tables = cast("Mapping[str, Any]", given)
    return {name: _receiver(name, table) for name, table in tables.items()}


def _receiver(name: str, table: Any) -> Receiver:
    place = f"rooms.metrics.receivers.{name}"
    try:
        found = msgspec.convert(table, Receiver)
        signing_key(found.secret)
    except (msgspec.ValidationError, PentadError) as error:
        raise Misconfigured(f"{place}: {error}") from None
    for field in _NEEDS[found.type]:
        if not getattr(found, field):
            raise Misconfigured(f"{place} has no {field}.", hint=f"A receiver of the type {found.type} needs it.")
    if "url" in _NEEDS[found.type] and not found.url.startswith(("http://", "https://")):
        raise Misconfigured(f"{place} has no http(s) address.")
    if not (0 <= found.wait < float("inf") and 1 <= found.repeat < float("inf")):
        raise Misconfigured(f"{place}: wait or repeat is wrong.", hint="Both are seconds; repeat is at least 1.")
    return found


class Messenger:
    """Delivers notices to receivers."""

    def __init__(self, fetcher: Fetcher, clock: Clock, neighbours: Neighbours, site: str) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._neighbours = neighbours
        self._site = site.rstrip("/")

    async def send(self, name: str, receiver: Receiver, notice: Notice, message_id: str) -> None:
        """Deliver a notice; raises Unavailable if the receiver does not accept it."""
        if receiver.type == "webhook":
            body = alertmanager_body(name, notice, f"{self._site}/console/metrics")
            await self._post(receiver, message_id, body)
        elif receiver.type == "slack":
            await self._post(receiver, message_id, slack_body(notice, f"{self._site}/console/metrics"))
        elif receiver.type == "email":
            await asyncio.to_thread(send_mail, receiver, email_of(receiver, notice, message_id, self._clock.now()))
        else:
            await self._send_task(name, receiver, notice, message_id)

    async def _post(self, receiver: Receiver, message_id: str, body: Any) -> None:
        headers = dict(receiver.headers)
        if receiver.token:
            headers["authorization"] = f"Bearer {receiver.token}"
        message = Message(
            receiver.url, message_id, msgspec.json.encode(body),
            signing_key(receiver.secret) if receiver.secret else None, headers=headers, trusted=True,
        )  # fmt: skip
        attempt = await deliver(self._fetcher, self._clock, message)
        if attempt.problem is not None:
            raise Unavailable(attempt.problem)

    async def _send_task(self, name: str, receiver: Receiver, notice: Notice, message_id: str) -> None:
        arguments = {
            "agent": receiver.agent, "text": f"{receiver.text}\n\n{notice_text(notice)}", "wait": False,
            "data": alertmanager_body(name, notice, f"{self._site}/console/metrics"),
            "idempotency_key": message_id,
        }  # fmt: skip
        result = await self._neighbours.call_tool(SERVER, _SEND_TASK, arguments)
        if result.get("isError"):
            texts = [str(one.get("text", "")) for one in result.get("content", ())]
            raise Unavailable(" ".join(texts) or "The agent did not accept the task.")


def alertmanager_body(receiver: str, notice: Notice, site: str) -> dict[str, Any]:
    """The notice as Alertmanager posts it to webhooks (version 4)."""
    alerts = [*notice.firing, *notice.resolved]
    shown = alerts[:MOST_ALERTS]
    annotations = shown[0].annotations if len(alerts) == 1 else {}
    return {
        "version": "4",
        "groupKey": notice.group_key,
        "truncatedAlerts": len(alerts) - len(shown),
        "status": notice.status,
        "receiver": receiver,
        "groupLabels": notice.group,
        "commonLabels": notice.common_labels(),
        "commonAnnotations": annotations,
        "externalURL": site,
        "alerts": [
            {
                "status": "firing" if one.ends_at is None else "resolved",
                "labels": one.labels,
                "annotations": one.annotations,
                "startsAt": iso(one.starts_at),
                "endsAt": _NEVER if one.ends_at is None else iso(one.ends_at),
                "generatorURL": site,
                "fingerprint": one.fingerprint,
            }
            for one in shown
        ],
    }


def slack_body(notice: Notice, site: str) -> dict[str, Any]:
    """The body for an incoming webhook of Slack or a compatible service."""
    firing = [_attachment(one, _COLOURS.get(one.labels["severity"], "")) for one in notice.firing]
    resolved = [_attachment(one, _RESOLVED_COLOUR) for one in notice.resolved]
    shown = [*firing, *resolved][:MOST_ALERTS]
    return {"text": f"{_slack_text(_headline(notice))} <{site}|Show>", "attachments": shown}


def _attachment(alert: GroupedAlert, colour: str) -> dict[str, Any]:
    text = _slack_text(_line(alert))
    return {"color": colour, "fallback": text, "text": text, "ts": int(alert.ends_at or alert.starts_at)}


def _slack_text(text: str) -> str:
    """Escape a text for Slack, so that labels can neither mention people nor contain links."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def notice_text(notice: Notice) -> str:
    """The notice as plain text."""
    lines = [_line(one) for one in (*notice.firing, *notice.resolved)]
    more = [f"and {len(lines) - MOST_ALERTS} more"] if len(lines) > MOST_ALERTS else []
    return "\n".join([_headline(notice), "", *(f"- {line}" for line in [*lines[:MOST_ALERTS], *more])])


def _headline(notice: Notice) -> str:
    group = ", ".join(text for text in notice.group.values() if text) or "metrics"
    counts = [(len(notice.firing), "firing"), (len(notice.resolved), "resolved")]
    return f"[{', '.join(f'{count} {what}' for count, what in counts if count)}] {group}"


def _line(alert: GroupedAlert) -> str:
    if alert.ends_at is not None:
        return (
            f"resolved: {alert.labels['alertname']}, {iso(alert.starts_at)} to {iso(alert.ends_at)}. Before: "
            + (alert.annotations["summary"])
        )
    return f"{alert.labels['severity']}: {alert.annotations['summary']} Since {iso(alert.starts_at)}."


def email_of(receiver: Receiver, notice: Notice, message_id: str, now: float) -> EmailMessage:
    """The notice as an e-mail. A repeated delivery has the same Message-ID."""
    mail = EmailMessage()
    mail["Subject"] = " ".join(_headline(notice).split())
    mail["From"] = receiver.sender
    mail["To"] = ", ".join(receiver.to)
    mail["Date"] = format_datetime(datetime.fromtimestamp(now, UTC))
    mail["Message-ID"] = f"<{message_id}@pentad>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(notice_text(notice))
    return mail


def send_mail(receiver: Receiver, mail: EmailMessage) -> None:
    """Send an e-mail; raises Unavailable if the mail server does not accept it."""
    context = ssl.create_default_context()
    connect: Callable[[], smtplib.SMTP] = (
        (lambda: smtplib.SMTP_SSL(receiver.host, receiver.port, timeout=_SMTP_SECONDS, context=context))
        if receiver.tls == "tls"
        else (lambda: smtplib.SMTP(receiver.host, receiver.port, timeout=_SMTP_SECONDS))
    )
    try:
        server = connect()
        try:
            if receiver.tls == "starttls":
                server.starttls(context=context)
            if receiver.user:
                server.login(receiver.user, receiver.password)
            server.send_message(mail)
        finally:
            with suppress(
                smtplib.SMTPException, OSError
            ):  # the message is accepted already, so an error here does not matter
                server.quit()
            server.close()
    except smtplib.SMTPResponseException as error:
        raise Unavailable(f"The mail server answered {error.smtp_code}.", hint="Check its log.") from None
    except (smtplib.SMTPException, OSError) as error:
        raise Unavailable(f"The mail server {receiver.host}:{receiver.port} failed: {type(error).__name__}.") from None
