"""Ingest over both stores: what comes in, what stays as it was, what goes, and what is said of each file."""

import hashlib
from pathlib import Path

import pytest

from pentad.documents.sandbox import ReadingLimits
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.rooms.avatars.corpus.ingest import IngestOptions
from tests.documents import papers
from tests.rooms.avatars.folders import SETS, HashedWords, Library, avatar_folder, statuses
from tests.stores import Stores

pytestmark = pytest.mark.anyio

TURNS = papers.pdf(
    [["Villagers take turns at the canal. Each turn lasts one day."], [], ["A guard watches the gate at night. He is",
     ], ["paid in grain by all the users of the canal."]],
    labels=[(0, "/S /r"), (2, "/S /D /St 1")],
)  # fmt: skip
LETTER = b"# Letter to Bo\n\nThe harvest was good in Nepal.\n\n## News\n\nThe dam leaks again."


@pytest.mark.usefixtures("readers_are_processes")
async def test_a_folder_becomes_an_avatar_with_right_pages_and_sections(library: Library, tmp_path: Path):
    sources = {"sources": [{"id": "turns-1950", "title": "On Turns", "year": 1950, "type": "lecture", "role": "by"}]}
    folder = avatar_folder(tmp_path / "ada", {"open/turns-1950.pdf": TURNS, "letter.md": LETTER}, sources)
    report = await library.ingest.folder(folder)
    assert statuses(report) == {"letter.md": "added", "open/turns-1950.pdf": "added"}
    assert (report.generation, report.stored, report.warnings) == (1, True, [])
    avatar = await library.corpora.get("ada-water")
    assert (avatar.documents, avatar.passages) == (2, 3)
    ranking = await library.corpora.ranking(avatar, "who pays the guard in grain", 1)
    (passage,) = await library.corpora.passages(avatar, [ranking.hits[0].id])
    assert "A guard watches the gate at night. He is paid in grain by all the users of the canal." in passage.content
    assert (passage.source, passage.source_id, passage.year, passage.type) == (
        "On Turns",
        "turns-1950",
        1950,
        "lecture",
    )
    assert (passage.page, passage.page_end) == (1, 4)
    assert (passage.printed_page, passage.printed_page_end, passage.cited_page) == ("i", "2", "i")
    assert passage.sha256 == hashlib.sha256(TURNS).hexdigest()
    text = await library.corpora.text(passage.document)
    assert text[passage.char_start : passage.char_end] == passage.content
    ranking = await library.corpora.ranking(avatar, "leaking dam", 1)
    (passage,) = await library.corpora.passages(avatar, [ranking.hits[0].id])
    assert (passage.source, passage.page, passage.cited_page, passage.section) == (
        "letter", None, None, "Letter to Bo > News",
    )  # fmt: skip


async def test_the_nearest_heading_is_part_of_what_a_passage_means(stores: Stores, tmp_path: Path):
    embedder = HashedWords()
    library = Library(await stores.open(SETS), tmp_path, embedder)
    await library.ingest.folder(avatar_folder(tmp_path / "ada", {"letter.md": LETTER}))
    assert embedder.embedded == ["Letter to Bo\nThe harvest was good in Nepal.", "News\nThe dam leaks again."]


async def test_offsets_and_hashes_reproduce_every_passage(library: Library, tmp_path: Path):
    text = " ".join(f"Sentence {n} is about village {n % 7}, e.g. its canal." for n in range(80)).encode()
    await library.ingest.folder(avatar_folder(tmp_path / "ada", {"a.txt": text, "b.pdf": TURNS}))
    avatar = await library.corpora.get("ada-water")
    passages = await library.corpora.passages(avatar, list(await library.everything()))
    assert len(passages) == avatar.passages > 10
    for passage in passages:
        whole = await library.corpora.text(passage.document)
        assert whole[passage.char_start : passage.char_end] == passage.content
        assert hashlib.sha256(passage.content.encode()).hexdigest() == passage.content_sha256
        assert passage.sentences[0][0] == 0
        assert passage.sentences[-1][1] == len(passage.content)


async def test_what_did_not_change_keeps_its_passages_and_vectors(hybrid: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows down.", "b.txt": b"Land stays there."})
    await hybrid.ingest.folder(folder)
    before = await hybrid.everything()
    assert isinstance(hybrid.search.embedder, HashedWords)
    embedded = hybrid.search.embedder.embedded
    embedded.clear()
    again = await hybrid.ingest.folder(folder)
    assert (again.stored, again.generation, set(statuses(again).values())) == (False, 1, {"unchanged"})
    (folder / "corpus" / "b.txt").write_bytes(b"Land moves slowly.")
    (folder / "corpus" / "c.txt").write_bytes(b"Fire burns bright.")
    report = await hybrid.ingest.folder(folder)
    assert statuses(report) == {"a.txt": "unchanged", "b.txt": "changed", "c.txt": "added"}
    after = await hybrid.everything()
    assert [number for number in before if after.get(number) == before[number]] == [1]
    assert sorted(after.values()) == ["Fire burns bright.", "Land moves slowly.", "Water flows down."]
    assert not set(after) & (set(before) - {1})
    assert sorted(embedded) == ["Fire burns bright.", "Land moves slowly."]
    assert await hybrid.found("land stays there", limit=1) == ["Land moves slowly."]
    ranking = await hybrid.corpora.ranking(await hybrid.corpora.get("ada-water"), "water flows", 3)
    assert ranking.retrieval == "hybrid"
    assert all(hit.cosine is not None for hit in ranking.hits)


async def test_a_document_whose_file_is_gone_goes(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."})
    await library.ingest.folder(folder)
    (folder / "corpus" / "b.txt").unlink()
    report = await library.ingest.folder(folder)
    assert statuses(report) == {"a.txt": "unchanged", "b.txt": "removed"}
    assert list((await library.everything()).values()) == ["Water flows."]
    assert await library.found("land") == []


async def test_a_moved_file_keeps_its_passages(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."})
    await library.ingest.folder(folder)
    before = await library.everything()
    (folder / "corpus" / "b.txt").rename(folder / "corpus" / "z.txt")
    report = await library.ingest.folder(folder)
    assert [(line.path, line.status, line.note) for line in report.lines] == [
        ("a.txt", "unchanged", None), ("z.txt", "changed", "was b.txt"),
    ]  # fmt: skip
    assert await library.everything() == before


async def test_descriptions_are_refreshed_and_archive_addresses_kept(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    await library.ingest.folder(folder)
    entry = {"id": "a", "title": "On Water", "year": 1951, "role": "about", "archive_url": "https://archive.example/a"}
    report = await library.ingest.folder(avatar_folder(folder, {}, {"sources": [entry]}))
    assert [(line.status, line.note) for line in report.lines] == [("changed", "its description only")]
    avatar = await library.corpora.get("ada-water")
    (document,) = await library.corpora.sources(avatar)
    assert (document.title, document.year, document.role) == ("On Water", 1951, "about")
    assert document.details["archive_url"] == "https://archive.example/a"
    (passage,) = await library.corpora.passages(avatar, [1])
    assert (passage.source, passage.role) == ("On Water", "about")


async def test_documents_of_one_title_are_two(library: Library, tmp_path: Path):
    sources = {"sources": [{"id": "x", "title": "Same"}, {"id": "y", "title": "Same"}]}
    files = {"x.txt": b"Water.", "y.txt": b"Land.", "a/n.txt": b"Fire.", "b/n.txt": b"Air."}
    await library.ingest.folder(avatar_folder(tmp_path / "ada", files, sources))
    found = await library.corpora.sources(await library.corpora.get("ada-water"))
    assert sorted((document.title, document.source_id) for document in found) == [
        ("Same", "x"), ("Same", "y"), ("n", "b-n-txt"), ("n", "n"),
    ]  # fmt: skip


async def test_copies_are_brought_in_once(library: Library, tmp_path: Path):
    report = await library.ingest.folder(avatar_folder(tmp_path / "ada", {"a.txt": b"Water.", "b.txt": b"Water."}))
    assert [(line.path, line.status, line.note) for line in report.lines] == [
        ("a.txt", "added", None), ("b.txt", "skipped", "the same bytes as a.txt"),
    ]  # fmt: skip
    assert len(await library.everything()) == 1


@pytest.mark.usefixtures("readers_are_processes")
async def test_bad_documents_are_lines_of_the_report_and_harm_nothing(stores: Stores, tmp_path: Path):
    library = Library(await stores.open(SETS), tmp_path, limits=ReadingLimits(file_bytes=20_000))
    folder = avatar_folder(
        tmp_path / "ada",
        {
            "good.txt": b"Water flows.", "broken.pdf": b"%PDF-1.4 no",
            "locked.pdf": papers.pdf([["x"]], encrypted=True),
            "scan.pdf": papers.pdf([[], []]), "empty.txt": b"", "huge.txt": b"x" * 20_001, "bomb.docx": b"PK\x03\x04",
            "picture.png": b"x", ".hidden.txt": b"Unseen.", ".git/x.txt": b"Unseen.",
        },
    )  # fmt: skip
    (tmp_path / "secret.txt").write_bytes(b"Secret.")
    (folder / "corpus" / "link.txt").symlink_to(tmp_path / "secret.txt")
    report = await library.ingest.folder(folder)
    assert {line.path: line.reason for line in report.of("failed")} == {
        "broken.pdf": "damaged", "locked.pdf": "encrypted", "scan.pdf": "no_text", "empty.txt": "empty",
        "huge.txt": "too_large", "bomb.docx": "damaged",
    }  # fmt: skip
    assert all(line.note and "\n" not in line.note and str(tmp_path) not in line.note for line in report.of("failed"))
    assert {line.path for line in report.of("skipped")} == {"link.txt", "picture.png"}
    assert list((await library.everything()).values()) == ["Water flows."]


async def test_a_document_that_can_no_longer_be_read_keeps_its_former_version(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.pdf": TURNS})
    await library.ingest.folder(folder)
    before = await library.everything()
    (folder / "corpus" / "a.pdf").write_bytes(b"%PDF-1.4 broken now")
    for options in (IngestOptions(), IngestOptions(force=True)):
        report = await library.ingest.folder(folder, options)
        assert [(line.status, line.reason) for line in report.lines] == [("failed", "damaged")]
        assert "The former version stays." in (report.lines[0].note or "")
        assert await library.everything() == before


async def test_a_corpus_that_vanished_does_not_empty_the_avatar(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    await library.ingest.folder(folder)
    (folder / "corpus" / "a.txt").unlink()
    with pytest.raises(InvalidInput, match="no document in the folder any more"):
        await library.ingest.folder(folder)
    assert await library.found("water") == ["Water flows."]


async def test_a_folder_without_documents_says_what_it_may_hold(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"notes.xyz": b"Water flows."})
    report = await library.ingest.folder(folder)
    assert any("no documents (PDF, Markdown" in warning for warning in report.warnings)


async def test_an_embedder_that_fails_costs_no_document(stores: Stores, tmp_path: Path):
    library = Library(await stores.open(SETS), tmp_path, _Silent())
    report = await library.ingest.folder(avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."}))
    assert report.warnings == [
        "not embedded yet, found by words until then: The model is out. Try later.",
    ]
    assert await library.found("water") == ["Water flows."]


class _Silent:
    model = "silent"
    dimensions = 8

    async def embed(self, texts: object) -> bytes:
        raise Unavailable("The model is out.", hint="Try later.")


async def test_another_model_embeds_everything_anew(stores: Stores, tmp_path: Path):
    database = await stores.open(SETS)
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."})
    await Library(database, tmp_path, HashedWords("one", 16)).ingest.folder(folder)
    other = Library(database, tmp_path, HashedWords("two", 24))
    before = await other.everything()
    report = await other.ingest.folder(folder)
    assert (report.stored, report.generation, set(statuses(report).values())) == (True, 2, {"unchanged"})
    avatar = await other.corpora.get("ada-water")
    assert avatar.collection == "avatar:ada-water:2"
    assert (await other.corpora.ranking(avatar, "water", 2)).retrieval == "hybrid"
    assert await other.everything() == before


async def test_vectors_that_were_missing_are_made_once_there_is_a_model(stores: Stores, tmp_path: Path):
    database = await stores.open(SETS)
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    await Library(database, tmp_path).ingest.folder(folder)
    (folder / "corpus" / "b.txt").write_bytes(b"Land stays.")
    later = Library(database, tmp_path, HashedWords())
    await later.ingest.folder(folder)
    ranking = await later.corpora.ranking(await later.corpora.get("ada-water"), "water", 5)
    assert ranking.retrieval == "hybrid"
    assert [hit.cosine is None for hit in ranking.hits] == [False, False]
