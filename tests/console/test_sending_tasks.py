"""The form on an agent's card that sends it a task."""

from collections.abc import AsyncIterator

import pytest

from pentad.kernel.principal import Principal
from tests.console.house import House, csrf_of, open_house
from tests.http.browsing import Browser

pytestmark = pytest.mark.anyio

ADMIN = Principal("user:root", "root", frozenset({"*:*"}))
ECHO = "/console/agents/cards/echo"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("sending"), ("agents", "directory")) as house:
        yield house


@pytest.mark.requirement("agents:console:send")
async def test_a_task_is_sent_and_its_page_shown(house: House) -> None:
    root = await house.browser("root")
    assert "Send it a task" in (await root.get(ECHO)).body
    fields = {"/text": "Good morning", "/references": "agents://cards/echo", "csrf": await csrf_of(root)}
    answer = await root.post(ECHO, fields)
    location = answer.location or ""
    assert (answer.status, location[:22]) == (303, "/console/agents/tasks/")
    page = (await root.get(location)).html.text
    assert "Good morning" in page
    assert "agents://cards/echo" in page
    assert ("user:root", "ok") in {
        (who, outcome) for who, _, outcome in await house.events(f"POST {ECHO[:-4]}{{card}}")
    }


@pytest.mark.requirement("agents:console:send")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"/text": " "}, "There is nothing to send"),
        ({"/text": "hello", "/references": "file:///etc/passwd"}, "file"),
    ],
)
async def test_a_form_that_cannot_be_sent_says_why_and_sends_nothing(
    house: House, fields: dict[str, str], words: str
) -> None:
    root = await house.browser("root")
    before = (await root.get("/console/agents/tasks")).html.text
    answer = await root.post(ECHO, {**fields, "csrf": await csrf_of(root)})
    assert answer.status == 422
    assert words in answer.body
    assert (await root.get("/console/agents/tasks")).html.text == before


@pytest.mark.requirement("agents:console:send")
async def test_who_may_only_read_gets_no_form_and_sends_nothing(house: House) -> None:
    rita = await house.browser("rita")
    assert "Send it a task" not in (await rita.get(ECHO)).body
    answer = await rita.post(ECHO, {"/text": "hello", "csrf": await csrf_of(rita)})
    assert answer.status == 403
    assert "agents:write" in answer.body


@pytest.mark.requirement("agents:console:send")
async def test_a_form_of_another_site_is_refused(house: House) -> None:
    root = await house.browser("root")
    for token in ("", "x" * 43, await csrf_of(await house.browser("rita"))):
        assert (await root.post(ECHO, {"/text": "hello", "csrf": token})).status == 403
    assert (await Browser(house.front).post(ECHO, {"/text": "hello", "csrf": await csrf_of(root)})).status == 403


@pytest.mark.requirement("agents:console:send")
async def test_a_registered_card_has_no_form(house: House) -> None:
    card = {"name": "Away", "description": "Elsewhere.", "url": "https://agents.example.org/away", "version": "1.0.0",
            "protocolVersion": "0.3.0", "capabilities": {}, "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"], "skills": []}  # fmt: skip
    agents = house.app.rooms[0].service
    made = await agents.registry.register(ADMIN, card, list_it=False)
    root = await house.browser("root")
    path = f"/console/agents/cards/{made.id}"
    assert "Send it a task" not in (await root.get(path)).body
    answer = await root.post(path, {"/text": "hello", "csrf": await csrf_of(root)})
    assert answer.status == 422
    assert "Only agents that run here" in answer.body
