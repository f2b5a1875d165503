"""Editing JSON text: the change happens, and everything else stays to the letter."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Misconfigured
from pentad.mcp_clients.json_editor import JsonEditor, parse

ENTRY = {"command": "pentad", "args": ["mcp", "serve"]}
PATH = ("mcpServers", "pentad")

keys = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | keys
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3))
servers = st.dictionaries(keys | st.just("pentad"), st.dictionaries(keys, values, max_size=3), max_size=3)
documents = st.dictionaries(keys, values, max_size=4).flatmap(
    lambda rest: st.one_of(
        st.just({key: value for key, value in rest.items() if key != "mcpServers"}),
        servers.map(lambda known: {**rest, "mcpServers": known}),
    )
)


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """The value as some person might have written it: any layout, remarks anywhere, commas after the last entry."""
    number = iter(range(10_000))

    def filler() -> str:
        choice = draw(st.sampled_from(["", "", " ", "\n  ", "\n\t", "/*{}*/", " // {}\n"]))
        return choice.replace("{}", f"remark {next(number)}!")

    def text(inner: Any) -> str:
        if isinstance(inner, dict):
            parts = [f"{filler()}{json.dumps(key)}{filler()}:{filler()}{text(item)}" for key, item in inner.items()]
            return "{" + f"{filler()},".join(parts) + ending(parts) + "}"
        if isinstance(inner, list):
            parts = [f"{filler()}{text(item)}" for item in inner]
            return "[" + f"{filler()},".join(parts) + ending(parts) + "]"
        return json.dumps(inner)

    def ending(parts: list[str]) -> str:
        return filler() + ("," + filler() if parts and draw(st.booleans()) else "")

    return filler() + text(value) + filler()


@given(st.data())
def test_the_change_happens_and_nothing_else_does(data: st.DataObject) -> None:
    document: dict[str, Any] = data.draw(documents)
    text = data.draw(written(document))
    edited = JsonEditor(comments=True).with_member(text, PATH, ENTRY)
    before = document.get("mcpServers", {})
    expected = {**document, "mcpServers": {**before, "pentad": {**before.get("pentad", {}), **ENTRY}}}
    assert parse(edited, comments=True).value == expected
    assert re.findall(r"remark \d+!", edited) == re.findall(r"remark \d+!", text) or "pentad" in before
    assert JsonEditor(comments=True).with_member(edited, PATH, ENTRY) == edited


@given(st.data())
def test_a_list_gains_its_element_once(data: st.DataObject) -> None:
    document: dict[str, Any] = data.draw(st.lists(values, max_size=3).map(lambda items: {"inputs": items, "x": 1}))
    text = data.draw(written(document))
    edited = JsonEditor(comments=True).with_element(text, ("inputs",), {"id": "mine"})
    assert parse(edited, comments=True).value == {**document, "inputs": [*document["inputs"], {"id": "mine"}]}
    assert JsonEditor(comments=True).with_element(edited, ("inputs",), {"id": "mine"}) == edited


@given(values, st.sampled_from([None, 2, "\t"]))
def test_plain_json_is_read_as_the_standard_library_reads_it(value: Any, indent: int | str | None) -> None:
    assert parse(json.dumps(value, indent=indent), comments=False).value == value


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_just_as_the_standard_library_does(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=lambda _: pytest.fail("not JSON"))
    except (ValueError, pytest.fail.Exception):
        with pytest.raises(Misconfigured):
            parse(text, comments=False)
    else:
        assert parse(text, comments=False).value == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": {\n    "b": {\n      "k": 1\n    }\n  }\n}\n'),
        ('{"x": 1}', '{"x": 1, "a": {"b": {"k": 1}}}'),
        ('{\n  "x": 1 // why\n}', '{\n  "x": 1, // why\n  "a": {\n    "b": {\n      "k": 1\n    }\n  }\n}'),
        ('{\r\n\t"x": 1\r\n}', '{\r\n\t"x": 1,\r\n\t"a": {\r\n\t\t"b": {\r\n\t\t\t"k": 1\r\n\t\t}\r\n\t}\r\n}'),
        ("{\n  // nothing yet\n}", '{\n  // nothing yet\n  "a": {\n    "b": {\n      "k": 1\n    }\n  }\n}'),
        ('{\n    "a": {}\n}', '{\n    "a": {\n        "b": {\n            "k": 1\n        }\n    }\n}'),
    ],
)
def test_a_new_entry_looks_like_its_neighbours(before: str, after: str) -> None:
    assert JsonEditor(comments=True).with_member(before, ("a", "b"), {"k": 1}) == after


def test_a_remark_inside_the_entry_survives_when_only_other_members_change() -> None:
    text = '{"a": {"b": {\n  "k": 1, // mine\n  "z": 2\n}}}'
    assert JsonEditor(comments=True).with_member(text, ("a", "b"), {"k": 5}) == text.replace("1,", "5,")


def test_a_text_nested_without_end_is_refused() -> None:
    with pytest.raises(Misconfigured, match="levels"):
        parse("[" * 100_000, comments=False)
