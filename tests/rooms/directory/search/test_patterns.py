"""Patterns match the same values in both stores, as defined."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import LimitExceeded
from pentad.kernel.ports import Database, Dialect, Rows
from pentad.kernel.words import words
from pentad.rooms.directory.search.patterns import LONGEST, pattern
from tests.health_checks import ALL_HEALTH_CHECKS
from tests.rooms.directory.search.oracle import matches

PIECES = st.sampled_from(
    [*"*?[]!^-abcXYZ019%_\\.$(){}|+äßŒ😀\n", "[a-c]", "[!a]", "[^a-b]", "[]]", "[-a]", "[a-]", "[^^]", "[+--]"]
)
PATTERNS = st.lists(PIECES, max_size=8).map("".join)
VALUES = st.text(st.sampled_from([*"abcxyz019%_[]!^-\\.$(){}|+äßœ😀\n*?"]), max_size=8)
MANY = settings(
    max_examples=30,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=ALL_HEALTH_CHECKS,
)


def found(rows: Rows, dialect: Dialect, written: str, value: str) -> bool:
    column = "v" if dialect == "sqlite" else '(v COLLATE "C")'
    condition = pattern(written).condition(dialect, column)
    text = condition.text.replace(column, "CAST(? AS TEXT)" if dialect == "sqlite" else 'CAST(? AS TEXT) COLLATE "C"')
    params = (value, *condition.params) if "CAST" in text else condition.params
    return bool(rows.value(f"SELECT CASE WHEN {text} THEN 1 ELSE 0 END", *params))


@MANY
@pytest.mark.anyio
@given(asked=st.lists(st.tuples(PATTERNS, VALUES), min_size=30, max_size=60))
async def test_stores_match_as_the_definition_does(store: Database, asked: list[tuple[str, str]]) -> None:
    answers = await store.read(lambda rows: [found(rows, store.dialect, *pair) for pair in asked])
    for (written, value), answer in zip(asked, answers, strict=True):
        assert answer == matches(written, value), (written, value)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("written", "value", "expected"),
    [
        ("my-agent", "my-agent", True),
        ("MY-Agent", "my-agent", True),
        ("my", "my-agent", False),
        ("*python*", "uses python 3", True),
        ("v1.?", "v1.2", True),
        ("v1.?", "v1.", False),
        ("v[0-9].*", "v7.1", True),
        ("v[!0-9]*", "v7", False),
        ("[abc", "[abc", True),
        ("[]", "[]", True),
        ("[]]", "]", True),
        ("100%_", "100%_", True),
        ("100%_", "100xx", False),
        ("[z-a]", "m", False),
        ("[!z-a]", "m", True),
        ("", "", True),
        ("**", "", True),
    ],
)
async def test_a_pattern_and_a_value(store: Database, written: str, value: str, expected: bool) -> None:
    assert matches(written, value) is expected
    assert await store.read(lambda rows: found(rows, store.dialect, written, value)) is expected


@pytest.mark.anyio
@pytest.mark.parametrize(
    "written", ["*a" * 900 + "*b", "*?" * 900 + "[c]", "*[ab]" * 350 + "c", "*" * (LONGEST - 1) + "x"]
)
async def test_a_hostile_pattern_is_answered(store: Database, written: str) -> None:
    assert await store.read(lambda rows: found(rows, store.dialect, written, "a" * 5_000)) is False


@given(written=PATTERNS, value=VALUES)
def test_every_match_has_the_prefix_the_grams_and_the_words(written: str, value: str) -> None:
    if matches(written, value):
        read = pattern(written)
        assert value.startswith(read.prefix)
        assert all(gram in value for gram in read.grams)
        assert read.plain in (None, value)


@given(
    start=st.text(max_size=3), end=st.text(max_size=3),
    inside=st.lists(st.sampled_from(["bot", "data", "-", "/", "_", ".", "ä", "é", "7"]), min_size=1).map("".join),
)  # fmt: skip
def test_words_of_a_pattern_are_words_of_what_it_matches(start: str, end: str, inside: str) -> None:
    cut = words(start + inside + end)
    for text, whole in pattern(f"*{inside}*").words:
        assert any(word == text if whole else word.startswith(text) for word in cut)
    cut = words(start + inside)
    for text, whole in pattern(f"*{inside}").words:
        assert any(word == text if whole else word.startswith(text) for word in cut)


def test_a_pattern_longer_than_any_value_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="at most 2000 characters"):
        pattern("x" * (LONGEST + 1))
