"""Query parameters."""

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.kernel.query_parameters import names_in, number_in, query_of


def test_a_query_has_all_values_of_each_parameter() -> None:
    assert query_of({"query_string": b"name=a%20b&name=c&empty="}) == {"name": ["a b", "c"], "empty": [""]}


def test_a_missing_or_empty_number_is_the_default() -> None:
    assert number_in(None, "limit", 5, 1, 9) == number_in("", "limit", 5, 1, 9) == 5


@pytest.mark.parametrize("text", ["0", "10", "-1", "1.5", "٣", "9" * 5_000])
def test_a_number_outside_its_limits_is_refused_with_them(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        number_in(text, "limit", 5, 1, 9)
    assert caught.value.hint == "It is a whole number from 1 to 9."


def test_names_are_separated_by_commas() -> None:
    assert names_in(" a, b,,") == ("a", "b")
    assert names_in(None) == ()
