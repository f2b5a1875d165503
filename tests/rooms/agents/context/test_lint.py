"""The linter over the table of contexts, and what it says beyond codes."""

import json
from typing import Any

import pytest

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_patch import json_patch
from pentad.kernel.json_pointer import pointer
from pentad.rooms.agents.context.findings import WEIGHTS, Report
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.context.lint import lint, lint_text
from pentad.rooms.agents.context.validation import read_context
from tests.rooms.agents.context.cases import CASES, DOCUMENT, Case, nested, one, text, tool

NOW = 1_800_000_000.0


def said(report: Report) -> str:
    return " ".join(issue.code + ("!" if issue.severity == "error" else "") for issue in report.issues)


@pytest.mark.parametrize("case", CASES, ids=[case.about for case in CASES])
def test_a_context_gets_the_issues_of_its_row(case: Case):
    standard, strict = (lint(case.context, level, now=NOW) for level in ("standard", "strict"))
    assert (said(standard), said(strict)) == (case.standard, case.strict)
    for report in (standard, strict):
        assert report.valid == ("!" not in said(report))
        assert (report.value is not None) == report.valid
        assert (report.sha256 is not None) == report.valid


def test_every_rule_has_a_row_or_a_test():
    shown = {code.rstrip("!") for case in CASES for code in f"{case.standard} {case.strict}".split()}
    elsewhere = {"not-parsed", "duplicate-key", "key-not-text", "not-json", "size-mismatch", "bad-turn"}
    assert set(WEIGHTS) - shown == elsewhere


@pytest.mark.parametrize(
    ("context", "path"),
    [
        (one(mediaType="text/plain", content="x", metdata={}), "/items/it/metdata"),
        (tool(inputSchema={"type": "object", "properties": {"a/b": {"type": "strnig"}}}),
         "/items/it/content/inputSchema/properties/a~1b/type"),
        ({"items": {"a/b~c": {"ref": "file:///x"}}}, "/items/a~1b~0c/ref"),
        (one(mediaType="application/json", content={"a": [1, {"n": 2**60}]}), "/items/it/content/a/1/n"),
        (one(mediaType="application/json", content={"deep": [{"password": "hunter2!"}]}),
         "/items/it/content/deep/0/password"),
        (text("hullo", **{"x-size": 4}), "/items/it/metadata/x-size"),
    ],
)  # fmt: skip
def test_an_issue_points_at_its_place(context: dict[str, Any], path: str):
    assert path in [issue.path for issue in lint(context).issues]


def test_a_misnamed_member_is_told_the_right_name():
    (issue,) = lint(one(mimeType="text/plain", content="x")).issues
    assert "Did you mean `mediaType`?" in issue.line()


def test_a_text_is_read_exactly_and_what_a_parser_passes_over_is_told():
    content = b'{"n": 1, "n": 9007199254740993}'
    source = b'{"items": {"a": {"mediaType": "application/json", "content": %b}}}' % content
    report = lint_text(source, "lenient")
    assert said(report) == "duplicate-key"
    assert report.value == {"items": {"a": {"mediaType": "application/json", "content": {"n": 9007199254740993}}}}
    assert said(lint_text(source)).startswith("duplicate-key!")
    for broken in (b"", b"{", b"\xff", b"[" * 500, b'{"a": ' + b"1" * 400 + b"}"):
        assert said(lint_text(broken)) == "not-parsed!"


def test_what_is_no_json_and_what_is_no_name_are_errors():
    assert said(lint({"items": {1: {}}}, "lenient")) == "key-not-text!"
    assert said(lint(one(content=object()), "lenient")) == "not-json!"
    assert said(lint(text("hullo", **{"x-size": 4}))) == "size-mismatch!"


def test_the_whole_metadata_may_be_given():
    assert lint({"mcp_context": DOCUMENT}).sha256 == lint(DOCUMENT).sha256 == items_hash(DOCUMENT["items"])


def test_a_report_tells_programs_everything_but_the_context():
    report = lint(text("s3cr3t-canary", **{"x-priority": 7})).as_json()
    assert json.loads(json.dumps(report)) == report
    assert (report["valid"], report["items"], report["issues"][0]["code"]) == (True, 1, "bad-extra")
    assert "canary" not in json.dumps(report)


def test_a_flood_of_issues_is_counted():
    report = lint({"items": {f"i{n}": {"media": 1} for n in range(300)}}, "strict")
    assert len(report.issues) == 200
    assert report.more >= 100
    assert not report.valid


def test_a_flood_of_warnings_refuses_nothing_and_hides_no_error():
    numbers = {"a": {"mediaType": "application/json", "content": [2**53 + n for n in range(1, 1_000)]}}
    warned = lint({"items": numbers})
    assert (warned.valid, len(warned.issues), warned.errors) == (True, 200, [])
    context = read_context({"mcp_context": {"items": numbers}})
    assert context is not None
    assert context.items == numbers

    # what is wrong with the seal, the ids or the numbers is found last
    late = {"items": {**numbers, "b": {"mediaType": "application/json", "content": [10**400]}}}
    refused = lint(late)
    assert [issue.code for issue in refused.errors] == ["not-finite"]
    assert not refused.valid
    with pytest.raises(InvalidInput, match="larger than anything"):
        read_context({"mcp_context": late})


def test_depth_counts_from_the_content():
    assert lint(one(mediaType="application/json", content=nested(32))).depth == 34
    assert pointer(("items", "it")) == lint(one(mediaType="application/json", content=nested(33))).issues[0].path


ITEM = {"mediaType": "text/plain", "content": "x"}


@pytest.mark.requirement("agents:context:proposals")
@pytest.mark.parametrize(
    ("context", "mended"),
    [
        ({"Items": {"a": ITEM}}, {"items": {"a": ITEM}}),
        (one(mediatype="text/plain", content="x"), one(**ITEM)),
        (one(text="x", mediaType="text/plain"), one(**ITEM)),
        (one(**ITEM, metadata={"kind": "Text"}), one(**ITEM, metadata={"kind": "text"})),
        (one(**ITEM, metadata={"x-priority": "0.5"}), one(**ITEM, metadata={"x-priority": 0.5})),
        (one(**ITEM, metadata={"x-sensitivity": "Public"}), one(**ITEM, metadata={"x-sensitivity": "public"})),
        (
            one(**ITEM, metadata={"x-expires": "2031-05-17 12:00 UTC"}),
            one(**ITEM, metadata={"x-expires": "2031-05-17T12:00:00Z"}),
        ),
    ],
)
def test_what_is_certainly_meant_comes_as_a_patch_that_mends_the_context(context: Any, mended: Any):
    (issue,) = [issue for issue in lint(context, "strict").as_json()["issues"] if "patch" in issue]
    assert issue["certain"]
    assert json_patch(context, issue["patch"]) == mended
    assert lint(mended, "strict").valid


@pytest.mark.requirement("agents:context:proposals")
def test_a_name_that_is_near_is_suggested_and_nothing_is_overwritten():
    (unsure,) = lint(one(**ITEM, metadata={"kind": "texture"})).as_json()["issues"]
    assert (unsure["suggestions"][0], "patch" in unsure) == ("text", False)
    (taken,) = lint(one(**ITEM, text="y")).as_json()["issues"]
    assert (taken["suggestions"], "patch" in taken) == (["content"], False), "there is a content already"


@pytest.mark.requirement("agents:context:proposals")
def test_an_error_about_a_message_has_patches_that_point_into_the_message():
    with pytest.raises(InvalidInput) as refused:
        read_context({"mcp_context": one(text="x", mediaType="text/plain")})
    problem = next(one for one in refused.value.details["problems"] if "patch" in one)
    base = "/metadata/mcp_context/items/it"
    assert problem["patch"] == [{"op": "move", "from": f"{base}/text", "path": f"{base}/content"}]
