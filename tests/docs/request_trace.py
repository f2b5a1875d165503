"""Which files of Pentad one request of each room crosses. Run as a program; prints JSON by room.

Work runs on several threads, and a trace function reaches only threads that start after it was set. So this runs in
its own process.
"""

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN, HttpClient
from tests.behaviour.connecting import connect_http

SOURCE = Path(__file__).resolve().parents[2] / "src"
AVATAR = Path(__file__).resolve().parents[2] / "docs_src" / "avatars" / "ida-brandt"

RECORD = {
    "name": "example.org/librarian",
    "version": "v1.0.0",
    "schema_version": "1.0.0",
    "description": "Finds books in the town library.",
    "authors": ["Reading Room"],
    "created_at": "2026-03-02T09:30:00Z",
    "skills": [{"name": "natural_language_processing/natural_language_generation/summarization"}],
    "domains": [{"name": "education/e_learning", "id": 601}],
    "locators": [],
    "modules": [],
}
SETUP: list[tuple[str, dict[str, Any]]] = [
    ("registers", {"action": "create", "data": {"slug": "city", "title": "City"}}),
    (
        "schemas",
        {"action": "create", "data": {"slug": "tree", "title": "Tree", "properties": {"kind": {"type": "string"}}}},
    ),
]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "directory": ("agntcy_dir_push_record", {"record_json": json.dumps(RECORD)}),
    "registers": (
        "objects",
        {"action": "create", "register": "city", "schema": "tree", "data": {"kind": "oak"}},
    ),
    "agents": ("agents_send_task", {"agent": "tool-proxy", "text": "hello"}),
    "avatars": ("generate_response", {"avatar": "ida-brandt", "question": "Why is a dike lost?"}),
    "metrics": ("getPlatformMetricByKey", {"collector": "pentad", "metricKey": "process.uptime"}),
}
TIMED = ("pentad-watcher", "pentad-heartbeat")
"""Threads that work by the clock. On a slow machine every call takes long enough to see one of them."""


class Trace:
    """Collects the files of `src` in which functions are called while it records."""

    def __init__(self) -> None:
        self._files: set[str] | None = None

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if self._files is not None and event == "call" and threading.current_thread().name not in TIMED:
            self._files.add(frame.f_code.co_filename)

    @contextmanager
    def recording(self) -> Generator[set[str]]:
        self._files = files = set[str]()
        yield files
        self._files = None


async def trace_requests(trace: Trace, app: App) -> dict[str, list[str]]:
    key = (await app.api_keys.create("trace", scopes=["*:*"])).token
    client = await connect_http(app, HTTP_MODERN, authorization=f"Bearer {key}")
    for name, arguments in SETUP:
        await client.call(name, arguments)
    crossed: dict[str, list[str]] = {}
    for room, (name, arguments) in REQUESTS.items():
        await client.call(name, arguments)  # fills caches, imports what it needs
        # Background work may run during one of the calls, but hardly during all of them.
        crossed[room] = sorted(set.intersection(*[await _traced(trace, client, name, arguments) for _ in range(5)]))
    return crossed


async def _traced(trace: Trace, client: HttpClient, name: str, arguments: dict[str, Any]) -> set[str]:
    with trace.recording() as files:
        reply = await client.call(name, arguments)
    assert not reply.result.get("isError"), reply.text
    return {Path(file).relative_to(SOURCE).as_posix() for file in files if Path(file).is_relative_to(SOURCE)}


async def main(trace: Trace) -> None:
    with tempfile.TemporaryDirectory() as data:
        async with open_app(Settings(data=Path(data))) as app:
            (avatars,) = (room.service for room in app.rooms if room.room.name == "avatars")
            await avatars.ingest(AVATAR)
            await app.event_watch.stop()  # it works by the clock, too
            print(json.dumps(await trace_requests(trace, app)))  # noqa: T201


if __name__ == "__main__":
    tracing = Trace()
    threading.settrace(tracing)  # not setprofile, which would also be called for every return
    sys.settrace(tracing)
    asyncio.run(main(tracing))
