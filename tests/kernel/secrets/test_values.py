"""Values: what only a secret looks like, what may be one, and what is none."""

import pytest

from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import Verdict, judge_value

A = "A1b2C3d4E5"  # what fake tokens are made of
HEX = "0123456789abcdef"

YES = [
    "sk-" + A * 2,
    "sk-ant-api03-" + A * 3,
    "sk-proj-" + A * 3,
    "ghp_" + A * 4,
    "gho_" + A * 4,
    "github_pat_" + A * 4,
    "glpat-" + A * 2,
    "xoxb-1234567890-" + A,
    "xapp-1-" + A * 2,
    "AKIA" + "ABCDEFGH12345678",
    "ASIA" + "ABCDEFGH12345678",
    "AIza" + A * 3 + "abcde",
    "ya29." + A * 3,
    "npm_" + A * 4,
    "pypi-" + A * 4,
    "hf_" + A * 3,
    "sk_live_" + A * 2,
    "rk_test_" + A * 2,
    "whsec_" + A * 3,
    "gsk_" + A * 5,
    "r8_" + A * 4,
    "xai-" + A * 4,
    "tvly-" + A * 3,
    "fc-" + HEX * 2,
    "lin_api_" + A * 4,
    "figd_" + A * 4,
    "dckr_pat_" + A * 3,
    "shpat_" + HEX * 2,
    "hvs." + A * 3,
    "PMAK-" + HEX * 2,
    "dapi" + HEX * 2,
    "SK" + HEX * 2,
    "SG." + A * 2 + "." + A * 4,
    "123456789:AA" + A * 3 + "abc",
    "avreg_" + A * 3,
    "pentad_abcdefgh234567ab_" + A,
    *(f"pentad-{kind}-" + "aB3_-" * 8 + "xyz" for kind in ("access", "refresh", "code", "device", "secret")),
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----",
    "https://hooks.slack.com/services/T0/B0/" + A,
    "https://discord.com/api/webhooks/123/" + A,
    "postgresql://ada:pw@db/x",
    "redis://:pw@db/0",
    "https://example.org/a?X-Amz-Signature=" + HEX,
    "https://example.org/a?sv=1&sig=" + A,
    "Basic YWRhOmFkYQ==",
    "Bearer " + A,
    "password=hunter",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + A * 2 + "==",
    "4111 1111 1111 1111",
]
MAYBE = [
    "8f3kd9sKJd82hdKq9sLqpZ",
    HEX * 2,
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY",
    "dGhpcyBpcyBhIHNlY3JldCBrZXk5OTk=",
    "P@ssw0rd1",
    "use 8f3kd9sKJd82hdKq9sLqpZ please",
    "q7x-9f2k-8d3m-1z5p-0w4r-6t8y",
    "/v1/8f3kd9sKJd82hdKq9sLqpZ/mcp",
]
NO = [
    "550e8400-e29b-41d4-a716-446655440000",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
    "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "1.2.3",
    "v2025.11.0-rc1",
    "2024-01-01T00:00:00Z",
    "/usr/local/bin/python3",
    "~/.ssh/id_ed25519",
    "./certificates/production-2024.pem",
    "db.internal.example.org",
    "localhost:8700",
    "https://example.org/a?page=2&sort=name",
    "ada@example.org",
    "word",
    "The password policy asks for twelve characters.",
    "modelContextProtocolServerFilesystem",
    "my-long-server-name-v2-for-testing-2024",
    "gpt-4o-mini-2024-07-18",
    "anthropic.claude-3-sonnet-20240229-v1:0",
    "text-embedding-3-large",
    "xai-grok-2-vision-1212",
    "sk-learn-based-estimator-with-long-name",
    "@modelcontextprotocol/server-filesystem@1.2.3",
    "ghcr.io/github/github-mcp-server:v1.2",
    "application/vnd.oci.image.manifest.v1+json",
    "us-east-1",
    "12345678901234567890",
    "true",
    "",
    "   ",
    "pa$$word",
    "Basic research",
    "Basic authentication",
    "bearer of good news",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1",
]
REFERENCES = [
    "${VAR}", "$VAR", "$token", "${input:api-key}", "${env:KEY}", "${{ secrets.KEY }}", "{{ api_key }}", "{api_key}",
    "%API_KEY%", "$env:API_KEY", "{env:KEY}", "$(cat key)", "op://vault/item/field", "env:API_KEY", "Bearer ${TOKEN}",
    "${USER}:${PASSWORD}", "${VAR:-}", "<your key>", "<API_KEY>", "YOUR_API_KEY", "your-api-key-here", "***", "••••",
    "[redacted:api-key]", "none", "required", "",
]  # fmt: skip
LITERALS = [
    "pa$$word",
    "$ecret",
    "a$VAR",
    "${VAR}x9",
    "${KEY:-s3cret}",
    "my dog spot",
    "xxxxxxxxx",
    "changeme",
    "{",
    "$5",
]


def expectations() -> list[tuple[str, Verdict]]:
    return [
        *((value, "yes") for value in YES),
        *((value, "maybe") for value in MAYBE),
        *((value, "no") for value in NO),
        *((value, "no") for value in REFERENCES),
        *((value, "no") for value in ("changeme", "REPLACE_ME", "placeholder", "dummy-key", "sk-xxxx", "xxxxxxxx")),
    ]


@pytest.mark.parametrize(("value", "expected"), expectations())
@pytest.mark.requirement("secrets:one-decision")
def test_a_value_is_judged_by_its_form(value: str, expected: Verdict):
    assert judge_value(value) == expected


@pytest.mark.parametrize("value", REFERENCES)
def test_a_reference_is_no_secret_wherever_it_stands(value: str):
    assert is_reference(value)


@pytest.mark.parametrize("value", LITERALS)
def test_what_only_resembles_a_reference_is_none(value: str):
    assert not is_reference(value)


@pytest.mark.parametrize("piece", ["A1b", "a-", "a.", "/a1B", "$", "${A", "x@", "aA1!", "{{", "your_"])
def test_a_value_made_to_be_slow_is_not(piece: str):
    """A bound on steps, not on time: anything quadratic would not end."""
    judge_value(piece * (400_000 // len(piece)))
