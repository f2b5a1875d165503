"""Internal calls: a room uses other rooms with its caller's rights."""

import pytest
from msgspec.structs import replace

from pentad.kernel.errors import Forbidden, NotFound
from pentad.kernel.principal import LOCAL, Principal
from pentad.kernel.trace import RequestMark, request_mark
from pentad.mcp.declarations import tool
from pentad.platform import NO_NEIGHBOURS
from tests.behaviour.connecting import AppMaker
from tests.behaviour.room import ROOM

READER = Principal("jwt:rea", "rea", frozenset({"lab:read"}))
STRANGER = Principal("jwt:sam", "sam", frozenset({"directory:read"}))


@pytest.mark.anyio
@pytest.mark.requirement("rooms:neighbours")
async def test_a_tool_answers_a_neighbour_as_it_answers_a_client(make_app: AppMaker) -> None:
    app = await make_app()

    result = await app.platform(ROOM).neighbours.call_tool(READER, "add", {"a": 2, "b": 3})

    assert result["structuredContent"] == {"total": 5}
    assert result["isError"] is False


@pytest.mark.anyio
async def test_a_resource_is_read_by_a_neighbour(make_app: AppMaker) -> None:
    app = await make_app()

    [contents] = await app.neighbours.read(READER, "lab://notes/alpha")

    assert (contents.uri, contents.text) == ("lab://notes/alpha", "note alpha")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("who", "name", "arguments"),
    [(STRANGER, "add", {"a": 1, "b": 1}), (READER, "write_note", {"name": "n", "text": "t"})],
)
@pytest.mark.requirement("rooms:neighbours:rights")
async def test_rights_are_those_of_the_caller(
    make_app: AppMaker, who: Principal, name: str, arguments: dict[str, object]
) -> None:
    app = await make_app()

    with pytest.raises(Forbidden) as refused:
        await app.neighbours.call_tool(who, name, arguments)

    assert refused.value.details["required_scope"] in {"lab:read", "lab:write"}


@pytest.mark.anyio
@pytest.mark.requirement("rooms:neighbours:rights")
async def test_a_resource_is_refused_to_who_may_not_read_the_room(make_app: AppMaker) -> None:
    app = await make_app()

    with pytest.raises(Forbidden):
        await app.neighbours.read(STRANGER, "lab://notes/alpha")


@pytest.mark.anyio
async def test_what_is_not_there_is_not_found(make_app: AppMaker) -> None:
    app = await make_app()

    for missing in (app.neighbours.read(LOCAL, "lab://notes/none"), app.neighbours.read(LOCAL, "nowhere://at/all")):
        with pytest.raises(NotFound):
            await missing
    with pytest.raises(NotFound):
        await app.neighbours.call_tool(LOCAL, "no_such_tool", {})


@pytest.mark.anyio
async def test_a_tool_that_cannot_fulfil_says_so_in_its_result(make_app: AppMaker) -> None:
    app = await make_app()

    refused = await app.neighbours.call_tool(LOCAL, "refuse", {"key": "k"})

    assert refused["isError"] is True


@pytest.mark.anyio
async def test_progress_comes_back_to_who_asked_from_inside(make_app: AppMaker) -> None:
    app = await make_app()
    heard: list[tuple[float, float | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total))

    await app.neighbours.call_tool(LOCAL, "count", {"steps": 3}, progress=progress)

    assert [done for done, _ in heard] == [0, 1, 2]


@pytest.mark.anyio
@pytest.mark.requirement("rooms:neighbours:audit")
async def test_a_call_from_inside_is_in_the_audit_trail_and_leaves_the_request_as_it_was(make_app: AppMaker) -> None:
    app = await make_app()
    noted: list[tuple[object, ...]] = []
    app.record = noted.append
    mark = RequestMark("outer", "0" * 31 + "1", f"00-{'0' * 31}1-{'0' * 15}1-01")
    token = request_mark.set(mark)
    try:
        await app.neighbours.call_tool(READER, "echo", {"text": "hello"})
        assert request_mark.get() == mark
    finally:
        request_mark.reset(token)
    [entry] = noted
    assert entry[1:5] == ("jwt:rea", "lab", "echo", "ok")
    assert entry[8] == "internal"
    assert str(entry[9]).startswith(f"00-{'0' * 31}1-"), "the caller's trace goes on"


@pytest.mark.anyio
@pytest.mark.requirement("rooms:neighbours:circle")
async def test_rooms_that_call_one_another_in_a_circle_are_stopped(make_app: AppMaker) -> None:
    app = await make_app()
    registry = app.all_rooms.registry

    @tool("around", read_only=True)
    async def around() -> str:
        """Calls itself."""
        result = await app.neighbours.call_tool(LOCAL, "around", {})
        return str(result["content"][0]["text"])

    registry.tools["around"] = replace(registry.tools["nothing"], declared=around)

    result = await app.neighbours.call_tool(LOCAL, "around", {})

    assert "circle" in result["content"][0]["text"]
    assert (await app.neighbours.call_tool(LOCAL, "echo", {"text": "still here"}))["isError"] is False


@pytest.mark.anyio
async def test_a_room_opened_by_itself_has_no_neighbours() -> None:
    with pytest.raises(NotFound):
        await NO_NEIGHBOURS.call_tool(LOCAL, "echo", {})
    with pytest.raises(NotFound):
        await NO_NEIGHBOURS.read(LOCAL, "lab://notes/alpha")


@pytest.mark.anyio
@pytest.mark.requirement("rooms:neighbours:rights-now")
async def test_a_neighbour_is_used_with_the_rights_that_are_left_since_the_caller_called(make_app: AppMaker) -> None:
    app = await make_app()
    begun = (await app.users.add("wil", "not-a-real-password", role="writer", scopes=["lab:admin"])).principal()
    assert (await app.neighbours.call_tool(begun, "wipe", {}))["isError"] is False

    await app.database.write(lambda tx: tx.run("UPDATE users SET role = 'reader', scopes = ''"))
    with pytest.raises(Forbidden, match="may not admin"):
        await app.neighbours.call_tool(begun, "wipe", {})
    await app.neighbours.read(begun, "lab://notes/alpha")

    await app.database.write(lambda tx: tx.run("DELETE FROM users"))
    for refused in (
        app.neighbours.call_tool(begun, "add", {"a": 2, "b": 3}),
        app.neighbours.read(begun, "lab://notes/alpha"),
    ):
        with pytest.raises(Forbidden, match="user:wil is gone"):
            await refused
