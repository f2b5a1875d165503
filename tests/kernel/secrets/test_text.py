"""Texts: a secret goes wherever it stands in a line, and prose and code are left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.secrets.text import found_in, may_hold, scrub_text

CANARY = "c4n4ryX9"
SHAPES = [
    "password={}", "password: {}", 'password is "{}"', "DB_PASSWORD => '{}'", 'password = b"{}"', "pwd:={}",
    '{{"api_key": "{}"}}', "{{'token': '{}'}}", '{{\\"secret\\": \\"{}\\"}}', "config['clientSecret'] = '{}'",
    "token: {}", "access-token={}", "X-API-Key: {}", "Authorization: Bearer {}", "authorization=Basic {}",
    "Authorization: SharedKey acct:{}", 'Authorization: Digest username="ada", response="{}"', "Cookie: a=1; sid={}",
    "Set-Cookie: sid={}; Path=/", "bearer {}", "https://ada:{}@host/", "https://{}@host/", "redis://:{}@host/0",
    "postgresql://ada:p/{}@db/x", "GET /a?token={}&b=1", "/a?key={}", "/a?X-Amz-Signature={}", "/cb#code={}&x=1",
    "run x --api-key {} now", "x --password={}", "curl -u ada:{} https://host", 'curl -H "Authorization: Bearer {}"',
    "host=db password={} dbname=x", "AccountName=a;AccountKey={};", "<password>{}</password>", "ghp_{}AAAAAAAAAAAAAAAA",
    "sk-{}-AAAAAAAAAAA", "pentad_abcdefgh234567ab_{}", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
]  # fmt: skip
PLAIN = [
    "token: expired", "The token ring was a network.", "api_key = settings.api_key", "password = os.environ['X']",
    "password: str", "token: string;", "password: required", "key of the matter: none", "primary_key=4711",
    "max_tokens=4096, token_count: 12", "Basic authentication is off.", "The bearer of this letter",
    "author: Ada Lovelace", "pin: board", "https://host/a?key=name&page=2", "https://ada@example.org/",
    "token=${TOKEN} password=<your password>", "authorization: {'read': ['public']}", "Cookie policy: strict",
    "commit da39a3ee5e6b4b0d3255bfef95601890afd80709", "run x --key ./server.pem", "secret://vault/x", "Token::new()",
    "pentad_call_duration_seconds_p99 5", "grpc_auth is 'maybe'.",
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("secrets:text")
def test_a_secret_in_a_text_is_taken_out_and_the_text_around_it_stays(shape: str):
    text = f"Before, {shape.format(CANARY)}\nand after."
    clean = scrub_text(text)
    assert CANARY not in clean
    assert clean.startswith("Before, ")
    assert clean.endswith("\nand after.")
    assert "[redacted:" in clean
    assert found_in(clean) == []


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.requirement("secrets:text")
def test_a_text_without_a_secret_stays_as_it_is(text: str):
    assert scrub_text(text) == text


def test_a_pin_in_a_text_is_known_by_its_digits():
    assert scrub_text("pin: 4711, then pin=13") == "pin: [redacted:key-name], then pin=13"


pieces = st.text(max_size=10) | st.sampled_from(
    [*SHAPES, *PLAIN, "[redacted:", "password=", '"', "'", "@", "://", ":", "="]
)
texts = st.lists(pieces, max_size=6).map("".join)


@given(texts)
@pytest.mark.requirement("secrets:stable")
def test_any_text_is_scrubbed_without_failing_and_scrubbing_again_changes_nothing(text: str):
    once = scrub_text(text)
    assert scrub_text(once) == once


@given(texts)
@pytest.mark.requirement("secrets:stable")
def test_nothing_but_what_was_found_is_lost(text: str):
    at = 0
    kept: list[str] = []
    for _, start, end in found_in(text):
        assert at <= start < end <= len(text)
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    clean = scrub_text(text)
    if found_in("".join(kept)) == []:
        assert clean.startswith(kept[0])
    if not found_in(text):
        assert clean == text


@given(texts)
def test_a_text_that_is_passed_over_holds_nothing(text: str):
    assert may_hold(text) or found_in(text) == []


@pytest.mark.parametrize(
    "piece",
    ["eyJ", "-eyJ", "password=", "password='", 'token="\\', "a:b@", "://", "http://a:", "4111-", "a-", "a.", "Bearer ",
     "-----BEGIN PRIVATE KEY-----", "?key=", "--token ", "<password>", "Cookie: a=", "Authorization: x ", "curl -u a:",
     "sk-", "ghp_", "_", "key\\\\\\\\", 'key" '],
)  # fmt: skip
def test_a_text_made_to_be_slow_is_not(piece: str):
    """A bound on steps, not on time: the text is long enough that anything quadratic would not end."""
    scrub_text("token " + piece * (300_000 // len(piece)))
