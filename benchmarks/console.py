"""How long the server works on a page of the console: with many objects, records, passages and tasks in the store
beside a hundred of each.

Both servers run in this process, without a network. The rival of every page is the same page of the small store.
"""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.directory.searching import fill
from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.search.rooms import fill_passages, fill_tasks
from benchmarks.table import Figure, Goal
from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.kernel.principal import LOCAL
from pentad.rooms.registers.models import Caller, Operation
from pentad.rooms.registers.service import Registers
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.http_wire import send

_SMALL: Final = 100
_TURNS: Final = 20
_PORTION: Final = 1_000
_ROOMS: Final = ("registers", "directory", "agents", "avatars", "metrics")
_LIST: Final = "/console/registers/1/1"
_SCHEMA: Final[dict[str, Any]] = {
    "title": "Permit",
    "slug": "permit",
    "configuration": {"objectNameField": "number"},
    "properties": {
        "number": {"type": "string", "unique": True},
        "status": {"type": "string", "enum": ["open", "closed", "new"], "facetable": True},
        "fee": {"type": "number", "x-index": True},
    },
}
_PAGES: Final = (
    ("Home", "/"),
    ("Search over all rooms", "/console/search?q=P-0000042"),
    ("Registers", "/console/registers"),
    ("A register", "/console/registers/1"),
    ("Objects", _LIST),
    ("Objects, sorted", f"{_LIST}?sort=-fee"),
    ("Objects, by a condition", f"{_LIST}?filter=%7B%22number%22%3A%22P-0000042%22%7D"),
    ("A form for an object", f"{_LIST}/new"),
    ("A schema", "/console/registers/schemas/1"),
    ("Directory", "/console/directory"),
    ("A new record", "/console/directory/new"),
    ("Comparing records", "/console/directory/compare"),
    ("Importing agents", "/console/directory/import"),
    ("A new register", "/console/registers/new"),
    ("A new schema", "/console/registers/schemas/new"),
    ("Schemas", "/console/registers/schemas"),
    ("Changing a schema", "/console/registers/schemas/1/edit"),
    ("Views", "/console/registers/views"),
    ("Importing objects", f"{_LIST}/import"),
    ("Changing many objects", f"{_LIST}/bulk"),
    ("Deleted objects", f"{_LIST}/deleted"),
    ("Agents", "/console/agents"),
    ("An agent", "/console/agents/cards/echo"),
    ("A chat with an agent", "/console/agents/cards/echo/chat"),
    ("Tasks", "/console/agents/tasks"),
    ("A task", "/console/agents/tasks/bench-42"),
    ("Approvals", "/console/agents/approvals"),
    ("Avatars", "/console/avatars"),
    ("An avatar", "/console/avatars/bench"),
    ("A chat with an avatar", "/console/avatars/bench/chat"),
    ("A source", "/console/avatars/bench/sources/1"),
    ("An evaluation", "/console/avatars/bench/evaluation"),
    ("Metrics", "/console/metrics"),
    ("A collector", "/console/metrics/pentad"),
    ("A metric", "/console/metrics/pentad/process.memory"),
    ("Tools", "/console/tools"),
    ("A tool", "/console/tools/tool/objects"),
    ("Audit trail", "/console/audit"),
    ("Administration", "/console/admin"),
)


def measure(effort: Effort) -> list[Figure]:
    """The time of every page, and its ratio to that of the small store."""
    return asyncio.run(_measure(effort))


async def _measure(effort: Effort) -> list[Figure]:
    async with AsyncExitStack() as stack:
        apps = [await _filled(stack, size) for size in (_SMALL, effort.objects)]
        pages: list[tuple[str, Sequence[str]]] = [(name, [path] * 2) for name, path in _PAGES]
        objects = [f"{_LIST}/{await _any_object(app)}" for app in apps]
        pages += [("An object", objects), ("A form for its values", [f"{one}/edit" for one in objects])]
        times = [await _times(apps, paths, effort) for _, paths in pages]
    group = f"Pages of the console, {effort.objects:,} objects, records, passages and tasks"
    goal, against = Goal("at most", 2.0), f"the same page with {_SMALL}"
    return [
        Figure(group, name, "ms", large, small, goal, "", against)
        for (name, _), (small, large) in zip(pages, times, strict=True)
    ]


async def _filled(stack: AsyncExitStack, size: int) -> App:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pentad-bench-")))
    settings = Settings(data=folder, rooms=_ROOMS, auth="none", search=SearchSettings(embedder="none"))
    app = await stack.enter_async_context(open_app(settings))
    say(f"Console: writing {size:,} objects, records, passages and tasks ...")
    registers: Registers = app.rooms[0].service
    caller = Caller(LOCAL)
    await registers.catalogue.schemas.create(caller, _SCHEMA)
    await registers.catalogue.registers.create(caller, {"title": "City", "slug": "city", "schemas": ["permit"]})
    pair = await registers.catalogue.pair(caller, "city", "permit")
    for first in range(0, size, _PORTION):
        numbers = range(first, min(first + _PORTION, size))
        rows = [Operation("create", _permit(number)) for number in numbers]
        await registers.objects.bulk(caller, pair, rows, atomic=True)
    await fill(app.database, 0, size)
    await fill_passages(app, size, None)
    await fill_tasks(app, size)
    return app


def _permit(number: int) -> dict[str, Any]:
    return {"number": f"P-{number:07}", "status": ("open", "closed", "new")[number % 3], "fee": number % 97}


async def _any_object(app: App) -> str:
    return await app.database.read(lambda rows: rows.value("SELECT uuid FROM objects ORDER BY id LIMIT 1"))


async def _times(apps: Sequence[App], paths: Sequence[str], effort: Effort) -> tuple[float, float]:
    """The median time of a page in milliseconds, with few and with many things in the store. Both take turns."""
    fronts = [http_application(app) for app in apps]
    times: list[list[float]] = [[] for _ in apps]
    for _ in range(effort.rounds * _TURNS):
        for front, path, taken in zip(fronts, paths, times, strict=True):
            before = time.perf_counter()
            answer = send(front, "GET", path, {"accept": "text/html"})
            body = await answer.body()
            taken.append((time.perf_counter() - before) * 1e3)
            if answer.status != 200:
                raise AssertionError(f"{path}: {answer.status} {body[:300]!r}")
    small, large = map(median, times)
    return small, large
