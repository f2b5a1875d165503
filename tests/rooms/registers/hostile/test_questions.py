"""Hostile questions: refused in clear words, or answered with nothing, for nothing is what they match."""

import pytest

from tests.rooms.registers.hostile.asking import NOTHING, PARAMETERS, REFUSED
from tests.rooms.registers.hostile.surface import Surface, is_clear

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.requirement("registers:hostile:questions")
async def test_a_question_made_to_break_is_refused(surface: Surface, case: str) -> None:
    place = {"register": surface.register, "schema": surface.schema}
    is_clear(await surface.tool("objects", {"action": "list", **place, **REFUSED[case]}))


@pytest.mark.parametrize("case", NOTHING)
@pytest.mark.requirement("registers:hostile:questions")
async def test_sql_is_only_text(surface: Surface, case: str) -> None:
    found = (await surface.objects("list", **NOTHING[case])).done
    assert (found["results"], found["total"]) == ([], 0)


@pytest.mark.parametrize("case", PARAMETERS)
@pytest.mark.requirement("registers:hostile:questions")
async def test_a_parameter_made_to_break_is_refused(surface: Surface, case: str) -> None:
    is_clear(await surface.rest("GET", f"{surface.place}?{PARAMETERS[case]}"))


TAMPERING = {
    "cut": lambda cursor: cursor[:-1],
    "lengthened": lambda cursor: cursor + "A",
    "turned around": lambda cursor: cursor[::-1],
    "in capitals": lambda cursor: cursor.upper(),
    "one letter changed": lambda cursor: cursor[:-4] + ("B" if cursor[-4] != "B" else "C") + cursor[-3:],
    "twice": lambda cursor: cursor * 2,
    "no base64": lambda cursor: "%" + cursor,
}


@pytest.mark.parametrize("case", TAMPERING)
@pytest.mark.requirement("registers:hostile:questions")
async def test_a_cursor_that_was_tampered_with_is_refused(surface: Surface, case: str) -> None:
    made = [(await surface.objects("create", data={"name": f"page {number}"})).done["id"] for number in range(3)]
    asked = {"limit": 1, "sort": ["name"], "filter": {"name": {"like": "page%"}}}
    cursor = (await surface.objects("list", **asked)).done["cursor"]
    is_clear(await surface.objects("list", **asked, cursor=TAMPERING[case](cursor)))
    is_clear(await surface.objects("list", **{**asked, "sort": ["-name"]}, cursor=cursor))
    for uuid in made:
        await surface.objects("delete", id=uuid)
