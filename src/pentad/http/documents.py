"""Answers that many callers share: documents that stay the same, and work done once for all who ask at a time."""

import gzip
import hashlib
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, Final, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from pentad.access.single_flight import SingleFlight
from pentad.kernel.clock import Clock

V = TypeVar("V")

_WORTH_PACKING: Final = 1024


class Document:
    """Bytes with an ETag, packed once for those who take gzip. Making one of a large body belongs in a thread."""

    def __init__(self, body: bytes, media_type: str, *, cache_control: str = "no-cache") -> None:
        self._body = body
        self._packed = gzip.compress(body, 6) if len(body) >= _WORTH_PACKING else None
        self._etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        self._headers = {
            "cache-control": cache_control,
            "vary": "accept-encoding",
            "x-content-type-options": "nosniff",
        }
        self._media_type = media_type

    def answer(self, request: Request) -> Response:
        """The document, or 304 for a caller that has it already."""
        packed = self._packed if "gzip" in request.headers.get("accept-encoding", "") else None
        etag = self._etag if packed is None else f'{self._etag[:-1]}-gzip"'
        headers = {**self._headers, "etag": etag}
        known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
        if etag in known or known == ["*"]:
            return Response(status_code=304, headers=headers)
        if packed is not None:
            headers["content-encoding"] = "gzip"
        return Response(packed or self._body, headers=headers, media_type=self._media_type)


class Shared(Generic[V]):
    """A value made once for all who ask while it is being made, and kept for some seconds."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, V]], clock: Clock, *, seconds: float = inf) -> None:
        self._make = make
        self._monotonic = clock.monotonic
        self._seconds = seconds
        self._flights: SingleFlight[None, V] = SingleFlight()
        self._kept: tuple[V, float] | None = None

    async def kept(self) -> V:
        """The value; one made up to `seconds` ago will do."""
        if self._kept is not None and self._monotonic() < self._kept[1]:
            return self._kept[0]
        return await self.fresh()

    async def fresh(self) -> V:
        """The value as it is now."""
        value = await self._flights.run(None, self._make)
        self._kept = (value, self._monotonic() + self._seconds)
        return value
