"""The directory's console pages: the list of records, newest first or by search, and one record in full."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.clock import to_minute
from pentad.kernel.counts import counted, figure
from pentad.kernel.page_values import value_blocks
from pentad.kernel.pages import (
    Action,
    Arrow,
    Block,
    Button,
    Card,
    Cards,
    Cell,
    Choice,
    Code,
    Column,
    Facet,
    Facets,
    Facts,
    Form,
    Graph,
    GraphNode,
    Hint,
    Links,
    Note,
    Option,
    Page,
    Pager,
    Pages,
    Place,
    Prose,
    SearchBox,
    Section,
    Sheet,
    Table,
    TextField,
    ToolCall,
    Visit,
)
from pentad.rooms.directory.interface.editor_pages import EDITOR_ACTIONS, EDITOR_PAGES, readable_json
from pentad.rooms.directory.interface.install_blocks import install_blocks
from pentad.rooms.directory.models import PUBLIC_KEY, SCAN_REPORT, SIGNATURE, Record, State
from pentad.rooms.directory.oasf.versions import Family
from pentad.rooms.directory.records.index_fields import Kind, annotations_of, classes_of, locators_of
from pentad.rooms.directory.records.naming import LineageEntry
from pentad.rooms.directory.records.referrers import Referrer
from pentad.rooms.directory.records.service import RecordSummary
from pentad.rooms.directory.records.states import RecordState, allowed_states
from pentad.rooms.directory.search.query import Filter, FilterKind, Query
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.verbs import FIRST_CONTENT

_AT_ONCE: Final = 25
_MOST_VALUES: Final = 8
_MOST_DRAWN: Final = 12
_FILTERS: Final[Mapping[str, FilterKind]] = {
    "skill": FilterKind.SKILL_NAME,
    "domain": FilterKind.DOMAIN_NAME,
    "type": FilterKind.MODULE_NAME,
}
_TERMS: Final = {"skill": Kind.SKILL, "domain": Kind.DOMAIN, "type": Kind.MODULE}
_STATES: Final[Mapping[State, str]] = {
    "draft": "draft: not shown to hosts",
    "proposed": "proposed: waits for approval",
    "approved": "approved: hosts may use it",
    "deprecated": "deprecated: should not be used any more",
    "withdrawn": "withdrawn: must not be used",
}
_REFERRERS: Final = {SIGNATURE: "signature", PUBLIC_KEY: "public key", SCAN_REPORT: "scan report"}


async def records(directory: Directory, visit: Visit) -> Sheet:
    """A page of the list of records."""
    words, cursor = visit.asked(), visit.query.get("cursor") or None
    params = {name: visit.asked(name) for name in ("q", *_FILTERS)}
    filters = tuple(Filter(kind, params[name]) for name, kind in _FILTERS.items() if params[name])
    sees_all = visit.principal.may("directory", "admin")
    found = await directory.search.find(
        Query(filters, words or None, limit=_AT_ONCE, cursor=cursor, quarantined=sees_all)
    )  # fmt: skip
    summaries = await directory.records.summaries([hit.cid for hit in found.hits])
    versions = await directory.records.version_counts([one.name for one in summaries])
    cards = [_card(one, versions.get(one.name.lower(), 1)) for one in summaries]
    kept = {name: text for name, text in params.items() if name != "q"}
    blocks: list[Block] = [*_actions(visit), SearchBox("Search by what an agent can do", words, kept=kept)]
    if not directory.is_local:
        blocks.append(Note(f"The tools of this server use the directory at {directory.node.address}, not this one."))
    blocks.append(Facets([await _facet(directory, name, params) for name in _FILTERS]))
    if cards and found.no_good_match:
        blocks.append(Note("No good match. These are the nearest."))
    nothing = "No record matches. Try fewer or other words, or remove a filter."
    empty = nothing if words or filters else Hint("There are no records yet. Add some with", FIRST_CONTENT)
    blocks.append(Cards(cards, empty))
    if cards:
        blocks.append(
            Pager(
                counted(found.total, "record") if found.total is not None else "",
                Place((), {**params, "cursor": found.cursor}) if found.cursor else None,
                Place((), params) if cursor else None,
            )
        )
    lead = "Agents with a record here. Search by what they do."
    return Sheet("Directory", blocks, lead=lead, events={"room": "directory"})


async def one_record(directory: Directory, visit: Visit) -> Sheet:
    """One record: its content, lineage, signatures and JSON text."""
    record = await directory.records.pull(visit.path["cid"])
    state = await directory.states.get(record.cid)
    blocks = record_blocks(record, state.state)
    if state.quarantined is not None:
        text = f"In quarantine: {state.quarantined}. Searches do not find it, and hosts do not see it."
        blocks.insert(0, Note(text, "bad"))
    if visit.principal.may("directory", "write"):
        blocks.insert(1, Links([Cell("Edit", Place(("records", record.cid, "edit")))], actions=True))
    blocks += install_blocks(record.data, record.cid, state.state) if state.quarantined is None else []
    blocks += await _lineage(directory, record)
    blocks += _state_changes(state, allowed_states(visit.principal, state))
    blocks += await _statements(directory, record)
    blocks.append(Section("The record as JSON", [Code(readable_json(record))], folded=True))
    return Sheet(record_title(record), blocks)


def record_title(record: Record) -> str:
    return _text(record.data, "name") or record.cid


def record_blocks(record: Record, state: str = "") -> list[Block]:
    """What a record says of itself, for a page and for a view."""
    data = record.data
    facts = Facts([*_facts(record, data), ("State", _state_cell(state))])
    blocks: list[Block] = [Prose(_text(data, "description")), facts]
    for title, family in (("Skills", "skill"), ("Domains", "domain")):
        if classes := _classes(data, cast("Family", family)):
            blocks.append(Section(title, [Links(classes, names=True)]))
    return [*blocks, *_sections(data)]


async def figures(directory: Directory, _visit: Visit) -> Sequence[tuple[str, str]]:
    return [figure(await directory.records.count(), "record")]


def _card(one: RecordSummary, versions: int) -> Card:
    badges = [Note(f"trusted: {rule}", "good") for rule in one.trust.trusted_by]
    badges += [Note("domain verified", "good")] if one.verified else []
    badges += [Note(f"in quarantine: {one.trust.quarantined}", "bad")] if one.trust.quarantined else []
    badges += [_state_badge(one.state)] if one.state != "approved" else []
    badges += [Note(one.version)] if one.version else []
    badges += [Note(f"{versions:,} versions")] if versions > 1 else []
    created = [("", one.created_at[:10])] if one.created_at else []
    return Card(Cell(one.name or one.cid, _place(one.cid)), one.description, created, badges)


def _state_badge(state: str) -> Note:
    return Note(state, "good" if state == "approved" else "bad" if state in ("deprecated", "withdrawn") else "plain")


def _state_cell(state: str) -> Cell:
    return Cell(state, kind=_state_badge(state).kind)


def _actions(visit: Visit) -> list[Block]:
    actions = [Cell("Compare records", Place(("compare",)))]
    if visit.principal.may("directory", "write"):
        actions = [Cell("Import agents", Place(("import",))), Cell("New record", Place(("new",))), *actions]
    return [Links(actions, actions=True)]


async def _facet(directory: Directory, name: str, params: Mapping[str, str]) -> Facet:
    """The most frequent values in the whole directory, and the chosen one. How many have each is said for the whole."""
    found = dict(await directory.records.common_terms(_TERMS[name], _MOST_VALUES))
    chosen, is_whole = params[name].lower(), not any(params.values())
    values = [*found, *([chosen] if chosen and chosen not in found else [])]
    names = Counter(_readable(value) for value in values)
    options = [
        Option(
            Cell(
                _readable(value, whole=names[_readable(value)] > 1),
                Place((), {**params, name: "" if value == chosen else value}),
            ),
            f"{found[value]:,}" if is_whole else "",
            value == chosen,
        )
        for value in values
    ]
    return Facet(name.capitalize(), options)


def _facts(record: Record, data: Mapping[str, Any]) -> list[tuple[str, str | Cell]]:
    previous = _text(data, "previous_record_cid")
    authors = data.get("authors")
    return [
        ("Version", _text(data, "version")),
        ("OASF", _text(data, "schema_version")),
        ("Created", to_minute(_text(data, "created_at"))),
        ("Authors", ", ".join(str(one) for one in _list(authors)[:50])),
        ("CID", record.cid),
        ("Replaces", Cell(previous, _place(previous), ToolCall("agntcy_dir_pull_record", {"cid": previous}))),
    ]


def _classes(data: Mapping[str, Any], family: Family) -> list[str | Cell]:
    """Skills or domains, each linked to the records that share it."""
    found = {one.name: one.caption or one.name for one in classes_of(data, family) if one.name}
    return [Cell(caption, Place((), {family: name})) for name, caption in found.items()]


def _sections(data: Mapping[str, Any]) -> Iterator[Section]:
    """Locators, modules and annotations."""
    if locators := [(kind.replace("_", " "), url) for kind, url in locators_of(data)]:
        yield Section("Locators", [Table((Column("Type", short=True), "Address"), locators)])
    for item in [*_list(data.get("modules")), *_list(data.get("extensions"))][:50]:
        if isinstance(item, dict):
            module = cast("dict[str, Any]", item)
            name = _text(module, "name") or "Module"
            yield Section(f"Module {name}", value_blocks(module.get("data", module)), folded=True)
    if annotations := annotations_of(data):
        yield Section("Annotations", [Facts(list(annotations.items()))])


async def _lineage(directory: Directory, record: Record) -> list[Block]:
    steps = await directory.naming.lineage(record.cid)
    if len(steps) < 2:
        return []
    rows = [
        (
            one.version if one.cid == record.cid else Cell(one.version or one.cid, _place(one.cid)),
            one.name,
            one.created_at[:10],
            "this record" if one.cid == record.cid else Cell("Compare", _comparison(one.cid, record.cid)),
        )
        for one in reversed(steps)
    ]
    columns = (Column("Version", short=True), "Name", Column("Created", short=True), "")
    return [Section("Lineage", [_lineage_graph(steps, record.cid), Table(columns, rows)])]


def _lineage_graph(steps: Sequence[LineageEntry], cid: str) -> Graph:
    """The records around this one, oldest first. An arrow that no record claims leads to the next version."""
    here = next((number for number, one in enumerate(steps) if one.cid == cid), 0)
    first = max(0, min(here - _MOST_DRAWN // 2, len(steps) - _MOST_DRAWN))
    drawn = steps[first : first + _MOST_DRAWN]
    number_of = {one.cid: number for number, one in enumerate(drawn)}
    is_one_name = len({one.name for one in drawn}) == 1
    nodes = [
        GraphNode(
            one.version or one.cid,
            one.created_at[:10] if is_one_name else one.name,
            None if one.cid == cid else _place(one.cid),
            current=one.cid == cid,
        )
        for one in drawn
    ]
    arrows = [
        Arrow(number_of.get(one.previous or "", number - 1), number, weak=one.previous not in number_of)
        for number, one in enumerate(drawn)
        if number > 0
    ]
    return Graph("Versions, oldest first", nodes, arrows)


def _state_changes(state: RecordState, allowed: Sequence[State]) -> list[Block]:
    """Who changed the state of the record, and why; a form for those who may change it."""
    rows = [
        (to_minute(one.changed_at), _state_cell(one.new_state), one.changed_by, one.reason)
        for one in reversed(state.history)
    ]
    blocks: list[Block] = []
    if rows:
        blocks.append(Table((Column("Changed", short=True), Column("To", short=True), "By", "Why"), rows))
    if allowed:
        fields = [
            Choice("state", "New state", [(one, _STATES[one]) for one in allowed]),
            TextField("reason", "Reason", hint="Hosts show it if it is deprecated.", required=False),
        ]
        form = Form(fields, [Button("Change the state")], f"/console/directory/records/{state.cid}/state")
        blocks.append(Section("Approve, deprecate or withdraw it", [form], folded=True))
    return [Section("State", blocks)] if blocks else []


async def set_state(_directory: Directory, visit: Visit) -> Place:
    """What the form for the state does."""
    given = {"reference": visit.path["cid"], "state": visit.typed("state"), "reason": visit.typed("reason")}
    await visit.call("directory_set_state", given)
    return _place(visit.path["cid"])


async def _statements(directory: Directory, record: Record) -> list[Block]:
    """Signatures and other statements about the record."""
    referrers = await directory.referrers.pull(record.cid)
    if not referrers:
        return []
    blocks: list[Block] = []
    if any(one.type == SIGNATURE for one in referrers):
        verdict = await directory.trust.verify(record.cid)
        blocks.append(Note(f"Signatures: {verdict.message}.", "good" if verdict.success else "bad"))
        blocks += [Prose(f"Trusted: {', '.join(verdict.trusted_by)}.")] if verdict.trusted_by else []
        for one in verdict.signers[:20]:
            blocks += [Prose(f"Signed with {one.issuer.replace(':', ': ', 1)}"), Code(one.identity)]
        blocks += [Note(problem, "bad") for problem in verdict.problems[:20]]
    blocks.append(
        Table(
            (Column("Statement", short=True), Column("Made", short=True), "CID"), [_statement(one) for one in referrers]
        )
    )
    return [Section("Statements by others", blocks)]


def _statement(one: Referrer) -> tuple[str, ...]:
    return _REFERRERS.get(one.type, one.type), to_minute(one.created_at), one.cid


def _readable(term: str, *, whole: bool = False) -> str:
    """The last part of a class in words; the whole where the last parts of several are the same."""
    steps = [one for one in term.replace("_", " ").split("/") if one]
    return " / ".join(steps) if whole else steps[-1] if steps else term


def _comparison(before: str, after: str) -> Place:
    return Place(("compare",), {"before": before, "after": after})


def _place(cid: str) -> Place:
    return Place(("records", cid))


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


PAGES: Final[Pages[Directory]] = Pages(
    [Page("", records), *EDITOR_PAGES, Page("records/{cid}", one_record)],
    figures,
    actions=[*EDITOR_ACTIONS, Action("records/{cid}/state", one_record, set_state, "")],
    resources={"directory://records/{cid}": "records/{cid}"},
)
