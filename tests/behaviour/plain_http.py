"""Single requests over HTTP, as a test writes them: a message, its headers, and the response."""

import json
from typing import Any

import pytest

from tests.behaviour.clients import (
    HTTP_MODERN,
    SESSION,
    HttpClient,
    Object,
    wire_name,
)
from tests.behaviour.connecting import Connect
from tests.behaviour.http_wire import HttpAnswer

ON_MODERN = pytest.mark.parametrize("wire", [HTTP_MODERN], ids=wire_name)
ON_SESSIONS = pytest.mark.parametrize("wire", [SESSION], ids=wire_name)
ECHO = {"name": "echo", "arguments": {"text": "hi"}}
JSON = {"content-type": "application/json"}


def message(method: str, params: Object | None = None, request_id: Any = 1) -> Object:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, **({"params": params} if params is not None else {})}


async def http(connect: Connect) -> HttpClient:
    client = await connect()
    assert isinstance(client, HttpClient)
    return client


async def told(answer: HttpAnswer) -> tuple[int, Any]:
    body = await answer.body()
    return answer.status, json.loads(body) if body else None
