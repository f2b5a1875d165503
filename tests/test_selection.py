"""Which tests wait for `make interop`."""

import pytest

from tests.selection import BOTH_AT_ONCE, SQLITE_FIRST, TESTS, is_left_to_interop


@pytest.mark.parametrize(
    ("path", "parameters", "is_left"),
    [
        ("http/test_login.py", ["postgres"], True),
        ("rooms/registers/interface/rest/test_files.py", [1, "postgres"], True),
        ("http/test_login.py", ["sqlite"], False),
        ("http/test_login.py", [["postgres"]], False),
        ("storage/test_contract.py", ["postgres"], False),
        ("rooms/registers/objects/test_writer.py", ["postgres"], False),
        ("http/test_store_troubles.py", ["postgres"], False),
    ],
)
def test_postgres_waits_where_callers_are_tested_and_not_where_stores_are(
    path: str, parameters: list[object], *, is_left: bool
) -> None:
    assert is_left_to_interop(TESTS / path, parameters) is is_left


@pytest.mark.parametrize("place", [*SQLITE_FIRST, *BOTH_AT_ONCE])
def test_every_place_that_the_rule_names_exists(place: str) -> None:
    assert (TESTS / place).exists()
