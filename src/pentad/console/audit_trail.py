"""The pages of the audit trail (`/console/audit`)."""

from collections.abc import Mapping, Sequence
from typing import Final

from pentad.administration.rights import AUDIT
from pentad.administration.services import Administration
from pentad.console.admin_page import TRACES, TRAIL, AdminPage, Row
from pentad.kernel.clock import to_minute, to_second
from pentad.kernel.pages import (
    Block,
    Button,
    Cell,
    Code,
    Column,
    Facts,
    Form,
    Links,
    Note,
    Pager,
    Place,
    Section,
    Sheet,
    Table,
    Text,
    TextField,
    Visit,
)
from pentad.kernel.trace import trace_id_of

_FILTERS: Final = (
    ("user", "Who", "A user name, or key:ID"),
    ("room", "Room", "access: logins and administration"),
    ("tool", "What", "A tool, route or event"),
    ("outcome", "Outcome", "ok, failed or an error code"),
    ("trace", "Trace", "A trace or request id"),
    ("since", "Since", "24h, 7d or a time"),
)


class TrailPages:
    """The pages of the trail. Opening one is recorded in it."""

    def __init__(self, admin: Administration) -> None:
        self._admin = admin

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [AdminPage(TRAIL, "", self.trail), AdminPage(TRAIL, "verification", self.verification)]

    async def trail(self, visit: Visit) -> Sheet:
        given = {name: visit.asked(name) for name, _, _ in _FILTERS}
        page = await self._admin.trail.page(visit.principal, given, cursor=visit.asked("cursor") or None)
        shown = {name: value for name, value in given.items() if value}
        fields = [TextField(name, label, given[name], hint, required=False) for name, label, hint in _FILTERS]
        links = [
            Cell("Export as JSON lines", Place(("export",), shown)),
            Cell("Verify the chain", Place(("verification",))),
        ]
        blocks: list[Block] = [
            Form(fields, [Button("Filter")], "/console/audit", method="get"),
            Links(links),
            entries_table(page["entries"], given, visit),
            pager(page["cursor"], Place(query=shown), visit),
        ]
        lead = "Every call, login and administrative action. Reading the trail is recorded, too."
        return Sheet("Audit trail", blocks, lead=lead)

    async def verification(self, visit: Visit) -> Sheet:
        head = visit.asked("head")
        found = await self._admin.trail.verify(visit.principal, head or None)
        if found["ok"]:
            note = Note("The chain is intact." + (" It contains that head." if head else ""), "good")
        else:
            note = Note(f"The chain is broken. {found['fault']}", "bad")
        removed: str = found["checkpoint"] or ""
        facts = Facts(
            [
                ("Batches", f"{found['batches']:,}"),
                ("Entries", f"{found['entries']:,}"),
                ("Since", to_minute(found["since"])),
                ("Removed by retention", f"up to batch {removed.partition(':')[0]}" if removed else ""),
                ("Older than the chain", f"{found['uncovered']:,} batches, not covered" if found["uncovered"] else ""),
            ]
        )
        known = Form(
            [TextField("head", "A head you saved", head, "Checks that the chain still contains it.", required=False)],
            [Button("Verify")],
            "/console/audit/verification",
            method="get",
        )
        keep = Section(
            "Head",
            [
                Code(found["head"]),
                Note(
                    "Save the head where people who can write to the store cannot change it. Later, it proves that "
                    "nothing up to here was changed."
                ),
            ],
        )
        return Sheet("Verification", [note, facts, keep, known])


def entries_table(entries: Sequence[Row], given: Mapping[str, str], visit: Visit) -> Table:
    """A table of entries. For readers of the whole trail, who, what and outcome link to all entries with that value."""
    whole = visit.principal.may(AUDIT, "admin")

    def linked(text: str, name: str, value: str) -> Text:
        others = {key: one for key, one in given.items() if one}
        return Cell(text, Place(query={**others, name: value}, room=TRAIL)) if whole and value else text

    rows = [
        [
            to_second(one["at"]),
            linked(one["principal"].removeprefix("user:"), "user", one.get("credential") or one["principal"]),
            one.get("room", ""),
            linked(one["tool"], "tool", one["tool"]),
            linked(one["outcome"], "outcome", one["outcome"]),
            f"{one['duration_ms']:.1f}" if one["duration_ms"] else "",
            " ".join(str(one[name]) for name in ("target", "login", "address", "reason") if name in one),
            Cell("trace", Place((trace_id_of(one["trace"]),), room=TRACES)) if one.get("trace") else "",
        ]
        for one in entries
    ]
    columns = (
        Column("Time", short=True), Column("Who", short=True), Column("Room", short=True), "What",
        Column("Outcome", short=True), Column("ms", numeric=True), "About", Column("", short=True),
    )  # fmt: skip
    return Table(columns, rows, "No entries.")


def pager(cursor: str | None, first: Place, visit: Visit) -> Pager:
    following = None if cursor is None else Place(first.parts, {**first.query, "cursor": cursor}, first.room)
    return Pager("Newest first.", following, first if visit.asked("cursor") else None)
