"""`python -m benchmarks.metrics.client URL ORG LIMIT [FILE]`: queries all Anypoint collectors at once, without a cache.

The garbage collector runs as rarely as in a Pentad server. Prints times and calls as JSON. With a file, also writes
every request there, so that another client can send the same ones.
"""

import asyncio
import base64
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import uvloop

from pentad.cli.garbage_collection import collect_new_objects
from pentad.kernel.ports import Fetched
from pentad.net.fetch import HttpFetcher
from tests.anypoint.engine import APP, engine_for

Sent = tuple[str, str, dict[str, str], str | None]
"""Method, address, headers, and the body in base64."""


class Recording(HttpFetcher):
    """The core's fetcher, recording its requests."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Sent] = []

    async def fetch(self, url: str, *, headers: Mapping[str, str] | None = None, **more: Any) -> Fetched:
        body = more.get("body")
        coded = None if body is None else base64.b64encode(body).decode()
        self.sent.append((str(more.get("method", "GET")), url, dict(headers or {}), coded))
        return await super().fetch(url, headers=headers, **more)


async def main(url: str, org: str, limit: int, record: Path | None) -> None:
    from pentad.rooms.metrics.engine.query_engine import build_query

    fetcher = HttpFetcher() if record is None else Recording()
    engine = engine_for({"anypoint_url": url, "anypoint_org": org, **APP}, fetcher, limit)
    collect_new_objects()
    start, cpu = time.perf_counter(), time.process_time()
    answers = await asyncio.gather(
        *(
            engine.answer(name, build_query(engine.catalogue.find(name).info(), engine.clock))
            for name in engine.catalogue.ids()
        )
    )
    wall, spent = time.perf_counter() - start, time.process_time() - cpu
    failed = sum(answer.snapshot.coverage.failed for answer in answers)
    print(json.dumps({"wall": wall, "cpu": spent, "calls": engine.pool.calls, "failed": failed}))
    if isinstance(fetcher, Recording) and record is not None:
        record.write_text(json.dumps(fetcher.sent), encoding="utf-8")
    await fetcher.close()


if __name__ == "__main__":
    given = sys.argv[1:]
    uvloop.run(main(given[0], given[1], int(given[2]), Path(given[3]) if len(given) > 3 else None))
