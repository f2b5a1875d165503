"""Pages that are sent while they are made."""

from collections.abc import AsyncIterator

import pytest

from tests.console.house import House, open_house
from tests.console.reading import is_inert, read
from tests.console.showroom import CANARY, SCRIPT
from tests.console.watching import begun, read_until
from tests.waiting import until_true

pytestmark = pytest.mark.anyio
GROW = "/console/show/grow"


@pytest.fixture
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("growing"), ("tests.console.showroom:ROOM",)) as house:
        yield house


@pytest.mark.requirement("console:growing")
async def test_the_page_and_its_steps_come_before_the_end(house: House) -> None:
    root = await house.browser("root")
    answer = await begun(root, GROW, {})
    assert answer.status == 200
    so_far = await read_until(answer, "<progress")
    assert "At once." in so_far
    assert "Grown." not in so_far
    house.app.rooms[0].service.remove("lamp")
    rest = (await answer.body()).decode()
    page = read(so_far + rest)
    is_inert(page)
    assert SCRIPT in page.texts
    assert "Grown." in page.texts
    assert rest.endswith("</html>")
    again = await root.post("/console/show/grow", {"csrf": page.values("input", "value")[-1], "end": "wrong"})
    assert again.status == 200, "the form that came later has the token"


@pytest.mark.parametrize("end", ["wrong", "crash"])
@pytest.mark.requirement("console:growing")
async def test_an_error_ends_the_page_with_what_went_wrong_and_the_form(house: House, end: str) -> None:
    root = await house.browser("root")
    answer = await begun(root, GROW, {"end": end})
    house.app.rooms[0].service.remove("lamp")
    body = (await answer.body()).decode()
    page = read(body)
    is_inert(page)
    assert CANARY not in body
    assert "/console/show/grow" in page.values("form", "action")
    said = f"Two things {SCRIPT} at once." if end == "wrong" else "incident"
    assert any(said in text for text in page.texts)


@pytest.mark.requirement("console:growing")
async def test_leaving_the_page_stops_the_work(house: House) -> None:
    root = await house.browser("root")
    answer = await begun(root, GROW, {})
    await read_until(answer, "<progress")
    await answer.leave()
    things = house.app.rooms[0].service
    await until_true(lambda: "stopped" in things)
