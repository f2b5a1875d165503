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
from pentad.rooms.registers.definitions.compiled import compile_schema
from tests.rooms.registers.definitions.making import compiled, nobody

TEXT: dict[str, Any] = {"type": "string"}


def nested(depth: int, inner: dict[str, Any], keyword: str) -> dict[str, Any]:
    for _ in range(depth):
        if keyword == "properties":
            inner = {"type": "object", "properties": {"a": inner}}
        elif keyword == "items":
            inner = {"type": "array", "items": inner}
        else:
            inner = {keyword: [inner]}
    return inner


def doubled(levels: int, keyword: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {"d0": TEXT}
    for level in range(1, levels + 1):
        below = {"$ref": f"#/$defs/d{level - 1}"}
        definitions[f"d{level}"] = {keyword: [below, below]}
    return {"properties": {"a": {"$ref": f"#/$defs/d{levels}"}}, "$defs": definitions}


def having(definition: Any) -> dict[str, Any]:
    return {"properties": {"a": definition}}


REFUSED: dict[str, dict[str, Any]] = {
    "properties nested 40 deep": having(nested(40, TEXT, "properties")),
    "properties nested 100,000 deep": having(nested(100_000, TEXT, "properties")),
    "items nested 5,000 deep": having(nested(5_000, TEXT, "items")),
    "allOf nested 5,000 deep": having(nested(5_000, TEXT, "allOf")),
    "anyOf doubled 30 times": doubled(30, "anyOf"),
    "oneOf doubled 30 times": doubled(30, "oneOf"),
    "allOf doubled 30 times": doubled(30, "allOf"),
    "chain of 2,000 references": {
        "properties": {"a": {"$ref": "#/$defs/d0"}},
        "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2_000)} | {"d2000": TEXT},
    },
    "reference to itself": {"properties": {"a": {"$ref": "#/properties/a"}}},
    "references in a circle": {
        "properties": {"a": {"$ref": "#/$defs/x"}},
        "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}},
    },
    "reference to nothing": having({"$ref": "#/$defs/missing"}),
    "reference by http": having({"$ref": "http://169.254.169.254/latest/meta-data"}),
    "reference by https": having({"$ref": "https://example.com/schema.json"}),
    "reference to a file": having({"$ref": "file:///etc/passwd"}),
    "reference without a scheme": having({"$ref": "//example.com/x"}),
    "reference up the tree": having({"$ref": "../../secrets.json"}),
    "remote reference inside anyOf": having({"anyOf": [{"$ref": "http://example.com/x"}]}),
    "remote reference in definitions": {"properties": {}, "$defs": {"x": {"$ref": "https://example.com/x"}}},
    "remote dynamic reference": having({"$dynamicRef": "https://example.com/x#y"}),
    "pattern that is not one": having({**TEXT, "pattern": "[a-"}),
    "pattern of 1,001 characters": having({**TEXT, "pattern": "a" * 1_001}),
    "pattern that compiles to gigabytes": having({**TEXT, "pattern": "((a{1,900}){1,900}){1,900}"}),
    "look-around in patternProperties": {"properties": {}, "patternProperties": {"(?=(a+)+$)": TEXT}},
    "2,001 properties": {"properties": {f"p{n}": TEXT for n in range(2_001)}},
    "2,001 properties in levels": having({"type": "object", "properties": {f"p{n}": TEXT for n in range(2_001)}}),
    "enum of 300 KiB": having({"enum": ["x" * 300_000]}),
    "description of 300 KiB": {"properties": {}, "description": "x" * 300_000},
    "half a surrogate pair in a name": {"properties": {"a\ud800": TEXT}},
    "half a surrogate pair in an enum": having({"enum": ["\udfff"]}),
    "bytes": having({"enum": [{1, 2}, object()]}),
    "computed of 5,000 characters": having({**TEXT, "computed": "a" * 5_000}),
    "computed with 100 brackets": having({**TEXT, "computed": "(" * 100 + "1" + ")" * 100}),
    "computed that imports": having({**TEXT, "computed": "__import__('os').system('id')"}),
    "computed that calls an attribute": having({**TEXT, "computed": "a.__class__.__mro__()"}),
    "computed from itself": having({**TEXT, "computed": "a + 1"}),
    "template that never ends": having({**TEXT, "default": "{{ {{ {{"}),
    "type of ten thousand letters": having({"type": "x" * 10_000}),
    "negative length": having({**TEXT, "minLength": -1}),
    "required that is a number": {"properties": {}, "required": 5},
    "properties that are a text": {"properties": "'; DROP TABLE schemas; --"},
    "unique over a missing property": {"properties": {}, "configuration": {"unique": "'; DROP TABLE objects; --"}},
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_hostile_schema_is_refused_in_clear_words(case: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        compile_schema(REFUSED[case], parents=nobody)
    error = refused.value
    assert error.hint
    assert "Traceback" not in error.message
    assert len(json.dumps(error.as_json())) < 40_000


SQL = "'; DROP TABLE objects; --"
KEPT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "names of the envelope": (
        {"properties": {"register": TEXT, "schema": TEXT, "uuid": TEXT, "id": TEXT}},
        {"register": "a", "schema": "b", "uuid": "c", "id": "d"},
    ),
    "names of JavaScript": (
        {"properties": {"__proto__": TEXT, "constructor": TEXT, "toString": TEXT}},
        {"__proto__": "a", "constructor": "b", "toString": "c"},
    ),
    "names of Python": ({"properties": {"__class__": TEXT, "self": TEXT}}, {"__class__": "x", "self": "y"}),
    "names of JSON Schema": (
        {"properties": {"$ref": TEXT, "type": TEXT, "properties": TEXT, "allOf": TEXT, "required": TEXT}},
        {"$ref": "http://example.com", "type": "a", "properties": "b", "allOf": "c", "required": "d"},
    ),
    "name of SQL": ({"properties": {SQL: {**TEXT, "x-index": True, "unique": True}}}, {SQL: SQL}),
    "name of quotes": ({"properties": {"\"'`\\": TEXT}}, {"\"'`\\": "\"'`\\"}),
    "name of dots and brackets": ({"properties": {"a.b[0]": TEXT, "$.x": TEXT}}, {"a.b[0]": "x", "$.x": "y"}),
    "name of pointers": ({"properties": {"a/b~c": TEXT}}, {"a/b~c": "x"}),
    "empty name": ({"properties": {"": TEXT}}, {"": "x"}),
    "names of many scripts": (
        {"properties": {"имя": TEXT, "名前": TEXT, "اسم": TEXT, "👩\u200d🚀": TEXT}},
        {"имя": "a", "名前": "b", "اسم": "c", "👩\u200d🚀": "d"},
    ),
    "names that look alike": ({"properties": {"é": TEXT, "e\u0301": TEXT}}, {"é": "one", "e\u0301": "two"}),
    "text that turns around": (having(TEXT), {"a": "\u202egnp.exe"}),
    "text of control characters": (having(TEXT), {"a": "\x01\x1f\x7f\u2028"}),
    "text that looks escaped": (having(TEXT), {"a": "\\u0000 \\ud800 {{ 1 + 1 }}"}),
    "integers of 64 bits": (having({"type": "integer"}), {"a": 2**64 - 1}),
    "integers past 64 bits": (having({"type": "integer"}), {"a": -(10**40)}),
    "309 digits as text": (having(TEXT), {"a": "9" * 400}),
    "largest double": (having({"type": "number"}), {"a": 1.7976931348623157e308}),
    "smallest double": (having({"type": "number"}), {"a": 5e-324}),
    "negative zero": (having({"type": "number"}), {"a": -0.0}),
    "sixty levels of data": (having({"type": "object"}), {"a": json.loads('{"b":' * 60 + "1" + "}" * 60)}),
}


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
    assert [problem.rule for problem in compiled().prepare(data).problems] == ["json"]


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
    stored = {"person": {"slug": "person", "properties": {"b": {"type": "string"}}}}
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
    from pentad.rooms.registers.definitions.compiled import compile_schema

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
