"""The demo's avatars: there, described in full, with pages, and left alone once they are there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pentad.rooms.avatars.config import AvatarConfig, read_config, warnings
from pentad.rooms.avatars.interface.demo import AVATARS, FOLDERS, PEOPLE, fill_demo, printed, write_avatar
from pentad.rooms.avatars.room import ROOM
from pentad.rooms.avatars.service import Avatars

pytestmark = pytest.mark.anyio

EACH = pytest.mark.parametrize("avatar_id", PEOPLE)
FIELDS = {"id", "name", "description", "birthYear", "deathYear", "expertise", "corpus", "systemPrompt", "vectorStore",
          "mcpServer", "mcp", "persona"}  # fmt: skip


def test_the_demo_is_filled_by_the_room_itself():
    assert ROOM.demo is not None


@EACH
def test_a_configuration_uses_every_field_and_has_nothing_odd(avatar_id: str, tmp_path: Path):
    config = read_config(write_avatar(avatar_id, tmp_path))
    assert isinstance(config, AvatarConfig)
    assert set(config.as_json()) == FIELDS
    assert warnings(config) == []


@EACH
def test_every_document_is_described_dated_and_licensed_and_no_binary_is_kept(avatar_id: str):
    folder = FOLDERS / avatar_id / "corpus"
    sources = json.loads((folder / "sources.json").read_text("utf-8"))["sources"]
    files = {path.name.removesuffix(path.suffix).removesuffix(".pages") for path in folder.iterdir()} - {"sources"}
    assert {source["id"] for source in sources} == files
    assert {source["role"] for source in sources} == {"by", "about"}
    for source in sources:
        assert source["year"], source["id"]
        assert source["license"], source["id"]
        assert ("summary by the project" in source["notes"]) == (source["role"] == "by")
    for path in folder.iterdir():
        assert path.read_bytes().decode("utf-8")


@EACH
def test_a_corpus_is_of_a_size_to_be_read(avatar_id: str):
    words = [len(path.read_text("utf-8").split()) for path in (FOLDERS / avatar_id / "corpus").glob("*.[mth]*")]
    assert 6 <= len(words) <= 10
    assert 6_000 <= sum(words) <= 10_000


def test_the_rules_are_described_and_said_to_be_invented():
    folder = FOLDERS / "tree-office"
    assert warnings(read_config(folder)) == []
    sources = json.loads((folder / "corpus" / "sources.json").read_text("utf-8"))["sources"]
    assert {source["id"] for source in sources} == {one.stem for one in (folder / "corpus").iterdir()} - {"sources"}
    assert {source["notes"] for source in sources} == {"Invented for the demo."}


@pytest.mark.interop
async def test_all_formats_and_pages_are_there(by_words: Avatars):
    for avatar_id in PEOPLE:
        documents = await (await by_words.open(avatar_id)).sources()
        assert {document.format for document in documents} == {"pdf", "markdown", "text", "html"}
        assert all(document.pages is not None for document in documents if document.format == "pdf")
        late = [document for document in documents if document.role == "about"]
        assert all((document.year or 0) > 1910 for document in late)


@pytest.mark.interop
@EACH
async def test_every_sentence_of_a_printed_document_has_the_page_it_is_printed_on(by_words: Avatars, avatar_id: str):
    avatar = await by_words.open(avatar_id)
    looked_at = 0
    for passage in await avatar.some_passages(1000):
        if passage.page is not None:
            where = _printed_on(avatar_id, passage.source_id)
            for start, end in passage.sentences:
                text = " ".join(passage.content[start:end].split())
                pages = passage.pages(start, end)
                assert (pages.first, pages.last) == where(text), text
                looked_at += 1
    assert looked_at > 60


def _printed_on(avatar_id: str, source_id: str) -> Callable[[str], tuple[int | str, int | str]]:
    """Looks a sentence up in the text a document is printed from."""
    corpus = FOLDERS / avatar_id / "corpus"
    sources = json.loads((corpus / "sources.json").read_text("utf-8"))["sources"]
    front: int = next(source["front_pages"] for source in sources if source["id"] == source_id)
    pages = [" ".join(page.split()) for page in (corpus / f"{source_id}.pages.txt").read_text("utf-8").split("\f")]
    labels: list[int | str] = [*("i", "ii")[:front], *range(1, len(pages) - front + 1)]

    def where(text: str) -> tuple[int | str, int | str]:
        (label,) = (label for label, page in zip(labels, pages, strict=True) if text in page)
        return label, label

    return where


@pytest.mark.interop
async def test_filling_it_again_changes_nothing(by_words: Avatars):
    before = [(one.id, one.generation, one.updated_at) for one in await by_words.list()]
    assert [one[0] for one in before] == list(AVATARS)
    await fill_demo(by_words)
    assert [(one.id, one.generation, one.updated_at) for one in await by_words.list()] == before


def test_a_text_is_printed_the_same_every_time_with_labels_for_its_pages():
    text = "A title\n\f\n\n\f\nThe first page (with brackets).\n"
    data = printed(text, 2)
    assert data == printed(text, 2)
    assert b"/Count 3" in data
    assert b"/Nums [0 << /S /r >> 2 << /S /D >>]" in data
