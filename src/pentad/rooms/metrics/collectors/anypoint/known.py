"""The facts of one question as the formulas see them: by group and environment, with a state where one is missing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.cells import Cell
from pentad.rooms.metrics.collectors.anypoint.tree import Environment, Group
from pentad.rooms.metrics.model import Fact, Facts, State, state_of

Params = tuple[tuple[str, str], ...]
NO_ENVIRONMENTS: Final = Cell(())
SECURITY: Final = frozenset(
    {
        "client-id-enforcement", "ip-allowlist", "ip-blocklist", "jwt-validation", "ldap-authentication",
        "openidconnect-access-token-enforcement", "external-oauth2-access-token-enforcement",
        "http-basic-authentication",
    }
)  # fmt: skip
"""The policies that make an API secure, unless the operator names others."""


@dataclass(frozen=True, slots=True)
class Known:
    """One group with what is known of it."""

    group: Group
    facts: Facts
    now: float
    environments: tuple[Environment, ...] = ()
    environments_cell: Cell = NO_ENVIRONMENTS
    """Without a value where the environments themselves could not be had."""
    skipped: Mapping[str, State] = field(default_factory=dict[str, State])
    """Names of facts that were not asked for in this group, and the state that gives."""
    regions: tuple[str, ...] = ()
    params: Params = ()
    filtered: bool = False
    """Whether only some of the environments were asked for."""
    only: frozenset[str] | None = None
    """If this is given, facts of all other names count as empty."""
    security: frozenset[str] = SECURITY

    def cell(self, name: str, *scope: str) -> Cell:
        """A fact of this group; `scope` is what follows the group's id."""
        if self.only is not None and name not in self.only:
            return Cell({} if name == "usage" else [])
        if name in self.skipped:
            return Cell(None, self.skipped[name])
        fact = Fact(name, (self.group.id, *scope), self.params)
        problem = self.facts.problem(fact)
        if problem is not None:
            return Cell(None, state_of((problem,)))
        return Cell(self.facts[fact]) if fact in self.facts else Cell(None, "partial")

    def of_kind(self, *, production: bool) -> Sequence[Environment]:
        return [environment for environment in self.environments if environment.is_production is production]

    def kinds(self) -> Iterator[tuple[str, Sequence[Environment]]]:
        yield "production", self.of_kind(production=True)
        yield "sandbox", self.of_kind(production=False)

    def in_region(self, region: Any) -> bool:
        return not self.regions or str(region or "").casefold() in self.regions
