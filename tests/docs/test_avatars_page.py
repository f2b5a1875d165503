"""The page on avatars shows what the room really answers."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.touring import ROOT, check_page, tour_named
from tests.documents.papers import pdf

PAPERS = {
    "report-1927.pdf": [
        ["Report of the water board for 1927"],
        [],
        ["After the flood the northern gate was rebuilt in oak, though the engineers had advised iron.",
         "The work took eleven weeks and cost 4,300 crowns."],
        ["The southern gate was tarred and its hinges were greased. It will last another ten years."],
    ],
    "minutes-1928.pdf": [
        ["Minutes of the board, March 1928. Seven members were present.",
         "The board resolved to read the tide gauge twice a day and to keep a register of every reading."],
    ],
}  # fmt: skip
"""The tutorial's PDF files. The second page of the report is blank."""


def steady(text: str) -> str:
    """Only the ids of answers differ from run to run."""
    return re.sub(r"(/answers/)[\w-]{16}", r"\g<1>4Jm2xVbq7ZtRk0Wc", text)


@pytest.mark.requirement("avatars:page")
def test_the_page_shows_what_the_room_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_DATA_HOME", "PENTAD_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))  # no embedding model: its figures differ a little between processors
    for folder in (ROOT / "docs_src" / "avatars").iterdir():
        shutil.copytree(folder, tmp_path / folder.name)
    (tmp_path / "papers").mkdir()
    for name, pages in PAPERS.items():
        (tmp_path / "papers" / name).write_bytes(pdf(pages))
    check_page(ROOT / "docs" / "avatars.md", tour_named(monkeypatch, "avatars_tour"), "avatars", tmp_path, steady)
