"""What search costs as a collection grows: vectors beside an exact scan, sqlite-vec and LanceDB; whole questions; and
a search over all rooms beside one of the largest.

Pentad and the exact scan run in one process, the rivals in another, one after the other; each has the whole machine.
"""

import asyncio
import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.effort import Effort
from benchmarks.environment import CACHE, ROOT, python_with, say
from benchmarks.process import spread_out
from benchmarks.search.lanes import PER_ROUND, Lane, grown
from benchmarks.search.material import DIMENSIONS, Vectors, questions, vectors_file
from benchmarks.search.rooms import rooms_figures
from benchmarks.table import Figure, Goal

_SMALL: Final = (1_000, 10_000)
_RIVALS: Final = ("sqlite-vec==0.1.9", "apsw", "lancedb==0.40.0", "pyarrow", "numpy")
_NUMPY: Final = f"numpy {np.__version__}, exact"
_AHEAD: Final = Goal("at most", 1.0)
_WRITTEN: Final = "vectors alone written, until they can be asked"

Results = list[dict[str, Any]]


def measure(effort: Effort) -> list[Figure]:
    """Every figure of this part."""
    python = python_with("vectors", _RIVALS)
    # A new process: numpy counts the cores it may use when it is loaded, and this one was moved to a single core.
    with ProcessPoolExecutor(1, get_context("spawn"), spread_out) as apart:
        measured, rooms = apart.submit(_measured, effort, python).result()
    return [figure for lane, rivals in measured for figure in (*_own(lane), *_beside(lane, rivals))] + rooms


def _measured(effort: Effort, python: Path) -> tuple[list[tuple[Lane, Results]], list[Figure]]:
    sizes = sorted({*_SMALL, effort.objects, effort.objects * 10})
    file = vectors_file(sizes[-1])
    rows: Vectors = np.load(file, mmap_mode="r")
    asked = questions(rows, effort.rounds * PER_ROUND)
    place = CACHE / "search" / "questions.npy"
    np.save(place, asked)

    async def each() -> list[tuple[Lane, Results]]:
        # The rivals come right after each size, so that all of it is measured under the same circumstances.
        return [(lane, _rivals(python, (file, place), lane.size)) async for lane in grown(sizes, rows, asked, effort)]

    return asyncio.run(each()), rooms_figures(effort.objects * 10, rows, asked, effort)


def _rivals(python: Path, files: Sequence[Path], size: int) -> Results:
    say(f"Search: sqlite-vec and LanceDB over {size:,} vectors ...")
    script = ROOT / "benchmarks" / "rivals" / "vector_stores.py"
    done = subprocess.run([python, script, *files, str(size)], stdout=subprocess.PIPE, check=True)
    results: Results = json.loads(done.stdout)
    for result in results:
        say(f"  {result['name']}: {result['milliseconds']:.1f} ms, {result['per_second']:,.0f} written/s")
    return results


def _own(lane: Lane) -> Iterator[Figure]:
    """Pentad beside the exact scan."""
    bound = {10_000: 2.0, 1_000_000: 0.25}.get(lane.size)
    goal = None if bound is None else Goal("at most", bound)
    group = f"Search, {lane.size:,} vectors of {DIMENSIONS} dimensions, beside an exact scan"

    def figure(
        name: str, unit: str, value: float, rival: float | None = None, goal: Goal | None = None, remark: str = ""
    ) -> Figure:
        return Figure(group, name, unit, value, rival, goal, remark, against=_NUMPY)

    yield figure("vector part, nearest 10", "ms", lane.vector, lane.exact, goal)
    yield figure("recall of the nearest 10", "", lane.recall, None, Goal("at least", 0.99, "figure"))
    without = "" if lane.embedded else "without a model: nothing was embedded"
    most = Goal("at most", 15.0, "figure")
    yield figure("whole question beyond the vector part", "ms", lane.beyond, None, most, without)
    yield figure("words alone", "ms", lane.words, None, Goal("at most", 10.0, "figure"))
    yield figure("words and vectors written, until they can be asked", "passages/s", lane.passages_per_second)


def _beside(lane: Lane, rivals: Results) -> Iterator[Figure]:
    for rival in rivals:
        name, remark = rival["name"], rival["remark"]
        group = f"Search, {lane.size:,} vectors, beside {name}"
        theirs, rate = rival["milliseconds"], rival["per_second"]
        yield Figure(group, "vector part, nearest 10", "ms", lane.vector, theirs, _AHEAD, remark, against=name)
        yield Figure(group, _WRITTEN, "vectors/s", lane.vectors_per_second, rate, against=name)
