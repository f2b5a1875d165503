"""The facts of one business group as the formulas read them, with a state for each missing one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.rooms.metrics.collectors.anypoint.business_groups import Environment, Group
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Entry, Node, combine
from pentad.rooms.metrics.models import Fact, Facts, State, state_of

Params = tuple[tuple[str, str], ...]
ENVIRONMENTS_KNOWN: Final = Cell(())
SECURITY: Final = frozenset(
    {
        "client-id-enforcement", "ip-allowlist", "ip-blocklist", "jwt-validation", "ldap-authentication",
        "openidconnect-access-token-enforcement", "external-oauth2-access-token-enforcement",
        "http-basic-authentication",
    }
)  # fmt: skip
"""The policies that make an API secure, unless the settings name others."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """A business group with its facts."""

    group: Group
    facts: Facts
    now: float
    environments: tuple[Environment, ...] = ()
    environments_cell: Cell = ENVIRONMENTS_KNOWN
    """Has no value if the environments themselves are missing."""
    skipped: Mapping[str, State] = field(default_factory=dict[str, State])
    """Names of facts that are not fetched for this group, with the state of figures that need them."""
    regions: tuple[str, ...] = ()
    params: Params = ()
    filtered: bool = False
    """Whether the query is limited to some environments or regions."""
    only: frozenset[str] | None = None
    """If given, facts with other names count as empty."""
    security: frozenset[str] = SECURITY

    def cell(self, name: str, *scope: str) -> Cell:
        """A fact of this group; `scope` follows the group's id."""
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

    def by_type(self) -> Iterator[tuple[str, Sequence[Environment]]]:
        yield "production", self.of_kind(production=True)
        yield "sandbox", self.of_kind(production=False)

    def in_region(self, region: Any) -> bool:
        return not self.regions or str(region or "").casefold() in self.regions


def with_environment(environment: Environment, entry: Mapping[str, Node]) -> dict[str, Node]:
    figures = {key: cell for key, cell in entry.items() if not key.startswith("_")}
    return {"environmentName": environment.name, "environmentType": environment.type, **figures}


def by_environment_type(
    known: GroupFacts, keys: Sequence[str], lists: Mapping[str, str], figures: Callable[[Environment], Entry]
) -> dict[str, dict[str, Node]]:
    """For production and for sandbox: the combined figures of all environments, and `details` of each."""
    found: dict[str, dict[str, Node]] = {}
    for kind, environments in known.by_type():
        if known.environments_cell.value is None:
            found[kind] = {key: Cell(None, known.environments_cell.state) for key in keys if not key.startswith("_")}
            found[kind]["details"] = []
            continue
        entries = [figures(environment) for environment in environments]
        whole = combine(entries, keys, lists)
        found[kind] = {key: cell for key, cell in whole.items() if not key.startswith("_")}
        found[kind]["details"] = [with_environment(*pair) for pair in zip(environments, entries, strict=True)]
    return found
