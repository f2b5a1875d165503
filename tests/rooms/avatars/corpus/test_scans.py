"""Scans and pictures in a folder, where nothing can read them."""

from pathlib import Path

import pytest

from tests.documents import papers
from tests.rooms.avatars.folders import Library, avatar_folder

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("documents:scan:hint")
async def test_scans_and_pictures_are_left_out_with_a_hint_if_nothing_can_read_them(library: Library, tmp_path: Path):
    files = {
        "a.md": b"# A\n\nThe dam leaks.",
        "letter.png": papers.picture(["Dear Bo"]),
        "scan.pdf": papers.scan([["Dear Bo"]]),
    }
    report = await library.ingest.folder(avatar_folder(tmp_path / "ada", files))
    said = {line.path: (line.status, line.note or "") for line in report.lines}
    assert {path: status for path, (status, _) in said.items()} == {
        "a.md": "added", "letter.png": "skipped", "scan.pdf": "failed",
    }  # fmt: skip
    assert all("pip install 'pentad[ocr]'" in said[path][1] for path in ("letter.png", "scan.pdf"))
