"""A client for MCP servers over HTTP, for `pentad call --url` and for agents that use tools of other servers.

It uses a handshake revision, which every server knows, and the same guarded HTTP client as all outgoing requests.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, cast

from pentad import __version__
from pentad.kernel.errors import Forbidden, NotFound, PentadError, Unauthenticated, Unavailable
from pentad.kernel.ports import Fetched, Fetcher
from pentad.mcp.wire_errors import error_from_reply

REVISION: Final = "2025-06-18"
TIMEOUT_SECONDS: Final = 300.0
MOST_BYTES: Final = 64 * 1024 * 1024


class RemoteServer:
    """One session with a server. `trusted` means that its URL comes from the operator's settings."""

    def __init__(
        self,
        url: str,
        authorization: str | None,
        fetcher: Fetcher,
        *,
        trusted: bool = False,
        login_hint: str = "Give it the server's key.",
    ) -> None:
        self._url = url
        self._fetcher = fetcher
        self._trusted = trusted
        self._login_hint = login_hint
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if authorization is not None:
            self._headers["Authorization"] = authorization
        self._last_id = 0

    async def open(self) -> None:
        """Start the session with `initialize`."""
        about = {"name": "pentad", "version": __version__}
        params = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": about}
        answer = await self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        agreed = _result(_message(answer, 0)).get("protocolVersion", REVISION)
        session = next((value for key, value in answer.headers.items() if key.lower() == "mcp-session-id"), None)
        self._headers["MCP-Protocol-Version"] = str(agreed)
        if session is not None:
            self._headers["Mcp-Session-Id"] = session
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one request. Raises the server's error."""
        self._last_id += 1
        body = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        return _result(_message(await self._post(body), self._last_id))

    async def list_all(self, method: str, key: str) -> list[dict[str, Any]]:
        """Every entry of a list, over all its pages."""
        entries: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = await self.request(method, params)
            entries += page.get(key, [])
            if (cursor := page.get("nextCursor")) is None:
                return entries
            params = {"cursor": cursor}

    async def close(self) -> None:
        """End the session. Errors do not matter: the server may be gone, or keep no sessions."""
        if "Mcp-Session-Id" in self._headers:
            with suppress(PentadError):
                await self._fetcher.fetch(
                    self._url, method="DELETE", headers=self._headers, timeout=5, trusted=self._trusted
                )

    async def _post(self, message: Mapping[str, Any]) -> Fetched:
        answer = await self._fetcher.fetch(
            self._url,
            method="POST",
            headers=self._headers,
            body=json.dumps(message).encode(),
            max_bytes=MOST_BYTES,
            timeout=TIMEOUT_SECONDS,
            trusted=self._trusted,
        )
        if answer.status == 401:
            raise Unauthenticated("The server requires a login.", hint=self._login_hint)
        if answer.status == 403:
            raise _refusal(answer, self._last_id)
        if answer.status == 404 and "Mcp-Session-Id" not in self._headers:
            raise NotFound("There is no MCP server at that address.", hint="Pentad's is at /mcp.")
        if answer.status >= 500:
            raise Unavailable(f"The server answered {answer.status}.", hint="Try again in a moment.")
        return answer


def _refusal(answer: Fetched, request_id: int) -> Forbidden:
    """A 403, in the server's own words if it has any."""
    try:
        _result(_message(answer, request_id))
    except Forbidden as error:
        return error
    except PentadError:
        pass
    return Forbidden("The server does not allow that.", hint="Use a login with more rights.")


def _message(answer: Fetched, request_id: int) -> dict[str, Any]:
    """The reply to our request, from a JSON body or from the events of a stream."""
    content_type = next((value for key, value in answer.headers.items() if key.lower() == "content-type"), "")
    texts = _events(answer.body) if content_type.startswith("text/event-stream") else [answer.body]
    for text in texts:
        try:
            message = json.loads(text)
        except ValueError:
            continue
        if isinstance(message, dict):
            known = cast("dict[str, Any]", message)
            if known.get("id") in (request_id, None) and ("result" in known or "error" in known):
                return known
    raise Unavailable("The server's answer is not an MCP message.", hint="Is this the URL of its MCP endpoint?")


def _events(body: bytes) -> list[bytes]:
    """The data of each server-sent event."""
    events = body.replace(b"\r\n", b"\n").split(b"\n\n")
    return [
        b"\n".join(line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:"))
        for event in events
    ]


def _result(message: dict[str, Any]) -> dict[str, Any]:
    if isinstance(error := message.get("error"), dict):
        fields = cast("dict[str, Any]", error)
        text = str(fields.get("message") or "The server refused the request.")
        raise error_from_reply(fields.get("code", 0), text, fields.get("data"))
    result = message.get("result")
    return cast("dict[str, Any]", result) if isinstance(result, dict) else {}
