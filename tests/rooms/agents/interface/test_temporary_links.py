"""A context too large for an agent elsewhere: it travels small, and the agent fetches the rest and verifies it."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.kernel.default_limits import MIB, Limits
from pentad.kernel.principal import LOCAL
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from pentad.net.http_server import serve
from pentad.rooms.agents.context.context_store import StoredContent
from pentad.rooms.agents.context.extension import params_of
from pentad.rooms.agents.context.integrity import bytes_hash, exact_json
from pentad.rooms.agents.context.temporary_links import TemporaryLinks
from pentad.settings.model import Settings
from tests.net.raw_http import running
from tests.ports import free_port
from tests.rooms.agents.interface.conftest import HERE, Caller

pytestmark = [pytest.mark.anyio, pytest.mark.interop]

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
TEXT = "Ünïcode and plain words. " * 190_000
NUMBERS = {"rows": [[9007199254740993 + n, 42.0, 42] for n in range(5_000)]}


def context(text: str) -> dict[str, Any]:
    return {
        "items": {
            "report": {"mediaType": "text/plain", "content": f"{text}{SECRET}"},
            "numbers": {"mediaType": "application/json", "content": NUMBERS},
            "note": {"content": "small"},
        }
    }


CONTEXT = context(TEXT)
LARGER = context(TEXT[:200_000])
"""Larger than the limit too, and soon read."""
LIMIT = 64 * 1024
REACHES_HERE = FetchPolicy(allow_hosts=frozenset({"localhost"}), allow_http=True)


@dataclass
class Pair:
    """A Pentad that sends, with a client of its own, and one that receives, at another address."""

    sender: App
    receiver: App
    call: Caller
    site: str


@asynccontextmanager
async def pair(folder: Path, *, public: bool = True, **params: Any) -> AsyncGenerator[Pair]:
    """Both over real HTTP. The receiver's card, as the sender knows it, takes 64 KiB."""
    port = free_port()
    site = f"http://localhost:{port}"
    async with AsyncExitStack() as stack:
        receiver = await stack.enter_async_context(
            open_app(
                Settings(
                    data=folder / "receiver",
                    rooms=("agents",),
                    auth="none",
                    agent=(f"{HERE}:Weigher", f"{HERE}:Copier"),
                    fetch=REACHES_HERE,
                )
            )
        )
        server = await stack.enter_async_context(running(http_application(receiver), grace_seconds=1))
        sender = await stack.enter_async_context(
            open_app(
                Settings(
                    data=folder / "sender",
                    rooms=("agents",),
                    auth="none",
                    fetch=REACHES_HERE,
                    public_url=site if public else None,
                    limits=Limits(body_bytes=16 * MIB),
                )
            )
        )
        await stack.enter_async_context(listening(sender, port))
        call = Caller(await stack.enter_async_context(sender.client()))
        room = receiver.rooms[0].service
        card = room.cards.public(room.agents["weigher"], f"http://localhost:{server.port}")
        said = params_of(card)
        assert said is not None
        said |= {"maxBytes": LIMIT, "maxItemBytes": LIMIT, **params}
        card["capabilities"]["extensions"][0]["params"] = said
        await call("agents_register_card", card={**card, "humanReadableId": "far/weigher"}, list_in_directory=False)
        card = room.cards.public(room.agents["copier"], f"http://localhost:{server.port}")
        await call("agents_register_card", card={**card, "humanReadableId": "far/copier"}, list_in_directory=False)
        yield Pair(sender, receiver, call, site)


@asynccontextmanager
async def listening(app: App, port: int) -> AsyncGenerator[None]:
    stopping, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve(
            http_application(app),
            port=port,
            limits=Limits(),
            ready=ready.set_result,
            stopping=stopping,
            grace_seconds=1,
        )
    )
    async with asyncio.timeout(60):
        await ready
    yield
    stopping.set()
    await serving


async def brought(pair: Pair) -> dict[str, Any]:
    """The context as the receiver was sent it."""
    body = await pair.receiver.database.read(
        lambda rows: bytes(rows.value("SELECT body FROM agent_events ORDER BY seq LIMIT 1"))
    )
    return json.loads(body)["message"]["metadata"]["mcp_context"]


@pytest.mark.requirement("agents:elsewhere:lent")
async def test_five_megabytes_fit_64_kib_and_the_receiver_fetches_and_verifies_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    assert len(exact_json(CONTEXT)) > 5_000_000
    async with pair(tmp_path) as both:
        task = await both.call("agents_send_task", agent="far/weigher", text="weigh", context=CONTEXT)

        assert task["state"] == "completed", task
        (told,) = task["data"]
        masked = f"{TEXT}[redacted:github-token]".encode()
        expected = {"report": masked, "numbers": exact_json(NUMBERS), "note": b"small"}
        assert {name: (one["sha256"], one["size"]) for name, one in told.items()} == {
            name: (bytes_hash(body), len(body)) for name, body in expected.items()
        }
        sent = await brought(both)
        assert len(exact_json(sent)) < LIMIT
        for name in ("report", "numbers"):
            item = sent["items"][name]
            assert item["ref"].startswith(f"{both.site}/agents/_content/")
            assert item["metadata"] == {"x-sha256": bytes_hash(expected[name]), "x-size": len(expected[name])}
        tokens = [sent["items"][name]["ref"].rpartition("/")[2] for name in ("report", "numbers")]
        database = await both.sender.database.read(_everything)
    stored = b"".join(one.read_bytes() for one in (tmp_path / "sender").rglob("*") if one.is_file())
    for token in tokens:
        assert token not in caplog.text
        assert token not in database
        assert token.encode() not in stored
    assert SECRET.encode() not in stored


def _everything(rows: Any) -> str:
    tables = [name for (name,) in rows.all("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return repr([rows.all(f'SELECT * FROM "{name}"') for name in tables if name != "agent_contents"])


@pytest.mark.requirement("agents:elsewhere:lent-read-only")
async def test_an_address_can_be_read_and_no_more_and_a_wrong_one_tells_nothing(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        await both.call("agents_send_task", agent="far/weigher", text="weigh", context=LARGER)
        url = (await brought(both))["items"]["report"]["ref"]
        fetcher = HttpFetcher(REACHES_HERE)
        try:
            got = await fetcher.fetch(url)
            assert (got.status, got.headers["content-type"]) == (200, "text/plain")
            assert got.headers["cache-control"] == "private, no-store"
            assert got.headers["x-content-type-options"] == "nosniff"
            assert got.headers["etag"] == f'"{bytes_hash(got.body)}"'
            head = await fetcher.fetch(url, method="HEAD")
            assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(got.body)))
            for method in ("POST", "PUT", "DELETE", "PATCH"):
                assert (await fetcher.fetch(url, method=method, body=b"x")).status == 405
            wrong = [
                await fetcher.fetch(other)
                for other in (
                    url[:-1] + ("a" if url[-1] != "a" else "b"),
                    f"{url}/more",
                    f"{both.site}/agents/_content",
                )
            ]
            assert {one.status for one in wrong} == {404}
            assert len({one.body for one in wrong}) == 1
        finally:
            await fetcher.close()


async def test_what_is_not_what_was_lent_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def forged(_self: TemporaryLinks, _token: str) -> StoredContent:
        return StoredContent("0" * 64, b"something else", "text/plain")

    monkeypatch.setattr(TemporaryLinks, "read", forged)
    async with pair(tmp_path) as both:
        task = await both.call("agents_send_task", agent="far/weigher", text="weigh", context=LARGER)
        assert task["state"] == "failed"
        assert "its hash differs" in task["text"]
        assert f"{both.site}/agents/_content/... " in task["text"], "the address itself is nobody's to read"


@pytest.mark.requirement("agents:elsewhere:unlent")
async def test_without_a_public_address_it_is_refused_with_what_to_set_and_nothing_is_sent(tmp_path: Path) -> None:
    async with pair(tmp_path, public=False) as both:
        refused = await both.call.refused("agents_send_task", agent="far/weigher", text="weigh", context=LARGER)
        assert refused["code"] == "invalid_input"
        assert "public_url" in refused["hint"]
        assert await both.receiver.database.read(lambda rows: rows.value("SELECT count(*) FROM agent_tasks")) == 0


async def test_an_agent_that_follows_no_web_references_is_not_lent_anything(tmp_path: Path) -> None:
    async with pair(tmp_path, refSchemes=["context"]) as both:
        refused = await both.call.refused("agents_send_task", agent="far/weigher", text="weigh", context=LARGER)
        assert "follows no references by http" in refused["hint"]
        lent = "SELECT count(*) FROM agent_lent_contents"
        assert await both.sender.database.read(lambda rows: rows.value(lent)) == 0


@pytest.mark.requirement("agents:files:remote")
async def test_a_remote_agent_reads_a_file_through_a_temporary_link(tmp_path: Path) -> None:
    body = b"water " * 300_000
    async with pair(tmp_path) as both:
        files = both.sender.rooms[0].service.files
        made = await files.write(LOCAL.id, body, name="water.txt", media_type="text/plain")
        task = await both.call("agents_send_task", agent="far/copier", files=[files.url(made.id)])
        assert task["state"] == "completed", task
        told = {"name": "water.txt", "type": "text/plain", "size": len(body), "sha256": bytes_hash(body)}
        assert task["data"] == [{"files": [told]}]
        large = await files.write(LOCAL.id, b"x" * (16 * MIB + 1), name="large")
        refused = await both.call.refused("agents_send_task", agent="far/copier", files=[files.url(large.id)])
        assert refused["code"] == "limit_exceeded"
        missing = files.url("0" * 36)
        assert (await both.call.refused("agents_send_task", agent="far/copier", files=[missing]))["code"] == "not_found"


@pytest.mark.requirement("agents:files:remote")
async def test_without_a_public_url_a_remote_agent_gets_no_file(tmp_path: Path) -> None:
    async with pair(tmp_path, public=False) as both:
        files = both.sender.rooms[0].service.files
        made = await files.write(LOCAL.id, b"x", name="x")
        refused = await both.call.refused("agents_send_task", agent="far/copier", files=[files.url(made.id)])
        assert "public_url" in refused["hint"]


@pytest.mark.requirement("agents:repeat:key")
async def test_a_remote_agent_recognises_a_task_that_is_sent_again(tmp_path: Path) -> None:
    async with pair(tmp_path) as both:
        given = {"agent": "far/copier", "text": "x", "idempotency_key": "k"}
        first, again = [await both.call("agents_send_task", **given) for _ in range(2)]
        assert again["task_id"] == first["task_id"]
