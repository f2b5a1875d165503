"""An ingest that is killed leaves the old generation whole, and the next one finishes the work."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rooms.avatars.folders import SETS, HashedWords, Library, avatar_folder
from tests.stores import Stores

pytestmark = [pytest.mark.anyio, pytest.mark.interop, pytest.mark.timeout(400)]


@pytest.mark.parametrize("when", ["reading", "embedding", "storing", "transaction"])
async def test_a_killed_ingest_leaves_the_old_generation_whole(stores: Stores, tmp_path: Path, when: str):
    library = Library(await stores.open(SETS), tmp_path, HashedWords())
    folder = avatar_folder(
        tmp_path / "ada", {"a.txt": b"Water flows.", "b.txt": b"Land stays.", "c.txt": b"Fire burns."}
    )
    await library.ingest.folder(folder)
    before = await library.everything()
    (folder / "corpus" / "b.txt").write_bytes(b"Land moves.")
    (folder / "corpus" / "c.txt").unlink()
    arguments = [stores.url or "", str(stores.data), str(folder), when]
    killed = subprocess.run(
        [sys.executable, "-m", "tests.rooms.avatars.corpus.dying_ingest", *arguments],
        check=False, timeout=300, capture_output=True, cwd=Path(__file__).parents[4],
    )  # fmt: skip
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert await library.everything() == before
    avatar = await library.corpora.get("ada-water")
    assert (avatar.generation, avatar.documents, avatar.passages) == (1, 3, 3)
    assert await library.found("land", limit=1) == ["Land stays."]
    assert (await library.corpora.ranking(avatar, "fire burns", 1)).retrieval == "hybrid"
    report = await library.ingest.folder(folder)
    assert (report.generation, len(report.of("changed")), len(report.of("removed"))) == (2, 1, 1)
    assert sorted((await library.everything()).values()) == ["Land moves.", "Water flows."]
    assert await library.found("land", limit=1) == ["Land moves."]
