"""Imports: preview a file with its bad rows, then import it; an import can be undone.

Everything goes through the `transfer` tool. A preview is a dry run; meanwhile the form holds the file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput
from pentad.kernel.pages import (
    FILE_NAME,
    Action,
    Block,
    Button,
    CheckBox,
    Choice,
    Column,
    Facts,
    FileField,
    Form,
    Hidden,
    Note,
    Page,
    Place,
    Section,
    Sheet,
    Table,
    TextField,
    Visit,
    when,
)
from pentad.rooms.registers.interface.console.pair_page import PairPage
from pentad.rooms.registers.service import Registers
from pentad.rooms.registers.transfer.formats import MEDIA_TYPES

_TOOL: Final = "transfer"
_WAIT_SECONDS: Final = 20
_COUNTS: Final = ("created", "updated", "unchanged", "failed")


async def import_form(registers: Registers, visit: Visit) -> Sheet:
    """The form for a file."""
    page = await PairPage.open(registers, visit)
    registers.access.check(page.caller, page.pair, "create")
    columns = ", ".join(one.name for one in page.properties())
    lead = f"The first row of a table names the properties: {columns}."
    return Sheet(f"Import {page.title}", [_form(page)], lead=lead, trail=page.trail)


async def run_import(registers: Registers, visit: Visit) -> Sheet | Place:
    """Preview the file, or import it."""
    page = await PairPage.open(registers, visit)
    content = visit.fields.get("file") or visit.fields.get("kept", "")
    if not content:
        raise InvalidInput("No file was chosen.", hint="Choose a CSV, Excel, JSON or JSON lines file.")
    is_preview = visit.typed("do") != "import"
    answer = await visit.call(
        _TOOL,
        {
            "action": "import",
            **page.arguments,
            "format": _format(visit),
            "base64": content,
            "key": [one.strip() for one in visit.typed("key").split(",") if one.strip()],
            "partial": bool(visit.typed("partial")),
            "dry_run": is_preview,
            "wait": _WAIT_SECONDS,
        },
    )
    if not is_preview:
        return Place((*page.place, "imports", str(answer["id"])))
    blocks = [*_report(answer, is_preview=True), Section("Go on", [_form(page, content)])]
    return Sheet(f"Preview of {_file_name(visit)}", blocks, trail=page.trail)


async def one_import(registers: Registers, visit: Visit) -> Sheet:
    """An import: its progress or its report."""
    page = await PairPage.open(registers, visit)
    state = await registers.transfers.get(page.caller, visit.path["transfer"])
    blocks = _report(state.wire(), is_preview=False)
    if state.can_be_undone:
        path = f"{page.path}/imports/{state.id}/undo"
        blocks.append(Form([], [Button("Undo the import", kind="plain")], path))
    facts = Facts([("Started", when(state.created_at)), ("Format", state.request.format), ("State", state.state)])
    return Sheet("Import", [*blocks, facts], trail=page.trail, refresh=None if state.is_over else 2)


async def undo_import(registers: Registers, visit: Visit) -> Place:
    """Undo an import."""
    page = await PairPage.open(registers, visit)
    await visit.call(_TOOL, {"action": "undo", "id": visit.path["transfer"]})
    return Place((*page.place, "imports", visit.path["transfer"]))


def _form(page: PairPage, content: str = "") -> Form:
    visit = page.visit
    file = FileField("file", "File", "CSV, Excel, JSON or JSON lines.", required=True)
    kept = [Hidden("kept", content), Hidden(f"{FILE_NAME}file", _file_name(visit))]
    formats = [("", "by the name of the file"), *((kind, kind) for kind in MEDIA_TYPES)]
    importing = Button("Import", "do", "import", kind="main" if content else "plain")
    preview = Button("Preview", "do", "preview", kind="plain" if content else "main")
    return Form(
        [
            *(kept if content else [file]),
            Choice("format", "Format", formats, visit.typed("format")),
            TextField(
                "key",
                "Key",
                visit.typed("key"),
                "Properties that find the object of a row, separated by commas. Without one, each row is a new object.",
                required=False,
            ),
            CheckBox("partial", "Import the good rows even if others are bad", checked=bool(visit.typed("partial"))),
        ],
        [importing, preview] if content else [preview, importing],
        f"{page.path}/import",
    )


def _report(answer: Mapping[str, Any], *, is_preview: bool) -> list[Block]:
    problems = cast("Sequence[Mapping[str, Any]]", answer.get("problems") or ())
    counts = {name: int(answer.get(name) or 0) for name in _COUNTS}
    facts = Facts([(name.capitalize(), f"{number:,}") for name, number in counts.items() if number])
    state = str(answer.get("state", ""))
    if state not in ("done", "failed", "cancelled", "undone"):
        return [Note("It is still running. This page shows when it is done."), facts]
    said = str(answer.get("error") or "")
    if is_preview:
        ready = f"{counted(counts['created'] + counts['updated'], 'object')} would be written."
        bad = f"{counted(counts['failed'], 'row')} cannot be imported." if counts["failed"] else ""
        note = Note(f"Nothing is written yet. {ready} {bad}".strip(), "bad" if counts["failed"] else "good")
    elif state == "done":
        note = Note(f"Imported: {counted(counts['created'] + counts['updated'], 'object')} written.", "good")
    elif state == "undone":
        note = Note("It was undone.")
    else:
        note = Note(said or "Nothing was written.", "bad")
    rows = [(f"row {one['row']}", str(one.get("column", "")), str(one.get("problem", ""))) for one in problems]
    table = Table((Column("Where", short=True), Column("Column", short=True), "Problem"), rows)
    return [note, facts, *([Section("Rows with problems", [table])] if rows else [])]


def _format(visit: Visit) -> str:
    given = visit.typed("format")
    if given:
        return given
    name = _file_name(visit).lower()
    found = [kind for kind in MEDIA_TYPES if name.endswith(f".{kind}")]
    if not found:
        raise InvalidInput(f"The format of {name[:80]!r} is not known.", hint="Choose the format.")
    return found[0]


def _file_name(visit: Visit) -> str:
    return visit.fields.get(f"{FILE_NAME}file", "")


IMPORT_PAGES: Final = (
    Page("{register}/{schema}/import", import_form),
    Page("{register}/{schema}/imports/{transfer}", one_import),
)
IMPORT_ACTIONS: Final = (
    Action("{register}/{schema}/import", import_form, run_import, ""),
    Action("{register}/{schema}/imports/{transfer}/undo", one_import, undo_import, ""),
)
