"""The page on avatars shows what the room really answers."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.touring import ROOT, check_page, tour_named


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
    check_page(ROOT / "docs" / "avatars.md", tour_named(monkeypatch, "avatars_tour"), "avatars", tmp_path, steady)
