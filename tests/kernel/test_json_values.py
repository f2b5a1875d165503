import pytest

from pentad.kernel.json_values import as_list, as_object, as_objects, as_texts, text_or_empty, text_or_none


@pytest.mark.parametrize("value", [None, 1, True, "text", [1], {"a": 1}])
def test_values_of_another_type_count_as_empty(value: object) -> None:
    assert as_object(value) == (value if isinstance(value, dict) else {})
    assert as_list(value) == (value if isinstance(value, list) else [])
    assert text_or_empty(value) == (value if isinstance(value, str) else "")
    assert text_or_none(value) == (value if isinstance(value, str) else None)


def test_of_a_list_only_the_items_of_the_right_type_count() -> None:
    mixed = [{"a": 1}, "one", 2, None, "two", {}]
    assert as_objects(mixed) == [{"a": 1}, {}]
    assert as_texts(mixed) == ["one", "two"]


def test_an_empty_text_is_no_text() -> None:
    assert text_or_none("") is None
