"""The SQL of avatars, documents and passages. No logic."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pentad.kernel.ports import Row, Rows, Transaction, Value
from pentad.kernel.sql import chunks, marks
from pentad.rooms.avatars.config import parse_config
from pentad.rooms.avatars.models import Avatar, AvatarInfo, CorpusDocument, Passage, Role

if TYPE_CHECKING:
    from pentad.documents.chunks import Chunk
    from pentad.documents.document import Scan

_FOR_EVER: Final = 1e12
"""The most values in one IN list."""

_AVATARS: Final = (
    "SELECT number, id, config, sources, generation, collection, documents, passages, characters, tokens, created_at,"
    " updated_at FROM avatars"
)
_DOCUMENTS: Final = (
    "SELECT id, path, origin, source_id, title, type, year, role, details, format, sha256, pipeline, bytes, pages,"
    " characters, tokens, passages, notes, generation, ingested_at FROM avatar_documents"
)
_DETAILS: Final = 8
_NOTES: Final = 17
VERSION: Final = "SELECT number, generation FROM avatars WHERE id = ?"
"""A lookup whose result changes whenever the avatar does."""

_PASSAGES: Final = (
    "SELECT p.id, p.position, p.document, d.title, d.source_id, p.content, p.page_start, p.page_end, p.printed_start,"
    " p.printed_end, p.section, p.char_start, p.char_end, d.year, d.role, d.type, p.tokens, d.sha256, p.sha256,"
    " p.sentences, CASE WHEN substr(d.path, 1, 11) = 'references/' THEN d.ingested_at END,"
    " (SELECT MIN(s.confidence) FROM avatar_scans s WHERE s.document = p.document"
    " AND s.page BETWEEN p.page_start AND COALESCE(p.page_end, p.page_start))"
    " FROM avatar_passages p JOIN avatar_documents d ON d.id = p.document"
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters on documents. None lets all pass; a document without a year fails a filter on years."""

    roles: tuple[Role, ...] | None = None
    year_from: int | None = None
    year_to: int | None = None
    source_ids: tuple[str, ...] | None = None
    types: tuple[str, ...] | None = None

    @property
    def empty(self) -> bool:
        return self == Filters()


def avatars(rows: Rows) -> list[AvatarInfo]:
    """Every avatar, by id."""
    return [_info(one) for one in avatars_with_config(rows)]


def avatars_with_config(rows: Rows) -> list[Avatar]:
    """Every avatar with its configuration, by id."""
    return [_avatar(row) for row in rows.all(f"{_AVATARS} ORDER BY id")]


def avatar(rows: Rows, avatar_id: str) -> Avatar | None:
    row = rows.one(f"{_AVATARS} WHERE id = ?", avatar_id)
    return None if row is None else _avatar(row)


def corpora(rows: Rows, most: int) -> list[tuple[int, str, str]]:
    """The number, id and collection of each avatar that has passages, by id."""
    sql = "SELECT number, id, collection FROM avatars WHERE passages > 0 ORDER BY id LIMIT ?"
    return [(number, name, collection) for number, name, collection in rows.all(sql, most)]


def ingested(rows: Rows, number: int, since: float | None, until: float | None) -> list[int]:
    """The numbers of the passages whose documents were ingested in a period."""
    sql = (
        "SELECT p.id FROM avatar_passages p JOIN avatar_documents d ON d.id = p.document WHERE p.avatar = ?"
        " AND d.ingested_at BETWEEN ? AND ? ORDER BY p.id"
    )
    return [one for (one,) in rows.all(sql, number, since or 0.0, until or _FOR_EVER)]


def ingestion_times(rows: Rows, documents: Sequence[int]) -> dict[int, float]:
    """When these documents were ingested, by number."""
    found: dict[int, float] = {}
    for some in chunks(list(documents)):
        sql = f"SELECT id, ingested_at FROM avatar_documents WHERE id IN ({marks(len(some))})"  # noqa: S608  only marks
        found.update((document, at) for document, at in rows.all(sql, *some))
    return found


def documents(rows: Rows, number: int) -> list[CorpusDocument]:
    """The documents of an avatar, in the order they were added."""
    sql = f"{_DOCUMENTS} WHERE avatar = ? ORDER BY id"
    return [_document(row) for row in rows.all(sql, number)]


def document(rows: Rows, number: int, document_id: int) -> CorpusDocument | None:
    """One document of an avatar."""
    row = rows.one(f"{_DOCUMENTS} WHERE avatar = ? AND id = ?", number, document_id)
    return None if row is None else _document(row)


def some_documents(rows: Rows, number: int, words: str, most: int, offset: int) -> list[CorpusDocument]:
    """As many documents whose title has these words, after the first `offset` ones."""
    sql = f"{_DOCUMENTS} WHERE avatar = ? AND lower(title) LIKE lower(?) ESCAPE '!' ORDER BY id LIMIT ? OFFSET ?"
    pattern = "".join(f"!{one}" if one in "!%_" else one for one in words)
    return [_document(row) for row in rows.all(sql, number, f"%{pattern}%", most, offset)]


def passages(rows: Rows, number: int, ids: Sequence[int]) -> list[Passage]:
    """Passages by number, in the given order. Missing numbers are skipped."""
    found: dict[int, Passage] = {}
    for some in chunks(ids):
        sql = f"{_PASSAGES} WHERE p.avatar = ? AND p.id IN ({marks(len(some))})"
        found.update((row[0], _passage(row)) for row in rows.all(sql, number, *some))
    return [found[one] for one in ids if one in found]


def passages_of(rows: Rows, document: int) -> list[Passage]:
    """All passages of a document, in order."""
    return [_passage(row) for row in rows.all(f"{_PASSAGES} WHERE p.document = ? ORDER BY p.position", document)]


def passage_ids(rows: Rows, document: int) -> list[int]:
    return [one for (one,) in rows.all("SELECT id FROM avatar_passages WHERE document = ? ORDER BY id", document)]


def some_passage_ids(rows: Rows, document: int, most: int, offset: int) -> list[int]:
    """As many passages of a document, after the first `offset` ones."""
    sql = "SELECT id FROM avatar_passages WHERE document = ? ORDER BY position LIMIT ? OFFSET ?"
    return [one for (one,) in rows.all(sql, document, most, offset)]


def neighbours(rows: Rows, document: int, position: int) -> tuple[int | None, int | None]:
    """The passages before and after a place in a document."""
    of = "SELECT id FROM avatar_passages WHERE document = ? AND position"
    before = rows.value(f"{of} < ? ORDER BY position DESC LIMIT 1", document, position)
    return before, rows.value(f"{of} > ? ORDER BY position LIMIT 1", document, position)


def passage_documents(rows: Rows, number: int) -> dict[int, int]:
    """The document of each passage of an avatar."""
    return dict(rows.all("SELECT id, document FROM avatar_passages WHERE avatar = ? ORDER BY id", number))


def numbers(rows: Rows, number: int) -> list[int]:
    """The numbers of all passages of an avatar, in order."""
    return [one for (one,) in rows.all("SELECT id FROM avatar_passages WHERE avatar = ? ORDER BY id", number)]


def allowed(rows: Rows, number: int, filters: Filters) -> list[int]:
    """The numbers of the passages whose documents match."""
    conditions: list[str] = []
    values: list[Value] = []
    for column, wanted in (("role", filters.roles), ("source_id", filters.source_ids), ("type", filters.types)):
        if wanted is not None:
            conditions.append(f" AND d.{column} IN ({marks(len(wanted))})" if wanted else " AND 1 = 0")
            values.extend(wanted)
    for comparison, year in ((">=", filters.year_from), ("<=", filters.year_to)):
        if year is not None:
            conditions.append(f" AND d.year {comparison} ?")
            values.append(year)
    sql = "SELECT p.id FROM avatar_passages p JOIN avatar_documents d ON d.id = p.document WHERE p.avatar = ?"
    return [one for (one,) in rows.all(sql + "".join(conditions) + " ORDER BY p.id", number, *values)]


def text_of(rows: Rows, document: int) -> str | None:
    """The whole text of a document."""
    return rows.value("SELECT text FROM avatar_texts WHERE document = ?", document)


def text_between(rows: Rows, document: int, start: int, size: int) -> str:
    """A part of the text of a document."""
    return rows.value("SELECT SUBSTR(text, ?, ?) FROM avatar_texts WHERE document = ?", start + 1, size, document) or ""


def calibration(rows: Rows, number: int) -> str | None:
    """The calibration of the current generation, as JSON."""
    return rows.value("SELECT calibration FROM avatars WHERE number = ?", number)


def keep_calibration(tx: Transaction, number: int, generation: int, text: str) -> bool:
    """Store a calibration, unless a new generation was stored meanwhile."""
    sql = "UPDATE avatars SET calibration = ? WHERE number = ? AND generation = ?"
    return bool(tx.run(sql, text, number, generation))


def keep_evaluation(tx: Transaction, number: int, at: float, body: str) -> None:
    """Store the last evaluation of an avatar."""
    sql = (
        "INSERT INTO avatar_evaluations (avatar, at, body) VALUES (?, ?, ?)"
        " ON CONFLICT (avatar) DO UPDATE SET at = excluded.at, body = excluded.body"
    )
    tx.run(sql, number, at, body)


def evaluation(rows: Rows, number: int) -> tuple[float, str] | None:
    """The last evaluation of an avatar and its time."""
    row = rows.one("SELECT at, body FROM avatar_evaluations WHERE avatar = ?", number)
    return None if row is None else (row[0], row[1])


def make_avatar(tx: Transaction, avatar_id: str, collection: str, now: float) -> int:
    """Insert an empty avatar and return its number."""
    return tx.value(
        "INSERT INTO avatars (id, config, generation, collection, next_passage, documents, passages, characters,"
        " tokens, created_at, updated_at) VALUES (?, '{}', 0, ?, 1, 0, 0, 0, 0, ?, ?) RETURNING number",
        avatar_id, collection, now, now,
    )  # fmt: skip


def remove_avatar(tx: Transaction, number: int) -> None:
    for document in [one for (one,) in tx.all("SELECT id FROM avatar_documents WHERE avatar = ?", number)]:
        remove_document(tx, document)
    tx.run("DELETE FROM avatars WHERE number = ?", number)


def save_avatar(
    tx: Transaction, number: int, config: str, sources: str | None, generation: int, collection: str, now: float
) -> None:
    """Store a new generation; its counts are computed from the stored documents."""
    tx.run(
        "UPDATE avatars SET config = ?, sources = ?, generation = ?, collection = ?, updated_at = ?,"
        " calibration = NULL, documents = (SELECT COUNT(*) FROM avatar_documents d WHERE d.avatar = avatars.number),"
        " passages = (SELECT COALESCE(SUM(d.passages), 0) FROM avatar_documents d WHERE d.avatar = avatars.number),"
        " characters = (SELECT COALESCE(SUM(d.characters), 0) FROM avatar_documents d WHERE d.avatar = avatars.number),"
        " tokens = (SELECT COALESCE(SUM(d.tokens), 0) FROM avatar_documents d WHERE d.avatar = avatars.number)"
        " WHERE number = ?",
        config, sources, generation, collection, now, number,
    )  # fmt: skip


def take_numbers(tx: Transaction, number: int, count: int) -> int:
    """Reserve `count` passage numbers and return the first."""
    return tx.value(
        "UPDATE avatars SET next_passage = next_passage + ? WHERE number = ? RETURNING next_passage", count, number
    ) - count  # fmt: skip


def add_document(tx: Transaction, number: int, document: CorpusDocument, text: str) -> int:
    """Insert a document with its text and return its id."""
    new: int = tx.value(
        "INSERT INTO avatar_documents (avatar, path, origin, source_id, title, type, year, role, details, format,"
        " sha256, pipeline, bytes, pages, characters, tokens, passages, notes, generation, ingested_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        number, *_described(document), document.format, document.sha256, document.pipeline, document.bytes,
        document.pages, document.characters, document.tokens, document.passages, _json(document.notes),
        document.generation, document.ingested_at,
    )  # fmt: skip
    tx.run("INSERT INTO avatar_texts (document, text) VALUES (?, ?)", new, text)
    return new


def describe_document(tx: Transaction, document: CorpusDocument) -> None:
    """Update the description of a document; its text stays."""
    tx.run(
        "UPDATE avatar_documents SET path = ?, origin = ?, source_id = ?, title = ?, type = ?, year = ?, role = ?,"
        " details = ? WHERE id = ?",
        *_described(document), document.id,
    )  # fmt: skip


def add_scans(tx: Transaction, document: int, scans: "Iterable[Scan]") -> None:
    """Insert the scanned pages of a document."""
    tx.run_many(
        "INSERT INTO avatar_scans (document, page, confidence, picture) VALUES (?, ?, ?, ?)",
        [(document, scan.page, scan.confidence, scan.picture) for scan in scans],
    )


def page_picture(rows: Rows, number: int, source_id: str, page: int) -> bytes | None:
    """The picture of a scanned page of a source, as WebP."""
    sql = (
        "SELECT s.picture FROM avatar_scans s JOIN avatar_documents d ON d.id = s.document"
        " WHERE d.avatar = ? AND d.source_id = ? AND s.page = ?"
    )
    return rows.value(sql, number, source_id, page)


def remove_document(tx: Transaction, document: int) -> None:
    tx.run("DELETE FROM avatar_scans WHERE document = ?", document)
    tx.run("DELETE FROM avatar_passages WHERE document = ?", document)
    tx.run("DELETE FROM avatar_texts WHERE document = ?", document)
    tx.run("DELETE FROM avatar_documents WHERE id = ?", document)


def add_passages(tx: Transaction, number: int, document: int, first: int, text: str, found: "Sequence[Chunk]") -> None:
    """Insert the passages of a document, numbered from `first`."""
    tx.run_many(
        "INSERT INTO avatar_passages (avatar, id, document, position, content, char_start, char_end, page_start,"
        " page_end, printed_start, printed_end, section, tokens, sha256, sentences)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        _passage_rows(number, document, first, text, found),
    )


def checkpoint_keys(rows: Rows, avatar_id: str) -> set[tuple[str, str]]:
    """The kind and key of every checkpoint of an avatar's ingest."""
    sql = "SELECT kind, key FROM avatar_checkpoints WHERE avatar = ?"
    return {(kind, key) for kind, key in rows.all(sql, avatar_id)}


def checkpoint(rows: Rows, avatar_id: str, kind: str, key: str) -> bytes | None:
    sql = "SELECT content FROM avatar_checkpoints WHERE avatar = ? AND kind = ? AND key = ?"
    return rows.value(sql, avatar_id, kind, key)


def keep_checkpoints(tx: Transaction, avatar_id: str, found: Iterable[tuple[str, str, bytes]], now: float) -> None:
    """Keep checkpoints: the kind, key and content of each."""
    tx.run_many(
        "INSERT INTO avatar_checkpoints (avatar, kind, key, content, made_at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (avatar, kind, key) DO UPDATE SET content = excluded.content, made_at = excluded.made_at",
        [(avatar_id, kind, key, content, now) for kind, key, content in found],
    )


def remove_checkpoints(tx: Transaction, avatar_id: str) -> None:
    tx.run("DELETE FROM avatar_checkpoints WHERE avatar = ?", avatar_id)


def remove_checkpoints_before(tx: Transaction, before: float) -> None:
    """Remove the checkpoints of abandoned ingests."""
    tx.run("DELETE FROM avatar_checkpoints WHERE made_at < ?", before)


def _passage_rows(
    number: int, document: int, first: int, text: str, found: "Sequence[Chunk]"
) -> Iterator[Sequence[Value]]:
    for position, chunk in enumerate(found):
        content = text[chunk.start : chunk.end]
        spans = [[start - chunk.start, end - chunk.start] for start, end in chunk.sentences]
        if chunk.pages:
            spans = [[*span, *pages] for span, pages in zip(spans, chunk.pages, strict=True)]
        yield (
            number, first + position, document, position + 1, content, chunk.start, chunk.end, chunk.page_start,
            chunk.page_end, chunk.printed_start, chunk.printed_end, chunk.section, chunk.tokens,
            hashlib.sha256(content.encode()).hexdigest(), json.dumps(spans, separators=(",", ":")),
        )  # fmt: skip


def _described(document: CorpusDocument) -> tuple[Value, ...]:
    return (
        document.path, document.origin, document.source_id, document.title, document.type, document.year,
        document.role, _json(document.details),
    )  # fmt: skip


def _avatar(row: Row) -> Avatar:
    number, avatar_id, config, sources, *rest = row
    return Avatar(number, avatar_id, parse_config(json.loads(config)), sources and json.loads(sources), *rest)


def _info(one: Avatar) -> AvatarInfo:
    return AvatarInfo(
        one.id, one.config.name, one.config.description, one.generation, one.documents, one.passages, one.characters,
        one.tokens, one.updated_at,
    )  # fmt: skip


def _document(row: Row) -> CorpusDocument:
    values: list[Any] = [*row]
    values[_DETAILS], values[_NOTES] = json.loads(row[_DETAILS]), json.loads(row[_NOTES])
    return CorpusDocument(*values)


def _passage(row: Row) -> Passage:
    *values, sentences, as_of, recognition = row
    spans = json.loads(sentences)
    ranges = [(start, end) for start, end, *_ in spans]
    pages: list[Any] = [tuple(pages) for _, _, *pages in spans if pages]
    return Passage(*values, sentences=ranges, sentence_pages=pages, as_of=as_of, recognition=recognition)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
