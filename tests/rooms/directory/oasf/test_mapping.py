"""A class maps to the class with the same meaning in another version."""

import pytest

from pentad.rooms.directory.oasf.taxonomy import map_class, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, Family


@pytest.mark.parametrize(
    ("family", "before", "name", "after", "found", "how"),
    [
        (
            "skill",
            "0.7.0",
            "natural_language_processing/natural_language_generation/summarization",
            "0.8.0",
            None,
            "name",
        ),
        ("skill", "0.3.1", "nlp/nlu", "1.0.0", "natural_language_processing/natural_language_understanding", "id"),
        (
            "skill",
            "1.0.0",
            "natural_language_processing/natural_language_generation/summarization",
            "1.1.0",
            "language_processing/language_generation/summarization",
            "short name",
        ),
        ("skill", "1.0.0", "governance_compliance/audit_trail_summarization", "1.1.0", None, "name"),
        ("module", "0.7.0", "runtime/mcp", "1.1.0", "integration/mcp", "short name"),
        ("module", "0.7.0", "runtime/manifest", "0.8.0", "integration/acp", "successor"),
        ("module", "0.8.0", "core/llm/model", "1.0.0", "core/language_model", "successor"),
        ("module", "0.3.1", "evaluation", "0.7.0", "evaluation/evaluation_evaluation", "successor"),
        ("module", "1.0.0", "core/observability", "0.7.0", "observability/observability_observability", "successor"),
    ],
)
def test_a_class_is_found_in_the_other_version(
    family: Family, before: str, name: str, after: str, found: str | None, how: str
):
    entry = taxonomy(before, family).by_name(name)
    assert entry is not None
    there = map_class(entry, before, after, family)
    assert there is not None
    assert (there.entry.name, there.how) == (found or name, how)


def test_a_reused_id_is_not_taken_for_the_same_class():
    operations = taxonomy("0.7.0", "domain").by_id(104)
    assert operations is not None
    there = map_class(operations, "0.7.0", "0.8.0", "domain")
    assert there is not None
    assert there.entry.short == "network_operations"
    assert there.entry.id != 104


def test_a_patch_release_is_mapped_as_its_line_is():
    entry = taxonomy("0.3.1", "skill").by_name("nlu")
    assert entry is not None
    assert map_class(entry, "0.3.1", "0.7.5", "skill") == map_class(entry, "0.3.1", "0.7.0", "skill")


def test_a_class_without_counterpart_has_none():
    entry = taxonomy("1.1.0", "skill").by_name("neural_3d_reconstruction")
    assert entry is not None
    assert map_class(entry, "1.1.0", "0.7.0", "skill") is None


def test_so_many_of_the_old_skills_are_found_in_the_rewritten_tree():
    found = [map_class(entry, "1.0.0", "1.1.0", "skill") for entry in taxonomy("1.0.0", "skill").all]
    ways = [there.how for there in found if there]
    assert {way: ways.count(way) for way in ways} == {"name": 5, "short name": 86, "caption": 3}


@pytest.mark.parametrize("family", ["skill", "domain", "module"])
def test_a_usable_class_is_never_carried_to_one_that_only_groups(family: Family):
    for before in EMBEDDED:
        for after in EMBEDDED:
            for entry in taxonomy(before, family).all:
                there = map_class(entry, before, after, family)
                assert there is None or entry.grouping or not there.entry.grouping
