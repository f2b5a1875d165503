"""The rivals' side of the vector benchmark, run by an interpreter of their own: sqlite-vec and LanceDB.

`vector_stores.py VECTORS.npy QUESTIONS.npy SIZE` prints, for each way to search, the median milliseconds of a search
for ten, the vectors written a second and the recall. Both engines scan exactly; LanceDB also searches through an index
where it pays, at the fastest of several settings with a recall of .99, or the best recall if none has that. Both get
their vectors as they like them best: sqlite-vec in one transaction, LanceDB in large Arrow batches.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

_EXACT_QUESTIONS: Final = 10
"""An exact scan takes long at a million, and its recall is 1 anyway."""
_AT_ONCE: Final = 50_000
_WORTH_AN_INDEX: Final = 100_000
_PROBES: Final = (20, 40, 80, 160)
_REFINED: Final = (10, 50, 100)
_ENOUGH: Final = 0.99

Ask = Callable[[Any], list[int]]


@dataclass(frozen=True)
class Result:
    """One way to search."""

    name: str
    milliseconds: float
    per_second: float
    recall: float
    remark: str = ""


@dataclass(frozen=True)
class Task:
    """What every engine gets: vectors, questions, and what an exact scan answers."""

    rows: Any
    questions: Any
    right: list[set[int]]

    def asked(self, ask: Ask, count: int) -> tuple[float, float]:
        """The median time and the recall."""
        ask(self.questions[0])
        times: list[float] = []
        hits = 0
        for question, right in zip(self.questions[:count], self.right, strict=False):
            start = time.perf_counter()
            found = ask(question)
            times.append((time.perf_counter() - start) * 1e3)
            hits += len(right & set(found))
        return median(times), hits / (10 * len(times))


def say(text: str) -> None:
    print(f"  {text} ...", file=sys.stderr, flush=True)


def sqlite_vec(task: Task, folder: Path) -> Iterator[Result]:
    import apsw
    import sqlite_vec as extension

    connection = apsw.Connection(str(folder / "vec.db"))
    connection.enable_load_extension(True)
    connection.load_extension(extension.loadable_path())
    width = task.rows.shape[1]
    connection.execute(f"CREATE VIRTUAL TABLE vec USING vec0(embedding float[{width}] distance_metric=cosine)")
    say("sqlite-vec: writing")
    start = time.perf_counter()
    with connection:
        connection.executemany(
            "INSERT INTO vec (rowid, embedding) VALUES (?, ?)",
            ((place, row.tobytes()) for place, row in enumerate(task.rows)),
        )
    rate = len(task.rows) / (time.perf_counter() - start)
    sql = "SELECT rowid FROM vec WHERE embedding MATCH ? AND k = 10"
    say("sqlite-vec: asking")
    took, recall = task.asked(
        lambda question: [row[0] for row in connection.execute(sql, (question.tobytes(),))], _EXACT_QUESTIONS
    )
    yield Result("sqlite-vec", took, rate, recall)
    connection.close()


def lancedb(task: Task, folder: Path) -> Iterator[Result]:
    import lancedb as engine
    from lancedb.index import IvfPq

    say("LanceDB: writing")
    start = time.perf_counter()
    table = engine.connect(str(folder / "lance")).create_table("vectors", _batches(task.rows))
    written = time.perf_counter() - start

    def asking(probes: int = 0, refined: int = 0) -> Ask:
        def ask(question: Any) -> list[int]:
            query = table.search(question).distance_type("dot").select(["id", "_distance"]).limit(10)
            query = query.nprobes(probes).refine_factor(refined) if probes else query
            return query.to_arrow()["id"].to_pylist()

        return ask

    say("LanceDB: asking")
    took, recall = task.asked(asking(), _EXACT_QUESTIONS)
    yield Result("LanceDB, exact", took, len(task.rows) / written, recall)
    if len(task.rows) < _WORTH_AN_INDEX:
        return
    say("LanceDB: making its index")
    start = time.perf_counter()
    table.create_index("vector", config=IvfPq(distance_type="dot"))
    indexed = time.perf_counter() - start
    say("LanceDB: asking through it")
    tried = [
        (task.asked(asking(probes, refined), len(task.questions)), probes, refined)
        for refined, probes in product(_REFINED, _PROBES)
    ]
    good = [one for one in tried if one[0][1] >= _ENOUGH]
    (took, recall), probes, refined = min(good) if good else max(tried, key=lambda one: one[0][1])
    remark = f"{probes} probes, refined {refined} times: recall {recall:.3f}"
    yield Result("LanceDB, IVF_PQ", took, len(task.rows) / (written + indexed), recall, remark)


def _batches(rows: Any) -> Any:
    import pyarrow as pa

    width = rows.shape[1]
    schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), width))])

    def each() -> Iterator[Any]:
        for start in range(0, len(rows), _AT_ONCE):
            part = np.ascontiguousarray(rows[start : start + _AT_ONCE])
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(part.reshape(-1)), width)
            yield pa.record_batch([pa.array(np.arange(start, start + len(part))), vectors], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, each())


def main() -> None:
    rows = np.load(sys.argv[1], mmap_mode="r")[: int(sys.argv[3])]
    questions = np.load(sys.argv[2])
    cosines = rows @ questions.T
    right = [set(column.tolist()) for column in np.argpartition(cosines, -10, axis=0)[-10:].T]
    del cosines
    task = Task(rows, questions, right)
    results: list[Result] = []
    for engine in (sqlite_vec, lancedb):
        with tempfile.TemporaryDirectory(dir=Path(sys.argv[2]).parent) as folder:
            results += engine(task, Path(folder))
    print(json.dumps([asdict(result) for result in results]))


if __name__ == "__main__":
    main()
