"""How long the server works on a page of the console: with many objects, records, passages and tasks in the store
beside a hundred of each, on SQLite and on PostgreSQL.

Both servers run in this process, without a network. The rival of every page is the same page of the small store.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
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
from pentad.kernel.ports import Rows
from pentad.kernel.principal import LOCAL
from pentad.rooms.registers.models import Caller, Operation
from pentad.rooms.registers.service import Registers
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.http_wire import send
from tests.stores import PostgresServer

_SMALL: Final = 100
_TURNS: Final = 20
_PORTION: Final = 1_000
_ROOMS: Final = ("registers", "directory", "agents", "avatars", "metrics")
_TRACE: Final = "benchmark"
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
PAGES: Final = (
    ("Home", "/"),
    ("Search over all rooms", "/console/search?q=P-0000042"),
    ("Registers", "/console/registers"),
    ("A register", "/console/registers/1"),
    ("Objects", _LIST),
    ("Objects, sorted", f"{_LIST}?sort=-fee"),
    ("Objects, by a condition", f"{_LIST}?filter=%7B%22number%22%3A%22P-0000042%22%7D"),
    ("Objects, by words", f"{_LIST}?q=P-0000042"),
    ("Objects, by a frequent word", f"{_LIST}?q=open"),
    ("A form for an object", f"{_LIST}/new"),
    ("A schema", "/console/registers/schemas/1"),
    ("Directory", "/console/directory"),
    ("A new record", "/console/directory/new"),
    ("Records of a name", "/console/directory?q=P-0000042"),
    ("A record", "/console/directory/records/{record}"),
    ("Editing a record", "/console/directory/records/{record}/edit"),
    ("Comparing records", "/console/directory/compare"),
    ("Importing agents", "/console/directory/import"),
    ("A new register", "/console/registers/new"),
    ("Editing a register", "/console/registers/1/edit"),
    ("A new schema", "/console/registers/schemas/new"),
    ("Schemas", "/console/registers/schemas"),
    ("Changing a schema", "/console/registers/schemas/1/edit"),
    ("Views", "/console/registers/views"),
    ("Importing objects", f"{_LIST}/import"),
    ("Changing many objects", f"{_LIST}/bulk"),
    ("Deleted objects", f"{_LIST}/deleted"),
    ("An object", f"{_LIST}/{{object}}"),
    ("A form for its values", f"{_LIST}/{{object}}/edit"),
    ("An object of any register", "/console/registers/objects/{object}"),
    ("A view", "/console/registers/views/{view}"),
    ("A plan", f"{_LIST}/plans/{{plan}}"),
    ("Organisations", "/console/registers/organisations"),
    ("Agents", "/console/agents"),
    ("An agent", "/console/agents/cards/echo"),
    ("A chat with an agent", "/console/agents/cards/echo/chat"),
    ("Tasks", "/console/agents/tasks"),
    ("A task", "/console/agents/tasks/bench-42"),
    ("Approvals", "/console/agents/approvals"),
    ("Registering an agent", "/console/agents/register"),
    ("Avatars", "/console/avatars"),
    ("An avatar", "/console/avatars/bench"),
    ("A chat with an avatar", "/console/avatars/bench/chat"),
    ("A question to an avatar", "/console/avatars/bench?q={word}"),
    ("A question to all avatars", "/console/avatars/panel?q={word}"),
    ("Sources", "/console/avatars/bench/sources"),
    ("A source", "/console/avatars/bench/sources/1"),
    ("A passage", "/console/avatars/bench/passages/42"),
    ("Adding a document", "/console/avatars/bench/add"),
    ("Feedback", "/console/avatars/bench/feedback"),
    ("An evaluation", "/console/avatars/bench/evaluation"),
    ("Metrics", "/console/metrics"),
    ("A collector", "/console/metrics/pentad"),
    ("A metric", "/console/metrics/pentad/process.memory"),
    ("Where a metric comes from", "/console/metrics/pentad/process.memory/explain"),
    ("What changed", "/console/metrics/pentad/changes"),
    ("Exporting figures", "/console/metrics/pentad/export?format=csv"),
    ("Tools", "/console/tools"),
    ("A tool", "/console/tools/tool/objects"),
    ("A prompt", "/console/tools/prompt/{prompt}"),
    ("A resource", "/console/tools/resource?uri=agents://tasks/bench-42"),
    ("Lineage", "/console/lineage?uri=agents://tasks/bench-42"),
    ("Traces", "/console/traces"),
    ("A trace", "/console/traces/{trace}"),
    ("Audit trail", "/console/audit"),
    ("Verification of the audit trail", "/console/audit/verification"),
    ("Administration", "/console/admin"),
    ("Users", "/console/admin/users"),
    ("API keys", "/console/admin/keys"),
    ("OAuth clients", "/console/admin/clients"),
    ("Grants", "/console/admin/grants"),
    ("Sessions", "/console/admin/sessions"),
    ("Jobs", "/console/admin/jobs"),
    ("Settings", "/console/admin/settings"),
    ("Health", "/console/admin/health"),
    ("Your activity", "/console/account/activity"),
    ("Style", "/console/style"),
)
"""The name of each page, and its path. `_things` finds what stands in braces."""
_WITHOUT_GOAL: Final = {"Objects, by a frequent word": "every hit is ranked, a third of the objects"}
LEFT_OUT: Final = {
    "/console/metrics/{collector}/{key}/items": "asks a service on the network",
    "/console/registers/{register}/{schema}/imports/{transfer}": "reads the report of one import",
    "/console/registers/organisations/{organisation}": "needs an organisation",
    "/console/agents/approvals/{id}": "needs an approval",
    "/console/account": "needs a login; the parts are those of the administration",
    "/console/account/keys/{id}": "one row of the page of keys",
    "/console/account/grants/{id}": "one row of the page of grants",
    "/console/account/sessions/{id}": "one row of the page of sessions",
    "/console/admin/client": "one row of the page of clients",
    "/console/admin/grants/{id}": "one row of the page of grants",
    "/console/admin/jobs/{id:int}": "one row of the page of jobs",
    "/console/admin/keys/{id}": "one row of the page of keys",
    "/console/admin/sessions/{id}": "one row of the page of sessions",
    "/console/admin/users/{name}": "one row of the page of users",
    "/console/audit/export": "a file of the whole trail",
    "/console/clients": "a part of the home page",
}
"""Pages that are not measured, and why. Every other page is: a test compares them with the routes."""


def measure(effort: Effort) -> Iterator[Figure]:
    """The time of every page, and its ratio to that of the small store."""
    if "sqlite" in effort.stores:
        yield from asyncio.run(_measure(effort, None))
    if "postgres" in effort.stores:
        server = PostgresServer()
        try:
            yield from asyncio.run(_measure(effort, server))
        finally:
            server.remove()


async def _measure(effort: Effort, server: PostgresServer | None) -> list[Figure]:
    async with AsyncExitStack() as stack:
        apps = [await _filled(stack, server, size) for size in (_SMALL, effort.objects)]
        things = [await _things(app) for app in apps]
        times = [await _times(apps, [path.format_map(one) for one in things], effort) for _, path in PAGES]
    store = "SQLite" if server is None else "PostgreSQL"
    group = f"Pages of the console, {effort.objects:,} objects, records, passages and tasks in {store}"
    goal, against = Goal("at most", 2.0), f"the same page with {_SMALL}"
    figures: list[Figure] = []
    for (name, _), (small, large) in zip(PAGES, times, strict=True):
        remark = _WITHOUT_GOAL.get(name, "")
        figures.append(Figure(group, name, "ms", large, small, None if remark else goal, remark, against))
    return figures


async def _filled(stack: AsyncExitStack, server: PostgresServer | None, size: int) -> App:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pentad-bench-")))
    url = None if server is None else server.fresh_database()
    search = SearchSettings(embedder="none")
    settings = Settings(data=folder, database=url, rooms=_ROOMS, auth="none", search=search)
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
    if server is not None:  # as autovacuum does after such a load; it is off in this server
        server.execute("VACUUM ANALYZE", url=url)
    return app


def _permit(number: int) -> dict[str, Any]:
    return {"number": f"P-{number:07}", "status": ("open", "closed", "new")[number % 3], "fee": number % 97}


async def _things(app: App) -> Mapping[str, str]:
    """One thing of each kind that has a page."""
    place = {"register": "city", "schema": "permit"}
    view = await _call(app, "views", action="create", data={"title": "Open", **place, "query": {"sort": ["-fee"]}})
    rows = [{"action": "create", "data": _permit(10_000_000)}]
    plan = await _call(app, "objects", action="plan", operations=rows, **place)
    visit = send(http_application(app), "GET", "/console/agents", {"accept": "text/html", "x-request-id": _TRACE})
    await visit.body()
    await app.audit.flush()
    uuid, cid, passage = await app.database.read(_stored)
    return {
        "object": uuid,
        "record": cid,
        "view": str(view["id"]),
        "plan": str(plan["id"]),
        "trace": _TRACE,
        "prompt": next(iter(app.internal_server.registry.prompts)),
        "word": passage.partition(" ")[0],
    }


def _stored(rows: Rows) -> tuple[str, str, str]:
    """An object, a record, and the text of a passage."""
    of = ("uuid FROM objects", "cid FROM directory_records", "content FROM avatar_passages")
    uuid, cid, passage = (rows.value(f"SELECT {one} ORDER BY id LIMIT 1") for one in of)
    return uuid, cid, passage


async def _call(app: App, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await app.neighbours.call_tool(LOCAL, tool, arguments)
    if result.get("isError"):
        raise AssertionError(f"{tool}: {result}")
    return result["structuredContent"]


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
            if answer.status not in (200, 303):
                raise AssertionError(f"{path}: {answer.status} {body[:300]!r}")
    small, large = map(median, times)
    return small, large
