"""Class suggestions for free text: deterministic, and marked as guesses when no word supports them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.rooms.directory.oasf.class_suggestions import suggest, words_of
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family


@pytest.mark.parametrize(
    ("text", "version", "family", "expected"),
    [
        ("Reads papers and writes short summaries.", "1.1.0", "skill", "summarization"),
        ("Translates letters between German and English", "0.8.0", "skill", "translation"),
        ("Reviews pull requests and finds bugs in code", "1.1.0", "skill", "code_review"),
        ("Runs workloads on Kubernetes", "1.1.0", "skill", "container_workload_management"),
        ("Books hotels for travellers", "1.0.0", "domain", "hotel_management"),
        ("SQL assistant for Postgres databases", "1.1.0", "domain", "database_administration"),
        ("Drafts contracts", "1.1.0", "domain", "contract_law"),
    ],
)
def test_a_text_is_given_the_class_people_would_choose(text: str, version: str, family: Family, expected: str):
    assert expected in [suggestion.entry.short for suggestion in suggest(text, version, family, 3)]


def test_the_words_that_speak_for_a_class_are_named():
    first = suggest("manage pull requests", "1.1.0", "skill")[0]
    assert first.entry.short == "pull_request_management"
    assert first.words == ("manage", "pull", "requests")


@pytest.mark.parametrize("text", ["", "   ", "the of and", "!?"])
@pytest.mark.parametrize("family", ["skill", "domain"])
def test_a_text_that_says_nothing_gets_no_class(text: str, family: Any):
    assert suggest(text, "1.1.0", family) == []


@pytest.mark.parametrize("text", ["zzzzqq", "日本語", "Frobnicates the gizmo"])
@pytest.mark.parametrize("version", EMBEDDED)
def test_a_text_of_unknown_words_gets_a_skill_that_is_marked_as_a_guess_and_no_domain(text: str, version: str):
    (guess,) = suggest(text, version, "skill")
    assert (guess.confident, guess.words, guess.entry.grouping) == (False, (), False)
    assert suggest(text, version, "domain") == []


@pytest.mark.parametrize("text", ["Plans things", "Writes something", "Manages it all", "Finds a thing"])
def test_a_verb_that_fits_any_agent_makes_nobody_sure(text: str):
    assert not [s for version in EMBEDDED for s in suggest(text, version, "skill") if s.confident]
    assert not [s for version in EMBEDDED for s in suggest(text, version, "domain") if s.confident]


def test_spelling_and_endings_make_no_difference():
    asked = ["summarises texts", "summarizing text", "text summarisation", "summaries of texts"]
    assert {suggest(text, "1.1.0", "skill")[0].entry.short for text in asked} == {"summarization"}


def test_names_run_together_are_taken_apart_but_known_names_are_not():
    assert suggest("readFile", "1.1.0", "skill")[0].entry.short == "document_processing"
    assert suggest("WeatherReporter", "1.1.0", "domain")[0].entry.short == "climate_science"
    assert "power_generation" not in [s.entry.short for s in suggest("Generate PowerPoint", "1.1.0", "domain")]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.sampled_from(EMBEDDED), st.sampled_from(["skill", "domain"]), st.integers(1, 8))
def test_suggestions_are_usable_classes_best_first_and_always_the_same(
    text: str, version: str, family: Any, limit: int
):
    found = suggest(text, version, family, limit)
    assert found == suggest(text, version, family, limit)
    assert len(found) <= limit
    assert found == sorted(found, key=lambda s: (not s.confident, -s.score, s.entry.name))
    assert all(s.entry in taxonomy(version, family).all and not s.entry.grouping for s in found)
    assert all(s.words for s in found if s.confident)


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


def test_a_word_with_accents_is_not_taken_apart():
    assert words_of("naïve ünïcode café-Bücher 天気API") == ["naïve", "ünïcode", "café", "bücher", "api"]
