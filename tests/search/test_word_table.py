"""Word tables: which words of a question find its candidates."""

from collections.abc import Sequence

import pytest

from pentad.kernel.ports import Database, Rows, Transaction
from pentad.rooms.agents.tasks.task_search import WORDS
from pentad.search.prefixes import prefix_text, question_words
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


async def put(database: Database, texts: Sequence[str]) -> None:
    def write(tx: Transaction) -> None:
        for number, text in enumerate(texts, 1):
            row = "INSERT INTO agent_task_texts (task, owner, seq, texts) VALUES (?, 'ada', 1, '{}') RETURNING number"
            assert tx.value(row, f"task-{number}") is not None
            WORDS.insert(tx, database.dialect, [(tx.value("SELECT max(number) FROM agent_task_texts"), [text])])

    await database.write(write)


@pytest.mark.parametrize(
    ("most", "expected"),
    [(100, ["zither", "gull", "harbour"]), (9, ["zither", "gull"]), (2, ["zither"]), (0, list[str]())],
)
@pytest.mark.requirement("search:rooms:bounded")
async def test_the_rarest_words_find_candidates_as_long_as_they_are_few(
    database: Database, most: int, expected: list[str]
) -> None:
    await put(database, ["harbour gull", "harbour gull", "harbour gull", *["harbour"] * 7, "zither"])

    def read(rows: Rows) -> list[str]:
        asked = [Word.plain(word) for word in ("harbour", "zither", "gull")]
        return [word.text for word in WORDS.rarest(rows, database.dialect, asked, most)]

    assert await database.read(read) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [("P-0042", [3]), ("plan b", [1, 2, 3]), ("b", [2]), ("the bill", [1, 2]), ("\u6c34", [4])],
)
@pytest.mark.requirement("search:rooms:short-words")
async def test_short_words_of_a_question_are_found_whole(
    database: Database, question: str, expected: list[int]
) -> None:
    texts = ["plans, bills and berths", "plan B of the bill", "permit P-0042 and its plan", "\u6c34\u95f8"]
    await put(database, texts)
    asked = question_words(question)

    def read(rows: Rows) -> list[int]:
        words = [Word.of_question(word) for word in asked]
        found = WORDS.having(database.dialect, WORDS.expression(database.dialect, words, "or"))
        return sorted(row[0] for row in rows.all(f"SELECT d.record FROM {found.text}", *found.params))

    assert await database.read(read) == expected
    counted = [number for number, text in enumerate(texts, 1) if any(map(prefix_text(text).times, asked))]
    assert counted == expected
