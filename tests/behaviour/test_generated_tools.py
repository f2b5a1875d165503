"""Tools that a room generates for a caller: listed, called and announced over every transport, and nowhere else."""

import contextlib
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pentad.kernel.default_limits import Limits
from pentad.mcp.changes import list_changed
from pentad.mcp.profiles import Profile
from tests.behaviour.clients import (
    HTTP_MODERN,
    MEMORY,
    MEMORY_MODERN,
    SESSION,
    STATELESS,
    STDIO,
    STDIO_MODERN,
    Client,
    ConnectionClient,
    Wire,
    wire_name,
)
from tests.behaviour.connecting import AppMaker, connect_http, connected_over_stdio, front_of
from tests.conformance.server import REPOSITORY, environment, pentad

pytestmark = pytest.mark.anyio

ROOM = "tests.behaviour.generated_room:ROOM"
PROFILE = Profile(tools=("renew", "print_taken"), typed=("press:paper", "press:cloth", "press:taken"))
NAMES = ["renew", "print_taken", "print_paper", "print_cloth"]
ADDRESS_WIRES = pytest.mark.parametrize("wire", [SESSION, STATELESS, HTTP_MODERN], ids=wire_name)


async def check(client: Client) -> None:
    """What every transport offers."""
    assert [one["name"] for one in await client.everything("tools/list", "tools")] == NAMES
    assert (await client.call("print_paper", {"text": "hello"})).text == "paper: hello"
    assert (await client.call("print_taken")).text == "declared", "a declared tool keeps its name"
    refused = (await client.call("print_paper", {"txt": "hello"})).result
    assert "Did you mean 'text'?" in refused["content"][0]["text"]
    assert "Did you mean 'print_paper'?" in (await client.call("print_papr")).error["message"]


@pytest.mark.parametrize("wire", [MEMORY, MEMORY_MODERN], ids=wire_name)
@pytest.mark.requirement("tools:generated:every-transport")
async def test_in_memory(make_app: AppMaker, wire: Wire) -> None:
    app = await make_app(rooms=(ROOM,), profiles={"typed": PROFILE})

    async def write(message: bytes) -> None:
        client.take(message)

    connection = app.connection(write, transport="memory", server=app.profile("typed"))
    client = ConnectionClient(wire, {}, connection.receive)
    await client.start()
    await check(client)
    async with client.following(("tools",)) as news:
        await client.call("renew")
        await news.wait_for("notifications/tools/list_changed")
    await connection.close(grace_seconds=0)


@ADDRESS_WIRES
@pytest.mark.requirement("tools:generated:every-transport")
async def test_over_http(make_app: AppMaker, wire: Wire) -> None:
    app = await make_app(rooms=(ROOM,), profiles={"typed": PROFILE})
    client = await connect_http(app, wire, path="/mcp/typed")
    await check(client)
    await client.close()


@contextlib.asynccontextmanager
async def over_stdio(folder: Path, wire: Wire) -> AsyncGenerator[ConnectionClient]:
    config = folder / "pentad.toml"
    config.write_text(
        '[profiles.typed]\ntools = ["renew", "print_taken"]\ntyped = ["press:paper", "press:cloth", "press:taken"]\n'
    )
    command = [pentad(), "mcp", "serve", "--rooms", ROOM, "--data", str(folder / "data"), "--profile", "typed"]
    variables = {**environment(), "PENTAD_CONFIG": str(config)}
    with (folder / "log").open("wb") as log:
        child = subprocess.Popen(
            command, cwd=REPOSITORY, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
        try:
            async with connected_over_stdio(child, wire, {}) as client:
                yield client
        finally:
            child.kill()
            child.communicate()


@pytest.mark.parametrize("wire", [STDIO, STDIO_MODERN], ids=wire_name)
@pytest.mark.requirement("tools:generated:every-transport")
async def test_over_stdio(tmp_path: Path, wire: Wire) -> None:
    async with over_stdio(tmp_path, wire) as client:
        await check(client)


@ADDRESS_WIRES
@pytest.mark.requirement("tools:generated:caller")
async def test_a_caller_has_the_tools_made_for_it_and_the_scopes_they_need(make_app: AppMaker, wire: Wire) -> None:
    profile = Profile(typed=("press:paper", "press:secret"))
    app = await make_app(rooms=(ROOM,), auth="required", profiles={"typed": profile})
    seen: dict[str, list[str]] = {}
    for role, scopes in {"admin": ["*:*"], "writer": ["*:read", "*:write"], "reader": ["*:read"]}.items():
        token = (await app.api_keys.create(role, scopes=scopes)).token
        client = await connect_http(app, wire, path="/mcp/typed", authorization=f"Bearer {token}")
        seen[role] = [one["name"] for one in await client.everything("tools/list", "tools")]
        if role == "writer":
            hidden = (await client.call("print_secret", {"text": "x"})).error["message"]
            absent = (await client.call("print_absent", {"text": "x"})).error["message"]
            assert hidden.replace("secret", "") == absent.replace("absent", "")
        if role == "reader":
            assert "may not write" in str((await client.call("print_paper", {"text": "x"})).final)
        await client.close()
    assert seen == {"admin": ["print_paper", "print_secret"], "writer": ["print_paper"], "reader": []}


@ADDRESS_WIRES
@pytest.mark.requirement("tools:generated:pages")
async def test_a_list_with_generated_tools_has_pages_and_its_cursors_end_with_it(
    make_app: AppMaker, wire: Wire
) -> None:
    names = tuple(f"press:p{number}" for number in range(5))
    app = await make_app(rooms=(ROOM,), profiles={"typed": Profile(typed=names)}, limits=Limits(list_page=2))
    client = await connect_http(app, wire, path="/mcp/typed")
    pages = await client.pages("tools/list", "tools")
    assert [[one["name"] for one in page] for page in pages] == [
        ["print_p0", "print_p1"], ["print_p2", "print_p3"], ["print_p4"],
    ]  # fmt: skip
    await client.close()


@pytest.mark.parametrize("wire", [SESSION, HTTP_MODERN], ids=wire_name)
@pytest.mark.requirement("tools:generated:elsewhere")
async def test_other_endpoints_never_ask_the_room_and_hear_nothing(make_app: AppMaker, wire: Wire) -> None:
    app = await make_app(rooms=(ROOM,), profiles={"typed": PROFILE})
    press = app.rooms[0].service
    client, typed = [await connect_http(app, wire, path=path) for path in ("/mcp", "/mcp/typed")]
    before = press.asked
    async with client.following(("tools",)) as elsewhere, typed.following(("tools",)) as news:
        assert [one["name"] for one in await client.everything("tools/list", "tools")] == ["renew", "print_taken"]
        await client.call("print_taken")
        assert "error" in (await client.call("print_paper", {"text": "x"})).final
        assert press.asked == before
        await client.call("renew")
        await news.wait_for("notifications/tools/list_changed")
        await app.database.write(lambda tx: list_changed(tx, "tools", "press"))
        await elsewhere.wait_for("notifications/tools/list_changed")
        heard = [one for one in elsewhere._said if one.get("method") == "notifications/tools/list_changed"]
        assert len(heard) == 1, "only of the change that was its own"
    for one in (client, typed):
        await one.close()


@pytest.mark.requirement("tools:generated:hidden-cost")
async def test_a_list_is_encoded_once_for_the_same_tools(make_app: AppMaker) -> None:
    app = await make_app(rooms=(ROOM,), profiles={"typed": PROFILE})
    client = await connect_http(app, HTTP_MODERN, path="/mcp/typed")
    endpoint = front_of(app).mounts.endpoints["/mcp/typed"]
    await client.everything("tools/list", "tools")
    pages = endpoint.modern._registry._pages  # pyright: ignore[reportAttributeAccessIssue]
    kept = len(pages._kept)
    await client.everything("tools/list", "tools")
    assert len(pages._kept) == kept
    await client.close()
