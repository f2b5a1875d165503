"""Snippets: the part of a text that has the words."""

import pytest

from pentad.search.sources import SNIPPET, snippet

LONG = (
    "The harbour is quiet. " * 40 + "Permits for tall ships are reviewed by the harbour master. " + "Gulls cry. " * 40
)


@pytest.mark.requirement("search:rooms:snippets")
def test_a_snippet_shows_the_part_with_the_words_whatever_their_ending() -> None:
    shown = snippet(LONG, ["reviewing", "permit"])
    assert "Permits for tall ships are reviewed" in shown
    assert len(shown) <= SNIPPET + 2
    assert shown.startswith("…")
    assert shown.endswith("…")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "short"),
        ("", ""),
        ("two\n\n lines\t here", "two lines here"),
        ("bell\x07 and \u202eright\u202c", "bell and right"),
    ],
)
@pytest.mark.requirement("search:rooms:snippets")
def test_a_snippet_is_one_printable_line(text: str, shown: str) -> None:
    assert snippet(text, ["x"]) == shown


@pytest.mark.requirement("search:rooms:snippets")
def test_a_text_without_the_words_is_shown_from_its_beginning() -> None:
    assert snippet(LONG, ["whale"]).startswith("The harbour is quiet.")
    assert len(snippet("x" * 10_000, ["y"])) <= SNIPPET + 2
