"""Names: the same answer for every spelling, and for everything that asks."""

import json

import pytest

from pentad.kernel.secrets.names import Place, is_secret_member, is_secret_name
from pentad.kernel.secrets.text import may_hold

SECRET = """
    apiKey exaApiKey x-api-key X-API-Key API_KEY apikey api.key OPENAI_API_KEY API_KEY_PROD OPENAI_KEY EXA_KEY
    AUTH auth basic_auth NPM_AUTH X-Auth authorization Authorization Proxy-Authorization cookie Set-Cookie cookies
    password passwd pwd PGPASSWORD MYSQL_PWD db.password db_pass passphrase new_password passwordConfirmation
    password_hash password2 userPassword sslpassword
    client_secret clientSecret secret secrets SECRET_KEY_BASE secret_id STRIPE_WEBHOOK_SECRET signingSecret
    private_key privateKey access_key AWS_SECRET_ACCESS_KEY accountKey signing_key Ocp-Apim-Subscription-Key
    token token2 access_token refresh_token id_token authToken _authToken OAuthToken csrf_token GITHUB_TOKEN
    personal_access_tokens GITHUB_PAT bearer jwt session_id sessionid JSESSIONID PHPSESSID credentials aws_credentials
    otp cvv cvc ssn IBAN mnemonic seedPhrase cardNumber secure.db.user
""".split()  # noqa: SIM905  a table of words
HARMLESS = """
    max_tokens token_count tokenCount prompt_tokens completionTokens tokens tokenizer tokenized tokenType token_url
    token_endpoint token_expires_at next_page_token nextToken pageToken progressToken continuation_token eos_token
    key keys key_id keyboard monkey primary_key foreign_key public_key publicKey sort_key PARTITION_KEY PRIMARY_KEY
    cache_key idempotency_key access_key_id
    author authority authors authenticated authentication auth_mode auth_url AUTH0_DOMAIN authorization_endpoint
    pin pinned pinning spin secretary secret_name secretKeyRef passenger compass bypass pass_rate password_policy
    PASSWORD_MIN_LENGTH has_password forgot_password show_password no_auth cookie_policy cookie_consent cookieName
    session session_timeout signature code card_type pat pattern path credentialSubject verifiableCredential
    credential_type dsn connection_string database_url name id url
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", SECRET)
@pytest.mark.requirement("secrets:one-decision")
def test_a_name_of_a_secret_is_known(name: str):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", HARMLESS)
@pytest.mark.requirement("secrets:one-decision")
def test_a_harmless_name_is_left_alone(name: str):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("name", "place", "expected"),
    [
        ("key", "parameter", True),
        ("key", "flag", True),
        ("key", "variable", False),
        ("sig", "parameter", True),
        ("signature", "parameter", True),
        ("X-Amz-Signature", "parameter", True),
        ("X-Amz-Credential", "parameter", True),
        ("code", "parameter", True),
        ("page", "parameter", False),
        ("sort_key", "parameter", False),
        ("page_token", "parameter", False),
        ("firecrawl_key", "variable", True),
        ("X-Team-Key", "header", True),
        ("X-Request-Id", "header", False),
        ("Content-Type", "header", False),
        ("Idempotency-Key", "header", False),
        ("password-stdin", "flag", False),
        ("no-auth", "flag", False),
        ("max-tokens", "flag", False),
    ],
)
def test_where_a_name_stands_matters(name: str, place: Place, expected: bool):
    assert is_secret_name(name, place) is expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("pin", "board", False),
        ("pin", "1234", True),
        ("pin", 123456, True),
        ("userPin", "12345678", True),
        ("pin", 13, False),
        ("pin", True, False),
        ("pin", "123456789", False),
        ("spin", "1234", False),
        ("token", "board", True),
    ],
)
@pytest.mark.requirement("secrets:pin")
def test_a_pin_is_a_secret_only_if_it_looks_like_one(name: str, value: object, expected: bool):
    assert is_secret_member(name, value) is expected


@pytest.mark.parametrize("name", [*SECRET, "pin"])
def test_a_text_with_a_secrets_name_is_never_passed_over(name: str):
    assert may_hold(json.dumps({name: "x"}))


def test_a_name_of_any_length_is_answered():
    assert not is_secret_name("password" * 100_000)
    assert not is_secret_name("")
    assert not is_secret_name("\ud800-\x00")
