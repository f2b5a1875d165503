"""The way in and the way out: nothing is dropped silently, and one context is meant by both keys."""

import json
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from pentad.kernel.errors import Conflict, Forbidden, InvalidInput
from pentad.rooms.agents.context.extension import (
    BASE,
    PLAIN_KEY,
    URI,
    declaration,
    metadata_with,
    params_of,
    sent_context,
)
from pentad.rooms.agents.context.limits import ContextLimits
from pentad.rooms.agents.context.outbound import prepare_context
from pentad.rooms.agents.context.redaction import Policy
from pentad.rooms.agents.context.validation import read_context
from tests.rooms.agents.context.cases import CASES, DOCUMENT, text

CARD = {"capabilities": {"extensions": [{"uri": "urn:other"}, declaration()]}}


def problems(error: InvalidInput) -> list[tuple[str, str]]:
    return [(problem["path"], problem["rule"]) for problem in error.details["problems"]]


def test_the_card_tells_the_limits():
    params = params_of(CARD)
    assert params is not None
    assert (params["maxItems"], params["maxBytes"], params["maxItemBytes"], params["maxDepth"]) == (
        64,
        262144,
        65536,
        32,
    )
    assert "openregister" in params["refSchemes"]
    assert json.loads(json.dumps(CARD)) == CARD
    assert params_of({}) is None
    assert params_of({"capabilities": {"extensions": [{"uri": URI}]}}) == {}


def test_a_context_goes_under_both_keys_and_comes_back():
    metadata = metadata_with({"client_request_id": "7"}, DOCUMENT)
    assert metadata == {"client_request_id": "7", URI: DOCUMENT, PLAIN_KEY: DOCUMENT}
    context = read_context(json.loads(json.dumps(metadata)))
    assert context is not None
    assert {"items": context.items} == DOCUMENT
    assert [issue.code for issue in context.warnings] == ["ref-scheme"]


def test_an_agentvault_peer_gets_the_plain_key_alone():
    sent = prepare_context(DOCUMENT, None).metadata({"a": 1})
    assert sent == {"a": 1, PLAIN_KEY: DOCUMENT}
    assert prepare_context(DOCUMENT, {}).metadata() == {URI: DOCUMENT, PLAIN_KEY: DOCUMENT}
    assert prepare_context(DOCUMENT, {}).extensions == [URI]
    assert prepare_context(DOCUMENT, None).extensions == []


def test_two_contexts_that_disagree_are_refused_but_not_for_42_and_42_0():
    one = {"items": {"a": {"mediaType": "application/json", "content": 42}}}
    other = {"items": {"a": {"content": 42.0, "mediaType": "application/json"}}}
    assert sent_context({URI: one, PLAIN_KEY: other}) == (URI, one)
    with pytest.raises(InvalidInput) as refused:
        read_context({URI: one, PLAIN_KEY: DOCUMENT})
    assert problems(refused.value) == [("/metadata/mcp_context", "context-disagreement")]


def test_another_version_of_the_extension_is_refused_by_name():
    with pytest.raises(InvalidInput) as refused:
        read_context({f"{BASE}:v9": DOCUMENT})
    assert problems(refused.value) == [(f"/metadata/{BASE}:v9", "unsupported-version")]


@pytest.mark.parametrize("metadata", [None, {}, {"timestamp": "x"}, "x", []])
def test_no_context_is_no_context(metadata: Any):
    assert read_context(metadata) is None


@pytest.mark.parametrize("case", [case for case in CASES if "!" in case.standard], ids=lambda case: case.about)
def test_a_bad_context_is_refused_with_field_violations(case: Any):
    with pytest.raises(InvalidInput) as refused:
        read_context({PLAIN_KEY: case.context})
    error = refused.value
    assert error.details["reason"] == "invalid-context"
    assert [rule for _, rule in problems(error)] == [code[:-1] for code in case.standard.split() if code.endswith("!")]
    assert all(path.startswith("/metadata/mcp_context") for path, _ in problems(error))
    assert all(problem["message"] for problem in error.details["problems"])
    with pytest.raises(InvalidInput):
        prepare_context(case.context)


def test_lenient_takes_what_agentvault_takes():
    context = read_context({PLAIN_KEY: {"items": {"a": {"media_type": "x", "content": "y"}}, "b": 1}}, "lenient")
    assert context is not None
    assert context.items == {"a": {"content": "y"}}
    assert [issue.code for issue in context.warnings] == ["unknown-root-member", "unknown-item-member"]


def test_the_receivers_limits_are_kept():
    with pytest.raises(InvalidInput) as refused:
        prepare_context(DOCUMENT, {"maxItems": 2, "maxItemBytes": 100, "maxDepth": 1, "refSchemes": []})
    assert {rule for _, rule in problems(refused.value)} == {"too-many-items", "too-deep"}
    narrowed = ContextLimits().narrowed({"maxItems": 1000, "maxBytes": "x", "maxDepth": -1, "refSchemes": ["HTTPS"]})
    assert (narrowed.items, narrowed.total_bytes, narrowed.depth, narrowed.ref_schemes) == (64, 262144, 32, ("https",))


def test_secrets_are_masked_both_ways():
    context = text("call with Bearer abcdefghijklmnop")
    sent = prepare_context(context, {}, target="agent")
    assert "abcdefghijklmnop" not in json.dumps(sent.metadata())
    assert [(one.path, one.what) for one in sent.masked] == [("/items/it/content", "authorization")]
    kept = read_context({PLAIN_KEY: context})
    assert kept is not None
    assert "abcdefghijklmnop" not in json.dumps(kept.items)
    assert [(one.path, one.what) for one in kept.masked] == [("/items/it/content", "authorization")]
    with pytest.raises(Forbidden):
        read_context({PLAIN_KEY: context}, policy=Policy(secrets="deny"))


def test_a_sealed_context_is_verified_and_a_changed_one_refused():
    key = OKPKey.generate_key("Ed25519")
    sent = prepare_context(text("the truth"), {}, key=key).metadata()
    context = read_context(json.loads(json.dumps(sent)), keys=[key])
    assert context is not None
    assert context.items["it"]["content"] == "the truth"
    changed = json.loads(json.dumps(sent).replace("the truth", "a lie"))
    with pytest.raises(Conflict) as refused:
        read_context(changed)
    assert refused.value.details["problems"][0]["path"] == "/items/it"
    with pytest.raises(Conflict):
        read_context({PLAIN_KEY: text("unsigned")}, keys=[key])


def test_integers_beyond_2_53_are_kept_as_sent():
    exact = {"items": {"a": {"mediaType": "application/json", "content": {"n": 9007199254740993, "m": -(2**63)}}}}
    context = read_context({PLAIN_KEY: exact})
    assert context is not None
    assert json.dumps({"items": context.items}) == json.dumps(exact)
    assert [issue.code for issue in context.warnings] == ["big-integer", "big-integer"]
    assert json.dumps(prepare_context(exact, {}).context) == json.dumps(exact)
