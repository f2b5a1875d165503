"""What an ingest can be asked for, and what is asked of an avatar afterwards, over both stores."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pentad.kernel.errors import Conflict, NotFound
from pentad.rooms.avatars.corpus.ingest import IngestOptions
from pentad.rooms.avatars.corpus.ingest_report import IngestReport
from pentad.rooms.avatars.store import Filters
from tests.rooms.avatars.folders import CONFIG, SETS, HashedWords, Library, avatar_folder, statuses
from tests.stores import Stores

pytestmark = pytest.mark.anyio


async def test_a_dry_run_tells_and_changes_nothing(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    report = await library.ingest.folder(folder, IngestOptions(dry_run=True))
    assert (report.stored, [(line.status, line.passages) for line in report.lines]) == (False, [("added", 1)])
    assert await library.corpora.list() == []


async def test_force_reads_everything_again_and_leaves_nothing_of_the_old(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."})
    await library.ingest.folder(folder)
    report = await library.ingest.folder(folder, IngestOptions(force=True))
    assert (report.generation, set(statuses(report).values())) == (2, {"changed"})
    assert list(await library.everything()) == [3, 4]
    assert await library.found("water") == ["Water flows."]
    avatar = await library.corpora.get("ada-water")
    assert (avatar.documents, avatar.passages, avatar.collection) == (2, 2, "avatar:ada-water:2")


async def test_other_sizes_cut_the_documents_anew(library: Library, tmp_path: Path):
    text = " ".join(f"Sentence {n} is about water." for n in range(40)).encode()
    folder = avatar_folder(tmp_path / "ada", {"a.txt": text})
    await library.ingest.folder(folder)
    few = avatar_folder(folder, {}, vectorStore={"chunkSize": 200, "chunkOverlap": 0})
    before = len(await library.everything())
    assert statuses(await library.ingest.folder(few)) == {"a.txt": "changed"}
    assert len(await library.everything()) < before


async def test_one_source_may_be_ingested_alone(library: Library, tmp_path: Path):
    sources = {"sources": [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}]}
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."}, sources)
    report = await library.ingest.folder(folder, IngestOptions(source="b"))
    assert statuses(report) == {"b.txt": "added"}
    await library.ingest.folder(folder)
    (folder / "corpus" / "a.txt").unlink()
    report = await library.ingest.folder(folder, IngestOptions(source="b", force=True))
    assert statuses(report) == {"b.txt": "changed"}
    assert sorted((await library.everything()).values()) == ["Land stays.", "Water flows."]
    with pytest.raises(NotFound, match='Source "c" not found'):
        await library.ingest.folder(folder, IngestOptions(source="c"))


async def test_a_source_without_a_file_is_warned_of(library: Library, tmp_path: Path):
    sources = {"sources": [{"id": "a", "title": "A"}, {"id": "lost", "title": "Lost"}]}
    report = await library.ingest.folder(avatar_folder(tmp_path / "ada", {"a.txt": b"Water."}, sources))
    assert report.warnings == ["there is no file for 'Lost'"]


async def test_files_are_added_to_an_avatar_and_stay_when_its_folder_comes_again(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    await library.ingest.folder(folder)
    more = tmp_path / "more"
    (more / "deep").mkdir(parents=True)
    (more / "deep" / "c.txt").write_bytes(b"Fire burns.")
    extra = tmp_path / "extra.md"
    extra.write_bytes(b"Land stays.")
    report = await library.ingest.files("ada-water", [extra, more, tmp_path / "none.txt"])
    assert statuses(report) == {"extra.md": "added", "deep/c.txt": "added", "none.txt": "failed"}
    assert statuses(await library.ingest.folder(folder)) == {"a.txt": "unchanged"}
    assert len(await library.everything()) == 3
    extra.write_bytes(b"Land moves.")
    assert statuses(await library.ingest.files("ada-water", [extra])) == {"extra.md": "changed"}
    with pytest.raises(NotFound, match="no avatar 'nobody'"):
        await library.ingest.files("nobody", [extra])


async def test_an_ingest_that_was_overtaken_stores_nothing(stores: Stores, tmp_path: Path):
    quick = Library(await stores.open(SETS), tmp_path)
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."})
    other = avatar_folder(tmp_path / "other", {"a.txt": b"Water falls."})
    await quick.ingest.folder(folder)
    overtaken: list[IngestReport] = []

    class Held(HashedWords):
        async def embed(self, texts: Sequence[str]) -> bytes:
            if not overtaken:
                overtaken.append(await quick.ingest.folder(other))
            return await super().embed(texts)

    slow = Library(await stores.open(SETS), tmp_path, Held())
    (folder / "corpus" / "a.txt").write_bytes(b"Water stands.")
    with pytest.raises(Conflict, match="Another ingest changed ada-water"):
        await slow.ingest.folder(folder)
    assert list((await quick.everything()).values()) == ["Water falls."]


async def test_filters_take_documents_out_before_they_are_ranked(library: Library, tmp_path: Path):
    own = {"id": "own", "title": "Own", "year": 1950, "type": "book"}
    later = {"id": "later", "title": "Later", "year": 2016, "role": "about", "type": "paper"}
    sources = {"sources": [own, later]}
    files = {"own.txt": b"Water flows in turns.", "later.txt": b"Water water water flows.", "undated.txt": b"Water is."}
    await library.ingest.folder(avatar_folder(tmp_path / "ada", files, sources))
    avatar = await library.corpora.get("ada-water")

    async def sources_found(filters: Filters) -> list[str]:
        ranking = await library.corpora.ranking(avatar, "water", 10, filters)
        found = await library.corpora.passages(avatar, [hit.id for hit in ranking.hits])
        return sorted(passage.source for passage in found)

    assert await sources_found(Filters()) == ["Later", "Own", "undated"]
    assert await sources_found(Filters(roles=("by",))) == ["Own", "undated"]
    assert await sources_found(Filters(year_to=1979)) == ["Own"]
    assert await sources_found(Filters(year_from=2000)) == ["Later"]
    assert await sources_found(Filters(source_ids=("undated",))) == ["undated"]
    assert await sources_found(Filters(types=("book", "paper"), roles=("about",))) == ["Later"]
    assert await sources_found(Filters(roles=())) == []


async def test_an_avatar_is_removed_with_all_it_has(library: Library, tmp_path: Path):
    await library.ingest.folder(avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."}))
    await library.ingest.folder(avatar_folder(tmp_path / "bo", {"a.txt": b"Water stands."}, id="bo"))
    await library.corpora.remove("ada-water")
    assert [avatar.id for avatar in await library.corpora.list()] == ["bo"]
    counts = await library.database.read(
        lambda rows: [rows.value(f"SELECT COUNT(*) FROM {table}") for table in
                      ("avatar_documents", "avatar_texts", "avatar_passages")]
    )  # fmt: skip
    assert counts == [1, 1, 1]
    with pytest.raises(NotFound, match="no avatar 'ada-water'"):
        await library.corpora.get("ada-water")
    await library.ingest.folder(tmp_path / "ada")
    assert await library.found("water") == ["Water flows."]


async def test_what_the_configuration_says_is_stored_and_refreshed(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows."}, eightPrinciples=["one"])
    await library.ingest.folder(folder)
    assert (await library.corpora.get("ada-water")).config.as_json() == {**CONFIG, "eightPrinciples": ["one"]}
    report = await library.ingest.folder(avatar_folder(folder, {}, description="New words."))
    assert (report.stored, statuses(report)) == (True, {"a.txt": "unchanged"})
    assert (await library.corpora.list())[0].description == "New words."


async def test_progress_is_told_by_phase(hybrid: Library, tmp_path: Path):
    told: list[tuple[str, int, int]] = []
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."})
    await hybrid.ingest.folder(folder, progress=lambda phase, done, total: told.append((phase, done, total)))
    assert told == [("reading", 1, 2), ("reading", 2, 2), ("embedding", 2, 2), ("storing", 0, 1), ("storing", 1, 1)]


async def test_a_file_that_may_not_be_read_is_a_line(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays."})
    os.mkfifo(folder / "corpus" / "pipe.txt")
    report = await library.ingest.folder(folder)
    assert statuses(report) == {"a.txt": "added", "b.txt": "added", "pipe.txt": "failed"}
