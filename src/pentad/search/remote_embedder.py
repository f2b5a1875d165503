"""The remote embedder: any endpoint with OpenAI's `/embeddings` API. Its responses are untrusted: counts, order,
dimensions and numbers are checked, and vectors are normalised here.

The key is sent only in the request's header.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import Misconfigured, PentadError, RateLimited, Unavailable
from pentad.kernel.retry_after import retry_after
from pentad.search.models.tokens import normalised

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetched, Fetcher

_BATCH: Final = 64
_ATTEMPTS: Final = 4
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 20.0
_TOO_MANY: Final = 429
_MOST_BYTES: Final = 16 * MIB
_LONGEST_MESSAGE: Final = 200


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """The endpoint's address and model."""

    url: str
    model: str
    dimensions: int
    key: str | None = field(default=None, repr=False)
    shortened: bool = False
    """Whether to request vectors truncated to `dimensions`; not every endpoint supports it."""


class RemoteEmbedder:
    """`kernel.ports.Embedder` over HTTP."""

    def __init__(
        self, remote: RemoteModel, fetcher: "Fetcher", *, pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        self.model = f"remote:{remote.model}"
        self.dimensions = remote.dimensions
        self._remote = remote
        self._fetcher = fetcher
        self._pause = pause
        base = remote.url.rstrip("/")
        self._url = base if base.endswith("/embeddings") else f"{base}/embeddings"

    async def embed(self, texts: Sequence[str]) -> bytes:
        """One unit vector per text, in order."""
        plain = [normalised(text) for text in texts]
        return b"".join([await self._batch(plain[start : start + _BATCH]) for start in range(0, len(plain), _BATCH)])

    def close(self) -> None:
        """Does nothing: the connections belong to the fetcher."""

    async def _batch(self, texts: Sequence[str]) -> bytes:
        body: dict[str, Any] = {"model": self._remote.model, "input": list(texts), "encoding_format": "float"}
        if self._remote.shortened:
            body["dimensions"] = self.dimensions
        answer = await self._post(json.dumps(body).encode())
        return self._vectors(answer.body, len(texts))

    async def _post(self, body: bytes) -> "Fetched":
        """The response with status 200. Temporary failures are retried, after the pause that the endpoint requests."""
        headers = {"content-type": "application/json", "accept": "application/json"}
        if self._remote.key:
            headers["authorization"] = f"Bearer {self._remote.key}"
        for attempt in range(1, _ATTEMPTS + 1):
            answer = await self._fetcher.fetch(
                self._url, method="POST", headers=headers, body=body, max_bytes=_MOST_BYTES, trusted=True
            )
            if answer.status == 200:
                return answer
            wait = retry_after(answer.headers.get("retry-after")) or _FIRST_PAUSE * 2 ** (attempt - 1)
            may_pass = answer.status == _TOO_MANY or answer.status >= 500
            if not may_pass or attempt == _ATTEMPTS or wait > _LONGEST_PAUSE:
                raise _refusal(answer, wait)
            await self._pause(wait)
        raise AssertionError("the last attempt returns or raises")

    def _vectors(self, body: bytes, count: int) -> bytes:
        import numpy as np

        try:
            entries = cast("list[dict[str, Any]]", json.loads(body)["data"])
            by_place = {int(entry.get("index", place)): entry["embedding"] for place, entry in enumerate(entries)}
            rows = np.array([by_place[place] for place in range(count)], np.float32)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            raise _foreign(f"did not respond with {count} vectors") from None
        if len(entries) != count or rows.ndim != 2:
            raise _foreign(f"did not respond with {count} vectors")
        if rows.shape[1] != self.dimensions:
            raise Misconfigured(
                f"The embeddings endpoint gives vectors of {rows.shape[1]} dimensions, not {self.dimensions}.",
                hint="Set search.remote_dimensions to the model's dimensions; different sizes cannot be mixed.",
            )
        sizes = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(sizes).all() or not sizes.all():
            raise _foreign("gave a vector without a direction")
        return (rows / sizes).astype("<f4").tobytes()


def _refusal(answer: "Fetched", wait: float) -> PentadError:
    said = _error_message(answer.body)
    if answer.status == _TOO_MANY:
        return RateLimited(f"The embeddings endpoint is out of quota{said}", retry_after=wait, hint="Try again later.")
    if answer.status >= 500:
        return Unavailable(
            f"The embeddings endpoint responded with status {answer.status}{said}", hint="Try again later."
        )
    return Misconfigured(
        f"The embeddings endpoint refuses with status {answer.status}{said}",
        hint="Check search.remote_url, search.remote_model and search.remote_key.",
    )


def _error_message(body: bytes) -> str:
    """The endpoint's own error message, if it is in the usual place."""
    try:
        message = json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return "."
    return f": {' '.join(str(message).split())[:_LONGEST_MESSAGE]}"


def _foreign(what: str) -> Unavailable:
    return Unavailable(f"The embeddings endpoint {what}.", hint="Check search.remote_url and search.remote_model.")
