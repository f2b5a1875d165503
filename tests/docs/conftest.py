"""What the tests of the pages share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "docs_src"


@pytest.fixture
def docs_src(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in the folder that holds the rooms of the pages."""
    monkeypatch.syspath_prepend(SOURCE)
    yield
    for name in ("notes_mounts", "notes_pages", "notes_room", "notes_schema", "shelves"):
        sys.modules.pop(name, None)
