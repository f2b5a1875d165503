"""REST and the web: a foreign page cannot use a login the browser remembers, and uploads come as what they are."""

import gzip
import json
from collections.abc import Mapping

import pytest

from tests.rooms.registers.site import Site

pytestmark = pytest.mark.anyio

NAME = {"name": {"type": "string"}}
UNASKED = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
"""What a browser sends to another site without asking that site first."""
FOREIGN: list[Mapping[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "http://localhost:3000"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("kind", [*UNASKED, "application/json", ""])
@pytest.mark.parametrize("page", FOREIGN, ids=lambda page: next(iter(page.values())))
@pytest.mark.requirement("access:guards:origin", "access:guards:fetch-site")
async def test_a_foreign_page_with_a_remembered_login_writes_nothing(
    site: Site, kind: str, page: Mapping[str, str]
) -> None:
    path = "/api" + await site.pair(NAME)
    reply = await site.send("POST", path, b'{"name": "x"}', headers={**page, "content-type": kind})
    assert reply.status == 403
    assert (await site.send("GET", path)).json["total"] == 0


@pytest.mark.parametrize("kind", [*UNASKED, ""])
@pytest.mark.requirement("access:media:rest")
async def test_what_a_browser_sends_unasked_is_never_a_write(site: Site, kind: str) -> None:
    path = "/api" + await site.pair(NAME)
    made = (await site.send("POST", path, {"name": "one"})).json["id"]
    for verb, target in (("POST", path), ("PUT", f"{path}/{made}"), ("PATCH", f"{path}/{made}")):
        reply = await site.send(verb, target, b'{"name": "x"}', headers={"content-type": kind})
        assert reply.status == 415, reply.body
    assert [one["name"] for one in (await site.send("GET", path)).json["results"]] == ["one"]


@pytest.mark.requirement("access:media:rest")
async def test_files_and_imports_are_taken_as_the_types_their_routes_declare(site: Site) -> None:
    path = await site.pair(NAME)
    item = f"/api{path}/{(await site.send('POST', '/api' + path, {'name': 'one'})).json['id']}"
    form = b'--x\r\ncontent-disposition: form-data; name="f"; filename="a.txt"\r\n\r\nhello\r\n--x--\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    assert (await site.send("POST", f"{item}/files", form, headers=kind)).status == 201
    assert (await site.send("PUT", f"{item}/files/b.txt", b"hi", headers={"content-type": "text/plain"})).status == 201
    register = path.split("/")[2]
    csv = {"content-type": "text/csv"}
    assert (await site.send("POST", f"/api/registers/{register}/import", b"name\ntwo\n", headers=csv)).status == 200
    plain = {"content-type": "text/plain"}
    refused = await site.send("POST", f"/api/registers/{register}/import?format=csv", b"name\n3\n", headers=plain)
    assert refused.status == 415
    assert "text/csv" in refused.json["error"]["hint"]
    foreign = await site.send("POST", f"{item}/files", form, headers={**kind, "origin": "https://evil.example"})
    assert foreign.status == 403
    nameless = await site.send("POST", f"{item}/files", form, headers={**kind, "sec-fetch-site": "same-origin"})
    assert nameless.status == 403


@pytest.mark.requirement("access:encoding:accepted")
async def test_a_compressed_body_makes_an_object(site: Site) -> None:
    path = "/api" + await site.pair(NAME)
    body = gzip.compress(json.dumps({"name": "packed"}).encode())
    packed = {"content-type": "application/json", "content-encoding": "gzip"}
    made = await site.send("POST", path, body, headers=packed)
    assert (made.status, made.json["name"]) == (201, "packed")
