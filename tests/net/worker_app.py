"""A worker as `pentad serve --workers` runs one: it says which process answered, and fails at the start if asked."""

import asyncio
import os
import sys
from typing import Any

from pentad.kernel.default_limits import Limits
from pentad.net.http_server import new_event_loop, serve
from pentad.net.supervisor import inherited


async def app(scope: Any, receive: Any, send: Any) -> None:
    body = str(os.getpid()).encode()
    headers = [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    if "fail" in sys.argv:
        sys.exit(3)
    link = inherited()
    assert link is not None
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve(app, listener=link.listener, ready=link.announce, limits=Limits()))
    link.close()


if __name__ == "__main__":
    main()
