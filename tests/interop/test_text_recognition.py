"""The extra `ocr` with its real engine: scans and pictures are read in the sandboxed process and answer questions."""

import io
import sys
from pathlib import Path

import pytest
from PIL import Image

from pentad.app import open_app
from pentad.rooms.avatars.interface.presentation import answer_view
from pentad.rooms.avatars.service import Avatars
from pentad.settings.model import SearchSettings, Settings
from tests.behaviour.avatars.folders import KEEPER, write_avatar
from tests.documents import papers
from tests.interop.environments import ocr_packages

pytestmark = [pytest.mark.interop, pytest.mark.anyio, pytest.mark.timeout(600)]

SLUICES = ["The Lower Marsh had 27 sluices in 1931, and each", "of them was opened by hand at low tide."]
SALT = ["Salt is the true enemy of the marsh. Barley bears a", "little salt, but clover dies of it at once."]
LETTER = ["Dear Greta, the new bridge at Halvesand was opened", "on the third of May, and the whole board came."]


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is installed; its packages come after Pentad's own."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(ocr_packages())])


@pytest.mark.usefixtures("engine", "readers_are_processes")
@pytest.mark.requirement("avatars:scan:ingest")
async def test_scanned_pages_and_pictures_answer_questions_and_show_the_page(tmp_path: Path) -> None:
    folder = write_avatar(tmp_path / "ida", KEEPER, {})
    corpus = folder / "corpus"
    (corpus / "report.pdf").write_bytes(papers.scan([SLUICES, [], SALT]))
    (corpus / "letter.jpg").write_bytes(papers.picture(LETTER, "JPEG"))
    (corpus / "photo.png").write_bytes(papers.picture([]))
    settings = Settings(data=tmp_path / "data", rooms=("avatars",), search=SearchSettings(embedder="none"))
    async with open_app(settings) as app:
        avatars: Avatars = app.rooms[0].service
        report = await avatars.ingest(folder)
        said = {line.path: (line.status, line.note or "") for line in report.lines}
        assert {path: status for path, (status, _) in said.items()} == {
            "report.pdf": "added", "letter.jpg": "added", "photo.png": "skipped",
        }  # fmt: skip
        assert "the text of 2 pages was recognized" in said["report.pdf"][1]
        assert "page 2 has no text" in said["report.pdf"][1]
        avatar = await avatars.open()
        for question, words, source, page in (
            ("How many sluices did the Lower Marsh have in 1931?", "had 27 sluices in 1931", "report", 1),
            ("What is the true enemy of the marsh?", "Salt is the true enemy of the marsh", "report", 3),
            ("When was the new bridge at Halvesand opened?", "opened on the third of May", "letter", 1),
        ):
            answer = await avatars.pipeline(avatar).answer(question)
            cited = answer_view(avatar.id, answer).citations[0]
            assert words in cited.quote
            assert (cited.source_id, cited.page) == (source, page)
            assert cited.recognition is not None
            assert 0.8 < cited.recognition <= 1
            assert cited.page_image == f"avatar://ida-brandt/pages/{source}/{page}"
            with Image.open(io.BytesIO(await avatar.page_picture(source, str(page)))) as shown:
                assert (shown.format, shown.size) == ("WEBP", (1000, 1200))
        again = await avatars.ingest(folder)
        assert {line.path: line.status for line in again.lines} == {
            "report.pdf": "unchanged", "letter.jpg": "unchanged", "photo.png": "skipped",
        }  # fmt: skip
