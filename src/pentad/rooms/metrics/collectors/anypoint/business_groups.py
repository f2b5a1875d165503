"""Business groups and environments, and the filters that select them.

A group is found by id, by name if that is unique, or by its path from the top. An ignored group is left out; the groups
below it are not. A filter that matches nothing is refused with the available names.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import nearest
from pentad.rooms.metrics.collectors.anypoint.cells import Cell, Entry, Node, as_stale, combine
from pentad.rooms.metrics.models import Fact, Facts, State, state_of


@dataclass(frozen=True, slots=True)
class Group:
    id: str
    name: str
    path: tuple[str, ...]
    """The names of the groups above it, then its own."""
    chain: tuple[str, ...]
    """The same as ids."""
    entitlements: Mapping[str, Any]
    is_top: bool = False
    """Whether it is known to be at the top."""


@dataclass(frozen=True, slots=True)
class Environment:
    id: str
    name: str
    is_production: bool

    @property
    def type(self) -> str:
        return "Production" if self.is_production else "Sandbox"

    def is_called(self, word: str) -> bool:
        """By id, name or type, ignoring case."""
        folded = word.casefold()
        return folded in (self.id.casefold(), self.name.casefold(), self.type.casefold())


def parse_groups(hierarchy: dict[str, Any]) -> list[Group]:
    """All groups of a hierarchy, parents first."""
    found: list[Group] = []
    waiting: list[tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]] = [(hierarchy, (), ())]
    while waiting:
        entry, above, chain = waiting.pop()
        name = str(entry.get("name") or entry["id"])
        path, ids = (*above, name), (*chain, str(entry["id"]))
        found.append(Group(ids[-1], name, path, ids, entry.get("entitlements") or {}, entry.get("isMaster") is True))
        waiting += [(child, path, ids) for child in reversed(entry.get("subOrganizations") or [])]
    return found


def select_groups(
    found: Sequence[Group], bg: str | None, *, recursive: bool, ignored: Iterable[str] = ()
) -> list[Group]:
    """The named group and, if `recursive`, all groups below it."""
    if not found:
        return []
    top = found[0] if bg is None else _find_group(found, bg)
    below = [group for group in found if group.chain[: len(top.chain)] == top.chain] if recursive else [top]
    left_out = set(ignored)
    return [group for group in below if group.id not in left_out]


def _find_group(found: Sequence[Group], bg: str) -> Group:
    folded = bg.casefold()
    steps = tuple(step.strip().casefold() for step in bg.strip("/").split("/"))
    by_id = [group for group in found if group.id.casefold() == folded]
    by_path = [group for group in found if tuple(step.casefold() for step in group.path) == steps]
    by_name = [group for group in found if group.name.casefold() == folded]
    for reading in (by_id, by_path, by_name):
        if len(reading) == 1:
            return reading[0]
        if reading:
            paths = ", ".join("/".join(group.path) for group in reading[:5])
            raise InvalidInput(
                f"Several business groups are called {bg[:80]!r}.", hint=f"Name one by its path: {paths}."
            )
    close = nearest(bg, ["/".join(group.path) for group in found] + [group.name for group in found], limit=5)
    known = ", ".join(close or ["/".join(group.path) for group in found[:5]])
    raise InvalidInput(f"There is no business group {bg[:80]!r} here.", hint=f"The nearest: {known}.")


def parse_environments(answer: Any, ignored: Iterable[str] = ()) -> list[Environment]:
    """The environments of a group, without design environments and ignored ones."""
    left_out = set(ignored)
    return [
        Environment(str(entry["id"]), str(entry.get("name") or entry["id"]), entry["isProduction"])
        for entry in cast("list[dict[str, Any]]", answer)
        if entry.get("type") != "design" and str(entry.get("id")) not in left_out
    ]


def select_environments(found: Iterable[Environment], words: Sequence[str]) -> list[Environment]:
    """The environments that match one of the words; all without words.

    An exact name wins over a type: an environment is often called Sandbox.
    """
    environments = list(found)
    if not words:
        return environments
    chosen: set[str] = set()
    for word in words:
        exactly = [one.id for one in environments if word in (one.id, one.name)]
        chosen.update(exactly or (one.id for one in environments if one.is_called(word)))
    return [one for one in environments if one.id in chosen]


def refuse_unknown_environments(found: Sequence[Environment], words: Sequence[str]) -> None:
    """Refuse a word that names no environment of any group."""
    for word in words:
        if not any(one.is_called(word) for one in found) and word.casefold() not in ("production", "sandbox"):
            names = ", ".join(dict.fromkeys(one.name for one in found)) or "none"
            raise InvalidInput(f"There is no environment {word[:80]!r}.", hint=f"Environments here: {names}.")


def refuse_unknown_regions(found: Iterable[str], words: Sequence[str]) -> None:
    """Refuse a word that names none of the regions seen, if any were."""
    seen: dict[str, str] = {}
    for region in found:
        seen.setdefault(region.casefold(), region)
    for word in words:
        if seen and word.casefold() not in seen:
            names = ", ".join(sorted(seen.values()))
            raise InvalidInput(f"There is no region {word[:80]!r}.", hint=f"Regions here: {names}.")


Params = tuple[tuple[str, str], ...]
ENVIRONMENTS_KNOWN: Final = Cell(())
NOT_SELECTED: Final = Cell(None, "not_selected")
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
    """The selected ones."""
    environments_cell: Cell = ENVIRONMENTS_KNOWN
    """Has no value if the environments themselves are missing."""
    excluded: tuple[Environment, ...] = ()
    """Environments that the query's filter leaves out."""
    entitlements_state: State = "ok"
    """Stale if the hierarchy is."""
    skipped: Mapping[str, State] = field(default_factory=dict[str, State])
    """Names of facts that are not fetched for this group, with the state of figures that need them."""
    regions: tuple[str, ...] = ()
    params: Params = ()
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
        if fact not in self.facts:
            return Cell(None, "failed")
        return Cell(self.facts[fact], "stale" if self.facts.is_stale(fact) else "ok")

    def top_cell(self, name: str) -> Cell:
        """A fact of the whole organisation, fetched once for all groups."""
        return replace(self, group=replace(self.group, id=self.group.chain[0])).cell(name)

    def has(self, name: str, *scope: str) -> bool:
        """Whether a fact of this group was asked for, successfully or not."""
        return Fact(name, (self.group.id, *scope), self.params) in self.facts

    def is_whole(self, kind: str) -> bool:
        """Whether the query includes everything of production, or of sandboxes."""
        is_production = kind == "production"
        return not self.regions and not any(one.is_production is is_production for one in self.excluded)

    def has_none_selected(self, kind: str) -> bool:
        """Whether the filter leaves out all environments of production, or of sandboxes."""
        is_production = kind == "production"
        return any(one.is_production is is_production for one in self.excluded) and not self.of_kind(
            production=is_production
        )

    def missing(self, kind: str) -> Cell | None:
        """The cell of every figure of production, or of sandboxes, if there can be no value."""
        if self.environments_cell.value is None:
            return self.environments_cell
        return NOT_SELECTED if self.has_none_selected(kind) else None

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
    """For production and for sandbox: the combined figures of all environments, and `details` of each.

    Without figures there are no details either: an empty list would claim that no environments exist."""
    found: dict[str, dict[str, Node]] = {}
    for kind, environments in known.by_type():
        if (missing := known.missing(kind)) is not None:
            found[kind] = {key: missing for key in keys if not key.startswith("_")}
            continue
        entries = [figures(environment) for environment in environments]
        whole = combine(entries, keys, lists)
        if known.environments_cell.state == "stale":
            whole = {key: as_stale(cell) for key, cell in whole.items()}
        found[kind] = {key: cell for key, cell in whole.items() if not key.startswith("_")}
        found[kind]["details"] = [with_environment(*pair) for pair in zip(environments, entries, strict=True)]
    return found
