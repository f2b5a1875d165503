"""Sources that change: folders and pages of the web are looked at again, and answers say which version they quote."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pentad.app import App, open_app
from pentad.kernel.principal import LOCAL
from pentad.net.addresses import networks
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.clocks import TurnedClock
from tests.net.test_fetch import answering
from tests.rooms.avatars.folders import avatar_folder

pytestmark = pytest.mark.anyio
NOVEMBER = 1_795_000_000.0
OPEN = FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True)


class Page:
    """A page that a test changes; like real ones, it is never the same twice."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.status = 200
        self.asked = 0

    async def answer(self, _request: web.Request) -> web.Response:
        self.asked += 1
        body = f"<html><body><p>{self.text}</p><script>nonce = {self.asked}</script></body></html>"
        return web.Response(text=body, content_type="text/html", status=self.status)


@asynccontextmanager
async def opened(data: Path, clock: TurnedClock, fetch: FetchPolicy = OPEN, **table: Any) -> AsyncGenerator[App]:
    settings = Settings(
        data=data, rooms=("avatars",), fetch=fetch, search=SearchSettings(embedder="none"),
        room_tables={"avatars": table},
    )  # fmt: skip
    async with open_app(settings, clock=clock) as app:
        yield app


def service(app: App) -> Avatars:
    found = app.rooms[0].service
    assert isinstance(found, Avatars)
    return found


def folder_with(tmp_path: Path, port: int, **more: Any) -> Path:
    source = {"title": "Tide tables", "url": f"http://127.0.0.1:{port}/tides", "role": "by", **more}
    config = {"persona": {"voice": "student"}}
    return avatar_folder(tmp_path / "ada", {"a.txt": b"Land stays where it is."}, {"sources": [source]}, **config)


@pytest.mark.requirement("avatars:watch")
async def test_a_page_is_read_again_when_its_text_changes_and_answers_say_of_which_day_it_is(tmp_path: Path) -> None:
    page, clock = Page("The spring tide rises by 4 metres at the northern gate."), TurnedClock(NOVEMBER)
    async with answering(page.answer) as port, opened(tmp_path / "data", clock) as app:
        avatars = service(app)
        report = await avatars.ingest(folder_with(tmp_path, port, fetch=True), caller=LOCAL)
        assert [(line.status, line.source_id) for line in report.lines] == [("added", "a"), ("added", "tide-tables")]
        question = "How many metres does the spring tide rise at the northern gate?"
        (first, *_) = (await avatars.pipeline(await avatars.open()).answer(question)).citations
        assert (first.source, first.as_of) == ("Tide tables", "2026-11-18")
        clock.pass_seconds(86_400.0)
        await avatars.refresh()
        assert (await avatars.open()).avatar.generation == 1, "the same text is the same page"
        page.text = "The spring tide rises by 5 metres at the northern gate."
        await avatars.refresh()
        answer = await avatars.pipeline(await avatars.open()).answer(question)
        assert "5 metres" in answer.citations[0].quote
        assert answer.citations[0].as_of == "2026-11-19"
        assert answer.response.startswith("Tide tables, as of 2026-11-19, says:")
        page.status = 503
        await avatars.refresh()
        assert (await avatars.open()).avatar.documents == 2, "what cannot be read stays as it was"


@pytest.mark.requirement("avatars:watch")
async def test_an_address_is_fetched_only_if_the_source_says_so(tmp_path: Path) -> None:
    page = Page("The spring tide rises by 4 metres.")
    async with answering(page.answer) as port, opened(tmp_path / "data", TurnedClock(NOVEMBER)) as app:
        report = await service(app).ingest(folder_with(tmp_path, port), caller=LOCAL)
    assert (page.asked, report.warnings) == (0, ["there is no file for 'Tide tables'"])


@pytest.mark.requirement("avatars:watch")
async def test_addresses_inside_the_network_are_refused(tmp_path: Path) -> None:
    page = Page("The spring tide rises by 4 metres.")
    closed = FetchPolicy(allow_http=True)
    async with answering(page.answer) as port, opened(tmp_path / "data", TurnedClock(NOVEMBER), closed) as app:
        report = await service(app).ingest(folder_with(tmp_path, port, fetch=True), caller=LOCAL)
    assert (page.asked, [line.path for line in report.of("failed")]) == (0, [f"references/http-127-0-0-1-{port}-tides"])


@pytest.mark.requirement("avatars:watch")
async def test_a_page_can_be_added_by_its_address(tmp_path: Path) -> None:
    page = Page("The spring tide rises by 4 metres.")
    async with answering(page.answer) as port, opened(tmp_path / "data", TurnedClock(NOVEMBER)) as app:
        avatars = service(app)
        await avatars.ingest(avatar_folder(tmp_path / "ada", {"a.txt": b"Land stays."}))
        report = await avatars.add("ada-water", [], uris=[f"http://127.0.0.1:{port}/tides"], caller=LOCAL)
        assert [line.status for line in report.lines] == ["added"]
        page.text = "The spring tide rises by 6 metres."
        await avatars.refresh()
        assert (await avatars.open()).avatar.generation == 3
        await avatars.ingest(tmp_path / "ada")
        assert (await avatars.open()).avatar.documents == 2, "it is not of the folder, and stays"


@pytest.mark.requirement("avatars:watch")
async def test_a_watched_folder_is_ingested_again_and_a_broken_one_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    watched = [str(tmp_path / "missing"), str(folder)]
    async with opened(tmp_path / "data", TurnedClock(NOVEMBER), watch_folders=watched) as app:
        avatars = service(app)
        with caplog.at_level(logging.WARNING):
            await avatars.refresh()
        assert "missing" in caplog.text
        assert (await avatars.open("ada-water")).avatar.generation == 1
        (folder / "corpus" / "b.txt").write_bytes(b"Land stays.")
        await avatars.refresh()
        assert (await avatars.open("ada-water")).avatar.documents == 2


@pytest.mark.requirement("avatars:watch")
def test_the_job_looks_as_often_as_the_settings_say(tmp_path: Path) -> None:
    from pentad.rooms.avatars.room import refresh_times
    from tests.room_settings import room_settings

    class Platformed:
        def __init__(self, minutes: int) -> None:
            self.platform = self
            self.settings = room_settings("avatars", watch_minutes=minutes)

    assert [one.every for one in refresh_times(Platformed(5))] == [300.0]  # pyright: ignore[reportArgumentType]
    assert refresh_times(Platformed(0)) == []  # pyright: ignore[reportArgumentType]
