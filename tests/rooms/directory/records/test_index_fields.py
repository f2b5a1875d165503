"""The indexed fields of a record, for every schema version."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.words import words
from pentad.rooms.directory.records.index_fields import Kind, Term, indexed_fields, labels_of
from pentad.search.word_table import WordTable
from tests.rooms.directory.oasf.samples import SAMPLES, sample


def of_kind(data: dict[str, Any], kind: Kind) -> list[Term]:
    return [term for term in indexed_fields(data).terms if term.kind is kind]


def test_a_record_that_refers_to_classes_by_number_is_indexed_by_name():
    skills = of_kind(sample("0.3.1"), Kind.SKILL)
    assert skills == [
        Term(Kind.SKILL, "nlp/natural_language_generation/summarization", 10202),
        Term(Kind.SKILL, "retrieval_augmented_generation/document_or_database_question_answering", 602),
    ]
    assert of_kind(sample("0.3.1"), Kind.MODULE) == [
        Term(Kind.MODULE, "schema.oasf.agntcy.org/features//observability"),
        Term(Kind.MODULE, "example.org/pricing"),
    ]


@pytest.mark.parametrize(
    ("version", "number", "name"),
    [
        ("0.7.0", 10202, "natural_language_processing/natural_language_generation/summarization"),
        ("0.7.8", 10202, "natural_language_processing/natural_language_generation/summarization"),
        ("1.1.0", 10302, "language_processing/language_generation/summarization"),
    ],
)
def test_an_id_means_what_the_records_own_version_says(version: str, number: int, name: str):
    by_id = sample("1.1.0") | {"schema_version": version, "skills": [{"id": number}]}
    by_name = by_id | {"skills": [{"name": name}]}
    assert of_kind(by_id, Kind.SKILL) == of_kind(by_name, Kind.SKILL) == [Term(Kind.SKILL, name, number)]
    assert f"/skills/{name}" in labels_of(by_id)


def test_unknown_classes_and_versions_are_indexed_as_they_are_written():
    data = sample("0.8.0") | {"modules": [{"name": "My/Module", "data": {}}, {"id": 99_999}]}
    assert of_kind(data, Kind.MODULE) == [Term(Kind.MODULE, "my/module"), Term(Kind.MODULE, "", 99_999)]
    assert "/modules/My/Module" in labels_of(data)
    assert of_kind(data | {"schema_version": "9.9.9"}, Kind.MODULE) == of_kind(data, Kind.MODULE)


@pytest.mark.parametrize(
    "locator",
    [
        {"type": "Package", "url": "https://Example.org/P"},
        {"type": "package", "urls": ["https://example.org/p"]},
        {"type": "package", "urls": ["https://example.org/p", "https://example.org/P"], "url": "https://example.org/p"},
    ],
)
def test_both_shapes_of_a_locator_are_one_term(locator: dict[str, Any]):
    expected = [Term(Kind.LOCATOR, "package", detail="https://example.org/p")]
    assert of_kind(sample("1.1.0") | {"locators": [locator]}, Kind.LOCATOR) == expected


def test_a_locator_without_an_address_is_found_by_its_type():
    found = of_kind(sample("1.1.0") | {"locators": [{"type": "binary", "urls": []}]}, Kind.LOCATOR)
    assert found == [Term(Kind.LOCATOR, "binary")]


@pytest.mark.parametrize("version", SAMPLES)
def test_every_record_has_one_name_one_version_and_one_schema_version(version: str):
    data = sample(version)
    for kind in (Kind.NAME, Kind.VERSION, Kind.SCHEMA_VERSION):
        assert len(of_kind(data, kind)) == 1
    facts = indexed_fields(data)
    assert (facts.name, facts.version, facts.schema_version) == (data["name"], data["version"], version)
    assert facts.created_key == 1772443800.0
    assert "summarization" in words(facts.texts.skills)
    assert labels_of(data) == facts.labels


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    ["name", "version", "schema_version", "created_at", "description", "skills", "domains", "modules", "extensions",
     "locators", "authors", "annotations", "previous_record_cid"]
)  # fmt: skip
items = st.lists(
    st.dictionaries(st.sampled_from(["id", "class_uid", "name", "class_name", "type", "url", "urls"]), json_values),
    max_size=2,
)


@given(st.dictionaries(keys, json_values | items, max_size=5))
def test_facts_of_anything_are_facts_the_store_can_keep(data: dict[str, Any]):
    if isinstance(data.get("annotations"), dict):
        data["annotations"] = {}
    facts = indexed_fields(sample("0.8.0") | data)
    assert len(set(facts.terms)) == len(facts.terms)
    for term in facts.terms:
        assert "\0" not in term.text + term.detail
        assert -1 <= term.number < 2**63


@given(st.text())
def test_words_are_folded_and_cutting_them_again_changes_nothing(text: str):
    cut = words(text)
    assert words(" ".join(cut)) == cut


def test_words_have_no_accents_no_case_and_no_marks():
    assert words("Über-Agent_7 don't naïve ÉCOLE") == ["uber", "agent", "7", "don", "t", "naive", "ecole"]
    assert words("\N{MATHEMATICAL ITALIC CAPITAL A}I \N{LATIN SMALL LIGATURE FI}ne") == ["ai", "fine"]
    table = WordTable("t", "id", ("one", "two"), 100, {"one": ("A", ("one",)), "two": ("D", ("two",))})
    assert table.tsvector(("a b", "b")) == "'a':1A 'b':2A,3D"
