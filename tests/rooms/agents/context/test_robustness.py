"""Whatever a stranger sends, the answer is a report or a refusal, never a crash; and exact numbers stay exact."""

import json
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import PentadError
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.context.kinds import KINDS
from pentad.rooms.agents.context.lint import lint, lint_text
from pentad.rooms.agents.context.validation import read_context
from pentad.rooms.agents.context.versions import after_turn
from tests.rooms.agents.context.cases import CASES

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(2**53) - 1, 1e308, "\ud800", "https://a:b@[", "a:b", "text/plain", "image/png"])
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(KINDS)
)
words = st.sampled_from(
    ["type", "text", "name", "inputSchema", "uri", "data", "resource", "messages", "role", "content", "arguments",
     "x-sha256", "x-size", "x-priority", "x-audience", "x-sensitivity", "x-expires", "x-provenance", "x-truncated",
     "kind", "annotations", "$schema", "password"]
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=12
)
members = st.sampled_from(["id", "mediaType", "content", "ref", "metadata", "kind", "more"])
items = st.dictionaries(st.text(max_size=4), st.dictionaries(members, values, max_size=5) | values, max_size=3)
roots = st.sampled_from(["items", "integrity", "turn", "more"])
contexts = st.fixed_dictionaries({"items": items}, optional={"integrity": values, "turn": values}) | (
    st.dictionaries(roots, items | values, max_size=3) | values
)


@given(contexts)
def test_any_value_gets_a_report_and_a_valid_one_a_hash(context: Any):
    for level in ("lenient", "standard", "strict"):
        report = lint(context, level)
        json.dumps(report.as_json())
        assert report.valid == (report.value is not None)
        if level != "lenient":
            assert report.valid == (report.sha256 is not None)


@given(contexts)
def test_any_value_is_accepted_or_refused_with_reasons(context: Any):
    refusal: PentadError | None = None
    try:
        found = read_context({"mcp_context": context})
        assert found is not None
        assert len(items_hash(found.items)) == 64
        after_turn(found.items, found.items, found.turn)
    except PentadError as error:
        refusal = error
    assert refusal is None or refusal.details["problems"]


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_get_a_report(text: bytes):
    json.dumps(lint_text(text, "strict").as_json())


def test_a_hash_survives_the_numbers_of_protobuf():
    """Peers on protobuf carry metadata in a Struct, where every number is a double."""
    for case in CASES:
        report = lint(case.context)
        if report.value and all(issue.code != "big-integer" for issue in report.issues):
            there = Struct()
            there.update({"items": report.value.get("items", {})})
            back = MessageToDict(there)
            assert items_hash(back.get("items", {})) == report.sha256


def test_an_issue_may_be_as_deep_as_its_context():
    content: Any = float("nan")
    for _ in range(20_000):
        content = [content]
    report = lint({"items": {"a": {"content": content}}}, "lenient")
    assert [issue.code for issue in report.issues] == ["not-finite"]
