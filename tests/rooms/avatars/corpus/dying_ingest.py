"""An ingest in a process of its own that is killed at a given point: `dying_ingest URL DATA FOLDER WHEN`.

WHEN is a phase of the ingest, or `transaction`: after everything was written and before it is committed.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pentad.kernel.clock import SystemClock
from pentad.kernel.ports import Transaction
from pentad.rooms.avatars.corpus.ingest import Ingest
from pentad.rooms.avatars.corpus.ingest_report import Phase
from pentad.search.documents import Document
from pentad.search.index import SearchIndex
from pentad.storage.open import open_database
from tests.rooms.avatars.folders import HashedWords


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingIndex(SearchIndex):
    """The real index; the process ends while its transaction is open."""

    def put(self, tx: Transaction, collection: str, documents: Sequence[Document]) -> None:
        super().put(tx, collection, documents)
        die()


async def main(url: str, data: Path, folder: Path, when: str) -> None:
    database = await open_database(url or None, data)
    index = DyingIndex if when == "transaction" else SearchIndex
    search = index(database, data / "search", HashedWords())

    def progress(phase: Phase, done: int, total: int) -> None:
        if phase == when:
            die()

    await Ingest(database, search, SystemClock()).folder(folder, progress=progress)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]))
