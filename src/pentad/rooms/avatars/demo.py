"""Fills the room for `pentad demo`: two people of the nineteenth century, with corpora written for this purpose.

The folders are ingested like anybody's. Nothing in them changes from run to run, so a second start finds every document
unchanged and does nothing.
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
"""Ends the names of texts that are to be printed as PDF."""


def write_avatar(avatar_id: str, into: Path) -> Path:
    """The folder of one of the demo's avatars, complete with its printed documents."""
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
    """Bring both avatars in, or leave them as they are."""
    with tempfile.TemporaryDirectory(prefix="pentad-demo-") as name:
        for avatar_id in AVATARS:
            await avatars.ingest(await asyncio.to_thread(write_avatar, avatar_id, Path(name)))


def _sources(corpus: Path) -> Iterator[dict[str, Any]]:
    described = cast("dict[str, Any]", json_file(corpus / SOURCES_FILE, "It describes the documents."))
    yield from cast("list[dict[str, Any]]", described["sources"])
