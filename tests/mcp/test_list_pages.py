"""Encoded lists: one for each set of rights, only a few kept, and cursors that are valid only for their own list."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.principal import LOCAL, Principal
from pentad.mcp.list_pages import KEYS, MOST_KEPT, ListEntry, ListPages, Pages, Right, make_cursor, read_cursor
from pentad.mcp.revisions import NEWEST_LEGACY
from pentad.mcp.wire_errors import ProtocolError

ROOMS = [f"room{number}" for number in range(MOST_KEPT * 2)]
encoded: list[str] = []


def entry(room: str, action: Any) -> ListEntry:
    def listing() -> dict[str, Any]:
        encoded.append(room)
        return {"name": f"{room}_{action}", "inputSchema": {"type": "object"}}

    return ListEntry(Right(room, action), listing)


def some_pages(size: int = 250) -> ListPages:
    tools = [entry(room, action) for room in ROOMS for action in ("read", "write")]
    return ListPages({**{method: [] for method in KEYS}, "tools/list": tools}, size)


def holder(*scopes: str) -> Principal:
    return Principal("key:x", "x", frozenset(scopes), kind="key")


def names(pages: Pages) -> list[str]:
    return [entry["name"] for entry in json.loads(pages.page(None)[0])["tools"]]


@pytest.mark.requirement("access:lists:kept")
def test_callers_with_the_same_rights_share_one_encoded_list() -> None:
    lists = some_pages()
    both = lists.of("tools/list", NEWEST_LEGACY, holder("room1:read", "room2:write"))
    assert names(both) == ["room1_read", "room2_write"]
    assert lists.of("tools/list", NEWEST_LEGACY, holder("room2:write", "room1:read", "elsewhere:admin")) is both
    assert names(lists.of("tools/list", NEWEST_LEGACY, holder("room1:*"))) == ["room1_read", "room1_write"]
    nobody = lists.of("tools/list", NEWEST_LEGACY, holder())
    assert nobody.is_empty
    assert names(nobody) == []


@pytest.mark.requirement("access:lists:kept")
def test_only_so_many_sets_of_rights_are_kept_and_the_common_ones_stay() -> None:
    lists = some_pages()
    common = lists.of("tools/list", NEWEST_LEGACY, LOCAL)
    for room in ROOMS:
        lists.of("tools/list", NEWEST_LEGACY, holder(f"{room}:read"))
        assert lists.of("tools/list", NEWEST_LEGACY, LOCAL) is common
    encoded.clear()
    lists.of("tools/list", NEWEST_LEGACY, holder(f"{ROOMS[0]}:read"))
    assert encoded == [ROOMS[0]], "the first one made room and is encoded again"


@pytest.mark.requirement("access:lists:cursors")
def test_a_cursor_is_bound_to_the_rights_it_was_made_under() -> None:
    lists = some_pages(size=1)
    mine = lists.of("tools/list", NEWEST_LEGACY, holder("room1:*"))
    cursor = json.loads(mine.page(None)[0])["nextCursor"]
    assert mine.page(cursor)[1], "the second of two"
    with pytest.raises(ProtocolError, match="is not valid"):
        lists.of("tools/list", NEWEST_LEGACY, holder("room1:*", "room2:read")).page(cursor)
    assert some_pages(size=1).of("tools/list", NEWEST_LEGACY, holder("room1:*")).page(cursor)[1], "in every process"


@given(
    st.text(max_size=10),
    st.text(max_size=5),
    st.integers(-(2**31), 2**31),
    st.none() | st.text(st.characters(codec="utf-8")),
)
@pytest.mark.requirement("mcp:pagination:bad-cursor")
def test_a_cursor_is_read_back_by_its_own_list_alone(method: str, tag: str, position: int, inner: str | None) -> None:
    own, held = (f"list/{text.encode('ascii', 'ignore').decode()}" for text in (method, tag))
    cursor = make_cursor(own, held, position, inner)
    assert read_cursor(cursor, own, held) == (position, inner)
    for other, another in ((own + "x", held), (own, held + "x")):
        with pytest.raises(ProtocolError) as refused:
            read_cursor(cursor, other, another)
        assert refused.value.code == -32602


@given(st.text(max_size=60))
@pytest.mark.requirement("mcp:pagination:bad-cursor")
def test_any_text_as_a_cursor_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        read_cursor(text, "tools/list", "")
    assert refused.value.code == -32602
