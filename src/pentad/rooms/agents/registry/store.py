"""Cards in SQL, and queries for them. Only this module writes `agent_cards` and `agent_card_marks`.

It checks only uniqueness. A query is SQL for registered cards, and runs in memory for those of hosted agents.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pentad.kernel.errors import Conflict
from pentad.kernel.ports import Row, Rows, Transaction, Value
from pentad.kernel.sql import like_literal
from pentad.rooms.agents.registry.card_metadata import MCP, TEE, CardMetadata, Mark, metadata_of

_SELECT: Final = "SELECT id, owner, card, active, created_at, updated_at, listed FROM agent_cards"


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
    is_listed: bool = False
    """Whether the directory lists it while it is active."""

    @property
    def metadata(self) -> CardMetadata:
        return metadata_of(self.card)


@dataclass(frozen=True, slots=True)
class CardQuery:
    """All conditions must hold. `phrase` must occur literally in name, description or readable id. `text` is not a
    condition: it ranks cards by relevance, and leaves out unrelated ones.
    """

    text: str = ""
    phrase: str = ""
    tags: tuple[str, ...] = ()
    skill: str | None = None
    auth_scheme: str | None = None
    dialect: str | None = None
    extension: str | None = None
    tee_type: str | None = None
    has_tee: bool | None = None
    has_mcp: bool | None = None
    active_only: bool = True
    owner: str | None = None
    since: float | None = None
    until: float | None = None
    """When the card was last changed."""

    @property
    def marks(self) -> list[tuple[Mark, str]]:
        found: list[tuple[Mark, str]] = [("tag", tag) for tag in self.tags]
        if self.skill is not None:
            found.append(("skill", self.skill.casefold()))
        if self.auth_scheme is not None:
            found.append(("auth", self.auth_scheme.lower()))
        if self.dialect is not None:
            found.append(("dialect", self.dialect))
        if self.extension is not None:
            found.append(("extension", self.extension))
        if self.tee_type is not None:
            found.append(("tee", self.tee_type.casefold()))
        return found

    @property
    def features(self) -> Mapping[str, bool]:
        given = {TEE: self.has_tee, MCP: self.has_mcp}
        return {name: required for name, required in given.items() if required is not None}

    def fits(self, card: "CardRecord") -> bool:
        """Whether an active card matches."""
        metadata = card.metadata
        if self.owner is not None and card.owner != self.owner:
            return False
        if not (self.since or card.updated_at) <= card.updated_at <= (self.until or card.updated_at):
            return False
        return (
            self.phrase.casefold() in metadata.words
            and all(mark in metadata.marks for mark in self.marks)
            and all((("feature", name) in metadata.marks) == required for name, required in self.features.items())
        )

    def where(self) -> tuple[str, list[Value]]:
        """The query as a condition on `agent_cards`."""
        conditions: list[str] = []
        params: list[Any] = []
        if self.active_only:
            conditions.append("active = 1")
        if self.owner is not None:
            conditions.append("owner = ?")
            params.append(self.owner)
        for test, moment in (("updated_at >= ?", self.since), ("updated_at <= ?", self.until)):
            if moment is not None:
                conditions.append(test)
                params.append(moment)
        if self.phrase:
            conditions.append("words LIKE ? ESCAPE '!'")
            params.append(f"%{like_literal(self.phrase.casefold())}%")
        for kind, value in self.marks:
            conditions.append(_HAS_MARK)
            params += [kind, value]
        for name, required in self.features.items():
            conditions.append(_HAS_MARK if required else f"NOT {_HAS_MARK}")
            params += ["feature", name]
        return " AND ".join(conditions) or "1 = 1", params


_HAS_MARK: Final = "EXISTS (SELECT 1 FROM agent_card_marks WHERE card = agent_cards.id AND kind = ? AND value = ?)"


def put(transaction: Transaction, one: CardRecord) -> None:
    """Store a card, new or changed. Conflict if another active card has its readable id."""
    metadata = one.metadata
    readable = metadata.readable_id.lower()
    if one.is_active:
        check_unique(transaction, metadata.readable_id, one.id)
    transaction.run(
        "INSERT INTO agent_cards (id, readable, owner, name, description, words, card, active, created_at, updated_at,"
        " listed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET readable = excluded.readable, name = excluded.name,"
        " description = excluded.description, words = excluded.words, card = excluded.card, active = excluded.active,"
        " updated_at = excluded.updated_at, listed = excluded.listed",
        one.id, readable, one.owner, metadata.name, metadata.description, metadata.words, msgspec.json.encode(one.card),
        int(one.is_active), one.created_at, one.updated_at, int(one.is_listed),
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
    return _one(rows.one(f"{_SELECT} WHERE id = ?", card_id))


def by_readable(rows: Rows, readable_id: str) -> CardRecord | None:
    """The active card with that readable id."""
    return _one(rows.one(f"{_SELECT} WHERE readable = ? AND active = 1", readable_id.lower()))


def count(rows: Rows, query: CardQuery) -> int:
    where, params = query.where()
    return int(rows.value(f"SELECT count(*) FROM agent_cards WHERE {where}", *params))  # noqa: S608  own conditions


def page(rows: Rows, query: CardQuery, limit: int, offset: int) -> list[CardRecord]:
    """Matching cards, last changed first."""
    where, params = query.where()
    found = rows.all(
        f"{_SELECT} WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?",
        *params, limit, offset,
    )  # fmt: skip
    return [_read(row) for row in found]


def numbers(rows: Rows, query: CardQuery) -> list[int]:
    """The numbers of matching cards in the index."""
    where, params = query.where()
    found = rows.all(f"SELECT number FROM agent_cards WHERE number IS NOT NULL AND {where}", *params)  # noqa: S608  own conditions
    return [number for (number,) in found]


def by_numbers(rows: Rows, numbers: Iterable[int]) -> dict[int, CardRecord]:
    """Cards by their number in the index."""
    found = {number: _one(rows.one(f"{_SELECT} WHERE number = ?", number)) for number in numbers}
    return {number: one for number, one in found.items() if one is not None}


def not_indexed(rows: Rows, most: int) -> list[CardRecord]:
    """Active cards that are not in the index yet."""
    return [_read(row) for row in rows.all(f"{_SELECT} WHERE number IS NULL AND active = 1 LIMIT ?", most)]


def set_numbers(transaction: Transaction, numbers: Mapping[str, int]) -> None:
    """Record which cards are in the index, by id."""
    transaction.run_many(
        "UPDATE agent_cards SET number = ? WHERE id = ?", [(number, card_id) for card_id, number in numbers.items()]
    )


def _one(row: Row | None) -> CardRecord | None:
    return None if row is None else _read(row)


def _read(row: Row) -> CardRecord:
    card_id, owner, card, active, created_at, updated_at, listed = row
    data = msgspec.json.decode(card)
    return CardRecord(card_id, owner, data, bool(active), created_at, updated_at, is_listed=bool(listed))
