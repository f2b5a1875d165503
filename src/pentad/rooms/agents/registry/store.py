"""Cards in SQL. Only this module writes `agent_cards` and `agent_card_marks`. It checks only uniqueness."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.agents.registry.card_metadata import CardMetadata, metadata_of
from pentad.rooms.agents.registry.search import CardQuery

_COLUMNS: Final = "id, owner, card, active, created_at, updated_at"


@dataclass(frozen=True, slots=True)
class CardRecord:
    """A card in the registry. `hosted` marks the card of a hosted agent, which has no owner."""

    id: str
    owner: str
    card: dict[str, Any]
    is_active: bool
    created_at: float
    updated_at: float
    hosted: bool = False

    @property
    def metadata(self) -> CardMetadata:
        return metadata_of(self.card)


def put(transaction: Transaction, one: CardRecord) -> None:
    """Store a card, new or changed. Conflict if another active card has its readable id."""
    metadata = one.metadata
    readable = metadata.readable_id.lower()
    if one.is_active:
        check_unique(transaction, metadata.readable_id, one.id)
    transaction.run(
        "INSERT INTO agent_cards (id, readable, owner, name, description, words, card, active, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET readable = excluded.readable, name = excluded.name,"
        " description = excluded.description, words = excluded.words, card = excluded.card, active = excluded.active,"
        " updated_at = excluded.updated_at",
        one.id, readable, one.owner, metadata.name, metadata.description, metadata.words, msgspec.json.encode(one.card),
        int(one.is_active), one.created_at, one.updated_at,
    )  # fmt: skip
    transaction.run("DELETE FROM agent_card_marks WHERE card = ?", one.id)
    transaction.run_many(
        "INSERT INTO agent_card_marks (card, kind, value) VALUES (?, ?, ?)",
        [(one.id, kind, value) for kind, value in sorted(metadata.marks)],
    )


def check_unique(rows: Rows, readable_id: str, but: str = "") -> None:
    """Conflict if an active card other than `but` has the readable id, in any case."""
    taken = rows.one(
        "SELECT id FROM agent_cards WHERE readable = ? AND active = 1 AND id <> ?", readable_id.lower(), but
    )
    if taken is not None:
        raise Conflict(
            f"The readable id {readable_id!r} is taken by another card.",
            hint="Update that card, or choose another readable id.",
            details={"humanReadableId": readable_id, "card": taken[0]},
        )


def by_id(rows: Rows, card_id: str) -> CardRecord | None:
    return _one(rows.one(f"SELECT {_COLUMNS} FROM agent_cards WHERE id = ?", card_id))  # noqa: S608  column names


def by_readable(rows: Rows, readable_id: str) -> CardRecord | None:
    """The active card with that readable id."""
    return _one(
        rows.one(
            f"SELECT {_COLUMNS} FROM agent_cards WHERE readable = ? AND active = 1",  # noqa: S608  column names
            readable_id.lower(),
        )
    )


def count(rows: Rows, wanted: CardQuery) -> int:
    where, params = wanted.where()
    return int(rows.value(f"SELECT count(*) FROM agent_cards WHERE {where}", *params))  # noqa: S608  own conditions


def page(rows: Rows, wanted: CardQuery, limit: int, offset: int) -> list[CardRecord]:
    """Matching cards, last changed first."""
    where, params = wanted.where()
    found = rows.all(
        f"SELECT {_COLUMNS} FROM agent_cards WHERE {where}"  # noqa: S608  own conditions
        " ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?",
        *params, limit, offset,
    )  # fmt: skip
    return [_read(row) for row in found]


def _one(row: Row | None) -> CardRecord | None:
    return None if row is None else _read(row)


def _read(row: Row) -> CardRecord:
    card_id, owner, card, active, created_at, updated_at = row
    return CardRecord(card_id, owner, msgspec.json.decode(card), bool(active), created_at, updated_at)
