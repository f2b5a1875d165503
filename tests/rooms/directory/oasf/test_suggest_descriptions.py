"""Suggestions for real descriptions: the first one is acceptable, and none is absurd."""

import pytest

from pentad.rooms.directory.oasf.class_suggestions import (
    COLUMN,
    associations,
    class_or_substitute,
    stem,
    suggest,
    table,
)
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family
from tests.rooms.directory.oasf.descriptions import DESCRIPTIONS

VERSIONS = ("1.0.0", "1.1.0")


@pytest.mark.parametrize("version", VERSIONS)
def test_at_least_nine_in_ten_first_skills_are_acceptable(version: str):
    firsts = {one: suggest(one.text, version, "skill", 1) for one in DESCRIPTIONS}
    assert all(firsts.values())
    wrong = {one.text: first[0].entry.short for one, first in firsts.items() if first[0].entry.short not in one.skills}
    assert len(wrong) <= len(DESCRIPTIONS) // 10, wrong


@pytest.mark.parametrize("version", VERSIONS)
def test_at_least_nine_in_ten_confident_first_domains_are_acceptable(version: str):
    firsts = {one: suggest(one.text, version, "domain", 1) for one in DESCRIPTIONS}
    sure = {one: first[0].entry.short for one, first in firsts.items() if first and first[0].confident}
    wrong = {one.text: short for one, short in sure.items() if short not in one.domains}
    assert len(sure) >= len(DESCRIPTIONS) * 3 // 4
    assert len(wrong) <= len(sure) // 10, wrong


@pytest.mark.parametrize("version", EMBEDDED)
@pytest.mark.parametrize("family", ["skill", "domain"])
def test_no_suggestion_a_record_would_get_is_absurd(version: str, family: Family):
    absurd = [
        (one.text, s.entry.short)
        for one in DESCRIPTIONS
        for place, s in enumerate(suggest(one.text, version, family, 3))
        if s.entry.short in one.never and (s.confident or place == 0)
    ]
    assert absurd == []


def test_the_descriptions_name_classes_that_exist():
    known = {e.short for version in VERSIONS for family in ("skill", "domain") for e in taxonomy(version, family).all}
    assert len({one.text for one in DESCRIPTIONS}) >= 100
    for one in DESCRIPTIONS:
        assert one.skills
        assert one.skills | one.domains | one.never <= known, one.text


@pytest.mark.parametrize("version", EMBEDDED)
def test_every_everyday_word_speaks_for_classes_a_record_may_have(version: str):
    said = associations(taxonomy(version, "skill"))
    assert len(said) > 500
    assert all(phrase and all(phrase) for phrase in said)
    assert not [one for found in said.values() for one in found if one.entry.grouping or one.entry.deprecated]
    assert {one.entry.short for one in said[(stem("translates"),)]} == {"translation"}


@pytest.mark.parametrize("family", ["skill", "domain"])
def test_every_class_of_the_table_of_associations_exists_or_is_stood_in_for(family: Family):
    written = table()
    targets = {target for line in written.lines for target in line[COLUMN[family]].split()} - {"-"}
    for target in targets:
        short = target.rstrip("~?")
        found = [class_or_substitute(taxonomy(version, family), short) for version in VERSIONS]
        assert any(found) if target.endswith("?") else all(found), target
    shorts = {e.short for version in EMBEDDED for f in ("skill", "domain") for e in taxonomy(version, f).all}
    assert not {name for names in written.substitutes.values() for name in names} - shorts
