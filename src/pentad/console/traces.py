"""The page of one trace (`/console/traces/<id>`): a timeline of everything a request led to."""

from typing import Any, Final

from pentad.administration.services import Administration
from pentad.console.admin_page import TRACES, AdminPage
from pentad.kernel.clock import to_second
from pentad.kernel.pages import Block, Button, Cell, Column, Facts, Form, Note, Sheet, Table, TextField, Visit

_STEP: Final = "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"


class TracePages:
    """The pages of traces. Visitors see their own part; readers of the audit trail see all of it."""

    def __init__(self, admin: Administration) -> None:
        self._admin = admin

    def pages(self) -> list[AdminPage]:
        """Every page."""
        return [AdminPage(TRACES, "", self.find), AdminPage(TRACES, "{id}", self.trace)]

    async def find(self, visit: Visit) -> Sheet:
        if named := visit.asked("id", 200):
            return await self._sheet(visit, named)
        field = TextField("id", "Trace", "", "The X-Request-Id of an answer, a trace id or a traceparent")
        lead = "See what a request led to, in all rooms."
        return Sheet("Traces", [Form([field], [Button("Show")], "/console/traces", method="get")], lead=lead)

    async def trace(self, visit: Visit) -> Sheet:
        return await self._sheet(visit, visit.path["id"])

    async def _sheet(self, visit: Visit, named: str) -> Sheet:
        found = await self._admin.traces.trace(visit.principal, named)
        total = max(found["seconds"] * 1000, 0.001)
        rows = [_row(one, total) for one in found["spans"]]
        columns = (
            "What",
            Column("Start (ms)", numeric=True),
            Column("Took (ms)", numeric=True),
            Column("Timeline", short=True),
            Column("Room", short=True),
            Column("Outcome", short=True),
            Column("Who", short=True),
        )
        blocks: list[Block] = [
            Facts(
                [
                    ("Trace", found["trace_id"]),
                    ("Started", to_second(found["at"])),
                    ("Took", f"{found['seconds'] * 1000:,.1f} ms"),
                ]
            ),
            Table(columns, rows),
        ]
        if "incomplete" in found:
            blocks.append(Note(found["incomplete"]["reason"], "bad"))
        lead = "Still running." if found["is_running"] else ""
        return Sheet("Trace", blocks, lead=lead, refresh=5.0 if found["is_running"] else None)


def _row(one: dict[str, Any], total: float) -> list[str | Cell]:
    start, duration = one["offset_ms"], one.get("duration_ms")
    end = total if duration is None else start + duration
    return [
        f"{_STEP * one['depth']}{one['kind']} {one['name']}",
        f"{start:,.1f}",
        "" if duration is None else f"{duration:,.1f}",
        Cell("", bar=(start / total, end / total)),
        one.get("room", ""),
        one["outcome"],
        one.get("principal", "").removeprefix("user:"),
    ]
