"""Hostile bodies and files: what is no request, what is too large, and what unpacks to more than it seems."""

import json

import pytest

from tests.rooms.registers.hostile import files
from tests.rooms.registers.hostile.surface import Surface, is_clear

pytestmark = pytest.mark.anyio

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "broken UTF-8": b'{"name": "\xff\xfe"}',
    "an overlong encoding": b'{"name": "\xc0\xaf"}',
    "an encoded surrogate": b'{"name": "\xed\xa0\x80"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "a bare quotation mark": b'"',
    "100,000 open braces": b"{" * 100_000,
    "100,000 open brackets": b"[" * 100_000,
    "a scalar": b"5",
    "null": b"null",
    "a list": b"[]",
    "17 MiB": b'{"name": "' + b"x" * (17 << 20) + b'"}',
    "XML": b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>',
    "a form": b"name=x&size=5",
}
PATHS = {
    "a NUL in a path": "/objects/1/1/\0",
    "dots in a path": "/objects/1/1/..",
    "SQL in a path": "/registers/'; DROP TABLE objects; --",
    "an enormous number in a path": "/objects/" + "9" * 40 + "/1",
    "a path of 5,000 characters": "/schemas/" + "x" * 5_000,
}


@pytest.mark.parametrize("case", BODIES)
@pytest.mark.requirement("registers:hostile:requests")
async def test_a_body_that_is_no_request_is_refused(surface: Surface, case: str) -> None:
    is_clear(await surface.message(BODIES[case]))
    is_clear(await surface.rest("POST", surface.place, BODIES[case]))
    is_clear(await surface.rest("PUT", f"{surface.place}/{surface.known['id']}", BODIES[case]))


@pytest.mark.parametrize("case", PATHS)
@pytest.mark.requirement("registers:hostile:requests")
async def test_a_path_made_to_break_leads_nowhere(surface: Surface, case: str) -> None:
    is_clear(await surface.rest("GET", PATHS[case]))


@pytest.mark.parametrize("case", files.REFUSED)
@pytest.mark.requirement("registers:hostile:files")
async def test_a_file_made_to_break_imports_nothing(surface: Surface, case: str) -> None:
    kind, content = files.REFUSED[case]
    before = (await surface.objects("list", limit=0)).done["total"]
    answer = await surface.rest("POST", f"/registers/{surface.register}/import?format={kind}", content)
    if answer.error is not None and "failed" in answer.error:
        assert answer.error["failed"] >= 1
        assert answer.error["problems"], "the report says which rows, and why"
    else:
        is_clear(answer)
    assert (await surface.objects("list", limit=0)).done["total"] == before


@pytest.mark.parametrize("case", files.KEPT)
@pytest.mark.requirement("registers:hostile:files")
async def test_cells_made_to_break_come_back_as_they_were(surface: Surface, case: str) -> None:
    kind, content = files.KEPT[case]
    place = await surface.site.pair({"name": {"type": "string"}})
    files_of = f"/registers/{place.split('/')[-2]}"
    taken = (await surface.rest("POST", f"{files_of}/import?format={kind}", content)).done
    for wanted in ("csv", "xlsx", "json", "jsonl"):
        file = (await surface.site.send("GET", f"/api{files_of}/export?format={wanted}")).body
        again = (await surface.rest("POST", f"{files_of}/import?format={wanted}", file)).done
        assert (again["unchanged"], again["failed"]) == (taken["created"], 0), "the same, to the letter"
    table = (await surface.site.send("GET", f"/api{files_of}/export?format=csv&_fields=name")).body
    for line in table.decode("utf-8-sig").splitlines():
        assert not line.startswith(("=", "+", "-")), "nothing a spreadsheet would run"
        assert ",=" not in line


def test_the_formulas_are_those_of_the_file() -> None:
    lines = files.KEPT["cells a spreadsheet would run"][1].splitlines()
    assert [json.loads(line)["name"] for line in lines] == files.FORMULAS
