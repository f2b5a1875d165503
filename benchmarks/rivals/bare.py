"""The practical limit: the least an HTTP server in Python can do and still answer the call.

Decodes the message, compares one header, encodes the answer; no session, no check of arguments, no trail. Run as a
script: `bare.py PORT`. It is a yardstick, not a server anybody should run.
"""

import sys
from typing import Any

import msgspec
import uvicorn


class Params(msgspec.Struct):
    name: str
    arguments: dict[str, str]


class Request(msgspec.Struct):
    id: int
    method: str
    params: Params


DECODER = msgspec.json.Decoder(Request)
JSON = (b"content-type", b"application/json")


async def answer(scope: Any, receive: Any, send: Any) -> None:
    request = DECODER.decode((await receive())["body"])
    version = next((value for name, value in scope["headers"] if name == b"mcp-protocol-version"), b"")
    status = 200 if version == b"2026-07-28" else 400
    content = [{"type": "text", "text": request.params.arguments["text"]}]
    body = msgspec.json.encode(
        {"jsonrpc": "2.0", "id": request.id, "result": {"resultType": "complete", "content": content}}
    )
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [JSON, (b"content-length", b"%d" % len(body))],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    uvicorn.run(
        answer,
        port=int(sys.argv[1]),
        http="httptools",
        loop="uvloop",
        lifespan="off",
        log_level="error",
        access_log=False,
    )
