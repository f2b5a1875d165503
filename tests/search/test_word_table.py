"""Word tables: which words of a question find its candidates."""

import pytest

from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.agents.tasks.task_search import WORDS
from pentad.search.word_table import Word
from pentad.storage.migrations import STORAGE, MigrationSet
from tests.stores import Stores

pytestmark = pytest.mark.anyio
SETS = (
    STORAGE,
    MigrationSet("jobs", "pentad.jobs.schema"),
    MigrationSet("access", "pentad.access.schema"),
    MigrationSet("agents", "pentad.rooms.agents.schema"),
)


@pytest.fixture
async def database(stores: Stores) -> Database:
    return await stores.open(SETS)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(100, ["zither", "gull", "harbour"]), (9, ["zither", "gull"]), (2, ["zither"]), (0, list[str]())],
)
@pytest.mark.requirement("search:rooms:bounded")
async def test_the_rarest_words_find_candidates_as_long_as_they_are_few(
    database: Database, most: int, expected: list[str]
) -> None:
    texts = ["harbour gull", "harbour gull", "harbour gull"] + ["harbour"] * 7 + ["zither"]

    def write(tx: Transaction) -> None:
        for number, text in enumerate(texts, 1):
            put = "INSERT INTO agent_task_texts (task, owner, seq, texts) VALUES (?, 'ada', 1, '{}') RETURNING number"
            assert tx.value(put, f"task-{number}") is not None
            WORDS.insert(tx, database.dialect, [(tx.value("SELECT max(number) FROM agent_task_texts"), [text])])

    await database.write(write)

    def read(rows: Rows) -> list[str]:
        asked = [Word.plain(word) for word in ("harbour", "zither", "gull")]
        return [word.text for word in WORDS.rarest(rows, database.dialect, asked, most)]

    assert await database.read(read) == expected
