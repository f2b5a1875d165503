"""A server with the directory alone, over HTTP without sockets, and keys for callers with several rights."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from pentad.rooms.directory.service import Directory
from pentad.settings.model import Settings
from tests.behaviour.http_wire import HttpAnswer
from tests.rooms.directory.registry.registry_client import Answer, RegistryClient

BASE = "http://localhost:8700"
ROLES = {"admin": ["*:*"], "writer": ["*:read", "*:write"], "other": ["*:read", "*:write"], "reader": ["*:read"]}


@dataclass
class Site:
    """An open server."""

    app: App
    front: Front
    keys: dict[str, str]

    @property
    def directory(self) -> Directory:
        return self.app.rooms[0].service

    def client(self, who: str = "", base: str = BASE) -> RegistryClient:
        """A registry client with the key of a role, or without any."""
        return RegistryClient(self.send, base, self.keys.get(who))

    async def send(
        self, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:  # fmt: skip
        """One request, as a server hands it on."""
        parts = urlsplit(url)
        given = {"host": "localhost:8700", **(headers or {})}
        if body is not None:
            given.setdefault("content-length", str(len(body)))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8700),
            "state": {},
        }
        answer = HttpAnswer(self.front, scope, [body or b""])
        content = await answer.body()
        return Answer(answer.status, answer.headers, content)

    def login(self, who: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.keys[who]}"}

    async def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers to the owner of the machine."""
        async with self.app.client() as client:
            result = await client.call_tool(tool, arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def publish(self, name: str, version: str = "1.0.0", who: str = "admin", **more: Any) -> dict[str, Any]:
        return dict(await self.client(who).publish(json.dumps(server(name, version, **more))))


def server(name: str, version: str = "1.0.0", **more: Any) -> dict[str, Any]:
    """A server.json."""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": name,
        "description": "Tells the weather of a place.",
        "version": version,
        "remotes": [{"type": "streamable-http", "url": "https://weather.example.org/mcp"}],
        **more,
    }


@asynccontextmanager
async def opened_site(
    data: Path, *, database: str | None = None, auth: Literal["required", "none"] = "required", **table: Any
) -> AsyncGenerator[Site]:
    """A server; `table` are settings of the directory."""
    limits = replace(Limits(), anonymous_per_second=0, logins_per_second=0)
    settings = Settings(
        data=data, database=database, rooms=("directory",), auth=auth, limits=limits, room_tables={"directory": table}
    )
    async with open_app(settings) as app:
        keys = {role: (await app.api_keys.create(role, scopes=scopes)).token for role, scopes in ROLES.items()}
        yield Site(app, http_application(app), keys)
