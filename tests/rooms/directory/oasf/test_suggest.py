"""Classes for a free text, from its words alone: always the same answer, and never one no word speaks for."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.rooms.directory.oasf.suggest import suggest
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family


@pytest.mark.parametrize(
    ("text", "version", "family", "expected"),
    [
        ("Reads papers and writes short summaries.", "1.1.0", "skill", "summarization"),
        ("Translates letters between German and English", "0.8.0", "skill", "translation"),
        ("Reviews pull requests and finds bugs in code", "1.1.0", "skill", "code_review"),
        ("Runs workloads on Kubernetes", "1.1.0", "skill", "container_orchestration"),
        ("Books hotels for travellers", "1.0.0", "domain", "hotel_management"),
        ("SQL assistant for Postgres databases", "1.1.0", "domain", "database_administration"),
        ("Drafts contracts", "1.1.0", "domain", "contract_law"),
    ],
)
def test_a_text_is_given_the_class_people_would_choose(text: str, version: str, family: Family, expected: str):
    assert expected in [suggestion.entry.short for suggestion in suggest(text, version, family, 3)]


def test_the_words_that_speak_for_a_class_are_named():
    first = suggest("review the code of pull requests", "1.1.0", "skill")[0]
    assert first.entry.short == "pull_request_management"
    assert first.words == ("pull", "requests")


@pytest.mark.parametrize("text", ["", "   ", "the of and", "zzzzqq", "日本語"])
def test_a_text_that_says_nothing_gets_no_class(text: str):
    assert suggest(text, "1.1.0", "skill") == []


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.sampled_from(EMBEDDED), st.sampled_from(["skill", "domain"]), st.integers(1, 8))
def test_suggestions_are_usable_classes_best_first_and_always_the_same(
    text: str, version: str, family: Any, limit: int
):
    found = suggest(text, version, family, limit)
    assert found == suggest(text, version, family, limit)
    assert len(found) <= limit
    assert [s.score for s in found] == sorted((s.score for s in found), reverse=True)
    assert all(s.entry in taxonomy(version, family).all and not s.entry.grouping and s.words for s in found)


@pytest.mark.parametrize("version", EMBEDDED)
def test_the_caption_of_a_class_suggests_the_class(version: str):
    entries = [entry for entry in taxonomy(version, "skill").all if not entry.grouping]
    missed = [
        entry.name
        for entry in entries
        if entry.caption.casefold()
        not in [s.entry.caption.casefold() for s in suggest(entry.caption, version, "skill")]
    ]
    assert len(missed) <= len(entries) // 50, missed
