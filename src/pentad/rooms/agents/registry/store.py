"""Cards in SQL: the only place that writes `agent_cards` and `agent_card_marks`. Knows no rules but uniqueness."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Row, Rows, Transaction
from pentad.rooms.agents.registry.card_metadata import CardFacts, facts_of
from pentad.rooms.agents.registry.search import Wanted

_COLUMNS: Final = "id, owner, card, active, created_at, updated_at"


@dataclass(frozen=True, slots=True)
class Registered:
    """A card in the registry. `hosted` are those of agents that run here; nobody owns them."""

    id: str
    owner: str
    card: dict[str, Any]
    is_active: bool
    created_at: float
    updated_at: float
    hosted: bool = False

    @property
    def facts(self) -> CardFacts:
        return facts_of(self.card)


def put(transaction: Transaction, one: Registered) -> None:
    """Write a card, new or changed; Conflict where another active one has its readable id."""
    facts = one.facts
    readable = facts.readable_id.lower()
    if one.is_active:
        refuse_taken(transaction, facts.readable_id, one.id)
    transaction.run(
        "INSERT INTO agent_cards (id, readable, owner, name, description, words, card, active, created_at, updated_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET readable = excluded.readable, name = excluded.name,"
        " description = excluded.description, words = excluded.words, card = excluded.card, active = excluded.active,"
        " updated_at = excluded.updated_at",
        one.id, readable, one.owner, facts.name, facts.description, facts.words, msgspec.json.encode(one.card),
        int(one.is_active), one.created_at, one.updated_at,
    )  # fmt: skip
    transaction.run("DELETE FROM agent_card_marks WHERE card = ?", one.id)
    transaction.run_many(
        "INSERT INTO agent_card_marks (card, kind, value) VALUES (?, ?, ?)",
        [(one.id, kind, value) for kind, value in sorted(facts.marks)],
    )


def refuse_taken(rows: Rows, readable_id: str, but: str = "") -> None:
    """Conflict where an active card other than `but` has the readable id, in whatever case."""
    taken = rows.one(
        "SELECT id FROM agent_cards WHERE readable = ? AND active = 1 AND id <> ?", readable_id.lower(), but
    )
    if taken is not None:
        raise Conflict(
            f"The readable id {readable_id!r} is taken by another card.",
            hint="Update that card, or choose another readable id.",
            details={"humanReadableId": readable_id, "card": taken[0]},
        )


def by_id(rows: Rows, card_id: str) -> Registered | None:
    return _one(rows.one(f"SELECT {_COLUMNS} FROM agent_cards WHERE id = ?", card_id))  # noqa: S608  column names


def by_readable(rows: Rows, readable_id: str) -> Registered | None:
    """The active card of that readable id."""
    return _one(
        rows.one(
            f"SELECT {_COLUMNS} FROM agent_cards WHERE readable = ? AND active = 1",  # noqa: S608  column names
            readable_id.lower(),
        )
    )


def count(rows: Rows, wanted: Wanted) -> int:
    where, params = wanted.where()
    return int(rows.value(f"SELECT count(*) FROM agent_cards WHERE {where}", *params))  # noqa: S608  own conditions


def page(rows: Rows, wanted: Wanted, limit: int, offset: int) -> list[Registered]:
    """Cards that are wanted, the last changed first."""
    where, params = wanted.where()
    found = rows.all(
        f"SELECT {_COLUMNS} FROM agent_cards WHERE {where}"  # noqa: S608  own conditions
        " ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?",
        *params, limit, offset,
    )  # fmt: skip
    return [_read(row) for row in found]


def _one(row: Row | None) -> Registered | None:
    return None if row is None else _read(row)


def _read(row: Row) -> Registered:
    card_id, owner, card, active, created_at, updated_at = row
    return Registered(card_id, owner, msgspec.json.decode(card), bool(active), created_at, updated_at)
