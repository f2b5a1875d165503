"""Reading many small documents: forked readers beside a new process for each document, with the same limits."""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.effort import Effort
from benchmarks.environment import say
from benchmarks.table import Figure, Goal
from pentad.app import CORE_SETS
from pentad.documents.protocol import Task
from pentad.documents.sandbox import DocumentReaders, ReadingLimits
from pentad.kernel.clock import SystemClock
from pentad.rooms.avatars.corpus.ingest import Ingest
from pentad.search.index import SearchIndex
from pentad.storage.migrations import MigrationSet, apply
from pentad.storage.open import open_database

DOCUMENTS: Final = 10_000
_BY_PROCESSES: Final = 400
"""As many show what a process for each costs; all of them would take minutes."""
_AT_ONCE: Final = 2
_LIMITS: Final = ReadingLimits()
_CONFIG: Final = {
    "id": "canals", "name": "Canals", "description": "Notes on canals.",
    "corpus": {"description": "Notes.", "sources": []},
    "systemPrompt": {"identity": "Notes", "tone": "plain", "constraints": [], "citationStyle": "third person"},
}  # fmt: skip


def measure(effort: Effort) -> list[Figure]:
    """Milliseconds for each document; medians over the rounds, which take turns."""
    with tempfile.TemporaryDirectory(prefix="pentad-bench-") as place:
        folder = Path(place, "canals")
        paths = write_documents(folder, DOCUMENTS)
        pooled: list[float] = []
        processes: list[float] = []
        ingests: list[float] = []
        for turn in range(effort.rounds):
            say(f"Reading {DOCUMENTS:,} documents, round {turn + 1} of {effort.rounds} ...")
            pooled.append(asyncio.run(_timed(read_with_pool(paths), DOCUMENTS)))
            processes.append(asyncio.run(_timed(read_with_processes(paths[:_BY_PROCESSES]), _BY_PROCESSES)))
            ingests.append(asyncio.run(_timed(_ingested(folder, Path(place, f"data{turn}")), DOCUMENTS)))
    beside = "a new process for each document"
    return [
        Figure(
            "reading documents", f"one of {DOCUMENTS:,} small files", "ms", statistics.median(pooled),
            statistics.median(processes), Goal("at most", 0.1), against=beside,
        ),
        Figure(
            "reading documents", "the same, ingested and searchable by words", "ms", statistics.median(ingests),
            against=beside,
        ),
    ]  # fmt: skip


def write_documents(folder: Path, count: int) -> list[Path]:
    """The folder of an avatar with this many small documents."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    paths = [corpus / f"note-{number:05}.md" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(
            f"# Canal {number}\n\nThe canal has {number % 17} gates. A guard opens gate {number} at dawn.\n"
            "\n## Turns\n\nFarmers take water in turns, and who misses a turn waits for the next one.\n",
            encoding="utf-8",
        )
    return paths


async def read_with_pool(paths: Iterable[Path]) -> None:
    """As an ingest does it."""
    async with DocumentReaders(_LIMITS) as readers:
        await _each(paths, lambda path: readers.read(path, "markdown", 512, 50))


async def read_with_processes(paths: Iterable[Path]) -> None:
    """A new interpreter for each document."""
    task = Task(
        "markdown", 512, 50, _LIMITS.memory_bytes, _LIMITS.cpu_seconds, _LIMITS.wall_seconds, _LIMITS.file_bytes,
        _LIMITS.text_characters,
    )  # fmt: skip
    argument = msgspec.json.encode(task).decode()

    async def read(path: Path) -> None:
        with path.open("rb") as source:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "pentad.documents.reader_process", argument,
                stdin=source, stdout=asyncio.subprocess.PIPE,
            )  # fmt: skip
            output, _ = await process.communicate()
        assert output.endswith(b'{"type":"done"}\n')

    await _each(paths, read)


async def _ingested(folder: Path, data: Path) -> None:
    database = await open_database(None, data)
    try:
        await apply(database, [*CORE_SETS, MigrationSet("avatars", "pentad.rooms.avatars.schema")])
        await Ingest(database, SearchIndex(database, data / "search", None), SystemClock()).folder(folder)
    finally:
        await database.close()


async def _each(paths: Iterable[Path], read: Callable[[Path], Awaitable[object]]) -> None:
    waiting = iter(paths)

    async def work() -> None:
        for path in waiting:
            await read(path)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())


async def _timed(work: Awaitable[None], count: int) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000 / count
