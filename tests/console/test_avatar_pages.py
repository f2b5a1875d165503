"""What readers and authors do with avatars in the console: rate answers, review the ratings, add documents."""

import json
from base64 import b64encode
from collections.abc import AsyncIterator

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.avatars.service import Avatars
from tests.behaviour.avatars.folders import keeper
from tests.behaviour.http_wire import send
from tests.console.house import House, csrf_of, open_house
from tests.console.reading import is_inert
from tests.console.test_console import basic
from tests.console.watching import begun, read_until
from tests.http.browsing import PASSWORD, Browser, Page
from tests.waiting import until_true

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
    assert "No ratings wait for a review." in (await root.get(f"{HOME}/feedback")).html.text


@pytest.mark.requirement("console:avatars:feedback")
async def test_a_conversation_goes_on_after_a_rating(house: House) -> None:
    rita = await house.browser("rita")
    said = await post(rita, f"{HOME}/chat", {"question": QUESTION})
    assert said.status == 200
    fields = {"rate": "yes", **{name: said.hidden(name) for name in ("answer", "turns", "given")}}
    rated = await post(rita, f"{HOME}/chat", fields)
    assert rated.status == 200, rated.html.text
    assert "Thank you." in rated.html.text
    assert QUESTION in rated.html.texts
    assert rated.hidden("turns") == said.hidden("turns")
    passages = [one for one in said.html.values("a", "href") if f"{HOME}/passages/" in one]
    assert passages
    assert [one for one in rated.html.values("a", "href") if f"{HOME}/passages/" in one] == passages
    assert {"Sources", "Confidence"} <= set(rated.html.texts)
    other = json.loads(said.hidden("given"))
    other["citations"][0]["quote"] = BREAKOUT
    for number, status in ((10**9, 200), (10**30, 422)):
        other["citations"][0]["chunk_id"] = number
        changed = await post(rita, f"{HOME}/chat", {**fields, "given": json.dumps(other)})
        assert changed.status == status
        assert (BREAKOUT in changed.html.text) == (status == 200)
    without = await post(rita, f"{HOME}/chat", {**fields, "given": "nothing"})
    assert "Thank you." in without.html.text


@pytest.mark.requirement("console:avatars:add")
async def test_an_author_tries_a_document_adds_it_and_it_is_cited(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    text = f"# Ferries\n\nThe ferry at Halvesand carried 42 cows a day in 1933, said {BREAKOUT}.\n"
    fields = {"file": b64encode(text.encode()).decode(), "name:file": "C:\\papers\\ferries.md"}
    tried = await post(root, f"{HOME}/add", {**fields, "do": "try"})
    assert "This was a preview. Nothing was stored." in tried.html.text
    assert "would be added" in tried.html.texts
    assert f"{HOME}/add" in tried.html.values("form", "action"), "to add it after the preview"
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


@pytest.mark.requirement("console:avatars:streaming")
async def test_the_chat_says_what_goes_on_before_the_answer(house: House) -> None:
    rita = await house.browser("rita")
    body = (await post(rita, f"{HOME}/chat", {"question": QUESTION})).body
    searching, reading = body.index("Searching the corpus"), body.index("Reading ")
    assert body.index(QUESTION) < searching < reading < body.index("Confidence")
    assert body.index("Confidence") < body.index('name="question"'), "the form comes last"


@pytest.mark.requirement("console:avatars:streaming")
async def test_a_client_gets_the_same_steps_as_progress(house: House) -> None:
    told: list[str | None] = []

    async def progress(_done: float, _total: float | None, text: str | None) -> None:
        told.append(text)

    arguments = {"avatar": "ida-brandt", "question": QUESTION}
    await house.app.neighbours.call_tool(LOCAL, "generate_response", arguments, progress=progress)
    assert told[0] == "Searching the corpus"
    assert (told[1] or "").startswith("Reading ")


@pytest.mark.requirement("console:avatars:streaming")
async def test_a_question_that_is_refused_is_in_the_form_again(house: House) -> None:
    rita = await house.browser("rita")
    too_long = "why " * 3_000
    page = await post(rita, f"{HOME}/chat", {"question": too_long})
    assert too_long.strip() in page.html.values("input", "value")


@pytest.mark.requirement("console:avatars:progress")
async def test_an_ingest_on_a_page_waits_its_turn_and_says_so(house: House) -> None:
    avatars: Avatars = house.app.rooms[0].service
    root = await house.browser("root")
    text = "# Locks\n\nThe lock of Norderhafen was rebuilt in oak in 1935 by nine carpenters.\n"
    fields = {"file": b64encode(text.encode()).decode(), "name:file": "locks.md", "do": "add"}
    async with avatars.author_work:
        answer = await begun(root, f"{HOME}/add", fields)
        waiting = await read_until(answer, "Waiting for another ingest or evaluation")
        assert "passage can be cited" not in waiting
    rest = (await answer.body()).decode()
    assert "1 passage can be cited." in rest
    assert "Storing passages" in rest or "Calibrating confidence" in rest


@pytest.mark.requirement("console:avatars:progress")
async def test_an_evaluation_over_rest_takes_the_same_turn(house: House) -> None:
    avatars: Avatars = house.app.rooms[0].service
    answer = send(house.front, "POST", "/api/avatars/eval", {"authorization": basic("root", PASSWORD)})
    await until_true(avatars.author_work.locked)
    await answer.body()
    assert answer.status == 200
    assert not avatars.author_work.locked()


@pytest.mark.requirement("console:avatars:evaluate")
async def test_an_author_evaluates_an_avatar_on_its_page(house: House) -> None:
    root, rita = await house.browser("root"), await house.browser("rita")
    path = f"{HOME}/evaluation"
    assert path in (await root.get(path)).html.values("form", "action")
    assert path not in (await rita.get(path)).html.values("form", "action")
    assert (await post(rita, path, {})).status == 403
    questions = [{"question": QUESTION, "answer": "sluices"}]
    bad = await post(root, path, {"questions": b64encode(b"nothing").decode()})
    assert bad.status == 422
    assert any(text.startswith("The questions are not JSON.") for text in bad.html.texts)
    assert "true" in bad.html.values("input", "aria-invalid"), "the error is at the field"
    done = await post(root, path, {"questions": b64encode(json.dumps(questions).encode()).decode()})
    assert "Finding the right passage: " in done.html.text
    assert "right passage ranked first" in done.html.texts
    assert any(text in done.html.texts for text in ("All goals are met.", "Some goals are not met."))
    assert "Your own questions" in done.html.texts
    assert "Generation" in (await rita.get(path)).html.texts


@pytest.mark.requirement("console:avatars")
async def test_a_corpus_is_browsed_page_by_page_and_by_title(house: House) -> None:
    rita, avatars = await house.browser("rita"), house.app.rooms[0].service
    avatar = await avatars.open("ida-brandt")
    copy = (
        "INSERT INTO avatar_documents (avatar, path, origin, source_id, title, role, details, format, sha256, pipeline,"
        " bytes, characters, tokens, passages, notes, generation, ingested_at)"
        " VALUES (?, ?, '', ?, ?, 'by', '{}', 'text', '', '', 0, 0, 0, 0, '[]', 1, 0)"
    )
    titles = [f"Ledger {number} of 100% {BREAKOUT}" for number in range(120)]
    rows = [(avatar.avatar.number, title, title, title) for title in titles]
    await house.app.database.write(lambda tx: tx.run_many(copy, rows))
    try:
        seen: list[str] = []
        page = await rita.get(f"{HOME}/sources?q=ledger")
        while True:
            is_inert(page.html)
            seen += [text for text in page.html.texts if text.startswith("Ledger ")]
            following = [href for href in page.html.values("a", "href") if "offset=" in href]
            if not following:
                break
            page = await rita.get(following[0])
        assert seen == titles
        assert f"{HOME}/sources" in (await rita.get(HOME)).html.values("a", "href")
        assert "No title has these words." in (await rita.get(f"{HOME}/sources?q=100_")).html.text
        assert "Ledger 7 " in (await rita.get(f"{HOME}/sources?q=7+of+100%25")).html.text
    finally:
        await house.app.database.write(lambda tx: tx.run("DELETE FROM avatar_documents WHERE title LIKE 'Ledger %'"))


@pytest.mark.requirement("console:avatars")
async def test_a_passage_leads_to_its_neighbours_and_its_source(house: House) -> None:
    rita = await house.browser("rita")
    sources = [one for one in (await rita.get(HOME)).html.values("a", "href") if f"{HOME}/sources/" in one]
    passages = {
        source: [one for one in (await rita.get(source)).html.values("a", "href") if f"{HOME}/passages/" in one]
        for source in sources
    }
    source, (first, second, *_) = next(one for one in passages.items() if len(one[1]) > 1)
    begins, follows = await rita.get(first), await rita.get(second)
    assert source in begins.html.values("a", "href")
    assert "Previous passage" not in begins.html.texts
    assert second in begins.html.values("a", "href")
    assert first in follows.html.values("a", "href")
    assert (await rita.get(f"{HOME}/sources/{10**30}")).status == 404
