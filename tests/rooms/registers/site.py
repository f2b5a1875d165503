"""A whole Pentad with the registers room over HTTP, without sockets: real guards, real credentials, real stores.

Every answer is compared with the server's OpenAPI document.
"""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.http.front import Front
from pentad.kernel.clock import Clock
from pentad.net.fetch_policy import FetchPolicy
from pentad.openapi import document, operations_of, security_schemes
from pentad.rooms.registers.service import Registers
from pentad.settings.model import Settings
from tests.behaviour.http_wire import HttpAnswer
from tests.openapi_answers import Answers

ROLES = {"admin": ["*:*"], "writer": ["*:read", "*:write"], "other": ["*:read", "*:write"], "reader": ["*:read"]}
PREFIXES = ("/api", "/index.php/apps/openregister/api")

Object = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """One answer, read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    header_list: list[tuple[str, str]]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Site:
    """One open server and keys for everybody; `who` is a role, `admin:admin` for Basic, or "" for a stranger."""

    def __init__(self, app: App, front: Front, keys: Mapping[str, str]) -> None:
        self.app = app
        self.front = front
        self.keys = keys
        self.answers = Answers(_document(app, front))

    @property
    def registers(self) -> Registers:
        return self.app.rooms[0].service

    async def settled(self) -> None:
        """Wait until everything committed so far has been told: on PostgreSQL that takes a moment, and is in order."""
        told = asyncio.Event()
        end = self.app.database.listen("settled", lambda _: told.set())
        try:
            await self.app.database.write(lambda tx: tx.signal("settled"))
            async with asyncio.timeout(60):
                await told.wait()
        finally:
            end()

    def credentials(self, who: str) -> dict[str, str]:
        if ":" in who:
            return {"authorization": "Basic " + base64.b64encode(who.encode()).decode()}
        return {"authorization": f"Bearer {self.keys[who]}"} if who else {}

    async def send(
        self, verb: str, target: str, body: Any = None, *, who: str = "admin", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One request; a body that is no bytes is sent as JSON."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        path, _, query = target.partition("?")
        given = {"host": "localhost:8700", **self.credentials(who), **(headers or {})}
        if body is not None:
            given.setdefault("content-type", "application/json")
            given.setdefault("content-length", str(len(raw)))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": verb,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8700),
            "state": {},
        }
        answer = HttpAnswer(self.front, scope, [raw])
        content = await answer.body()
        self.answers.called(verb, path, answer.status)
        wrong = list(self.answers.problems(verb, path, answer.status, answer.headers, content))
        assert not wrong, f"{verb} {path} is not as /openapi.json describes it: {wrong[:5]}"
        return Reply(answer.status, answer.headers, content, answer.header_list)

    async def made(self, path: str, body: Object, *, who: str = "admin") -> Any:
        """What a POST made; it must have."""
        reply = await self.send("POST", f"/api{path}", body, who=who)
        assert reply.status == 201, reply.body
        return reply.json

    async def pair(self, properties: Object, *, who: str = "admin", **schema: Any) -> str:
        """The path of a fresh register and schema: `/objects/3/5`."""
        kind = await self.made("/schemas", {"title": "Thing", "properties": properties, **schema}, who=who)
        container = await self.made("/registers", {"title": "Things", "schemas": [kind["id"]]}, who=who)
        return f"/objects/{container['id']}/{kind['id']}"


_documents: dict[tuple[str, ...], Object] = {}


def _document(app: App, front: Front) -> Object:
    """The OpenAPI document of the server, made once for the same rooms."""
    rooms = tuple(opened.room.name for opened in app.rooms)
    if rooms not in _documents:
        operations = operations_of(front.mounts.routes.routes)
        schemes = security_schemes("http://localhost:8700", rooms, issues_tokens=True)
        _documents[rooms] = document(operations, title="", version="", server="", schemes=schemes)
    return _documents[rooms]


@contextlib.asynccontextmanager
async def open_site(
    data: Path,
    database: str | None = None,
    *,
    auth: Literal["required", "none"] = "required",
    clock: Clock | None = None,
    basic: bool = False,
    models: Path | None = None,
    fetch: FetchPolicy | None = None,
    rooms: tuple[str, ...] = ("registers",),
) -> AsyncGenerator[Site]:
    """A server with the room, a key for each role and, where wanted, the demo's login and a folder of models."""
    settings = Settings(
        data=data, database=database, rooms=rooms, auth=auth, models=models, fetch=fetch or FetchPolicy()
    )
    async with open_app(settings, clock=clock) as app:
        keys = {role: (await app.api_keys.create(role, scopes=scopes)).token for role, scopes in ROLES.items()}
        if basic:
            await app.users.ensure_first_admin("admin")
        yield Site(app, http_application(app), keys)
