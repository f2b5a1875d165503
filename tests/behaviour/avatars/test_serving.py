"""Avatars at their own paths while the server runs: they are added, changed and removed, and only readers see them."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from pentad.app import App
from tests.behaviour.avatars.door import Door
from tests.behaviour.avatars.folders import KEEPER, keeper
from tests.behaviour.clients import MEMORY, SESSION, STATELESS
from tests.behaviour.connecting import AppMaker, connect_http, connected_in_memory, front_of, make_app
from tests.behaviour.http_wire import HttpAnswer, send
from tests.net.test_fetch import answering

__all__ = ["make_app"]
pytestmark = pytest.mark.anyio

PATH = "/rooms/avatars/ida-brandt/mcp"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
SLUICES = "How many sluices did the Lower Marsh have in 1931?"


def post(app: App, path: str, **headers: str) -> HttpAnswer:
    sent = {"content-type": "application/json", "accept": "application/json, text/event-stream", **headers}
    return send(front_of(app), "POST", path, sent, json.dumps(LIST).encode())


@pytest.mark.requirement("avatars:server:changes")
async def test_an_avatar_is_served_as_soon_as_it_is_there_as_it_is_now_and_not_when_it_is_gone(
    make_app: AppMaker, tmp_path: Path
) -> None:
    app = await make_app(rooms=("avatars",), models=tmp_path / "none")
    avatars = app.rooms[0].service
    missing = post(app, PATH)
    assert (await missing.json())["error"]["code"] == "not_found"
    assert missing.status == 404
    folder = keeper(tmp_path)
    await avatars.ingest(folder)
    client = await connect_http(app, SESSION, path=PATH)
    assert client.server["serverInfo"]["version"] == "1.0.0"
    assert len((await client.request("tools/list")).result["tools"]) == 4
    changed = {**KEEPER, "mcp": {"name": "the-keeper", "version": "2.0.0", "tools": ["get_avatar_info", "unheard_of"]}}
    (folder / "config.json").write_text(json.dumps(changed), encoding="utf-8")
    await avatars.ingest(folder)
    tools = (await client.request("tools/list")).result["tools"]
    assert [tool["name"] for tool in tools] == ["get_avatar_info"], "in the very session that was open"
    await client.close()
    again = await connect_http(app, SESSION, path=PATH + "/")
    assert again.server["serverInfo"]["name"] == "the-keeper"
    await again.close()
    await avatars.remove("ida-brandt")
    assert (await post(app, PATH).head()).status == 404


@pytest.mark.requirement("avatars:server:access")
async def test_who_may_not_read_the_room_does_not_learn_which_avatars_there_are(
    make_app: AppMaker, tmp_path: Path
) -> None:
    app = await make_app(rooms=("avatars",), auth="required", models=tmp_path / "none")
    await app.rooms[0].service.ingest(keeper(tmp_path))
    stranger = (await app.api_keys.create("s", scopes=["directory:read"])).token
    reader = (await app.api_keys.create("r", scopes=["avatars:read"])).token
    nobody = "/rooms/avatars/nobody/mcp"
    for path in (PATH, nobody):
        assert (await post(app, path).head()).status == 401
        assert (await post(app, path, authorization=f"Bearer {stranger}").head()).status == 403
    refused = post(app, nobody, authorization=f"Bearer {reader}")
    assert "ida-brandt" in (await refused.json())["error"]["hint"]
    assert refused.status == 404
    assert (await post(app, PATH, authorization=f"Bearer {reader}").head()).status == 200
    for path in ("/rooms/avatars//mcp", "/rooms/avatars/ida-brandt/x/mcp", "/rooms/nothing/ida-brandt/mcp"):
        assert (await post(app, path, authorization=f"Bearer {reader}").head()).status == 404


class Model:
    """An OpenAI-compatible model that says what the test wants about the sentence on sluices."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.status = 200
        self.calls = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.calls += 1
        if self.status != 200:
            return web.Response(status=self.status)
        asked = (await request.json())["messages"][1]["content"].partition("\n\nThese statements")[0]
        sentences = json.loads(asked)["sentences"]
        name = next(one["name"] for one in sentences if "27 sluices" in one["text"])
        made = {"statements": [{"text": text, "support": [name]} for text in self.texts], "abstain": False}
        return web.json_response({"choices": [{"message": {"content": json.dumps(made)}}]})


async def drafted(model: Model, make_app: AppMaker, tmp_path: Path, **arguments: Any) -> dict[str, Any]:
    async with answering(model.answer) as port:
        table = {"avatars": {"model_url": f"http://127.0.0.1:{port}/v1", "model_name": "m"}}
        app = await make_app(rooms=("avatars",), models=tmp_path / "none", room_tables=table)
        await app.rooms[0].service.ingest(keeper(tmp_path))
        async with connected_in_memory(app, MEMORY, {}) as client:
            return await Door(client, alone=True).call("generate_response", question=SLUICES, **arguments)


@pytest.mark.parametrize("mode", ["auto", "endpoint"])
@pytest.mark.requirement("avatars:mode:endpoint", "avatars:grounding:hallucination")
async def test_a_configured_model_drafts_and_what_it_makes_up_is_not_returned(
    mode: str, make_app: AppMaker, tmp_path: Path
) -> None:
    model = Model(
        "In 1931 the Lower Marsh had 27 sluices.",
        "In 1931 the Lower Marsh had 270 sluices.",
        "Wilhelm Harms built the sluices.",
        "The author wrote: \u201cThe Lower Marsh had no keeper who was worth his bread\u201d.",
    )
    answer = await drafted(model, make_app, tmp_path, mode=mode)
    assert answer["mode"] == "endpoint"
    assert model.calls == 2, "a draft, and one repair"
    assert "27 sluices" in answer["response"]
    for invented in ("270", "Wilhelm", "worth his bread"):
        assert invented not in answer["response"]
        assert all(invented not in one["text"] for one in answer["statements"])
    assert answer["confidence"] != "high"


@pytest.mark.requirement("avatars:mode:endpoint")
async def test_when_the_model_fails_the_avatar_quotes(make_app: AppMaker, tmp_path: Path) -> None:
    model = Model("In 1931 the Lower Marsh had 27 sluices.")
    model.status = 401
    answer = await drafted(model, make_app, tmp_path)
    assert answer["mode"] == "extractive"
    assert "401" in answer["grounding"]["fell_back"]
    assert "27 sluices" in answer["citations"][0]["quote"]


@pytest.mark.requirement("avatars:mode:endpoint")
async def test_no_model_is_asked_when_quotes_are_wanted(make_app: AppMaker, tmp_path: Path) -> None:
    model = Model("In 1931 the Lower Marsh had 27 sluices.")
    answer = await drafted(model, make_app, tmp_path, mode="extractive")
    assert (answer["mode"], model.calls) == ("extractive", 0)


async def test_a_part_of_a_room_answers_without_a_session_too(site: App) -> None:
    client = await connect_http(site, STATELESS, path=PATH)
    assert (await Door(client, alone=True).ask("get_avatar_info"))["id"] == "ida-brandt"
