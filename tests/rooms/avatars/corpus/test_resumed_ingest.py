"""An ingest that was interrupted continues where it stopped."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pentad.rooms.avatars.corpus.ingest import IngestOptions
from pentad.rooms.avatars.corpus.ingest_report import Phase
from tests.rooms.avatars.folders import SETS, HashedWords, Library, avatar_folder
from tests.stores import Stores

pytestmark = pytest.mark.anyio

MANY = {f"{number}.txt": f"Canal {number} has a gate.".encode() for number in range(100)}


class Interrupted(Exception):
    pass


def interrupt(when: Phase, at: int) -> Callable[[Phase, int, int], None]:
    """Progress that ends the ingest at a point."""

    def progress(phase: Phase, done: int, _total: int) -> None:
        if phase == when and done >= at:
            raise Interrupted

    return progress


async def kept(library: Library) -> int:
    return await library.database.read(lambda rows: rows.value("SELECT COUNT(*) FROM avatar_checkpoints"))


@pytest.mark.requirement("avatars:ingest:resume")
async def test_documents_that_were_read_are_not_read_again(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", MANY)
    with pytest.raises(ExceptionGroup):
        await library.ingest.folder(folder, progress=interrupt("reading", 90))
    assert await library.corpora.list() == []
    (folder / "corpus" / "0.txt").write_bytes(b"Canal 0 has two gates.")
    report = await library.ingest.folder(folder)
    assert 0 < report.resumed < 100
    assert report.as_json()["resumed"] == report.resumed
    assert (len(report.of("added")), await kept(library)) == (100, 0)
    assert await library.found("canal 0 two gates", limit=1) == ["Canal 0 has two gates."]
    assert sorted((await library.everything()).values())[1] == "Canal 1 has a gate."


@pytest.mark.requirement("avatars:ingest:resume")
async def test_vectors_that_were_made_are_not_made_again(stores: Stores, tmp_path: Path):
    embedder = HashedWords(dimensions=4096)
    library = Library(await stores.open(SETS), tmp_path, embedder)
    folder = avatar_folder(tmp_path / "ada", {f"{number}.txt": f"Gate {number}.".encode() for number in range(130)})
    with pytest.raises(Interrupted):
        await library.ingest.folder(folder, progress=interrupt("embedding", 128))
    assert len(embedder.embedded) == 128
    await library.ingest.folder(folder)
    assert len(embedder.embedded) == 130
    assert await kept(library) == 0


@pytest.mark.requirement("avatars:ingest:resume")
async def test_a_forced_ingest_and_a_dry_run_leave_checkpoints_alone(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", MANY)
    with pytest.raises(ExceptionGroup):
        await library.ingest.folder(folder, IngestOptions(dry_run=True), interrupt("reading", 90))
    assert await kept(library) == 0
    with pytest.raises(ExceptionGroup):
        await library.ingest.folder(folder, progress=interrupt("reading", 90))
    assert await kept(library) > 0
    assert (await library.ingest.folder(folder, IngestOptions(force=True))).resumed == 0


@pytest.mark.requirement("avatars:ingest:resume")
async def test_what_an_avatar_left_goes_with_it(library: Library, tmp_path: Path):
    folder = avatar_folder(tmp_path / "ada", {"a.txt": b"Water."})
    await library.ingest.folder(folder)
    avatar_folder(tmp_path / "ada", MANY)
    with pytest.raises(ExceptionGroup):
        await library.ingest.folder(folder, progress=interrupt("reading", 90))
    await library.corpora.remove("ada-water")
    assert await kept(library) == 0
