"""One search over all rooms beside a search of the largest room alone: the same questions, in one store.

Half of the items are records, the others objects, passages and tasks. All are written past the rooms' services, in
large batches; records and passages have made vectors, and questions are embedded by the real model if it is here. The
two searches take turns, no question comes twice, and every answer is checked.
"""

import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.directory.searching import fill as fill_records
from benchmarks.directory.workload import coined
from benchmarks.effort import Effort
from benchmarks.environment import CACHE, say
from benchmarks.search.lanes import PER_ROUND, QuestionEmbedder
from benchmarks.search.material import Vectors, Words
from benchmarks.table import Figure, Goal
from pentad.app import App, open_app
from pentad.kernel.ports import Transaction
from pentad.kernel.principal import LOCAL
from pentad.net.fetch import HttpFetcher
from pentad.room_search.search import Filters
from pentad.rooms.agents import store as tasks
from pentad.rooms.agents.models import Message, MessageEvent, Part, Task
from pentad.rooms.avatars import store as avatars
from pentad.rooms.registers.models import Caller, Operation
from pentad.search.documents import Document
from pentad.search.embedders import open_embedder
from pentad.settings.model import Settings
from pentad.settings.sources import load_settings

_SHARES: Final = {"record": 0.5, "object": 0.3, "passage": 0.15, "task": 0.05}
_LARGEST: Final = "record"
_BATCH: Final = 1_000
_SHORT: Final = 20
_COLLECTION: Final = "avatar:bench:1"
_TWICE: Final = Goal("at most", 2.0)


@dataclass(frozen=True, slots=True)
class Rooms:
    """What was measured: milliseconds by kind, and of all at once."""

    items: int
    alone: dict[str, float]
    together: float

    def figures(self) -> list[Figure]:
        """All rooms at once beside the largest, and each room alone."""
        group = f"Search over all rooms, {self.items:,} items"
        largest = self.alone[_LARGEST]
        against = "the largest room alone"
        return [
            Figure(group, "all rooms at once", "ms", self.together, largest, _TWICE, against=against),
            *(Figure(group, f"{kind}s alone", "ms", took, against=against) for kind, took in self.alone.items()),
        ]


class _Embedder(QuestionEmbedder):
    """One that an app can close."""

    def close(self) -> None:
        """The real model is closed where it was opened."""


async def measure_rooms(items: int, rows: Vectors, asked: Vectors, effort: Effort) -> Rooms:
    """Fill a store, and ask."""
    given = load_settings({})
    fetcher = HttpFetcher(given.fetch)
    real = open_embedder(given.search.embedder, given.model_folders(), given.remote_embedder(), fetcher)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        settings = Settings(data=Path(folder), auth="none", room_tables={"metrics": {"poll": {"host": 0, "pentad": 0}}})
        try:
            async with open_app(settings) as app:
                app.__dict__["embedder"] = embedder = _Embedder(None, asked)
                await _fill(app, items, rows)
                embedder.embeds_with(real)
                say("Search: asking all rooms ...")
                return await _ask(app, items, effort)
        finally:
            await fetcher.close()
            if real is not None:
                real.close()


async def _fill(app: App, items: int, rows: Vectors) -> None:
    counts = {kind: int(items * share) for kind, share in _SHARES.items()}
    fillers: dict[str, Callable[[int], Awaitable[None]]] = {
        "record": lambda count: fill_records(app.database, 0, count),
        "object": lambda count: _objects(app, count),
        "passage": lambda count: fill_passages(app, count, rows),
        "task": lambda count: fill_tasks(app, count),
    }
    for kind, count in counts.items():
        say(f"Search: writing {count:,} {kind}s ...")
        await fillers[kind](count)
    say("Search: vectors and lists ...")
    await app.search.embed_pending()
    await app.search.tidy()


async def _objects(app: App, count: int) -> None:
    registers, caller = _service(app, "registers"), Caller(LOCAL)
    definition = {
        "title": "Item",
        "slug": "item",
        "properties": {"name": {"type": "string"}, "note": {"type": "string"}},
        "configuration": {"objectNameField": "name"},
    }
    schema = await registers.catalogue.schemas.create(caller, definition)
    await registers.catalogue.registers.create(caller, {"title": "Bench", "slug": "bench", "schemas": [schema.slug]})
    pair = await registers.catalogue.pair(caller, "bench", "item")
    for start, texts in _batches(count):
        made = [
            Operation("create", {"name": coined(start + place), "note": text}, None)
            for place, text in enumerate(_short(texts))
        ]
        await registers.objects.bulk(caller, pair, made, atomic=True)


_CONFIG: Final = {
    "id": "bench",
    "name": "Bench",
    "description": "Made for a benchmark.",
    "corpus": {"description": "Invented words.", "sources": []},
    "systemPrompt": {
        "identity": "You quote invented words.",
        "tone": "Plain.",
        "constraints": [],
        "citationStyle": "By number.",
    },
}


async def fill_passages(app: App, count: int, rows: Vectors | None) -> None:
    """An avatar `bench` with one document of so many passages, with vectors or without."""

    def make(tx: Transaction) -> tuple[int, int]:
        number = avatars.make_avatar(tx, "bench", _COLLECTION, 0.0)
        document: int = tx.value(
            "INSERT INTO avatar_documents (avatar, path, origin, source_id, title, role, details, format, sha256,"
            " pipeline, bytes, characters, tokens, passages, notes, generation, ingested_at)"
            " VALUES (?, 'bench', 'bench', 'bench', 'Bench', 'by', '{}', 'text', '', '', 0, 0, 0, ?, '[]', 1, 0)"
            " RETURNING id",
            number, count,
        )  # fmt: skip
        tx.run("UPDATE avatars SET passages = ?, config = ? WHERE number = ?", count, json.dumps(_CONFIG), number)
        return number, document

    number, document = await app.database.write(make)
    for start, texts in _batches(count):
        documents = [
            Document(start + place, text, ["made"], None if rows is None else rows[start + place].tobytes())
            for place, text in enumerate(texts)
        ]

        def write(tx: Transaction, documents: Sequence[Document] = documents) -> None:
            tx.run_many(
                "INSERT INTO avatar_passages (avatar, id, document, position, content, char_start, char_end, tokens,"
                " sha256, sentences) VALUES (?, ?, ?, ?, ?, 0, ?, 0, '', '[]')",
                [
                    (number, one.id, document, one.id, text, len(text))
                    for one, text in ((one, str(one.fields)) for one in documents)
                ],
            )
            app.search.put(tx, _COLLECTION, documents)

        await app.database.write(write)


async def fill_tasks(app: App, count: int) -> None:
    """Tasks of the local user, in the search, too."""
    for start, texts in _batches(count):
        short = _short(texts)

        def write(tx: Transaction, start: int = start, short: Sequence[str] = short) -> None:
            for place, text in enumerate(short):
                name = f"bench-{start + place}"
                task = Task(id=name, context_id=name, agent="echo", owner=LOCAL.id, dialect="mcp")
                part = Part(text=f"{coined(start + place)} {text}")
                body = MessageEvent(Message(id=name, role="user", parts=(part,)))
                tasks.create(tx, task, [tasks.encode_body(body)], float(start + place), bounds=tasks.LAST_WORD)

        await app.database.write(write)
    await _service(app, "agents").task_search.index_rest(LOCAL.id)


def _batches(count: int) -> Iterator[tuple[int, list[str]]]:
    words = Words()
    for start in range(0, count, _BATCH):
        yield start, list(words.passages(start, min(_BATCH, count - start)))


def _short(texts: Sequence[str]) -> list[str]:
    return [" ".join(text.split()[:_SHORT]) for text in texts]


async def _ask(app: App, items: int, effort: Effort) -> Rooms:
    words, least = Words(), int(items * min(_SHARES.values()))
    times: dict[str, list[float]] = {kind: [] for kind in ("", *_SHARES)}
    for turn in range(effort.rounds * PER_ROUND + 1):
        for place, kind in enumerate(times):
            number = (turn * len(times) + place) * 37 % least
            text = f"{coined(number)} {words.question(items + turn * len(times) + place)}"
            filters = Filters(kinds=(kind,) if kind else ())
            start = time.perf_counter()
            found = await app.room_search.find(LOCAL, text, filters)
            times[kind].append((time.perf_counter() - start) * 1e3)
            if found.incomplete or not found.hits:
                raise SystemExit(f"A question under measurement was not answered as it should: {kind or 'all rooms'}.")
    medians = {kind: median(taken[1:]) for kind, taken in times.items()}  # the first turn warms up
    together = medians.pop("")
    for kind, took in medians.items():
        say(f"  {kind}s {took:.1f} ms")
    say(f"  all rooms {together:.1f} ms")
    return Rooms(items, medians, together)


def _service(app: App, name: str) -> Any:
    return next(opened.service for opened in app.rooms if opened.room.name == name)


def rooms_figures(items: int, rows: Vectors, asked: Vectors, effort: Effort) -> list[Figure]:
    """The figures of this part."""
    return asyncio.run(measure_rooms(items, rows, asked, effort)).figures()
