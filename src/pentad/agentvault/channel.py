"""Requests to one agent: authenticated, limited in size and time, with whole or streamed responses. Independent of the
dialect.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pentad.agentvault.credentials import Credentials, Scheme
from pentad.kernel.default_limits import KIB, MIB
from pentad.net.event_stream import CONTENT_TYPE, ServerEvent, events

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.kernel.ports import Fetched, Fetcher

MAX_BYTES: Final = 16 * MIB
MAX_DEPTH: Final = 128
MAX_KEYS: Final = 200_000
ERROR_BYTES: Final = 64 * KIB
_JSON: Final = "application/json"
_UNAUTHORIZED: Final = 401


@dataclass(frozen=True, slots=True)
class NotAStream:
    """A response to a streaming request that is not a stream, with the start of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Channel:
    """Sends requests to one agent. With `keys` None, no credentials are sent."""

    fetcher: "Fetcher"
    agent: str
    schemes: Sequence[Scheme]
    keys: "KeyManager | None"
    credentials: Credentials
    trusted: bool
    seconds: float
    idle: float

    async def fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> "Fetched":
        """Send a request. If the agent rejects an OAuth token, the request is repeated once with a new one."""
        sent = await self._headers(headers, _JSON, body)
        answer = await self._fetch(method, url, sent, body)
        if answer.status == _UNAUTHORIZED and any(scheme.kind == "oauth2" for scheme in self.schemes):
            renewed = await self._headers(headers, _JSON, body, renew=True)
            if renewed != sent:
                return await self._fetch(method, url, renewed, body)
        return answer

    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, *, keep_unfinished: bool = False
    ) -> AsyncGenerator[ServerEvent | NotAStream]:
        """The events of a stream, or one `NotAStream`. `keep_unfinished` adds an event cut off by the stream's end."""
        sent = await self._headers(headers, CONTENT_TYPE, body)
        async with self.fetcher.stream(
            url, method=method, headers=sent, body=body, timeout=self.seconds, idle=self.idle, trusted=self.trusted
        ) as answer:
            if answer.status == 200 and answer.headers.get("content-type", "").startswith(CONTENT_TYPE):
                found = events(answer.chunks, max_event_bytes=MAX_BYTES, keep_unfinished=keep_unfinished)
                async with aclosing(found) as stream:
                    async for event in stream:
                        yield event
                return
            start = await answer.beginning(ERROR_BYTES)
        yield NotAStream(answer.status, answer.headers, start)

    async def _fetch(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> "Fetched":
        return await self.fetcher.fetch(
            url, method=method, headers=headers, body=body, max_bytes=MAX_BYTES, timeout=self.seconds,
            trusted=self.trusted,
        )  # fmt: skip

    async def _headers(
        self, headers: Mapping[str, str], accept: str, body: bytes | None, *, renew: bool = False
    ) -> dict[str, str]:
        login: Mapping[str, str] = {}
        if self.keys is not None:
            login = await self.credentials.headers(self.agent, self.schemes, self.keys, renew=renew)
        content_type = {} if body is None else {"Content-Type": _JSON}
        return {**headers, "Accept": accept, **content_type, **login}
