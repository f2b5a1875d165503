"""What pages ask for is found by an index, however many tasks there are."""

from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.ports import Rows, Value
from pentad.rooms.agents.store import latest_heads
from pentad.rooms.agents.tasks.child_tasks import family, used_by_family
from pentad.settings.model import Settings

pytestmark = pytest.mark.anyio


class Planned:
    """Rows that keep how SQLite finds them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.steps: list[str] = []

    def all(self, sql: str, *params: Value) -> list[Any]:
        self.steps += [row[3] for row in self._rows.all(f"EXPLAIN QUERY PLAN {sql}", *params)]
        return list(self._rows.all(sql, *params))

    def one(self, sql: str, *params: Value) -> Any:
        return next(iter(self.all(sql, *params)), None)


async def test_a_trace_and_waiting_tasks_are_found_without_reading_all_tasks(tmp_path: Path) -> None:
    def work(rows: Rows) -> list[str]:
        planned: Any = Planned(rows)
        family(planned, "some")
        used_by_family(planned, "some")
        latest_heads(planned, "user:ada", 5, waiting=True)
        return planned.steps

    async with open_app(Settings(data=tmp_path, rooms=("agents",), auth="none")) as app:
        steps = await app.database.read(work)
    assert "SEARCH agent_tasks USING INDEX agent_tasks_waiting (owner=?)" in steps
    scanned = {step for step in steps if step.startswith("SCAN")}
    assert scanned <= {"SCAN f", "SCAN m", "SCAN family", "SCAN members"}, scanned
