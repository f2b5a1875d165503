"""References: each scheme through its own door, with the caller's rights, within the budget, verified."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput, LimitExceeded, NotFound, PentadError, Unavailable
from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.content import Contents as ResourceContents
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from pentad.platform import NoNeighbours
from pentad.rooms.agents.context.context_store import ContentStore
from pentad.rooms.agents.context.integrity import bytes_hash
from pentad.rooms.agents.context.refs import Resolver

pytestmark = pytest.mark.anyio

EVE = Principal("user:eve", "eve", frozenset())
PAGES = {
    "openregister://a/b/c": [ResourceContents(uri="openregister://a/b/c", text='{"n": 9007199254740993}',
                                              mime_type="application/json")],
    "cid:baea": [ResourceContents(uri="cid:baea", text="a record")],
    "a2a-artifact:task-1/report/final": [ResourceContents(uri="agents://...", text="the report")],
    "metrics://chart": [ResourceContents(uri="metrics://chart", blob=b64encode(b"\xff\x00").decode(),
                                         mime_type="image/png")],
    "avatar://two": [ResourceContents(uri=f"avatar://two/{n}", text=str(n)) for n in range(2)],
    "avatar://none": [],
}  # fmt: skip


class Rooms:
    """Resources of other rooms; only the owner of the machine may read them."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def read(self, principal: Principal, uri: str) -> Sequence[ResourceContents]:
        self.asked.append(uri)
        if not principal.may("registers", "read"):
            raise Forbidden("No.")
        if uri not in PAGES:
            raise NotFound("No.")
        return PAGES[uri]

    def schemes(self) -> Sequence[str]:
        return ("openregister", "cid", "metrics", "avatar", "a2a-artifact")


@pytest.fixture
def rooms() -> Rooms:
    return Rooms()


@pytest.fixture
def resolver(rooms: Rooms) -> Resolver:
    return Resolver(rooms, None, None)


@pytest.mark.parametrize(
    ("ref", "content"),
    [
        ("openregister://a/b/c", {"n": 9007199254740993}),
        ("mcp+pentad:openregister://a/b/c", {"n": 9007199254740993}),
        ("cid:baea", "a record"),
        ("metrics://chart", "/wA="),
        ("avatar://two", [{"uri": "avatar://two/0", "text": "0"}, {"uri": "avatar://two/1", "text": "1"}]),
        ("a2a-artifact:task-1/report/final", "the report"),
    ],
)
async def test_a_reference_leads_to_its_content_for_who_may_read_it(resolver: Resolver, ref: str, content: Any):
    items = {"it": {"ref": ref}}
    assert await resolver.open(LOCAL, items).content("it") == content
    with pytest.raises((Forbidden, NotFound)):
        await resolver.open(EVE, items).content("it")


@pytest.mark.parametrize(
    "ref",
    ["file:///etc/passwd", "s3://bucket/x", "data:text/plain,x", "mcp+other:a:b", "gopher://x/", "no-scheme", "",
     "https://example.org/", "context://" + "0" * 64],
)  # fmt: skip
async def test_a_scheme_nobody_follows_is_refused_by_name(resolver: Resolver, ref: str):
    with pytest.raises(InvalidInput) as refused:
        await resolver.references.resolve(LOCAL, ref, max_bytes=1_000)
    scheme = ref.partition(":")[0] if ":" in ref else ""
    assert refused.value.details == {"reason": "ref-refused", "scheme": scheme}
    assert "openregister" in (refused.value.hint or "")


async def test_nothing_is_read_before_it_is_asked_for_and_each_only_once(resolver: Resolver, rooms: Rooms):
    items = {"a": {"ref": "cid:baea"}, "b": {"ref": "cid:baea"}, "c": {"content": 1}, "d": {"ref": "metrics://chart"}}
    resolution = resolver.open(LOCAL, items)
    assert rooms.asked == []
    assert await resolution.content("c") == 1
    assert rooms.asked == []
    made = await resolution.all(["a", "b", "c"])
    assert rooms.asked == ["cid:baea"]
    assert made["a"] == {"ref": "cid:baea", "mediaType": None, "content": "a record"}
    assert made["d"] is items["d"]
    with pytest.raises(NotFound):
        await resolution.content("nobody")
    with pytest.raises(NotFound):
        await resolver.open(LOCAL, {"e": {"ref": "avatar://none"}}).content("e")


async def test_what_has_a_hash_is_verified_and_remembered_for_its_reader_alone(resolver: Resolver, rooms: Rooms):
    good = {"it": {"ref": "cid:baea", "metadata": {"x-sha256": bytes_hash(b"a record"), "x-size": 8}}}
    for _ in range(2):
        assert await resolver.open(LOCAL, good).content("it") == "a record"
    assert len(rooms.asked) == 1
    with pytest.raises(Forbidden):
        await resolver.open(EVE, good).content("it")
    wrong = {"it": {"ref": "cid:baea", "metadata": {"x-sha256": bytes_hash(b"another")}}}
    with pytest.raises(Conflict) as refused:
        await resolver.open(LOCAL, wrong).content("it")
    assert refused.value.details["reason"] == "context-integrity"


async def test_what_is_remembered_is_bounded(rooms: Rooms):
    resolver = Resolver(rooms, None, None, cached=10)
    record = {"it": {"ref": "cid:baea", "metadata": {"x-sha256": bytes_hash(b"a record")}}}
    report = {"it": {"ref": "a2a-artifact:task-1/report/final", "metadata": {"x-sha256": bytes_hash(b"the report")}}}
    for items in (record, report, record):
        await resolver.open(LOCAL, items).content("it")
    assert len(rooms.asked) == 3, "the report took the record's place"


async def test_a_budget_is_for_all_references_together(resolver: Resolver):
    items = {"a": {"ref": "cid:baea"}, "b": {"ref": "a2a-artifact:task-1/report/final"}}
    resolution = resolver.open(LOCAL, items, max_bytes=12)
    assert await resolution.content("a") == "a record"
    with pytest.raises(LimitExceeded):
        await resolution.content("b")
    told = {"a": {"ref": "cid:baea", "metadata": {"x-size": 10**9}}}
    with pytest.raises(LimitExceeded):
        await resolver.open(LOCAL, told).content("a")


async def test_kept_contents_are_their_owners(contents: ContentStore):
    body = b"kept"
    await contents.keep(LOCAL, {bytes_hash(body): (body, "text/plain")})
    resolver = Resolver(NoNeighbours(), contents, None)
    items = {"it": {"ref": f"context://{bytes_hash(body)}"}}
    assert await resolver.open(LOCAL, items).content("it") == "kept"
    with pytest.raises(NotFound):
        await resolver.open(EVE, items).content("it")


@asynccontextmanager
async def site(answers: Mapping[str, tuple[int, str, bytes]]) -> AsyncGenerator[str]:
    """A web server of our own on this machine."""
    import asyncio

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        status, kind, body = answers[request.split()[1].decode()]
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_the_web_is_reached_through_the_guarded_fetcher_alone():
    answers = {"/a": (200, "text/plain", b"a page"), "/no": (404, "text/plain", b""), "/in": (403, "x/y", b""),
               "/bad": (500, "x/y", b""), "/big": (200, "x/y", b"x" * 5_000)}  # fmt: skip
    async with site(answers) as url:
        guarded = HttpFetcher(FetchPolicy(allow_http=True))
        port = int(url.rpartition(":")[2])
        opened = HttpFetcher(
            FetchPolicy(allow_http=True, allow_hosts=frozenset({"127.0.0.1"}), ports=frozenset({port}))
        )
        try:
            with pytest.raises(PentadError):
                await Resolver(NoNeighbours(), None, guarded).references.resolve(LOCAL, f"{url}/a", max_bytes=1_000)
            references = Resolver(NoNeighbours(), None, opened).references
            found = await references.resolve(LOCAL, f"{url}/a", max_bytes=1_000)
            assert (found.body, found.media_type) == (b"a page", "text/plain")
            for path, error in (("/no", NotFound), ("/in", Forbidden), ("/bad", Unavailable), ("/big", LimitExceeded)):
                with pytest.raises(error):
                    await references.resolve(LOCAL, f"{url}{path}", max_bytes=1_000)
        finally:
            await guarded.close()
            await opened.close()
