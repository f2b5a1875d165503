"""What readers and authors do with avatars in the console: rate answers, review the ratings, add documents."""

from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from pentad.rooms.avatars.service import Avatars
from tests.behaviour.avatars.folders import keeper
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import is_inert
from tests.http.browsing import Browser, Page

pytestmark = pytest.mark.anyio

BREAKOUT = '"><script>alert(1)</script>'
HOME = "/console/avatars/ida-brandt"
QUESTION = "How many sluices had the Lower Marsh in 1931?"


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with open_house(tmp_path_factory.mktemp("avatars"), ("avatars",)) as house:
        avatars: Avatars = house.app.rooms[0].service
        await avatars.ingest(keeper(tmp_path_factory.mktemp("ida")))
        yield house


async def post(browser: Browser, path: str, fields: dict[str, str]) -> Page:
    shown = await browser.post(path, {**fields, "csrf": await csrf_of(browser)})
    if shown.status != 303:
        is_inert(shown.html)
    return shown


@pytest.mark.requirement("console:avatars:feedback")
async def test_a_reader_rates_an_answer_and_the_author_reviews_it(house: House) -> None:
    rita, root = await house.browser("rita"), await house.browser("root")
    page = await rita.get(f"{HOME}?q={QUESTION.replace(' ', '+')}")
    assert f"{HOME}/rate" in page.html.values("form", "action")
    fields = {"rate": "no", "answer": page.hidden("answer"), "q": QUESTION}
    rated = await post(rita, f"{HOME}/rate", fields)
    assert rated.status == 303, rated.html.text
    thanked = await rita.get(rated.location or "")
    assert "Thank you." in thanked.html.text
    assert f"{HOME}/rate" not in thanked.html.values("form", "action")
    assert (await rita.get(f"{HOME}/feedback")).status == 403
    waiting = await root.get(f"{HOME}/feedback")
    is_inert(waiting.html)
    assert QUESTION in waiting.html.texts
    assert "not helpful" in waiting.html.texts
    accepted = await post(root, f"{HOME}/feedback", {"answer": waiting.hidden("answer"), "do": "accept"})
    assert accepted.status == 303, accepted.html.text
    assert "Nothing waits for a review." in (await root.get(f"{HOME}/feedback")).html.text


@pytest.mark.requirement("console:avatars:feedback")
async def test_a_conversation_goes_on_after_a_rating(house: House) -> None:
    rita = await house.browser("rita")
    said = await post(rita, f"{HOME}/chat", {"question": QUESTION})
    assert said.status == 200
    fields = {"rate": "yes", "answer": said.hidden("answer"), "turns": said.hidden("turns")}
    rated = await post(rita, f"{HOME}/chat", fields)
    assert rated.status == 200, rated.html.text
    assert "Thank you." in rated.html.text
    assert QUESTION in rated.html.texts
    assert rated.hidden("turns") == said.hidden("turns")


@pytest.mark.requirement("console:avatars:add")
async def test_an_author_tries_a_document_adds_it_and_it_is_cited(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    text = f"# Ferries\n\nThe ferry at Halvesand carried 42 cows a day in 1933, said {BREAKOUT}.\n"
    fields = {"file": b64encode(text.encode()).decode(), "name:file": "C:\\papers\\ferries.md"}
    tried = await post(root, f"{HOME}/add", {**fields, "do": "try"})
    assert "Nothing is stored: this was a try." in tried.html.text
    added = await post(root, f"{HOME}/add", {**fields, "do": "add"})
    assert "1 passage can be cited." in added.html.text
    assert "ferries.md" in added.html.texts
    page = await rita.get(f"{HOME}?q=How+many+cows+did+the+ferry+at+Halvesand+carry%3F")
    assert "42 cows a day" in page.html.text
    assert f"{HOME}/add" not in page.html.values("a", "href")
    assert (await post(rita, f"{HOME}/add", {**fields, "do": "add"})).status == 403
    nothing = await post(root, f"{HOME}/add", {"do": "add"})
    assert nothing.status == 422
    assert "There is nothing to add." in nothing.html.text
