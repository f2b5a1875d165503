"""Provenance in W3C PROV's terms: things, the links between them, and PROV-JSON output.

A thing is an entity (an object, an artifact, a passage), an activity (a task, a call) or an agent (a person, a
program). A link points to where a thing comes from.
"""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pentad.kernel.clock import iso

Kind = Literal["entity", "activity", "agent"]
Relation = Literal[
    "wasGeneratedBy",
    "used",
    "wasDerivedFrom",
    "wasAssociatedWith",
    "actedOnBehalfOf",
    "wasAttributedTo",
    "wasInformedBy",
    "wasStartedBy",
    "wasInfluencedBy",
]

made_by: Final[ContextVar[str | None]] = ContextVar("made_by", default=None)
"""The URI of the activity on whose behalf a call is made, such as `agents://tasks/<id>#1.3`. It is stored with
everything the call writes."""

_ENDS: Final[Mapping[Relation, tuple[str, str]]] = {
    "wasGeneratedBy": ("prov:entity", "prov:activity"),
    "used": ("prov:activity", "prov:entity"),
    "wasDerivedFrom": ("prov:generatedEntity", "prov:usedEntity"),
    "wasAssociatedWith": ("prov:activity", "prov:agent"),
    "actedOnBehalfOf": ("prov:delegate", "prov:responsible"),
    "wasAttributedTo": ("prov:entity", "prov:agent"),
    "wasInformedBy": ("prov:informed", "prov:informant"),
    "wasStartedBy": ("prov:activity", "prov:starter"),
    "wasInfluencedBy": ("prov:influencee", "prov:influencer"),
}
_TIMED: Final = frozenset({"wasGeneratedBy", "used", "wasStartedBy"})
_OWN: Final = "pentad"


@dataclass(frozen=True, slots=True)
class Thing:
    """Something with a URI. `type` says what it is: object, task, artifact, passage, call, person ..."""

    uri: str
    kind: Kind
    type: str
    label: str = ""
    at: float | None = None
    """When it was made, or began."""
    ended_at: float | None = None
    facts: Mapping[str, str] = field(default_factory=dict[str, str])

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"uri": self.uri, "kind": self.kind, "type": self.type, "label": self.label or None}
        found |= {"at": None if self.at is None else iso(self.at), **self.facts}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Link:
    """Where a thing comes from. A `target` that is a URI is looked up; a `Thing` is used directly."""

    relation: Relation
    target: Thing | str
    at: float | None = None
    role: str = ""
    source: str | None = None
    """The URI of the thing the link begins at, if that is not the thing asked about."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A room's knowledge of one thing's origin. `more` describes what is left out."""

    thing: Thing
    links: Sequence[Link] = ()
    more: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two things of a lineage, by their URIs."""

    source: str
    relation: Relation
    target: str
    at: float | None = None
    role: str = ""

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"from": self.source, "relation": self.relation, "to": self.target}
        found |= {"at": None if self.at is None else iso(self.at), "role": self.role or None}
        return {name: value for name, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class LineageGraph:
    """The origin of a thing, as far as the caller may see it. The first thing is the one asked about."""

    things: Sequence[Thing]
    edges: Sequence[Edge]
    hidden: int = 0
    """How many things are shown without a name because the caller may not read them."""
    incomplete: Sequence[str] = ()
    """What is missing, and why."""

    def as_json(self) -> dict[str, Any]:
        return {
            "uri": self.things[0].uri,
            "things": [one.as_json() for one in self.things],
            "links": [one.as_json() for one in self.edges],
            "hidden": self.hidden,
            "incomplete": list(self.incomplete),
        }


def person(principal: str) -> Thing:
    """The caller as a thing, from the principal's id."""
    is_person = principal.startswith("user:")
    return Thing(f"urn:pentad:principal:{principal}", "agent", "person" if is_person else "principal", principal)


def prov_json(graph: LineageGraph) -> dict[str, Any]:
    """The lineage as PROV-JSON (W3C member submission).

    PROV names have a prefix and a local part. Each URI scheme is a prefix for itself, so every URI is a name.
    """
    schemes = sorted({one.uri.partition(":")[0] for one in graph.things})
    found: dict[str, Any] = {"prefix": {**{name: f"{name}:" for name in schemes}, _OWN: "urn:pentad:prov:"}}
    for thing in graph.things:
        found.setdefault(thing.kind, {})[thing.uri] = _attributes(thing)
    for number, edge in enumerate(graph.edges, 1):
        source, target = _ENDS[edge.relation]
        link: dict[str, Any] = {source: edge.source, target: edge.target}
        if edge.at is not None and edge.relation in _TIMED:
            link["prov:time"] = iso(edge.at)
        if edge.role:
            link["prov:role"] = edge.role
        found.setdefault(edge.relation, {})[f"_:{edge.relation}{number}"] = link
    return found


def _attributes(thing: Thing) -> dict[str, Any]:
    found: dict[str, Any] = {f"{_OWN}:type": thing.type}
    if thing.kind == "agent":
        kind = "prov:Person" if thing.type == "person" else "prov:SoftwareAgent"
        found["prov:type"] = {"$": kind, "type": "xsd:QName"}
    if thing.label:
        found["prov:label"] = thing.label
    if thing.at is not None:
        found["prov:startTime" if thing.kind == "activity" else f"{_OWN}:at"] = iso(thing.at)
    if thing.ended_at is not None and thing.kind == "activity":
        found["prov:endTime"] = iso(thing.ended_at)
    return {**found, **{f"{_OWN}:{name}": text for name, text in thing.facts.items()}}
