"""What the store reads for a form is the same, however many objects there are. Counted in SQLite's own steps."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from pentad.app import App, open_app
from pentad.kernel.principal import LOCAL
from pentad.rooms.registers.models import Caller, Operation
from pentad.rooms.registers.service import Registers
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio

LIST = "/console/registers/1/1"
SCHEMA: dict[str, Any] = {
    "title": "Permit",
    "slug": "permit",
    "configuration": {"objectNameField": "number"},
    "properties": {"number": {"type": "string"}, "parent": {"$ref": "permit"}},
}
FEW, MANY = 60, 600
"""Both are more than a field suggests."""


class Steps:
    """Counts what SQLite does, on every connection that is opened meanwhile."""

    def __init__(self) -> None:
        self.taken = 0

    def __call__(self, connection: Any) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, self._ended)

    def _ended(self, event: dict[str, Any]) -> None:
        self.taken += event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]


@pytest.fixture
def steps() -> Iterator[Steps]:
    counting, hooks = Steps(), list[Any](apsw.connection_hooks)
    apsw.connection_hooks[:] = [*hooks, counting]
    yield counting
    apsw.connection_hooks[:] = hooks


@pytest.mark.requirement("console:pages:form-reads")
async def test_a_form_with_references_reads_no_more_where_there_are_more_objects(tmp_path: Path, steps: Steps) -> None:
    read: dict[str, list[int]] = {}
    for size in (FEW, MANY):
        settings = Settings(
            data=tmp_path / str(size), rooms=("registers",), auth="none", search=SearchSettings(embedder="none")
        )
        async with open_app(settings) as app:
            made = await fill(app, size)
            for page, path in (("new", f"{LIST}/new"), ("edit", f"{LIST}/{made}/edit")):
                await shown(app, path)  # what is read once and kept
                before = steps.taken
                assert b"P-0000" in await shown(app, path)
                read.setdefault(page, []).append(steps.taken - before)
    for page, (few, many) in read.items():
        assert 0 < many <= 1.2 * few, f"{page}: {few} steps with {FEW} objects, {many} with {MANY}"


async def fill(app: App, size: int) -> str:
    registers: Registers = app.rooms[0].service
    caller = Caller(LOCAL)
    await registers.catalogue.schemas.create(caller, SCHEMA)
    await registers.catalogue.registers.create(caller, {"title": "City", "slug": "city", "schemas": ["permit"]})
    pair = await registers.catalogue.pair(caller, "city", "permit")
    rows = [Operation("create", {"number": f"P-{number:07}"}) for number in range(size)]
    await registers.objects.bulk(caller, pair, rows, atomic=True)
    return await app.database.read(lambda rows: rows.value("SELECT uuid FROM objects ORDER BY id LIMIT 1"))


async def shown(app: App, path: str) -> bytes:
    answer = send(front_of(app), "GET", path, {"accept": "text/html"})
    body = await answer.body()
    assert answer.status == 200, body
    return body
