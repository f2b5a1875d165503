"""Secrets: found wherever they hide, masked or denied, and told without being told."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import Forbidden, LimitExceeded
from pentad.kernel.secrets.names import is_secret_name
from pentad.kernel.secrets.text import found_in, may_hold, scrub_text
from pentad.rooms.agents.context.redaction import STORAGE_POLICY, Policy, redact_items

CANARY = "c4n4ry"  # in every planted secret, and nowhere else
SECRETS = {
    "private-key": f"-----BEGIN EC PRIVATE KEY-----\nMHcCAQ{CANARY}EE\n-----END EC PRIVATE KEY-----",
    "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{CANARY}fQ.c2ln",
    "aws-key": "AKIAC4N4RY0000000000",
    "github-token": f"ghp_{CANARY}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "gitlab-token": f"glpat-{CANARY}-AAAAAAAAAAAAA",
    "slack-token": f"xoxb-1234567890-{CANARY}",
    "google-key": f"AIza{CANARY}AAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "stripe-key": f"sk_live_{CANARY}AAAAAAAAAAA",
    "api-key": f"sk-{CANARY}-AAAAAAAAAAAAAAAA",
    "authorization": f"Bearer {CANARY}.AAAAAAAAAA",
    "url-password": f"postgresql://ada:{CANARY}@db.example.org/x",
    "url-parameter": f"https://example.org/a?access_token={CANARY}&b=1",
    "password": f'password = "{CANARY} with spaces"',
    "card-number": "4111 1111 1111 1111",
}
CARD = SECRETS["card-number"]
TRACES = [CANARY, CANARY.upper(), CARD, CARD.replace(" ", "")]


def leaks(value: Any) -> bool:
    return any(trace in json.dumps(value) for trace in TRACES)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found_inside_a_text_and_only_it(name: str):
    text = f"Look: {SECRETS[name]} and then go on."
    assert name in [found for found, _, _ in found_in(text)]
    clean = scrub_text(text)
    assert not leaks(clean)
    assert clean.startswith("Look: ")
    assert clean.endswith(" and then go on.")
    assert found_in(clean) == []


@pytest.mark.parametrize(
    "text",
    ["4111 1111 1111 1111 12/27", "No.4111111111111111.", "2345 4111 1111 1111 1111", "5555-5555-5555-4444 737",
     "378282246310005 1234"],
)  # fmt: skip
def test_a_card_among_other_digits_is_found(text: str):
    assert "card-number" in scrub_text(text)
    assert not any(number in scrub_text(text) for number in ("1111 1111", "1111111", "4444", "10005"))


@pytest.mark.parametrize(
    "text",
    [
        "The password policy asks for twelve characters.",
        "Order 4111 1111 1111 1112 has shipped.",
        "https://example.org/a?page=2&sort=name",
        "https://ada@example.org/",
        "sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
        "550e8400-e29b-41d4-a716-446655440000",
        "The token ring was a network.",
        "1763190000000 is a time in milliseconds.",
        "0.4111111111111111 is a share, 41111111111111110000 a count.",
    ],
)
def test_what_is_no_secret_stays(text: str):
    assert scrub_text(text) == text


def test_telling_names_are_known_in_every_spelling():
    telling = (
        "password",
        "apiKey",
        "API-KEY",
        "x_api_key",
        "clientSecret",
        "access_token",
        "Authorization",
        "db.password",
    )
    assert [name for name in telling if not is_secret_name(name)] == []
    harmless = (
        "max_tokens",
        "tokenCount",
        "prompt_tokens",
        "author",
        "passenger",
        "pinned",
        "key",
        "secretary",
        "tokens",
    )
    assert [name for name in harmless if is_secret_name(name)] == []


def test_everything_under_a_telling_name_is_masked():
    item = {"content": {"credentials": {"user": "ada", "codes": [12345, "abc"], "active": True, "none": None}}}
    clean = redact_items({"a": item}, "agent")
    mark = "[redacted:key-name]"
    assert clean.items["a"]["content"]["credentials"] == {
        "user": mark, "codes": [mark, mark], "active": True, "none": None,
    }  # fmt: skip
    assert [one.path for one in clean.report] == [
        f"/items/a/content/credentials/{rest}" for rest in ("user", "codes/0", "codes/1")
    ]


def test_a_card_that_is_a_number_is_masked():
    assert redact_items({"a": {"content": [4111111111111111, 42]}}, "x").items["a"]["content"] == [
        "[redacted:card-number]", 42,
    ]  # fmt: skip


planted = st.sampled_from(sorted(SECRETS)).map(SECRETS.__getitem__)
words = st.text(st.characters(codec="utf-8", categories=["L", "P", "Z"]), max_size=6)
secret_texts = st.tuples(words, planted, words).map(lambda three: f"{three[0]} {three[1]} {three[2]}")
leaves = words | st.integers(0, 1000) | st.none() | secret_texts
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | secret_texts, inner, max_size=3),
    max_leaves=10,
)
members = st.sampled_from(["id", "mediaType", "content", "ref", "metadata"])


@given(st.dictionaries(words | secret_texts, st.dictionaries(members, trees, max_size=3), max_size=3))
def test_no_canary_gets_through_and_cleaning_twice_changes_nothing(items: dict[str, Any]):
    clean = redact_items(items, "somebody", STORAGE_POLICY)
    assert not leaks(clean.items)
    assert not leaks([[one.path, one.what] for one in clean.report])
    assert bool(clean.report) == leaks(items)
    assert len(clean.items) == len(items), "no item is lost, even where two names become the same mark"
    again = redact_items(clean.items, "somebody", STORAGE_POLICY)
    assert (again.items, again.report) == (clean.items, [])


def test_what_is_sensitive_goes_only_where_it_may():
    items = {
        "open": {"content": "a", "metadata": {"x-sensitivity": "public"}},
        "closed": {"content": "b", "metadata": {"x-sensitivity": "confidential"}},
        "odd": {"content": "c", "metadata": {"x-sensitivity": "cosmic"}},
    }
    clean = redact_items(items, "agent")
    assert [item["content"] for item in clean.items.values()] == [
        "a",
        "[redacted:sensitivity]",
        "[redacted:sensitivity]",
    ]
    trusting = Policy(upto="confidential")
    assert redact_items({"closed": items["closed"]}, "trusted/one", trusting).report == []
    assert redact_items(items, "store", STORAGE_POLICY).items == items


def test_an_item_for_others_is_denied_with_its_place_and_nothing_else():
    items = {"note": {"content": "for Bob alone", "metadata": {"x-audience": ["bob", "team/*"]}}}
    assert redact_items(items, "team/eve").items == items
    with pytest.raises(Forbidden) as refused:
        redact_items(items, "mallory")
    assert refused.value.details["problems"] == [
        {"path": "/items/note", "rule": "audience", "message": "The policy denies this."}
    ]
    assert "Bob alone" not in json.dumps(refused.value.as_json())


def test_a_policy_may_deny_or_allow_secrets():
    items = {"a": {"content": SECRETS["jwt"]}}
    with pytest.raises(Forbidden) as refused:
        redact_items(items, "agent", Policy(secrets="deny"))
    assert not leaks(refused.value.as_json())
    told = redact_items(items, "agent", Policy(secrets="allow"))
    assert told.items == items
    assert [(one.what, one.action) for one in told.report] == [("jwt", "allow")]


def test_endless_nesting_is_refused():
    value: Any = "x"
    for _ in range(300):
        value = [value]
    with pytest.raises(LimitExceeded):
        redact_items({"a": {"content": value}})


@pytest.mark.parametrize("piece", ["eyJ", "-eyJ", "password=", "a:b@", "4111-", "-----BEGIN PRIVATE KEY-----", "?key="])
def test_a_text_made_to_be_slow_is_not(piece: str):
    """A bound on steps, not on time: the text is long enough that anything quadratic would not end."""
    found_in(piece * (400_000 // len(piece)))


@given(st.dictionaries(words | secret_texts, trees, max_size=3))
def test_what_is_not_looked_through_holds_nothing(value: dict[str, Any]):
    assert may_hold(json.dumps(value, ensure_ascii=False)) or not leaks(value)


def test_every_telling_name_is_looked_through():
    telling = ("password", "pwd", "apiKey", "X-Auth", "otp", "cvc", "ssn", "cardNumber", "IBAN", "seedPhrase",
               "sessionId", "cookies", "mnemonic", "bearer", "credentials", "token", "clientSecret")  # fmt: skip
    for name in telling:
        assert is_secret_name(name)
        assert may_hold(json.dumps({name: "x"}))
