"""Content-Type: what a body may be, on each wire, and what a browser may send without a preflight."""

import json

import pytest

from pentad.http.front import Front
from tests.behaviour.http_wire import send

pytestmark = pytest.mark.anyio

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
WITHOUT_ASKING = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
"""What a browser sends anywhere without a preflight."""
HERE = {"origin": "http://localhost:8700", "sec-fetch-site": "same-origin"}


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("kind", [*WITHOUT_ASKING, "text/plain; x=application/json", "text/json", ""])
@pytest.mark.requirement("access:media:rest")
async def test_a_route_that_changes_things_takes_json_and_nothing_a_browser_sends_unasked(
    site: Front, verb: str, kind: str
) -> None:
    headers = {"content-length": "2", **({"content-type": kind} if kind else {})}
    answer = send(site, verb, "/api/notes", headers, b"{}")
    told = await answer.json()
    assert answer.status == 415
    assert told["error"]["code"] == "unsupported_media_type"
    assert "application/json" in told["error"]["hint"]


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"]
)
@pytest.mark.requirement("access:media:rest")
async def test_json_of_any_kind_is_taken(site: Front, kind: str) -> None:
    answer = send(site, "POST", "/api/notes", {"content-length": "2", "content-type": kind}, b"{}")
    assert await answer.json() == {"received": 2}


@pytest.mark.parametrize("headers", [{}, {"content-length": "0"}, HERE])
@pytest.mark.requirement("access:media:rest")
async def test_a_call_without_a_body_needs_no_type(site: Front, headers: dict[str, str]) -> None:
    answer = send(site, "POST", "/api/notes", headers)
    assert await answer.json() == {"received": 0}


@pytest.mark.parametrize("kind", ["text/csv", "multipart/form-data; boundary=x"])
@pytest.mark.requirement("access:media:rest")
async def test_an_upload_route_takes_what_it_declares_and_from_a_browser_only_with_its_origin(
    site: Front, kind: str
) -> None:
    headers = {"content-length": "3", "content-type": kind}
    taken = send(site, "POST", "/api/upload", headers, b"a;b")
    assert await taken.json() == {"received": 3}
    ours = send(site, "POST", "/api/upload", {**headers, **HERE}, b"a;b")
    assert await ours.json() == {"received": 3}
    nameless = send(site, "POST", "/api/upload", {**headers, "sec-fetch-site": "same-origin"}, b"a;b")
    await nameless.body()
    assert nameless.status == 403
    foreign = send(site, "POST", "/api/upload", {**headers, "origin": "http://evil.example"}, b"a;b")
    await foreign.body()
    assert foreign.status == 403
    other = send(site, "POST", "/api/upload", {**headers, "content-type": "text/plain"}, b"a;b")
    assert "text/csv" in (await other.json())["error"]["hint"]
    assert other.status == 415


@pytest.mark.requirement("access:media:rest")
async def test_the_description_names_the_types_of_an_upload(site: Front) -> None:
    document = await send(site, "GET", "/openapi.json").json()
    content = document["paths"]["/api/upload"]["post"]["requestBody"]["content"]
    assert content.keys() == {"text/csv", "multipart/form-data"}


@pytest.mark.parametrize("kind", [*WITHOUT_ASKING, "text/plain; json", "text/plain;charset=json"])
@pytest.mark.requirement("access:media:415")
async def test_a_type_is_not_json_because_the_word_is_in_it(site: Front, kind: str) -> None:
    answer = send(site, "POST", "/mcp", {"content-type": kind}, PING)
    await answer.body()
    assert answer.status == 415


@pytest.mark.parametrize("kind", [*WITHOUT_ASKING, ""])
@pytest.mark.requirement("access:media:mounts")
async def test_a_mount_reads_any_body_of_a_program_but_only_json_of_a_browser(site: Front, kind: str) -> None:
    headers = {"content-type": kind} if kind else {}
    program = send(site, "POST", "/hall", headers, b"knock")
    assert (await program.json())["body"] == "knock"
    for browser in (HERE, {"sec-fetch-site": "same-origin"}, {"sec-fetch-mode": "cors"}):
        page = send(site, "POST", "/hall", {**headers, **browser}, b"knock")
        await page.body()
        assert page.status == 415
    asked = send(site, "POST", "/hall", {"content-type": "application/a2a+json", **HERE}, b"knock")
    assert (await asked.json())["body"] == "knock"
