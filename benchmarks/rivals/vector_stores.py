"""The rivals' side of the vector benchmark, run by an interpreter of their own: sqlite-vec and LanceDB, exact search.

`vector_stores.py VECTORS.npy QUESTIONS.npy SIZE` prints, for each engine, the median milliseconds of a search for ten.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

Asking = Callable[[Any], Any]


def sqlite_vec(rows: Any, folder: Path) -> Asking:
    import apsw
    import sqlite_vec as extension

    connection = apsw.Connection(str(folder / "vec.db"))
    connection.enable_load_extension(True)
    connection.load_extension(extension.loadable_path())
    connection.execute(f"CREATE VIRTUAL TABLE vec USING vec0(embedding float[{rows.shape[1]}] distance_metric=cosine)")
    with connection:
        connection.executemany(
            "INSERT INTO vec (rowid, embedding) VALUES (?, ?)",
            ((place, row.tobytes()) for place, row in enumerate(rows)),
        )
    sql = "SELECT rowid FROM vec WHERE embedding MATCH ? AND k = 10"
    return lambda question: [row[0] for row in connection.execute(sql, (question.tobytes(),))]


def lancedb(rows: Any, folder: Path) -> Asking:
    import lancedb as engine
    import pyarrow as pa

    values = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(rows).reshape(-1)), rows.shape[1])
    data = pa.table({"id": pa.array(np.arange(len(rows))), "vector": values})
    table = engine.connect(str(folder / "lance")).create_table("vectors", data)

    def ask(question: Any) -> list[int]:
        found = table.search(question).distance_type("dot").select(["id", "_distance"]).limit(10).to_arrow()
        return found["id"].to_pylist()

    return ask


def timed(ask: Asking, questions: Any) -> float:
    ask(questions[0])
    times: list[float] = []
    for question in questions:
        start = time.perf_counter()
        ask(question)
        times.append((time.perf_counter() - start) * 1e3)
    return median(times)


def main() -> None:
    rows = np.load(sys.argv[1], mmap_mode="r")[: int(sys.argv[3])]
    questions = np.load(sys.argv[2])
    found: dict[str, float] = {}
    for name, engine in (("sqlite-vec", sqlite_vec), ("LanceDB", lancedb)):
        with tempfile.TemporaryDirectory() as folder:
            found[name] = timed(engine(rows, Path(folder)), questions)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
