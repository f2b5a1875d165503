"""`writeBack` is refused in words, because a value that is not written back would be lost without a word."""

from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.compiled import compile_schema


def schema(**relation: Any) -> dict[str, Any]:
    children = {"type": "array", "items": {"$ref": "person"}, "inversedBy": "parent", **relation}
    return {"title": "Person", "slug": "person", "properties": {"children": children}}


@pytest.mark.parametrize("keyword", ["writeBack", "removeAfterWriteBack"])
def test_writing_back_is_refused_with_what_to_do_instead(keyword: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_schema(schema(**{keyword: True}), parents=lambda _ref: None)
    [problem] = refused.value.details["problems"]
    assert (problem["path"], problem["rule"]) == (f"/properties/children/{keyword}", keyword)
    assert "inversedBy" in problem["message"]


@pytest.mark.parametrize("relation", [{}, {"writeBack": False}, {"writeBack": None, "removeAfterWriteBack": False}])
def test_a_schema_that_does_not_ask_for_it_is_taken_as_it_is(relation: dict[str, Any]) -> None:
    assert compile_schema(schema(**relation), parents=lambda _ref: None).references[0].inversed_by == "parent"
