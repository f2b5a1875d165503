"""Changing a schema: what changed, which objects would fail, and the migration that carries them over."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.compiled_schema import CompiledSchema
from pentad.rooms.registers.definitions.evolution import DefinitionChange, EvolutionReport, ReadableObject
from pentad.rooms.registers.definitions.evolution import preflight as check
from pentad.rooms.registers.definitions.migration import migrate, read_steps
from tests.rooms.registers.definitions.making import compiled


def preflight(
    schema: CompiledSchema, objects: Iterable[dict[str, Any]], old: CompiledSchema | None = None, **options: Any
) -> EvolutionReport:
    found = [ReadableObject(str(number), data, data) for number, data in enumerate(objects)]
    return check(DefinitionChange(old or schema, schema), lambda: found, **options)


def test_objects_that_fit_make_an_empty_report() -> None:
    report = preflight(compiled({"a": {"type": "integer"}}), [{"a": 1}, {}])
    assert report.as_json() == {
        "total": 2,
        "failing": 0,
        "counts": {},
        "samples": {},
        "complete": True,
    }


@pytest.mark.parametrize(
    ("properties", "rest", "objects", "steps"),
    [
        (
            {"title": {"type": "string"}},
            {"required": ["title"]},
            [{"titel": "a"}, {"titel": "b"}],
            [{"step": "rename", "property": "titel", "to": "title"}],
        ),
        (
            {"lang": {"type": "string", "default": "en"}},
            {"required": ["lang"]},
            [{}, {"lang": "nl"}],
            [{"step": "default", "property": "lang", "value": "en"}],
        ),
        (
            {"age": {"type": "integer"}},
            {},
            [{"age": "5"}, {"age": 6}],
            [{"step": "cast", "property": "age", "to": "integer"}],
        ),
        (
            {"a": {"type": "integer"}},
            {"additionalProperties": False},
            [{"zzz": 1}],
            [{"step": "drop", "property": "zzz"}],
        ),
        (
            {"state": {"enum": ["open", "closed"]}},
            {},
            [{"state": "Open"}, {"state": "closd"}],
            [{"step": "enum_map", "property": "state", "values": [["Open", "open"], ["closd", "closed"]]}],
        ),
    ],
)
@pytest.mark.requirement("registers:evolution:suggested")
def test_a_migration_is_suggested_and_works(
    properties: dict[str, Any], rest: dict[str, Any], objects: list[dict[str, Any]], steps: list[dict[str, Any]]
) -> None:
    schema = compiled(properties, **rest)
    report = preflight(schema, objects)
    assert [step.as_json() for step in report.migration] == steps
    assert report.after_migration == 0
    assert all(schema.is_valid(migrate(data, read_steps(steps))) for data in objects)


def test_what_cannot_be_mended_stays_failing() -> None:
    report = preflight(compiled({"age": {"type": "integer"}}), [{"age": "5"}, {"age": "old"}])
    assert (report.total, report.failing, report.after_migration) == (2, 2, 1)


@pytest.mark.requirement("registers:evolution:counts")
def test_samples_are_few_and_counts_complete() -> None:
    report = preflight(compiled({"a": {"type": "array", "items": {"type": "integer"}}}), [{"a": ["x", "y"]}] * 30)
    assert report.counts == {"type a/*": 30}
    assert [sample.uuid for sample in report.samples["type a/*"]] == ["0", "0", "1", "1", "2"]


@pytest.mark.requirement("registers:schema-change:report")
def test_every_one_of_a_great_many_failures_is_counted_by_its_rule() -> None:
    objects = [{"a": "x"}] * 700 + [{"a": 1, "b": "long"}] * 300
    report = preflight(compiled({"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 3}}), objects)
    assert report.counts == {"type a": 700, "maxLength b": 300}
    assert report.failing == 1000


@pytest.mark.requirement("registers:schema-change:report")
def test_an_enum_map_covers_values_that_come_late() -> None:
    objects = [{"state": "Open"}] * 500 + [{"state": "closd"}]
    report = preflight(compiled({"state": {"enum": ["open", "closed"]}}), objects)
    assert report.migration[0].values == (("Open", "open"), ("closd", "closed"))
    assert report.after_migration == 0


@pytest.mark.requirement("registers:schema-change:report")
def test_values_that_a_rename_would_orphan_are_counted_and_the_rename_is_suggested() -> None:
    old = compiled({"fee": {"type": "integer"}, "name": {"type": "string"}})
    new = compiled({"fees": {"type": "integer"}, "name": {"type": "string"}})
    report = preflight(new, [{"fee": 1}, {"fee": 2}, {"name": "x"}], old)
    assert report.failing == 0
    assert report.orphaned["fee"].as_json() == {"objects": 2, "samples": [{"id": "0"}, {"id": "1"}]}
    assert [step.as_json() for step in report.migration] == [{"step": "rename", "property": "fee", "to": "fees"}]
    assert report.losses() == "the values of 'fee' in 2 objects"


@pytest.mark.requirement("registers:schema-change:report")
def test_unique_values_are_compared_in_as_many_passes_as_memory_demands() -> None:
    objects = [{"code": number % 7} for number in range(10)]

    def rules(one: ReadableObject) -> list[tuple[str, bytes | None]]:
        return [("code", bytes([one.data["code"]]))]

    schema = compiled({"code": {"type": "integer", "unique": True}})
    for expected in (0, 600_000):
        report = preflight(schema, objects, store_rules=rules, expected=expected)
        assert (report.counts, report.failing) == ({"unique code": 3}, 3)
        assert report.samples["unique code"][0].problem.message == "must be unique; object 0 has the same value"


def test_a_great_many_failures_are_counted_without_looking_into_each() -> None:
    report = preflight(compiled({"a": {"type": "integer"}}), ({"a": "x"} for _ in range(1000)))
    assert (report.total, report.failing, report.after_migration) == (1000, 1000, 1000)
    assert sum(report.counts.values()) == 1000
    mended = preflight(compiled({"a": {"type": "integer"}}), ({"a": "5"} for _ in range(1000)))
    assert (mended.failing, mended.after_migration) == (1000, 0)


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"step": "explode", "property": "a"},
        {"step": "rename", "property": "a"},
        {"step": "rename", "property": "a", "to": ""},
        {"step": "rename", "property": "a", "to": 5},
        {"step": "cast", "property": "a", "to": "date"},
        {"step": "default", "property": "a"},
        {"step": "enum_map", "property": "a", "values": [[1]]},
        {"step": "enum_map", "property": "a", "values": 5},
        {"step": "drop", "property": ""},
        "drop",
    ],
)
def test_a_step_that_is_not_understood_is_refused(step: Any) -> None:
    with pytest.raises(InvalidInput, match="Step 0"):
        read_steps([step])


def test_steps_reach_nested_properties_by_pointer() -> None:
    steps = read_steps(
        [
            {"step": "rename", "property": "/in/old", "to": "new"},
            {"step": "default", "property": "/in/x", "value": 1},
            {"step": "drop", "property": "/missing/x"},
        ]
    )
    assert migrate({"in": {"old": 5}}, steps) == {"in": {"new": 5, "x": 1}}


def test_an_enum_map_knows_true_from_one() -> None:
    steps = read_steps([{"step": "enum_map", "property": "a", "values": [[1, "one"], [True, "yes"]]}])
    assert [migrate({"a": value}, steps)["a"] for value in (1, True, 2)] == ["one", "yes", 2]


@given(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers() | st.text("12x", max_size=3)))
def test_migrating_leaves_the_stored_object_alone(data: dict[str, Any]) -> None:
    steps = read_steps(
        [
            {"step": "cast", "property": "a", "to": "integer"},
            {"step": "rename", "property": "b", "to": "d"},
            {"step": "default", "property": "c", "value": [1]},
            {"step": "drop", "property": "c"},
        ]
    )
    before = dict(data)
    result = migrate(data, steps)
    assert data == before
    assert "b" not in result
    assert "c" not in result
