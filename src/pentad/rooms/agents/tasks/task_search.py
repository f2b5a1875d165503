"""Finds a caller's own tasks by their words.

Tasks are indexed when their owner searches, so sending one costs nothing extra. A search first indexes what changed
since the last one, up to a limit; a job does the rest, and until then answers say that they are incomplete. Words are
weighted only by the caller's own tasks, so other callers' tasks have no influence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from pentad.jobs.queue import JobQueue
from pentad.kernel.ports import Database, Dialect, Rows, Transaction
from pentad.kernel.sql import composed
from pentad.rooms.agents.models import Artifact, ArtifactEvent, Body, MessageEvent, Part, State
from pentad.search.prefixes import prefix_text, question_words
from pentad.search.relevance import logistic, logit_of_words
from pentad.search.scoring import Reason, WordScorer, reasons
from pentad.search.searchable import Searchable, SearchField
from pentad.search.word_table import Word, WordTable

SEARCHABLE: Final = Searchable(
    "agent-tasks",
    {"agent": SearchField(1.5), "request": SearchField(2.0), "answer": SearchField(1.0)},
    vector_of=(),
    filters=("owner", "since", "until"),
)
JOB: Final = "agents.task_texts"
"""Indexes the tasks of one owner, whose id is the key."""
WORDS: Final = WordTable("agent_task_words", "number", ("text",), longest=50_000, parts={}, prefixes=True)

_AT_ONCE: Final = 1_000
"""How many tasks a search indexes before it answers."""
_BATCH: Final = 200
_OVERLAP: Final = 120.0
"""How many seconds before the last indexed task to check again, because clocks differ and writes may be late."""
_LONGEST_TEXT: Final = 10_000
_LARGEST_EVENT: Final = 100_000
_MOST_EVENTS: Final = 500
_CANDIDATES: Final = 300
_COMMON: Final = 10_000
_FOR_EVER: Final = 1e12
_DECODE: Final = msgspec.json.Decoder(Body).decode

_BEHIND: Final = (
    "SELECT t.id, t.agent, t.seq, t.updated_at FROM agent_tasks t LEFT JOIN agent_task_texts x ON x.task = t.id"
    " WHERE t.owner = ? AND t.updated_at >= ? AND (x.seq IS NULL OR x.seq < t.seq) ORDER BY t.updated_at, t.id LIMIT ?"
)
_UP_TO: Final = "SELECT up_to FROM agent_task_indexes WHERE owner = ?"
_SET_UP_TO: Final = (
    "INSERT INTO agent_task_indexes (owner, up_to) VALUES (?, ?)"
    " ON CONFLICT (owner) DO UPDATE SET up_to = excluded.up_to WHERE agent_task_indexes.up_to < excluded.up_to"
)
_EVENTS: Final = "SELECT body FROM agent_events WHERE task = ? AND length(body) <= ? ORDER BY seq LIMIT ?"
_PUT: Final = (
    "INSERT INTO agent_task_texts (task, owner, seq, texts) VALUES (?, ?, ?, ?) ON CONFLICT (task) DO UPDATE"
    " SET seq = excluded.seq, texts = excluded.texts WHERE agent_task_texts.seq < excluded.seq RETURNING number"
)


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A task that was found, and why."""

    id: str
    agent: str
    state: State
    updated_at: float
    texts: Mapping[str, str]
    score: float
    why: Sequence[Reason]


class TaskSearch:
    """The search of tasks over one store."""

    def __init__(self, database: Database, jobs: JobQueue) -> None:
        self._database = database
        self._jobs = jobs

    async def find(
        self, owner: str, query: str, limit: int, since: float | None, until: float | None
    ) -> tuple[list[FoundTask], bool]:
        """The owner's tasks that match a query, best first, and whether all tasks are indexed."""
        complete = await self._catch_up(owner)
        times = since or 0.0, until or _FOR_EVER
        dialect = self._database.dialect
        return await self._database.read(lambda rows: _find(rows, dialect, owner, query, limit, times)), complete

    async def index_rest(self, owner: str) -> None:
        """Index all remaining tasks of an owner."""
        while await self._take_in(owner):
            continue

    async def _catch_up(self, owner: str) -> bool:
        for _ in range(_AT_ONCE // _BATCH):
            if not await self._take_in(owner):
                return True
        await self._database.write(lambda tx: self._jobs.enqueue(tx, JOB, key=owner))
        return False

    async def _take_in(self, owner: str) -> bool:
        """Index a batch of tasks; returns whether there may be more."""
        behind = await self._database.read(lambda rows: _behind(rows, owner))
        if behind:
            dialect = self._database.dialect
            await self._database.write(lambda tx: _index(tx, dialect, owner, behind))
        return len(behind) == _BATCH


_Changed = tuple[str, str, int, float]


def _behind(rows: Rows, owner: str) -> list[_Changed]:
    up_to = rows.value(_UP_TO, owner) or 0.0
    return [(task, agent, seq, at) for task, agent, seq, at in rows.all(_BEHIND, owner, up_to - _OVERLAP, _BATCH)]


def _index(tx: Transaction, dialect: Dialect, owner: str, changed: Sequence[_Changed]) -> None:
    documents: list[tuple[int, Sequence[str]]] = []
    for task, agent, seq, _ in changed:
        texts = _texts(agent, [_DECODE(body) for (body,) in tx.all(_EVENTS, task, _LARGEST_EVENT, _MOST_EVENTS)])
        number = tx.value(_PUT, task, owner, seq, msgspec.json.encode(texts).decode())
        if number is not None:  # otherwise another process was faster
            documents.append((number, ["\n".join(texts.values())]))
    WORDS.delete(tx, dialect, [number for number, _ in documents])
    WORDS.insert(tx, dialect, documents)
    tx.run(_SET_UP_TO, owner, changed[-1][3])


def _texts(agent: str, bodies: Sequence[Body]) -> dict[str, str]:
    """The texts of a task by field: its agent, the requests, its answers and artifacts."""
    asked: list[str] = []
    said: list[str] = []
    for body in bodies:
        if isinstance(body, MessageEvent):
            (asked if body.message.role == "user" else said).extend(_part_texts(body.message.parts))
        elif isinstance(body, ArtifactEvent):
            said += _artifact_texts(body.artifact)
        elif body.message is not None:
            said += _part_texts(body.message.parts)
    found = {"agent": agent, "request": "\n".join(asked), "answer": "\n".join(dict.fromkeys(said))}
    return {name: text[:_LONGEST_TEXT].replace("\0", " ") for name, text in found.items() if text}


def _artifact_texts(artifact: Artifact) -> list[str]:
    named = [text for text in (artifact.name, artifact.description) if text]
    return [*named, *_part_texts(artifact.parts)]


def _part_texts(parts: Sequence[Part]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if part.text is not UNSET:
            found.append(str(part.text))
        if part.data is not UNSET:
            found += _strings(part.data)
        if part.filename is not None:
            found.append(part.filename)
    return found


def _strings(value: Any) -> list[str]:
    """The texts in a JSON value, whose nesting was limited when it was received."""
    if isinstance(value, str):
        return [value]
    inner: list[Any] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).values())
    elif isinstance(value, list):
        inner = cast("list[Any]", value)
    return [text for one in inner for text in _strings(one)]


def _find(
    rows: Rows, dialect: Dialect, owner: str, query: str, limit: int, times: tuple[float, float]
) -> list[FoundTask]:
    asked = question_words(query)
    words = [Word.of_question(word) for word in asked]
    rare = WORDS.rarest(rows, dialect, words, _COMMON)
    expression = WORDS.expression(dialect, rare or words, "or" if rare else "and") if words else ""
    if not expression:
        return []
    statement = composed(
        "SELECT t.id, t.agent, t.state, t.updated_at, x.texts FROM ", WORDS.best_first(dialect, expression),
        " CROSS JOIN agent_task_texts x CROSS JOIN agent_tasks t WHERE x.number = d.record AND t.id = x.task"
        f" AND x.owner = ? AND t.updated_at BETWEEN ? AND ? ORDER BY d.points DESC, d.record DESC LIMIT {_CANDIDATES}",
    )  # fmt: skip
    found = [
        (task, agent, state, at, msgspec.json.decode(texts, type=dict[str, str]))
        for task, agent, state, at, texts in rows.all(statement.text, *statement.params, owner, *times)
    ]
    prepared = [{name: prefix_text(text) for name, text in one[4].items()} for one in found]
    scorer = WordScorer.over(tuple(asked), prepared, SEARCHABLE.fields)
    tasks: list[FoundTask] = []
    for (task, agent, state, at, texts), counted in zip(found, prepared, strict=True):
        match = scorer.match(counted)
        score = logistic(logit_of_words(match.share, match.coverage))
        why = [
            Reason(one.field, tuple(asked[word] for word in one.words), one.contribution)
            for one in reasons(match, score, score, has_vector=False)
        ]
        tasks.append(FoundTask(task, agent, state, at, texts, score, why))
    return sorted(tasks, key=lambda one: (-one.score, -one.updated_at, one.id))[:limit]
