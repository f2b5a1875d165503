"""Input made to break: each case is refused in clear words, or stored exactly as it was given."""

import json
import subprocess
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput
from pentad.rooms.registers.definitions.compiled_schema import compile_schema
from tests.rooms.registers.definitions.making import compiled, nobody
from tests.rooms.registers.hostile.schemas import KEPT, REFUSED, having


@pytest.mark.parametrize("case", REFUSED)
def test_a_hostile_schema_is_refused_in_clear_words(case: str) -> None:
    refused_in_clear_words(REFUSED[case])


def test_what_is_no_json_is_refused_in_clear_words() -> None:
    refused_in_clear_words(having({"enum": [{1, 2}, object()]}))


def refused_in_clear_words(body: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_schema(body, parents=nobody)
    error = refused.value
    assert error.hint
    assert "Traceback" not in error.message
    assert len(json.dumps(error.as_json())) < 40_000


@pytest.mark.parametrize("case", KEPT)
def test_unusual_data_is_kept_as_it_was_given(case: str) -> None:
    body, data = KEPT[case]
    prepared = compile_schema(body, parents=nobody).prepare(data)
    assert prepared.problems == []
    assert repr(json.loads(prepared.text)) == repr(data)


REFUSED_DATA: dict[str, Any] = {
    "NUL in a text": {"a": "x\0y"},
    "NUL in a name": {"a\0b": 1},
    "NUL deep inside": {"a": {"b": ["\0"]}},
    "integer of 400 digits": {"a": 10**400},
    "negative integer of 400 digits": {"a": [-(10**400)]},
    "half a surrogate pair": {"a": "\ud800"},
    "half a surrogate pair in a name": {"\udfff": 1},
    "what JSON has no word for": {"a": object()},
    "a number as a name": {1: 2},
}


@pytest.mark.parametrize("case", REFUSED_DATA)
def test_data_no_store_could_keep_is_refused(case: str) -> None:
    prepared = compiled().prepare(REFUSED_DATA[case])
    assert len(prepared.problems) == 1
    assert len(prepared.problems[0].sentence()) < 300


@pytest.mark.parametrize("soft", [True, False])
def test_soft_schemas_do_not_keep_what_cannot_be_kept(soft: bool) -> None:
    assert compiled(hardValidation=not soft).prepare({"a": "\0"}).problems


def test_data_nested_too_deeply_is_refused() -> None:
    data: dict[str, Any] = {}
    for _ in range(3_000):
        data = {"a": data}
    assert [problem.code for problem in compiled().prepare(data).problems] == ["json"]


KEYWORDS = (
    *("properties", "required", "type", "enum", "const", "format", "pattern", "minimum", "maximum", "items", "$ref"),
    *(
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "$defs",
        "additionalProperties",
        "patternProperties",
        "configuration",
        "unique",
    ),
    *(
        "default",
        "defaultBehavior",
        "computed",
        "expression",
        "onDelete",
        "objectConfiguration",
        "facetable",
        "x-index",
    ),
    *("objectNameField", "objectSlugField", "immutable", "hardValidation", "maxSize", "allowedTypes", "if", "a", "b"),
    *("$anchor", "$dynamicRef", "$id", "dependentSchemas", "exclusiveMinimum", "prefixItems", "visible", "title"),
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.sampled_from(
        [
            "string",
            "object",
            "array",
            "file",
            "a",
            "b",
            "#",
            "#/properties/a",
            "person",
            "a + b",
            "{{ a }}",
            "CASCADE",
            "",
        ]
    )
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=5),
    max_leaves=25,
)
LIKELY = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "object", "array", ["string", "null"]])},
    optional={
        "computed": st.sampled_from(["a", "b + 1", "concat(a, b)", "length(b)", "sum(a)", "{{ a }}-{{ b }}"]),
        "default": ANYTHING,
        "items": st.just({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}),
        "properties": st.just({"b": {"type": "string", "format": "date", "immutable": True}}),
        "enum": st.lists(LEAVES, min_size=1, max_size=3),
        "format": st.sampled_from(["date", "email", "color"]),
        "immutable": st.booleans(),
        "anyOf": st.lists(st.just({"$ref": "person"}) | st.just({"minLength": 2}), min_size=1, max_size=2),
    },
)
WILD = st.dictionaries(st.sampled_from(KEYWORDS), ANYTHING, max_size=4)
DEFINITIONS = st.dictionaries(st.sampled_from("ab"), LIKELY | LIKELY | WILD)
BODIES = st.just({}) | st.dictionaries(st.sampled_from(KEYWORDS), ANYTHING, max_size=4)


@settings(max_examples=200)
@given(BODIES, DEFINITIONS, ANYTHING, ANYTHING)
def test_any_body_is_refused_in_words_or_works(body: dict[str, Any], properties: Any, first: Any, second: Any) -> None:
    stored: dict[int | str, dict[str, Any]] = {"person": {"slug": "person", "properties": {"b": {"type": "string"}}}}
    try:
        schema = compile_schema({"properties": properties, **body}, parents=stored.get)
    except InvalidInput:
        return
    prepared = schema.prepare({"a": first, "b": second}, previous={"a": second}, now=1.0)
    assert schema.is_valid(prepared.data) or prepared.problems or prepared.warnings
    schema.name_of(prepared.data)
    schema.slug_of(prepared.data)
    schema.targets(prepared.data)
    schema.texts(prepared.data)


BUSY = textwrap.dedent("""
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
    from pentad.rooms.registers.definitions.compiled_schema import compile_schema

    def nobody(ref):
        return None

    either = {"type": "array", "items": {"$ref": "#/$defs/n"}}
    doubling = compile_schema({"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [either, either]}}},
                              parents=nobody)
    deep = 5
    for _ in range(60):
        deep = [deep]
    assert doubling.prepare({"a": deep}).problems
    wide = compile_schema({"properties": {"a": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}}}},
                          parents=nobody)
    assert wide.prepare({"a": list(range(300_000))}).problems
    unique = compile_schema({"properties": {"a": {"type": "array", "uniqueItems": True}}}, parents=nobody)
    assert not unique.prepare({"a": [{"n": number} for number in range(20_000)]}).problems
    options = compile_schema({"properties": {"a": {"enum": ["option %d" % n for n in range(5_000)]}}}, parents=nobody)
    assert options.prepare({"a": "optoin" * 10_000}).problems
    names = compile_schema({"properties": {"name%d" % n: {"type": "string"} for n in range(1_500)},
                            "additionalProperties": False}, parents=nobody)
    assert names.prepare({"nmae%d" % n: 1 for n in range(1_500)}).problems
    print("done")
""")


def test_hostile_work_stays_bounded() -> None:
    """In a process that the kernel ends after twenty seconds of CPU time."""
    done = subprocess.run(
        [sys.executable, "-c", BUSY], capture_output=True, text=True, timeout=100, check=False, encoding="utf-8"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr[-500:]
