"""Queries for cards: as SQL for registered ones, and in memory for those of hosted agents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pentad.kernel.ports import Value
from pentad.rooms.agents.registry.card_metadata import MCP, TEE, CardMetadata, Mark, folded


@dataclass(frozen=True, slots=True)
class CardQuery:
    """All conditions must hold. Each of `words` may occur anywhere in name, description or readable id; `phrase`
    must occur there as it is."""

    words: str = ""
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

    @property
    def marks(self) -> list[tuple[Mark, str]]:
        found: list[tuple[Mark, str]] = [("tag", tag) for tag in self.tags]
        if self.skill is not None:
            found.append(("skill", folded(self.skill)))
        if self.auth_scheme is not None:
            found.append(("auth", self.auth_scheme.lower()))
        if self.dialect is not None:
            found.append(("dialect", self.dialect))
        if self.extension is not None:
            found.append(("extension", self.extension))
        if self.tee_type is not None:
            found.append(("tee", folded(self.tee_type)))
        return found

    @property
    def features(self) -> Mapping[str, bool]:
        given = {TEE: self.has_tee, MCP: self.has_mcp}
        return {name: wanted for name, wanted in given.items() if wanted is not None}

    @property
    def texts(self) -> list[str]:
        """The texts that must occur."""
        return [*folded(self.words).split(), *([folded(self.phrase)] if self.phrase else ())]

    def fits(self, metadata: CardMetadata, owner: str) -> bool:
        """Whether an active card matches."""
        if self.owner is not None and owner != self.owner:
            return False
        words = metadata.words
        return (
            all(text in words for text in self.texts)
            and all(mark in metadata.marks for mark in self.marks)
            and all((("feature", name) in metadata.marks) == wanted for name, wanted in self.features.items())
        )

    def where(self) -> tuple[str, list[Value]]:
        """The same as a condition on `agent_cards`."""
        conditions: list[str] = []
        params: list[Any] = []
        if self.active_only:
            conditions.append("active = 1")
        if self.owner is not None:
            conditions.append("owner = ?")
            params.append(self.owner)
        for text in self.texts:
            conditions.append("words LIKE ? ESCAPE '!'")
            params.append(f"%{_literally(text)}%")
        for kind, value in self.marks:
            conditions.append(_HAS_MARK)
            params += [kind, value]
        for name, wanted in self.features.items():
            conditions.append(_HAS_MARK if wanted else f"NOT {_HAS_MARK}")
            params += ["feature", name]
        return " AND ".join(conditions) or "1 = 1", params


_HAS_MARK: Final = "EXISTS (SELECT 1 FROM agent_card_marks WHERE card = agent_cards.id AND kind = ? AND value = ?)"


def _literally(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
