"""Blocks, tool results and items: each comes back as it was."""

from base64 import b64encode
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pentad.rooms.agents.context.blocks import (
    blocks_of_items,
    item_of_tool,
    items_of_blocks,
    items_of_result,
    result_of_items,
    tools_of,
)
from pentad.rooms.agents.context.kinds import kind_of
from pentad.rooms.agents.context.lint import lint
from tests.rooms.agents.context.cases import CASES

texts = st.text(st.characters(codec="utf-8"), max_size=8)
base64s = st.binary(max_size=9).map(lambda body: b64encode(body).decode())
types = st.sampled_from(["image/png", "audio/wav", "text/markdown", "application/pdf", "application/json"])
common = st.fixed_dictionaries(
    {},
    optional={
        "annotations": st.fixed_dictionaries({"priority": st.sampled_from([0, 0.5, 1])}),
        "_meta": st.dictionaries(texts, st.integers(), max_size=2),
    },
)


def block(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    fixed = st.fixed_dictionaries(members)
    return st.tuples(fixed, common).map(lambda two: {**two[0], **two[1]})


resources = st.fixed_dictionaries({"uri": texts.map("a:b/".__add__), "text": texts}, optional={"mimeType": types}) | (
    st.fixed_dictionaries({"uri": texts.map("a:b/".__add__), "blob": base64s}, optional={"mimeType": types})
)
links = st.fixed_dictionaries(
    {"type": st.just("resource_link"), "uri": texts.map("a:b/".__add__), "name": texts},
    optional={"mimeType": types, "title": texts, "description": texts, "size": st.integers(0, 9)},
)
blocks = (
    block(type=st.just("text"), text=texts)
    | block(type=st.just("image"), data=base64s, mimeType=st.just("image/png"))
    | block(type=st.just("audio"), data=base64s, mimeType=st.just("audio/wav"))
    | block(type=st.just("resource"), resource=resources)
    | st.tuples(links, common).map(lambda two: {**two[0], **two[1]})
)
plain = st.none() | st.booleans() | st.integers() | texts | st.lists(st.integers(), max_size=2)
items = st.dictionaries(
    texts,
    st.fixed_dictionaries(
        {},
        optional={
            "id": texts,
            "mediaType": types,
            "content": plain | base64s | st.dictionaries(texts, plain, max_size=2),
            "ref": texts.map("a:b/".__add__),
            "metadata": st.dictionaries(
                st.sampled_from(["kind", "x-block", "a"]),
                st.sampled_from(["text", "resource", "resource_link", "image", "content", {}, {"resource": {}}]),
                max_size=2,
            ),
        },
    ),
    max_size=4,
)


@given(st.lists(blocks, max_size=4))
def test_blocks_come_back_as_they_were(given_blocks: list[dict[str, Any]]):
    made = items_of_blocks(given_blocks)
    assert len(made) == len(given_blocks)
    assert blocks_of_items(made) == given_blocks


@given(items)
def test_items_come_back_as_they_were(given_items: dict[str, Any]):
    back = items_of_blocks(blocks_of_items(given_items))
    assert back == given_items
    assert list(back) == list(given_items)


@given(st.lists(blocks, min_size=1, max_size=3), st.none() | st.dictionaries(texts, plain, max_size=2), st.booleans())
def test_a_tools_result_comes_back_as_it_was(content: list[Any], structured: Any, failed: bool):
    result = {"content": content, "isError": failed}
    if structured is not None:
        result["structuredContent"] = structured
    assert result_of_items(items_of_result(result)) == result


def test_a_failure_without_words_stays_a_failure():
    assert result_of_items(items_of_result({"content": [], "isError": True}))["isError"] is True


def test_items_of_blocks_are_good_items_of_their_kind():
    made = items_of_blocks(
        [
            {"type": "text", "text": "hello"},
            {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            {
                "type": "resource",
                "resource": {"uri": "openregister://a/b/c.md", "text": "# A", "mimeType": "text/plain"},
            },
            {
                "type": "resource_link",
                "uri": "https://example.org/x.pdf",
                "name": "x.pdf",
                "mimeType": "application/pdf",
            },
            {"type": "text", "text": "again"},
        ]
    )
    assert list(made) == ["text", "image", "c.md", "x.pdf", "text_2"]
    assert [kind_of(item) for item in made.values()] == ["text", "image", "resource", "resource_link", "text"]
    report = lint({"items": made}, "strict")
    assert (report.valid, report.issues) == (True, [])


def test_tools_are_found_in_a_context():
    tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("a", "b", "c")]
    made = {"one": item_of_tool(tools[0]), "two": {"content": tools[1:]}, "no": {"content": "x"}}
    made["two"]["metadata"] = {"kind": "tool"}
    assert tools_of(made) == tools


def test_forty_thousand_blocks_all_get_names():
    many = [{"type": "text", "text": ""}] * 40_000
    made = items_of_blocks(many)
    assert list(made)[::20_000] == ["text", "text_20001"]
    assert blocks_of_items(made) == many


def test_every_item_has_a_kind():
    for case in CASES:
        report = lint(case.context)
        for item in (report.value or {}).get("items", {}).values():
            assert kind_of(item)
