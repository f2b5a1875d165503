"""A client of MCP registries, written from the public documentation of their API: plain HTTP, and no code of Pentad.

Every answer must fit the JSON Schema of its kind.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote, urlencode

from jsonschema import Draft7Validator

OFFICIAL = "io.modelcontextprotocol.registry/official"

Kind = Literal["ServerList", "ServerResponse", "AllVersionsStatusResponse", "Error"]
_SCHEMA: Final = json.loads((Path(__file__).parent / "registry_api.schema.json").read_text("utf-8"))


class Answer(NamedTuple):
    """The answer to a request; the names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Send = Callable[[str, str, Mapping[str, str], bytes | None], Awaitable[Answer]]
"""Sends a request: method, URL, headers and body."""


class RegistryError(Exception):
    """The registry answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text


@dataclass(frozen=True)
class Listed:
    """One server of a list: its server.json, and what the registry says about it."""

    server: Mapping[str, Any]
    status: str
    is_latest: bool
    published_at: str
    updated_at: str

    @property
    def key(self) -> tuple[str, str]:
        return self.server["name"], self.server["version"]


def read_entry(entry: Mapping[str, Any]) -> Listed:
    """An entry, with the checks that hosts make."""
    server = entry["server"]
    for member in ("name", "description", "version"):
        assert isinstance(server[member], str), member
        assert server[member], member
    official = entry["_meta"][OFFICIAL]
    known = {"status", "statusMessage", "statusChangedAt", "publishedAt", "updatedAt", "isLatest"}
    assert set(official) <= known, "the official metadata takes no other members"
    return Listed(
        server, official["status"], official["isLatest"], official["publishedAt"], official["updatedAt"]
    )  # fmt: skip


class RegistryClient:
    """Lists, searches, pages, reads versions and publishes."""

    def __init__(self, send: Send, base: str, token: str | None = None) -> None:
        self._send = send
        self.base = base.rstrip("/")
        self._token = token

    async def page(self, **query: str | int) -> tuple[list[Listed], str | None]:
        """One page, and the cursor of the next."""
        answer = await self._get("ServerList", "/v0.1/servers", query)
        servers = [read_entry(one) for one in answer["servers"]]
        assert answer["metadata"]["count"] == len(servers)
        return servers, answer["metadata"].get("nextCursor")

    async def every(self, **query: str | int) -> AsyncIterator[Listed]:
        """All pages. Like some hosts, this sends the cursor as it is, and the search only with the first page."""
        servers, cursor = await self.page(**query)
        while True:
            for one in servers:
                yield one
            if cursor is None:
                return
            assert quote(cursor, safe="") == cursor, "a cursor goes into a URL as it is"
            kept = {name: value for name, value in query.items() if name in ("limit", "version")}
            servers, cursor = await self.page(**kept, cursor=cursor)

    async def versions(self, name: str, **query: str) -> list[Listed]:
        answer = await self._get("ServerList", f"/v0.1/servers/{quote(name, safe='')}/versions", query)
        return [read_entry(one) for one in answer["servers"]]

    async def version(self, name: str, version: str = "latest", **query: str) -> Listed:
        path = f"/v0.1/servers/{quote(name, safe='')}/versions/{quote(version, safe='')}"
        found = read_entry(await self._get("ServerResponse", path, query))
        assert found.server["name"] == name
        return found

    async def publish(self, text: str) -> Mapping[str, Any]:
        return await self._write("ServerResponse", "POST", "/v0.1/publish", text)

    async def set_status(self, name: str, version: str | None, **status: str) -> Mapping[str, Any]:
        """Change the status of a version, or of all."""
        of_version = "" if version is None else f"/versions/{quote(version, safe='')}"
        path = f"/v0.1/servers/{quote(name, safe='')}{of_version}/status"
        kind: Kind = "AllVersionsStatusResponse" if version is None else "ServerResponse"
        return await self._write(kind, "PATCH", path, json.dumps(status))

    async def _get(self, kind: Kind, path: str, query: Mapping[str, str | int]) -> Mapping[str, Any]:
        cursor = query.get("cursor")
        given = urlencode({name: value for name, value in query.items() if name != "cursor"})
        parts = [part for part in (given, f"cursor={cursor}" if cursor else "") if part]
        url = f"{self.base}{path}{'?' if parts else ''}{'&'.join(parts)}"
        return _read(kind, await self._send("GET", url, {"accept": "application/json", **self._login()}, None))

    async def _write(self, kind: Kind, method: str, path: str, text: str) -> Mapping[str, Any]:
        headers = {"content-type": "application/json", **self._login()}
        return _read(kind, await self._send(method, f"{self.base}{path}", headers, text.encode()))

    def _login(self) -> dict[str, str]:
        return {} if self._token is None else {"authorization": f"Bearer {self._token}"}


def _read(kind: Kind, answer: Answer) -> Mapping[str, Any]:
    """The answer. Whatever it says, a web page of any origin may read it."""
    assert answer.headers["access-control-allow-origin"] == "*"
    assert {"GET", "OPTIONS"} <= set(answer.headers["access-control-allow-methods"].split(", "))
    body = json.loads(answer.body)
    _check("Error" if answer.status >= 400 else kind, body)
    if answer.status >= 400:
        assert body["error"] == body["detail"], "some clients read the one and some the other"
        raise RegistryError(answer.status, body["error"])
    assert answer.headers["content-type"] == "application/json"
    return body


def _check(kind: Kind, body: Any) -> None:
    validator = Draft7Validator({"$ref": f"#/definitions/{kind}", "definitions": _SCHEMA["definitions"]})
    assert [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(body)] == []
