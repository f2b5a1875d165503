"""The search over all rooms as a tool, over REST, on the command line and in the console."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from pentad.app import App, open_app
from pentad.settings.model import Settings
from tests.behaviour.clients import HTTP_MODERN
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.cli.processes import run

pytestmark = pytest.mark.anyio

TEXT = {"text": {"type": "string"}}
NOTE = "A heliograph flashes sunlight across the valley."


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[App]:
    folder: Path = tmp_path_factory.mktemp("wires")
    async with open_app(Settings(data=folder, auth="none", models=folder / "none")) as app:
        async with app.client() as client:
            for name, arguments in (
                ("registers", {"action": "create", "data": {"title": "Signals", "slug": "signals"}}),
                (
                    "schemas",
                    {"action": "create", "data": {"title": "Note", "properties": {"text": {"type": "string"}}}},
                ),
                ("registers", {"action": "update", "id": "signals", "data": {"schemas": [1]}}),
                ("objects", {"action": "create", "register": "signals", "schema": "note", "data": {"text": NOTE}}),
            ):
                result = await client.call_tool(name, arguments)
                assert not result["isError"], result
        yield app


async def get(app: App, path: str, **query: str) -> tuple[int, str]:
    answer = send(front_of(app), "GET", f"{path}?{urlencode(query)}", {"host": "localhost"}, b"")
    return (await answer.head()).status, (await answer.body()).decode()


@pytest.mark.requirement("search:rooms:wires")
async def test_the_tool_and_rest_give_the_same_answer(house: App) -> None:
    client = await connect_http(house, HTTP_MODERN)
    asked: dict[str, Any] = {"query": "heliographs in sunlight", "kinds": ["object", "task"], "limit": 2}
    tool = (await client.call("search", asked)).result["structuredContent"]
    status, body = await get(house, "/api/rooms/search", q="heliographs in sunlight", kinds="object, task", limit="2")
    assert (status, json.loads(body)) == (200, tool)
    (hit,) = tool["groups"][0]["hits"]
    assert (hit["rank"], hit["snippet"]) == (1, NOTE)
    assert {word for reason in hit["why"] for word in reason["words"]} == {"heliographs", "sunlight"}


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "The query is empty."),
        ({"q": "x", "limit": "0"}, "limit is '0'."),
        ({"q": "x", "max_tokens": "many"}, "max_tokens is 'many'."),
        ({"q": "x", "kinds": "objct"}, "Did you mean 'object'?"),
    ],
)
@pytest.mark.requirement("search:rooms:wires")
async def test_rest_refuses_what_cannot_be_asked(house: App, query: dict[str, str], words: str) -> None:
    status, body = await get(house, "/api/rooms/search", **query)
    assert status == 422
    assert words in body.replace("\\u0027", "'")


@pytest.mark.requirement("search:rooms:wires")
async def test_the_page_shows_hits_with_links_and_says_when_there_are_none(house: App) -> None:
    status, page = await get(house, "/console/search", q="heliograph", kind="object")
    assert status == 200
    assert NOTE in page
    assert 'href="/console/registers/objects/' in page
    _, tools = await get(house, "/console/search", q="rate an answer", kind="tool")
    assert 'href="/console/tools/tool/rate_answer"' in tools
    status, nothing = await get(house, "/console/search", q="xylophone", kind="object")
    assert "Nothing was found." in nothing
    _, home = await get(house, "/")
    assert 'action="/console/search"' in home


@pytest.mark.requirement("search:rooms:wires")
def test_the_verb_prints_hits_or_json(tmp_path: Path) -> None:
    found = run("search", "memory", "used", "--kind", "metric", "--limit", "1", "--data", "data", home=tmp_path)
    assert "metrics://catalog/" in found.stdout
    told = run("search", "memory", "--kind", "metric", "--json", "--data", "data", home=tmp_path)
    assert json.loads(told.stdout)["groups"][0]["kind"] == "metric"
    nothing = run("search", "xylophone", "--kind", "object", "--data", "data", home=tmp_path)
    assert (nothing.stdout, "No good match." in nothing.stderr) == ("", True)
