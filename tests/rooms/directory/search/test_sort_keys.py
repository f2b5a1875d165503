"""Sort keys order versions and times."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pentad.rooms.directory.search.sort_keys import created_key, version_key
from tests.rooms.directory.search.oracle import compared

NUMBERS = st.one_of(st.integers(0, 12), st.integers(0, 10**12)).map(str)
RELEASES = st.lists(NUMBERS, min_size=1, max_size=4).map(".".join)
IDENTIFIERS = st.one_of(NUMBERS, st.text("abrc019-", min_size=1, max_size=4))
EARLY = st.lists(IDENTIFIERS, min_size=1, max_size=3).map(lambda parts: "-" + ".".join(parts))
VERSIONS = st.one_of(
    st.builds(
        lambda *parts: "".join(parts),
        st.sampled_from(["", "v", "V"]),
        RELEASES,
        st.just("") | EARLY,
        st.sampled_from(["", "+b.1"]),
    ),
    st.text("v0.1-rc +x", max_size=6),
    st.text(st.characters(codec="utf-8"), max_size=4),
)


@given(left=VERSIONS, right=VERSIONS)
@example(left="v9", right="v10")
@example(left="1.0", right="1.0.0")
@example(left="2.0.0-rc.2", right="2.0.0-rc.10")
def test_keys_compare_as_versions_do(left: str, right: str) -> None:
    one, other = version_key(left).encode("utf-8", "surrogatepass"), version_key(right).encode("utf-8", "surrogatepass")
    assert (one > other) - (one < other) == compared(left, right)


def test_versions_in_the_order_people_count() -> None:
    ordered = [
        "", "latest", "unknown", "0.0.1", "v0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2",
        "1.0.0-beta.11", "1.0.0-rc.1", "v1.0.0", "1.0.1-dev", "1.0.1", "v1.9.0", "1.10", "2", "v10.0.0", "2024.1.5",
        "2024-01-06", "2024.10",
    ]  # fmt: skip
    keys = [version_key(version) for version in ordered]
    assert keys == sorted(set(keys))


@pytest.mark.parametrize(
    ("left", "right"), [("v1.0.0", "1.0"), ("1.0.0+a", "1.0.0+b"), ("V2", "v2.0.0"), (" 1.0 ", "1")]
)
def test_versions_of_equal_precedence_have_one_key(left: str, right: str) -> None:
    assert version_key(left) == version_key(right)


def test_a_time_is_the_moment_it_means() -> None:
    assert created_key("2026-01-01T02:00:00+02:00") == created_key("2026-01-01T00:00:00Z") == 1767225600.0
    assert created_key("2026-01-01t00:00:00.250000000z") == 1767225600.25
    assert created_key("2026-01-01") == 1767225600.0


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-13-01", "2026-01-01T25:00:00Z", "20260101", "0001-01-01T00:00:00+23:59x", "\uff12026-01-01"],
)
def test_what_is_no_time_has_no_key(text: str) -> None:
    assert created_key(text) is None


@given(st.text(max_size=40))
def test_any_text_has_a_key(text: str) -> None:
    assert version_key(text)
    created_key(text)
