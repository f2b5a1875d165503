"""Schemas from an OASF server; a dead, slow or misbehaving one gives a clear error."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from pentad.kernel.errors import InvalidInput, Misconfigured, NotFound, Unavailable
from pentad.kernel.ports import Fetched
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.directory.oasf.schema_source import (
    CACHE_SECONDS,
    SECONDS,
    RemoteSchemas,
    UnknownVersion,
    normalise_url,
)
from tests.fakes import UnusedFetcher
from tests.net.test_fetch import answering
from tests.rooms.directory.oasf.samples import sample

VERSIONS = {
    "default": {"schema_version": "1.0.0", "server_version": "1.1.1"},
    "versions": [{"schema_version": "0.8.0", "url": "/0.8.0"}, {"schema_version": "1.0.0"}, {"version": "1.1.0"}],
}
SKILLS = {
    "vision": {"id": 2, "name": "vision", "caption": "Vision", "category": True, "classes": {}},
    "language": {
        "id": 1,
        "name": "language",
        "caption": "Language",
        "category": True,
        "classes": {
            "writing": {"id": 102, "name": "language/writing", "caption": "Writing", "deprecated": True},
            "reading": {
                "id": 101,
                "name": "language/reading",
                "caption": "Reading",
                "classes": {"skimming": {"id": 10101, "name": "language/reading/skimming", "caption": "Skimming"}},
            },
        },
    },
}
VERDICT = {
    "error_count": 2,
    "errors": [
        {
            "error": "attribute_required_missing",
            "message": 'Required attribute "name" is missing.',
            "attribute_path": "name",
        },
        {
            "error": "constraint_failed",
            "message": "Constraint failed.",
            "attribute_path": "skills[0]",
            "constraint": {"at_least_one": ["id", "name"]},
        },
    ],
    "warning_count": 1,
    "warnings": [{"warning": "version_earlier", "message": "The version is earlier."}],
}


class Server:
    """Speaks the API, and counts how often it was asked for what."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.sent: Any = None
        self.answers: dict[str, Any] = {
            "/api/versions": VERSIONS,
            "/api/1.0.0/skill_categories": SKILLS,
            "/schema/1.0.0/objects/record": {"title": "Record"},
            "/api/1.0.0/validate/object/record": VERDICT,
        }

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(f"{request.method} {request.path_qs}")
        if request.method == "POST":
            self.sent = await request.json()
        if request.path not in self.answers:
            raise web.HTTPNotFound
        answer = self.answers[request.path]
        return web.Response(text=answer) if isinstance(answer, str) else web.json_response(answer)


@asynccontextmanager
async def asking(server: Server) -> AsyncGenerator[RemoteSchemas]:
    fetcher = HttpFetcher()
    try:
        async with answering(server.handle) as port:
            yield RemoteSchemas(f"127.0.0.1:{port}/", fetcher)
    finally:
        await fetcher.close()


async def everything(schemas: RemoteSchemas) -> None:
    await schemas.children("1.0.0", "skill")
    await schemas.json_schema("1.0.0")
    await schemas.validate(sample("1.0.0"))


@pytest.mark.anyio
async def test_versions_and_taxonomies_are_the_servers_and_are_remembered():
    server = Server()
    async with asking(server) as schemas:
        assert await schemas.versions() == (["0.8.0", "1.0.0", "1.1.0"], "1.0.0")
        top = await schemas.children("1.0.0", "skill")
        assert [(entry.id, entry.name, entry.grouping) for entry in top] == [(1, "language", True), (2, "vision", True)]
        for parent in ("reading", "language/reading"):
            assert [entry.name for entry in await schemas.children("1.0.0", "skill", parent)] == [
                "language/reading/skimming"
            ]
    assert server.asked == ["GET /api/versions", "GET /api/1.0.0/skill_categories"]


@pytest.mark.anyio
async def test_what_is_remembered_is_asked_again_after_a_while():
    class Turned:
        now_is = 100.0

        def now(self) -> float:
            return self.now_is

        def monotonic(self) -> float:
            return self.now_is

    class Answers(UnusedFetcher):
        asked = 0

        async def fetch(self, url: str, **given: Any) -> Fetched:
            self.asked += 1
            assert (given["trusted"], given["timeout"]) == (True, SECONDS)
            body = b'{"default":{"schema_version":"1.0.0"},"versions":[{"schema_version":"1.0.0"}]}'
            return Fetched(200, {}, body, url)

    clock, fetcher = Turned(), Answers()
    schemas = RemoteSchemas("https://oasf.example", fetcher, clock)
    for elapsed, asked in ((0, 1), (CACHE_SECONDS - 1, 1), (CACHE_SECONDS, 2)):
        clock.now_is = 100.0 + elapsed
        await schemas.versions()
        assert fetcher.asked == asked


@pytest.mark.anyio
async def test_a_verdict_is_rendered_as_the_reference_renders_it():
    server = Server()
    async with asking(server) as schemas:
        report = await schemas.validate(sample("1.0.0"))
    assert server.asked == ["POST /api/1.0.0/validate/object/record?missing_recommended=true"]
    assert server.sent == sample("1.0.0")
    assert not report.valid
    assert report.lines() == [
        'ERROR: Required attribute "name" is missing. Attribute path: name.',
        'ERROR: Constraint failed. Attribute path: skills[0]. Constraint: {"at_least_one":["id","name"]}',
        "WARNING: Validation Error: The version is earlier.",
    ]
    assert [finding.pointer for finding in report.errors] == ["/name", "/skills/0"]


@pytest.mark.anyio
async def test_the_schema_is_the_servers():
    async with asking(Server()) as schemas:
        assert await schemas.json_schema("1.0.0") == {"title": "Record"}


@pytest.mark.anyio
async def test_an_unknown_version_or_parent_is_refused_as_by_the_embedded_tables():
    async with asking(Server()) as schemas:
        with pytest.raises(UnknownVersion) as refused:
            await schemas.json_schema("0.7.0")
        assert refused.value.available == ["0.8.0", "1.0.0", "1.1.0"]
        for parent in ("skimming", "nowhere"):
            with pytest.raises(NotFound, match="not found or has no children"):
                await schemas.children("1.0.0", "skill", parent)
        with pytest.raises(InvalidInput, match="schema_version field is missing"):
            await schemas.validate({})


@pytest.mark.anyio
async def test_a_dead_server_is_an_error_that_says_what_failed():
    async with answering(Server().handle) as port:
        pass
    fetcher = HttpFetcher()
    try:
        schemas = RemoteSchemas(f"http://127.0.0.1:{port}", fetcher)
        with pytest.raises(Unavailable, match="Failed to get available schema versions: "):
            await schemas.versions()
        with pytest.raises(Unavailable, match="Failed to validate the record: "):
            await schemas.validate(sample("1.0.0"))
    finally:
        await fetcher.close()


@pytest.mark.anyio
async def test_a_server_that_never_answers_is_given_up():
    gone = asyncio.Event()

    async def never(request: web.Request) -> web.Response:
        await gone.wait()
        return web.Response()

    fetcher = HttpFetcher(FetchPolicy(timeout=0.1))
    try:
        async with answering(never) as port:
            with pytest.raises(Unavailable, match="did not respond within"):
                await RemoteSchemas(f"127.0.0.1:{port}", fetcher).versions()
            gone.set()
    finally:
        await fetcher.close()


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/api/versions", "<html>welcome</html>"),
        ("/api/versions", []),
        ("/api/versions", {}),
        ("/api/versions", {"versions": "all", "default": 1}),
        ("/api/versions", {"versions": [{"schema_version": "1.0.0"}]}),
        ("/api/1.0.0/skill_categories", [1]),
        ("/api/1.0.0/skill_categories", "{"),
        ("/schema/1.0.0/objects/record", "no"),
        ("/api/1.0.0/validate/object/record", {"message": "fine"}),
        ("/api/1.0.0/validate/object/record", "[" * 5000),
    ],
)
async def test_a_server_that_babbles_is_an_error_and_not_a_verdict(path: str, answer: Any):
    server = Server()
    server.answers[path] = answer
    async with asking(server) as schemas:
        with pytest.raises(Unavailable, match="Failed to "):
            await everything(schemas)


@pytest.mark.anyio
async def test_entries_of_a_verdict_that_make_no_sense_are_passed_over():
    server = Server()
    server.answers["/api/1.0.0/validate/object/record"] = {"errors": [1, {}, None], "warnings": {"a": 1}}
    async with asking(server) as schemas:
        assert (await schemas.validate(sample("1.0.0"))).lines() == ["ERROR: Validation Error: error"]


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("schema.example.org", "http://schema.example.org"),
        ("https://schema.example.org/", "https://schema.example.org"),
        (" localhost:8000/ ", "http://localhost:8000"),
        ("http://[::1]:80//", "http://[::1]:80"),
    ],
)
def test_an_address_gets_a_scheme_and_loses_its_last_slash(given: str, used: str):
    assert normalise_url(given) == used


@pytest.mark.parametrize("given", ["", "http://", "http://host:port", "https:///path"])
def test_what_is_no_address_is_told_to_the_operator(given: str):
    with pytest.raises(Misconfigured):
        normalise_url(given)
