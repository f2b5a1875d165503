"""Pages that change the directory: edit a record or write a new one, compare two, import agents.

A record never changes: what is saved is a new one, with a new CID. Everything is a call of a tool, made for the
visitor. The editor checks while the visitor types, and applies the fixes that are certain.
"""

import base64
from binascii import Error
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import msgspec

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.page_values import capitalised, filled_table
from pentad.kernel.pages import (
    FILE_NAME,
    Action,
    Block,
    Button,
    Cell,
    Choice,
    Column,
    FileField,
    Form,
    Hidden,
    Note,
    Page,
    Place,
    Section,
    Sheet,
    Text,
    TextField,
    Visit,
)
from pentad.kernel.schema_forms import schema_form
from pentad.mcp.rights import check_right
from pentad.rooms.directory.interface.record_fields import (
    record_in,
    record_schema,
    shown_record,
    suggested_classes,
    typed_record,
)
from pentad.rooms.directory.models import Record
from pentad.rooms.directory.service import Directory

_CHECK: Final = "check"
_FIX: Final = "fix"
_VALIDATE: Final = "agntcy_oasf_validate_record"
_AS: Final = "as"
_FIELDS: Final = "fields"
_JSON: Final = "json"
_FORMATS: Final = {
    "": "Detect",
    "mcp": "MCP server.json",
    "a2a": "A2A card",
    "agentskills": "SKILL.md",
    "ghcopilot": "Settings of GitHub Copilot",
    "claude": "Settings of Claude",
    "cursor": "Settings of Cursor",
    "vscode": "Settings of VS Code",
    "oasf": "OASF record",
}
_ERROR: Final = "ERROR: "
_UNTOUCHED: Final = "The record is checked while you type. Nothing is stored until you save it."
_NEW: Final = """{
  "schema_version": "1.0.0",
  "name": "example.org/my-agent",
  "version": "v1.0.0",
  "description": "",
  "authors": [],
  "created_at": "2026-01-31T00:00:00Z",
  "skills": [],
  "domains": [],
  "locators": []
}"""


async def new_record(_directory: Directory, visit: Visit) -> Sheet:
    """The editor with the outline of a record."""
    check_right(visit.principal, "directory", "write")
    return await _editor(visit, "New record", _NEW, "/console/directory/new")


async def edit_record(directory: Directory, visit: Visit) -> Sheet:
    """The editor with a record."""
    check_right(visit.principal, "directory", "write")
    record = await directory.records.pull(visit.path["cid"])
    text = readable_json(record)
    name = str(record.data.get("name") or record.cid)
    here = Cell(name, Place(("records", record.cid)))
    return await _editor(visit, f"Edit {name}", text, f"/console/directory/records/{record.cid}/edit", [here])


def readable_json(record: Record) -> str:
    """A record over several lines, without escapes that only its CID needs."""
    return msgspec.json.format(msgspec.json.encode(record.data), indent=2).decode()


async def save_new(directory: Directory, visit: Visit) -> Sheet | Place:
    """Check, fix or store a new record."""
    return await _save(visit) or await new_record(directory, visit)


async def save_edited(directory: Directory, visit: Visit) -> Sheet | Place:
    """Check, fix or store a changed record."""
    return await _save(visit) or await edit_record(directory, visit)


async def compare(directory: Directory, visit: Visit) -> Sheet:
    """What differs between two records, by meaning."""
    before, after = visit.asked("before"), visit.asked("after")
    form = Form(
        [
            TextField("before", "Before", before, placeholder="Name, name:version or CID"),
            TextField("after", "After", after, placeholder="Name, name:version or CID"),
        ],
        [Button("Compare")],
        "/console/directory/compare",
        method="get",
    )
    blocks: list[Block] = [form]
    problem: NotFound | None = None
    if before and after:
        try:
            blocks += _differences(await visit.call("directory_diff", {"before": before, "after": after}))
        except NotFound as error:
            problem = NotFound(capitalised(error.message), hint="Write its name, name:version or CID.")
    else:
        blocks.append(Note("To compare versions of one record, open the record: its lineage has a link for each."))
    lead = "What changed between two records, and what breaks callers."
    return Sheet("Compare records", blocks, lead=lead, error=problem)


async def import_form(_directory: Directory, visit: Visit) -> Sheet:
    """The form for files that describe agents."""
    check_right(visit.principal, "directory", "write")
    lead = "An MCP server.json, an A2A card, a SKILL.md, an MCP configuration of a client, or an OASF record."
    return Sheet("Import agents", [_import_form(visit)], lead=lead)


async def run_import(_directory: Directory, visit: Visit) -> Sheet:
    """Preview what would be imported, or import it."""
    text = _uploaded(visit) or visit.fields.get("text", "")
    if not text.strip():
        raise InvalidInput("There is nothing to import.", hint="Choose a file, or paste its text.")
    is_preview = visit.typed("do") != "import"
    label = visit.fields.get(f"{FILE_NAME}file", "")[:200] or "pasted text"
    source = {"content": text, "label": label, **({"format": visit.typed("format")} if visit.typed("format") else {})}
    found = await visit.call("directory_import", {"sources": [source], "dry_run": is_preview})
    outcomes = _members(found, "outcomes")
    blocks = _outcomes(outcomes)
    good = int(found["imported"]) + int(found["already_there"])
    if is_preview:
        said = f"Nothing is stored yet. {counted(good, 'record')} of {len(outcomes)} can be imported."
        again = Section("Go on", [_import_form(visit, text)]) if good else _correction(visit, text)
        blocks = [Note(said, "good" if good else "bad"), *blocks, again]
    else:
        blocks = [Note(f"{counted(int(found['imported']), 'record')} imported.", "good" if good else "bad"), *blocks]
    return Sheet("Preview of the import" if is_preview else "Imported", blocks, trail=[_IMPORT])


async def _editor(visit: Visit, title: str, text: str, path: str, trail: Sequence[Cell] = ()) -> Sheet:
    """A record as fields or as JSON, and what a check says of it. A fix takes the place of what was typed."""
    given, do = _given(visit, text), visit.typed("do")
    applied: list[Block] = []
    found = await visit.call(_VALIDATE, {"record_json": given, "fix": do == _FIX})
    if do == _FIX and (fixed := found.get("fixed_record_json")):
        given = msgspec.json.format(str(fixed).encode(), indent=2).decode()
        applied = _fixes(_members(found, "patch"))
        found = await visit.call(_VALIDATE, {"record_json": given})
    record = record_in(given)
    was_json = bool(visit.posted) and visit.typed(_AS) != _FIELDS
    as_json = record is None or do == _JSON or (was_json and do != _FIELDS)
    form = _json_form(given, path) if as_json or record is None else _fields_form(visit, record, given, path)
    is_untouched = record == record_in(_NEW) and do in ("", _FIELDS, _JSON)
    findings = [Note(_UNTOUCHED)] if is_untouched else [*applied, *_findings(found)]
    return Sheet(title, [form, Section("Validation", findings, anchor=_CHECK)], trail=trail)


def _json_form(text: str, path: str) -> Form:
    field = TextField("record", "Record", text, lines=24, code=True)
    return Form([field, Hidden(_AS, _JSON)], _buttons("As fields", _FIELDS), path, validated=True, live=_CHECK)


def _fields_form(visit: Visit, record: Mapping[str, Any], text: str, path: str) -> Form:
    """The main parts as fields. The whole record goes along, with the parts that have none."""
    if visit.typed("do") in (_FIX, _FIELDS):  # it has other values now than those that were sent
        visit = replace(visit, posted="", fields={})
    along = [Hidden("record", text), Hidden(_AS, _FIELDS)]
    buttons = _buttons("As JSON", _JSON)
    suggest = suggested_classes(record)
    form = schema_form(record_schema(record), visit, buttons, path, shown_record(record), extra=along, suggest=suggest)
    return replace(form, live=_CHECK)


def _buttons(other: str, value: str) -> list[Button]:
    return [
        Button("Save as a new record", "do", "save"),
        Button("Apply safe fixes", "do", _FIX, kind="plain"),
        Button("Check", "do", _CHECK, kind="plain"),
        Button(other, "do", value, kind="plain"),
    ]


def _given(visit: Visit, text: str) -> str:
    """The record that was sent, as JSON; before that, the one to begin with."""
    if not visit.posted:
        return text
    sent = visit.fields.get("record", text)
    record = record_in(sent) if visit.typed(_AS) == _FIELDS else None
    if record is None:
        return sent
    return msgspec.json.format(msgspec.json.encode(typed_record(record, visit.fields)), indent=2).decode()


async def _save(visit: Visit) -> Place | None:
    """The stored record; None if nothing is to be stored."""
    if visit.typed("do") != "save":
        return None
    given = {"record_json": _given(visit, "")}
    found = await visit.call("agntcy_dir_push_record", given)
    if not found.get("cid"):
        checked = await visit.call(_VALIDATE, given)
        problems = [_problem(one) for one in _members(checked, "findings")]
        if checked.get("valid") or not problems:
            raise InvalidInput(str(found.get("error_message") or "The record was not stored."))
        hint = "Correct what the validation below names."
        raise InvalidInput("The record was not stored: it has errors.", hint=hint, details={"problems": problems})
    return Place(("records", str(found["cid"])))


def _problem(finding: Mapping[str, Any]) -> Mapping[str, str]:
    """A finding, at its field."""
    return {"path": str(finding.get("pointer", "")), "message": str(finding.get("message", ""))}


def _members(found: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
    return cast("Sequence[Mapping[str, Any]]", found.get(name) or ())


def _fixes(patch: Sequence[Mapping[str, Any]]) -> list[Block]:
    """The fixes that were applied."""
    if not patch:
        return [Note("There is nothing to fix with certainty.")]
    rows = [(str(one.get("op", "")), str(one.get("path", "")), _in_words(one.get("value"))) for one in patch]
    note = Note(f"{counted(len(patch), 'fix', 'fixes')} applied. Nothing is stored yet.", "good")
    return [note, filled_table((Column("Fix", short=True), "Where", "Value"), rows)]


def _findings(found: Mapping[str, Any]) -> list[Block]:
    """What a check found."""
    if found.get("error_message"):
        return [Note(str(found["error_message"]), "bad")]
    blocks: list[Block] = []
    lines = [str(one) for one in cast("Sequence[Any]", found.get("validation_errors") or ())]
    errors = sum(line.startswith(_ERROR) for line in lines)
    if errors:
        blocks.append(Note(f"{counted(errors, 'error')} to correct before you can save.", "bad"))
    elif found.get("valid"):
        blocks.append(Note(f"A valid record of OASF {found.get('schema_version', '')}.", "good"))
    rows = [
        (str(one.get("message", "")), str(one.get("path", "")), _level(line))
        for line, one in zip(lines, _members(found, "findings"), strict=False)
    ]
    return [*blocks, *([filled_table(("Finding", "Where", Column("Level", short=True)), rows)] if rows else [])]


def _level(line: str) -> Cell:
    return Cell("error", kind="bad") if line.startswith(_ERROR) else Cell("warning", kind="plain")


def _differences(found: Mapping[str, Any]) -> list[Block]:
    if found.get("same"):
        return [Note("They say the same.", "good")]
    rows = [
        (
            _changed_name(str(one.get("what", "")), str(one.get("name", ""))),
            str(one.get("what", "")),
            str(one.get("kind", "")),
            _in_words(one.get("before")),
            _in_words(one.get("after")),
            Cell("breaks callers", kind="bad") if one.get("breaking") else "",
        )
        for one in _members(found, "changes")
    ]
    columns = (
        "Name",
        Column("What", short=True),
        Column("Change", short=True),
        "Before",
        "After",
        Column("Effect", short=True),
    )
    told = [Note(str(found["hint"]))] if found.get("hint") else []
    return [*told, filled_table(columns, rows)]


def _changed_name(what: str, name: str) -> str:
    """What changed, in words: the steps of a class, or a field."""
    words = name.replace("_", " ") if what in ("skill", "domain", "field") else name
    return words.replace("/", " / ") if what in ("skill", "domain") else words


def _outcomes(outcomes: Sequence[Mapping[str, Any]]) -> list[Block]:
    rows: list[tuple[Text, ...]] = []
    for one in outcomes:
        error = cast("Mapping[str, Any]", one.get("error") or {})
        errors = [str(line) for line in cast("Sequence[Any]", one.get("errors") or ())]
        suggested = [
            str(cast("Mapping[str, Any]", found).get("name", ""))
            for family in ("suggested_skills", "suggested_domains")
            for found in cast("Sequence[Any]", one.get(family) or ())
        ]
        cid, status = str(one.get("cid") or ""), str(one.get("status", ""))
        link = Cell(status, Place(("records", cid))) if cid and status in ("imported", "already there") else status
        problems = "; ".join([*errors, *([str(error["message"])] if error.get("message") else [])])
        rows.append((str(one.get("source", "")), link, ", ".join(suggested), problems))
    return [filled_table(("Source", Column("Result", short=True), "Suggested skills and domains", "Problems"), rows)]


def _import_form(visit: Visit, text: str = "") -> Form:
    name = Hidden(f"{FILE_NAME}file", visit.fields.get(f"{FILE_NAME}file", ""))
    source = [Hidden("text", text), name] if text else [
        FileField("file", "File"),
        TextField("text", "Or its text", visit.fields.get("text", ""), lines=8, code=True, required=False),
    ]  # fmt: skip
    do = Button("Import", "do", "import", kind="main" if text else "plain")
    preview = Button("Preview", "do", "preview", kind="plain" if text else "main")
    fields = [*source, Choice("format", "Format", list(_FORMATS.items()), visit.typed("format"))]
    return Form(fields, [do, preview] if text else [preview, do], "/console/directory/import")


def _correction(visit: Visit, text: str) -> Section:
    """The text of what cannot be imported, also of a file, to correct it."""
    return Section("Correct it", [_import_form(replace(visit, fields={**visit.fields, "text": text}))])


def _uploaded(visit: Visit) -> str:
    try:
        return base64.b64decode(visit.fields.get("file", ""), validate=True).decode("utf-8-sig")
    except (Error, ValueError):
        raise InvalidInput("The file is not text.", hint="Choose a JSON file or a SKILL.md.") from None


def _in_words(value: Any) -> str:
    """A value without braces: the members of an object by name, the items of a list one after the other."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        return "; ".join(f"{name}: {_in_words(one)}" for name, one in members.items())
    if isinstance(value, list):
        return ", ".join(_in_words(one) for one in cast("list[Any]", value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


_IMPORT: Final = Cell("Import agents", Place(("import",)))
EDITOR_PAGES: Final = (
    Page("new", new_record),
    Page("compare", compare),
    Page("import", import_form),
    Page("records/{cid}/edit", edit_record),
)
EDITOR_ACTIONS: Final = (
    Action("new", new_record, save_new, ""),
    Action("import", import_form, run_import, ""),
    Action("records/{cid}/edit", edit_record, save_edited, ""),
)
