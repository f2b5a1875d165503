"""What each kind of receiver gets, and which settings are refused."""

import asyncio
import email
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from email import policy
from typing import Any

import pytest

from pentad.kernel.clock import SystemClock
from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.kernel.principal import Principal
from pentad.net.fetch import HttpFetcher
from pentad.platform import NO_NEIGHBOURS, NoNeighbours
from pentad.rooms.metrics.notifications.groups import GroupedAlert, Notice
from pentad.rooms.metrics.notifications.receivers import (
    MOST_ALERTS,
    Messenger,
    Receiver,
    alertmanager_body,
    read_receivers,
    slack_body,
)
from tests.fakes import UnusedFetcher
from tests.receiving import receiving

pytestmark = pytest.mark.anyio
SECRET = "SECRET-MUST-NOT-LEAK"


def alert(number: int = 0, *, ends_at: float | None = None, of: str = "Lumen") -> GroupedAlert:
    return GroupedAlert(
        labels={"alertname": "ch.used", "severity": "critical", "collector": "ch", "number": str(number)},
        annotations={"summary": f"ch used of {of} is 99%; the threshold is 95%."},
        starts_at=1_700_000_000.0,
        ends_at=ends_at,
    )


def notice(firing: list[GroupedAlert], resolved: list[GroupedAlert] | None = None) -> Notice:
    return Notice(
        group_key='{}:{collector="ch"}', group={"collector": "ch"}, firing=firing, resolved=resolved or [],
        known=firing, number=1,
    )  # fmt: skip


def messenger(neighbours: Any = NO_NEIGHBOURS, fetcher: Any = None) -> Messenger:
    return Messenger(fetcher or UnusedFetcher(), SystemClock(), neighbours, "http://pentad.test")


@asynccontextmanager
async def mail_server(answers: Mapping[str, str]) -> AsyncGenerator[tuple[int, list[str]]]:
    """A mail server that takes what it gets; `answers` are other replies by the first word of a command."""
    got: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 test\r\n")
        while line := (await reader.readline()).decode():
            word = line.split()[0].upper() if line.split() else ""
            reply = answers.get(word, "221 bye" if word == "QUIT" else "250 ok")
            if word == "DATA":
                writer.write(b"354 go on\r\n")
                got.append((await reader.readuntil(b"\r\n.\r\n")).decode())
            writer.write(f"{reply}\r\n".encode())
            await writer.drain()
            if word == "QUIT":
                break
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], got
    finally:
        server.close()


def mail_receiver(port: int, **more: Any) -> Receiver:
    return Receiver(type="email", host="127.0.0.1", port=port, tls="none", to=("ada@example.org",), **more)


@pytest.mark.requirement("metrics:notifications")
async def test_a_mail_has_the_alerts_in_words_and_an_id_that_stays() -> None:
    told = notice([alert()], [alert(1, ends_at=1_700_000_600.0)])
    async with mail_server({"QUIT": "500 what"}) as (port, got):
        for _ in range(2):
            await messenger().send("team", mail_receiver(port), told, "message-7")
    first, second = (email.message_from_string(one, policy=policy.default) for one in got)
    assert first["Subject"] == "[1 firing, 1 resolved] ch"
    assert (first["To"], first["Message-ID"], second["Message-ID"]) == (
        "ada@example.org", "<message-7@pentad>", "<message-7@pentad>",
    )  # fmt: skip
    text = first.get_content()
    assert "critical: ch used of Lumen is 99%" in text
    assert "resolved: ch.used" in text


@pytest.mark.requirement("metrics:notifications")
async def test_a_mail_server_that_refuses_is_a_failure_without_secrets() -> None:
    async with mail_server({"RCPT": "550 nobody here"}) as (port, got):
        with pytest.raises(Unavailable) as refused:
            await messenger().send("team", mail_receiver(port, password=SECRET), notice([alert()]), "1")
    assert got == []
    assert SECRET not in str(refused.value.as_json())
    with pytest.raises(Unavailable):
        await messenger().send("team", mail_receiver(port), notice([alert()]), "1")


@pytest.mark.requirement("metrics:notifications")
async def test_slack_shows_names_from_elsewhere_as_they_are() -> None:
    body = slack_body(notice([alert(of="<!channel> & co")]), "http://pentad.test")
    (shown,) = body["attachments"]
    assert "<!channel>" not in shown["text"]
    assert "&lt;!channel&gt; &amp; co" in shown["text"]
    fetcher = HttpFetcher()
    async with receiving() as receiver:
        given = Receiver(type="slack", url=receiver.url, token=SECRET)
        await messenger(fetcher=fetcher).send("chat", given, notice([alert()]), "1")
    await fetcher.close()
    (request,) = receiver.requests
    assert request.json["text"].startswith("[1 firing] ch")
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert "webhook-signature" not in request.headers


class Agents(NoNeighbours):
    """The agents room, as far as a receiver knows it."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.calls: list[tuple[Principal, str, Mapping[str, Any]]] = []
        self._result = result

    async def call_tool(
        self, principal: Principal, name: str, arguments: Mapping[str, Any], *, progress: Any = None
    ) -> Mapping[str, Any]:
        self.calls.append((principal, name, arguments))
        return self._result


@pytest.mark.requirement("metrics:notifications")
async def test_an_agent_gets_a_task_once_with_the_alerts_as_data() -> None:
    agents = Agents({"isError": False})
    await messenger(agents).send("helper", Receiver(type="agent", agent="sre"), notice([alert()]), "message-7")
    ((principal, name, arguments),) = agents.calls
    assert (name, arguments["agent"], arguments["idempotency_key"]) == ("agents_send_task", "sre", "message-7")
    assert arguments["data"]["alerts"][0]["labels"]["alertname"] == "ch.used"
    assert not principal.may("metrics", "write")
    busy = Agents({"isError": True, "content": [{"text": "There is no agent 'sre'."}]})
    with pytest.raises(Unavailable, match="There is no agent"):
        await messenger(busy).send("helper", Receiver(type="agent", agent="sre"), notice([alert()]), "1")


@pytest.mark.requirement("metrics:notifications")
def test_a_message_names_a_bounded_number_of_alerts_and_says_how_many_there_are() -> None:
    body = alertmanager_body("x", notice([alert(number) for number in range(MOST_ALERTS + 5)]), "http://pentad.test")
    assert (len(body["alerts"]), body["truncatedAlerts"]) == (MOST_ALERTS, 5)
    assert body["commonLabels"] == {"alertname": "ch.used", "severity": "critical", "collector": "ch"}


@pytest.mark.parametrize(
    "table",
    [
        {"type": "pigeon"}, {"type": "webhook"}, {"type": "webhook", "url": "ftp://x"}, {"type": "email", "host": "x"},
        {"type": "agent"}, {"type": "slack", "url": "https://x", "colour": "red"},
        {"type": "slack", "url": "https://x", "repeat": 0},
        {"type": "webhook", "url": "https://x", "secret": "whsec_?"},
    ],
)  # fmt: skip
def test_a_receiver_that_cannot_work_is_refused_when_the_room_opens(table: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured, match="oncall"):
        read_receivers({"oncall": {**table, "password": SECRET}})
