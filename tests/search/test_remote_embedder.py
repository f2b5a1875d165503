"""An embeddings endpoint over real HTTP: what is asked, what is checked, when it is asked again."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from pentad.kernel.errors import InvalidInput, Misconfigured, RateLimited, Unavailable
from pentad.net.fetch import HttpFetcher
from pentad.search.remote_embedder import RemoteEmbedder, RemoteModel
from tests.net.test_fetch import answering

pytestmark = pytest.mark.anyio
KEY = "sk-very-secret"


class Endpoint:
    """Gives each text the vector (length, 1, 0), in reverse order; first, whatever the test wants said."""

    def __init__(self, *first: web.Response) -> None:
        self.first = list(first)
        self.asked: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        self.pauses: list[float] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append({"path": request.path, **await request.json()})
        self.heads.append(dict(request.headers))
        if self.first:
            return self.first.pop(0)
        data = [{"index": place, "embedding": [len(text), 1, 0]} for place, text in enumerate(self.asked[-1]["input"])]
        return web.json_response({"data": data[::-1]})

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)

    @asynccontextmanager
    async def open(self, **changes: Any) -> AsyncGenerator[RemoteEmbedder]:
        fetcher = HttpFetcher()
        try:
            async with answering(self.answer) as port:
                url = f"http://127.0.0.1:{port}/v1"
                given: dict[str, Any] = {"url": url, "model": "small", "dimensions": 3, "key": KEY, **changes}
                yield RemoteEmbedder(RemoteModel(**given), fetcher, pause=self.pause)
        finally:
            await fetcher.close()


def refusal(status: int, message: str = "no", **headers: str) -> web.Response:
    return web.json_response({"error": {"message": message}}, status=status, headers=headers)


def vectors(content: bytes) -> Any:
    return np.frombuffer(content, "<f4").reshape(-1, 3)


@pytest.mark.requirement("search:model:remote")
async def test_vectors_come_in_order_at_unit_length_from_the_usual_form():
    endpoint = Endpoint()
    async with endpoint.open() as embedder:
        found = vectors(await embedder.embed(["aaa", "b"]))
        assert (embedder.model, embedder.dimensions) == ("remote:small", 3)
    assert np.allclose(found, [[3 / 10**0.5, 1 / 10**0.5, 0], [2**-0.5, 2**-0.5, 0]])
    assert endpoint.asked == [
        {"path": "/v1/embeddings", "model": "small", "input": ["aaa", "b"], "encoding_format": "float"}
    ]
    assert endpoint.heads[0]["Authorization"] == f"Bearer {KEY}"


async def test_many_texts_go_in_batches_and_dimensions_are_asked_for_only_when_set():
    endpoint = Endpoint()
    async with endpoint.open(shortened=True, key=None) as embedder:
        assert len(vectors(await embedder.embed(["x" * (n + 1) for n in range(130)]))) == 130
        assert await embedder.embed([]) == b""
        with pytest.raises(InvalidInput):
            await embedder.embed(["x", " "])
    assert [len(ask["input"]) for ask in endpoint.asked] == [64, 64, 2]
    assert endpoint.asked[0]["dimensions"] == 3
    assert "Authorization" not in endpoint.heads[0]


async def test_a_busy_endpoint_is_asked_again_as_late_as_it_says():
    endpoint = Endpoint(refusal(429, **{"Retry-After": "7"}), refusal(503), refusal(500))
    async with endpoint.open() as embedder:
        assert len(vectors(await embedder.embed(["x"]))) == 1
    assert endpoint.pauses == [7, 1.0, 2.0]


async def test_patience_ends_and_the_error_says_when_to_come_back():
    endpoint = Endpoint(*[refusal(429, "quota") for _ in range(4)])
    async with endpoint.open() as embedder:
        with pytest.raises(RateLimited, match="quota"):
            await embedder.embed(["x"])
    assert len(endpoint.asked) == 4
    endpoint = Endpoint(refusal(429, **{"Retry-After": "3600"}))
    async with endpoint.open() as embedder:
        with pytest.raises(RateLimited) as refused:
            await embedder.embed(["x"])
    assert (refused.value.retry_after, endpoint.pauses) == (3600, [])
    endpoint = Endpoint(*[web.Response(status=502, text="<html>") for _ in range(4)])
    async with endpoint.open() as embedder:
        with pytest.raises(Unavailable, match="502"):
            await embedder.embed(["x"])


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_a_refusal_is_not_repeated_and_never_shows_the_key(status: int):
    endpoint = Endpoint(refusal(status, "The model\ndoes not exist"))
    async with endpoint.open() as embedder:
        with pytest.raises(Misconfigured, match="The model does not exist") as refused:
            await embedder.embed(["x"])
    assert len(endpoint.asked) == 1
    assert KEY not in refused.value.sentence() + repr(RemoteModel("u", "m", 3, KEY))


async def test_vectors_of_other_dimensions_are_refused():
    async with Endpoint().open(dimensions=4) as embedder:
        with pytest.raises(Misconfigured, match="3 dimensions, not 4"):
            await embedder.embed(["x"])


@pytest.mark.parametrize(
    "body",
    [
        "", "[]", "{}", "null", '{"data": 5}', '{"data": []}', '{"data": [{"embedding": "AAAA"}]}',
        '{"data": [{"embedding": [1, "x", 2]}]}', '{"data": [{"embedding": [0, 0, 0]}]}',
        '{"data": [{"embedding": [NaN, 0, 1]}]}', '{"data": [{"embedding": [1e999, 0, 1]}]}',
        '{"data": [{"index": 4, "embedding": [1, 0, 0]}]}', '{"data": [{"embedding": 3}]}',
        '{"data": [{"embedding": [1, 0, 0]}, {"embedding": [1, 0, 0]}]}', '{"data": [3]}',
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_refused_in_clear_words(body: str):
    endpoint = Endpoint(web.Response(text=body, content_type="application/json"))
    async with endpoint.open() as embedder:
        with pytest.raises(Unavailable, match="embeddings endpoint"):
            await embedder.embed(["x"])


async def test_a_whole_address_is_used_as_it_is():
    endpoint = Endpoint()
    async with endpoint.open() as embedder:
        direct = RemoteEmbedder(RemoteModel(embedder._url, "small", 3), embedder._fetcher)
        assert json.dumps(len(await direct.embed(["x"]))) == "12"
    assert endpoint.asked[0]["path"] == "/v1/embeddings"
