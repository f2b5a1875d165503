"""URI templates: what they match, decoded once, and which are refused."""

import contextlib
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Misconfigured
from pentad.mcp.declarations import compile_template

WORD = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(WORD, WORD)
@pytest.mark.requirement("mcp:resources:templates")
def test_what_was_quoted_into_a_template_is_read_back(name: str, part: str) -> None:
    template = compile_template("lab://{name}/parts/{part}")
    uri = f"lab://{quote(name, safe='')}/parts/{quote(part, safe='')}"
    assert template.match(uri) == {"name": name, "part": part}


@given(WORD)
@pytest.mark.requirement("mcp:resources:templates")
def test_a_value_is_decoded_once_and_no_more(name: str) -> None:
    twice = quote(quote(name, safe=""), safe="")
    found = compile_template("lab://{name}").match(f"lab://{twice}")
    assert found == {"name": quote(name, safe="")}


@pytest.mark.parametrize(
    ("template", "uri", "found"),
    [
        ("lab://{a}", "lab://x", {"a": "x"}),
        ("lab://{a}", "lab://", None),
        ("lab://{a}", "lab://x/y", None),
        ("lab://{+a}", "lab://x/y", {"a": "x/y"}),
        ("lab://files/{rest*}", "lab://files/x/y", {"rest": "x/y"}),
        ("lab://{a}.json", "lab://x.json", {"a": "x"}),
        ("lab://{a}.json", "lab://xjson", None),
        ("lab://{a}.json", "lab://x.json.json", {"a": "x.json"}),
        ("lab://{a}/x", "LAB://y/x", None),
        ("lab://{a}@{b}", "lab://x@1@2", {"a": "x", "b": "1@2"}),
        ("lab://{a}/x-{+b}", "lab://p/x-q/x-r", {"a": "p", "b": "q/x-r"}),
        ("lab://{a}", "lab://..%2F..%2Fetc", {"a": "../../etc"}),
        ("lab://{a}", "lab://x\n", {"a": "x\n"}),
    ],
)
@pytest.mark.requirement("mcp:resources:templates")
def test_templates_by_example(template: str, uri: str, found: dict[str, str] | None) -> None:
    assert compile_template(template).match(uri) == found


@pytest.mark.parametrize(
    "text", ["lab://{a}{b}", "lab://{a}/{a}", "lab://{", "lab://{}", "lab://{a}/}", "lab://{1}", "{a b}"]
)
@pytest.mark.requirement("mcp:declare:bad")
def test_a_broken_template_is_refused(text: str) -> None:
    with pytest.raises(Misconfigured):
        compile_template(text)


@given(st.text(max_size=40))
@pytest.mark.requirement("mcp:resources:templates")
def test_any_text_compiles_or_is_refused_in_words(text: str) -> None:
    with contextlib.suppress(Misconfigured):
        compile_template(text).match("lab://x")


@pytest.mark.requirement("mcp:resources:templates")
def test_hostile_addresses_are_matched_in_bounded_steps() -> None:
    template = compile_template("lab://{a}-{b}-{c}-{d}/x")
    assert template.match("lab://" + "-" * 200_000 + "/y") is None
