"""`httpx_client.py FILE LIMIT`: the requests of the file, sent by httpx, so many at once; every answer is read as JSON.

It has nothing to plan and nothing to wait for: all requests are known from the start. Garbage is looked for as seldom
as in the client it is compared with. Prints what it took as JSON.
"""

import asyncio
import base64
import gc
import json
import sys
import time
from pathlib import Path

import httpx
import uvloop


async def main(file: Path, limit: int) -> None:
    waiting = iter(json.loads(file.read_text(encoding="utf-8")))
    sent = failed = 0

    async def work(client: httpx.AsyncClient) -> None:
        nonlocal sent, failed
        for method, url, headers, body in waiting:
            content = None if body is None else base64.b64decode(body)
            answer = await client.request(method, url, headers=headers, content=content)
            sent += 1
            failed += answer.status_code != 200
            answer.json()

    limits = httpx.Limits(max_connections=limit, max_keepalive_connections=limit)
    async with httpx.AsyncClient(limits=limits, timeout=300) as client:
        gc.set_threshold(20_000, 20, 50)
        gc.freeze()
        start, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(work(client) for _ in range(limit)))
        wall, spent = time.perf_counter() - start, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": spent, "calls": sent, "failed": failed}))


if __name__ == "__main__":
    uvloop.run(main(Path(sys.argv[1]), int(sys.argv[2])))
