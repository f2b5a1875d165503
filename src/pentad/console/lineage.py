"""The page that shows where a resource comes from (`/console/lineage?uri=...`)."""

from typing import Final

import msgspec

from pentad.console.admin_page import TRACES, AdminPage
from pentad.kernel.pages import (
    Arrow,
    Block,
    Button,
    Cell,
    Code,
    Column,
    Facts,
    Form,
    Graph,
    GraphNode,
    Note,
    Place,
    Section,
    Sheet,
    Table,
    Text,
    TextField,
    Visit,
    when,
)
from pentad.kernel.principal import ANY_ROOM
from pentad.kernel.provenance import Edge, LineageGraph, Relation, Thing, prov_json
from pentad.mcp.lineage import LONGEST_URI, Lineage
from pentad.mcp.rights import check_right

LINEAGE: Final = "lineage"
_PATH: Final = f"/console/{LINEAGE}"
_HIDDEN: Final = "not readable"
_TRACE: Final = "trace"
_MOST_DRAWN: Final = 24
_SENTENCES: Final[dict[Relation, str]] = {
    "wasGeneratedBy": "made by",
    "used": "used",
    "wasDerivedFrom": "made from",
    "wasAssociatedWith": "done by",
    "actedOnBehalfOf": "on behalf of",
    "wasAttributedTo": "written by",
    "wasInformedBy": "used the result of",
    "wasStartedBy": "started by",
    "wasInfluencedBy": "refers to",
}


class LineagePages:
    """The page of lineages."""

    def __init__(self, lineage: Lineage) -> None:
        self._lineage = lineage

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [AdminPage(LINEAGE, "", self.show)]

    async def show(self, visit: Visit) -> Sheet:
        """The form, and the lineage of a resource."""
        check_right(visit.principal, ANY_ROOM, "read")
        uri = visit.asked("uri", LONGEST_URI)
        about = "openregister://..., agents://tasks/..., avatar://..."
        field = TextField("uri", "URI of a resource", uri, kind="url", placeholder=about)
        blocks: list[Block] = [Form([field], [Button("Show")], _PATH, method="get")]
        if not uri:
            blocks.append(Note("The pages of objects, tasks, records and passages link here. Or paste a URI above."))
        else:
            blocks += _blocks(await self._lineage.of(visit.principal, uri))
        return Sheet("Lineage", blocks, lead="What made a thing: tasks, agents, people and sources.")


def _blocks(graph: LineageGraph) -> list[Block]:
    first, names = graph.things[0], {one.uri: one for one in graph.things}
    facts = [("What", first.type), ("Name", first.label), ("When", "" if first.at is None else when(first.at))]
    blocks: list[Block] = [Note(text) for text in graph.incomplete]
    if graph.hidden:
        blocks.append(Note(f"You may not read {graph.hidden} of these things; they are shown without names."))
    columns = ("What", Column("Link", short=True), "Comes from", Column("When", short=True))
    rows = [_row(one, names) for one in graph.edges]
    exported = msgspec.json.format(msgspec.json.encode(prov_json(graph)), indent=2).decode()
    return [
        *blocks,
        Facts([*facts, ("URI", first.uri), *map(_fact, first.facts.items())]),
        Section("Where it comes from", [*_picture(graph), Table(columns, rows, "Nothing is known of its origin.")]),
        Section("As W3C PROV-JSON", [Code(exported, copy=True)], folded=True),
    ]


def _fact(fact: tuple[str, str]) -> tuple[str, Text]:
    name, value = fact
    return name.capitalize(), Cell(value, Place((value,), room=TRACES)) if name == _TRACE else value


def _picture(graph: LineageGraph) -> list[Block]:
    """The nearest things, with the requested one on the left."""
    if not graph.edges:
        return []
    drawn = graph.things[:_MOST_DRAWN]
    number_of = {one.uri: number for number, one in enumerate(drawn)}
    nodes = [GraphNode(_name(one), one.type, _place(one), number == 0) for number, one in enumerate(drawn)]
    arrows = [
        Arrow(number_of[one.source], number_of[one.target], _SENTENCES[one.relation])
        for one in graph.edges
        if one.source in number_of and one.target in number_of
    ]
    return [Graph("Where it comes from", nodes, arrows)]


def _row(edge: Edge, things: dict[str, Thing]) -> tuple[Cell | str, ...]:
    time = "" if edge.at is None else when(edge.at)
    return _cell(things.get(edge.source)), _SENTENCES[edge.relation], _cell(things.get(edge.target)), time


def _cell(thing: Thing | None) -> Cell | str:
    if thing is None:
        return ""
    text = _name(thing) if thing.type == _HIDDEN else f"{thing.type} {_name(thing)}"
    return Cell(text, _place(thing))


def _name(thing: Thing) -> str:
    return "something you may not read" if thing.type == _HIDDEN else thing.label.removeprefix("user:") or thing.uri


def _place(thing: Thing) -> Place | None:
    is_own = not thing.uri.startswith(("urn:", "http:", "https:"))
    return Place(query={"uri": thing.uri}, room=LINEAGE) if is_own else None
