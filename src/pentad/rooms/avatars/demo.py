"""Fills the room for `pentad demo`: two people of the nineteenth century, with corpora written for the demo.

The folders are ingested like any other. They are the same in every run, so a second start changes nothing.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.rooms.avatars.config import json_file
from pentad.rooms.avatars.corpus.ingest import CORPUS_FOLDER
from pentad.rooms.avatars.corpus.sources import SOURCES_FILE

if TYPE_CHECKING:
    from pentad.rooms.avatars.service import Avatars

FOLDERS: Final = Path(__file__).with_name("demo_avatars")
AVATARS: Final = ("charles-babbage", "florence-nightingale")
_PAGES: Final = ".pages.txt"
"""Files with this ending are converted to PDF."""


def write_avatar(avatar_id: str, into: Path) -> Path:
    """Write the folder of a demo avatar, with some of its texts as PDF."""
    from pentad.rooms.avatars.demo_avatars.pdf import printed

    folder = Path(shutil.copytree(FOLDERS / avatar_id, into / avatar_id))
    corpus = folder / CORPUS_FOLDER
    for source in _sources(corpus):
        text = corpus / f"{source['id']}{_PAGES}"
        if text.is_file():
            data = printed(text.read_text("utf-8"), int(source.get("front_pages", 0)))
            (corpus / f"{source['id']}.pdf").write_bytes(data)
            text.unlink()
    return folder


async def fill_demo(avatars: "Avatars") -> None:
    """Ingest both avatars."""
    with tempfile.TemporaryDirectory(prefix="pentad-demo-") as name:
        for avatar_id in AVATARS:
            await avatars.ingest(await asyncio.to_thread(write_avatar, avatar_id, Path(name)))


def _sources(corpus: Path) -> Iterator[dict[str, Any]]:
    described = cast("dict[str, Any]", json_file(corpus / SOURCES_FILE, "It describes the documents."))
    yield from cast("list[dict[str, Any]]", described["sources"])
