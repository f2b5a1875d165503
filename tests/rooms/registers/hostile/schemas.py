"""Schemas and data made to break, as plain JSON: for the compiler in one test and for the whole server in another."""

import json
from typing import Any

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
