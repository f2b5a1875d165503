"""Agents behind the HTTP front, without sockets."""

import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import HttpAnswer, send

_NUMBERS = itertools.count(1)


class Wire:
    """Speaks JSON-RPC and HTTP+JSON to one agent of one app."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.front = front_of(app)

    def post(self, body: bytes, path: str = "/agents/tck", **headers: str) -> HttpAnswer:
        sent = {
            "content-type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return send(self.front, "POST", path, sent, body)

    def ask(self, method: str, params: Any, path: str = "/agents/tck", **headers: str) -> HttpAnswer:
        request = {"jsonrpc": "2.0", "id": next(_NUMBERS), "method": method, "params": params}
        return self.post(json.dumps(request).encode(), path, **headers)

    async def call(self, method: str, params: Any, path: str = "/agents/tck", **headers: str) -> Any:
        """The result, which must be present."""
        answer = await self.ask(method, params, path, **headers).json()
        assert "error" not in answer, answer
        return answer["result"]

    async def refused(self, method: str, params: Any, path: str = "/agents/tck", **headers: str) -> Any:
        """The error, which must be present."""
        answer = await self.ask(method, params, path, **headers).json()
        assert "result" not in answer, answer
        return answer["error"]

    async def frames(self, method: str, params: Any, path: str = "/agents/tck", **headers: str) -> list[dict[str, str]]:
        """All frames of a stream that ends on its own."""
        return frames_of(await self.ask(method, params, path, **headers).body())

    def rest(self, verb: str, path: str, body: Any = None, **headers: str) -> HttpAnswer:
        sent = {
            "content-type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        return send(self.front, verb, path, sent, b"" if body is None else json.dumps(body).encode())


def frames_of(body: bytes) -> list[dict[str, str]]:
    """The fields of each frame, without comments."""
    found: list[dict[str, str]] = []
    for block in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if line and not line.startswith(":"))
        if fields:
            found.append(fields)
    return found


@pytest.fixture(scope="module")
async def wire(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    rooms = ("tests.behaviour.agents.hall:ROOM",)
    settings = Settings(data=tmp_path_factory.mktemp("agents"), rooms=rooms, auth="none")
    async with open_app(settings) as app:
        yield Wire(app)
