"""Scans in the room: what is said of recognized text in answers, resources and pages."""

from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from pentad.app import open_app
from pentad.documents.document import Scan
from pentad.kernel.errors import NotFound
from pentad.kernel.pages import Facts, Image, Visit
from pentad.kernel.ports import Database
from pentad.kernel.principal import LOCAL
from pentad.rooms.avatars import store
from pentad.rooms.avatars.interface.pages import one_passage
from pentad.rooms.avatars.interface.presentation import answer_view
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import KEEPER, write_avatar
from tests.behaviour.clients import MEMORY_MODERN
from tests.behaviour.connecting import connected_in_memory
from tests.documents import papers
from tests.rooms.avatars.test_pages import PAGES, SLUICES

pytestmark = pytest.mark.anyio
QUESTION = "How many sluices did the Lower Marsh have in 1931?"
PICTURE = papers.picture(["The fourth page."], "WEBP")


async def opened(tmp_path: Path, database: Database, avatars: Avatars, confidence: float) -> Any:
    """An avatar whose fourth page counts as recognized with this confidence."""
    folder = write_avatar(tmp_path / "ida", {**KEEPER, "vectorStore": {"chunkSize": 64, "chunkOverlap": 0}}, {})
    (folder / "corpus" / "report.pdf").write_bytes(papers.pdf(PAGES))
    await avatars.ingest(folder)
    (document,) = await (await avatars.open()).sources()
    await database.write(lambda tx: store.add_scans(tx, document.id, [Scan(4, confidence, PICTURE)]))
    return await avatars.open()


@pytest.mark.parametrize(("confidence", "level"), [(0.97, "high"), (0.62, "medium")])
@pytest.mark.requirement("avatars:scan:citation")
async def test_a_citation_of_a_scan_says_how_sure_it_is_and_shows_the_page(
    tmp_path: Path, confidence: float, level: str
) -> None:
    settings = Settings(data=tmp_path / "data", rooms=("avatars",), search=SearchSettings(embedder="none"))
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        avatar = await opened(tmp_path, app.database, avatars, confidence)
        answer = await avatars.pipeline(avatar).answer(QUESTION)
        cited = answer_view(avatar.id, answer).citations[0]
        assert SLUICES in cited.quote
        assert answer.confidence == level
        assert (cited.page, cited.recognition) == (4, confidence)
        assert cited.page_image == "avatar://ida-brandt/pages/report/4"
        async with connected_in_memory(app, MEMORY_MODERN, {}) as client:
            read = await client.request("resources/read", {"uri": cited.page_image})
        (content,) = read.result["contents"]
        assert (content["mimeType"], b64decode(content["blob"])) == ("image/webp", PICTURE)
        for source, page in (("report", "1"), ("report", "x"), ("report", "9" * 40), ("other", "4")):
            with pytest.raises(NotFound, match="has no picture of page"):
                await avatar.page_picture(source, page)
        sheet = await one_passage(avatars, Visit(LOCAL, {"avatar": avatar.id, "n": str(cited.chunk_id)}))
        shown = [block for section in sheet.blocks for block in getattr(section, "blocks", ())]
        assert [type(block) for block in shown] == [Image]
        (facts,) = [block for block in sheet.blocks if isinstance(block, Facts)]
        assert ("Text", f"from a scan, confidence {confidence:.2f}") in facts.facts


async def test_other_pages_of_the_document_say_nothing_of_scans(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", rooms=("avatars",), search=SearchSettings(embedder="none"))
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        avatar = await opened(tmp_path, app.database, avatars, 0.62)
        answer = await avatars.pipeline(avatar).answer("Why is a dike lost?")
        cited = answer_view(avatar.id, answer).citations[0]
        assert (cited.page, cited.recognition, cited.page_image) == (2, None, None)
        assert {"recognition", "page_image"}.isdisjoint(cited.model_dump())
        assert answer.confidence == "high"
