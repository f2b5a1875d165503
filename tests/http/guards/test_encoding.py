"""Content-Encoding of requests, on each wire: decoded within limits, or refused."""

import gzip
import json
import zlib

import pytest

from pentad.http.front import Front
from pentad.kernel.default_limits import Limits
from tests.behaviour.connecting import AppMaker, front_of
from tests.behaviour.http_wire import send
from tests.http.conftest import PAGES

pytestmark = pytest.mark.anyio

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
JSON = {"content-type": "application/json"}
WIRES = ["/mcp", "/api/notes", "/hall"]
PACKERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "GZIP": gzip.compress}


async def received(front: Front, path: str, encoding: str, body: bytes) -> int:
    """How many bytes of a body arrived behind the guards; for MCP, that it was understood."""
    headers = {**JSON, "content-encoding": encoding, "content-length": str(len(body))}
    told = await send(front, "POST", path, headers, body).json()
    if path == "/mcp":
        return len(PING) if "result" in told else 0
    return told["received"] if path == "/api/notes" else len(told["body"])


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize("encoding", [*PACKERS, "identity"])
@pytest.mark.requirement("access:encoding:accepted")
async def test_a_compressed_body_is_read_as_if_it_came_plain(site: Front, path: str, encoding: str) -> None:
    assert await received(site, path, encoding, PACKERS.get(encoding, bytes)(PING)) == len(PING)


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress", "nonsense"])
@pytest.mark.requirement("access:encoding:unknown")
async def test_an_unknown_encoding_is_unsupported_and_the_known_ones_are_told(
    site: Front, path: str, encoding: str
) -> None:
    answer = send(site, "POST", path, {**JSON, "content-encoding": encoding}, PING)
    await answer.body()
    assert answer.status == 415
    assert answer.headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize("body", [b"\x1f\x8bnot gzip", gzip.compress(PING)[:-4]], ids=["no gzip", "cut off"])
@pytest.mark.requirement("access:encoding:accepted")
async def test_a_damaged_body_is_a_bad_request(site: Front, path: str, body: bytes) -> None:
    answer = send(site, "POST", path, {**JSON, "content-encoding": "gzip"}, body)
    await answer.body()
    assert answer.status == 400


@pytest.mark.parametrize("path", WIRES)
@pytest.mark.parametrize(
    ("limits", "size"),
    [(Limits(body_bytes=2000, upload_bytes=2000), 2001), (Limits(), 3_000_000)],
    ids=["size", "ratio"],
)
@pytest.mark.requirement("access:encoding:bounded")
async def test_a_body_that_unfolds_too_far_is_too_large(
    make_app: AppMaker, path: str, limits: Limits, size: int
) -> None:
    front = front_of(await make_app(rooms=(PAGES, "tests.http.mount_room:ROOM"), limits=limits))
    bomb = gzip.compress(b" " * size)
    assert len(bomb) < 4000
    answer = send(front, "POST", path, {**JSON, "content-encoding": "gzip"}, bomb)
    await answer.body()
    assert answer.status == 413


@pytest.mark.requirement("access:encoding:accepted")
async def test_a_compressed_form_is_read_too(site: Front) -> None:
    packed = gzip.compress(b"a;b")
    headers = {"content-type": "multipart/form-data; boundary=x", "content-encoding": "gzip", "content-length": "9"}
    assert await send(site, "POST", "/api/upload", headers, packed).json() == {"received": 3}
