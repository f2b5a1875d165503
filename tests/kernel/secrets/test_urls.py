"""URLs and headers: the secret goes, the rest stays, and the findings say what is only a guess."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.secrets.findings import Finding
from pentad.kernel.secrets.urls import scrub_header, scrub_url

TOKEN = "ghp_" + "A1b2C3d4E5" * 3
RANDOM = "8f3kd9sKJd82hdKq9sLqpZ"


@pytest.mark.parametrize(
    ("url", "clean", "where"),
    [
        ("https://ada:pw@host/x", "https://ada:***@host/x", "login"),
        ("https://:pw@host/x", "https://:***@host/x", "login"),
        ("https://t0ken@host/x", "https://***@host/x", "login"),
        ("https://t0ken:x-oauth-basic@host/x", "https://***:x-oauth-basic@host/x", "login"),
        ("postgresql://ada:pa/s#@s@db:5432/x", "postgresql://ada:***@db:5432/x", "login"),
        ("postgresql://ada@db/x?sslpassword=z", "postgresql://ada@db/x?sslpassword=***", "query.sslpassword"),
        ("https://host/mcp?key=a1b2c3d4", "https://host/mcp?key=***", "query.key"),
        ("https://host/mcp?api_key=a", "https://host/mcp?api_key=***", "query.api_key"),
        ("https://host/mcp?api%5Fkey=a", "https://host/mcp?api%5Fkey=***", "query.api_key"),
        ("https://host/mcp?token=a&b=1", "https://host/mcp?token=***&b=1", "query.token"),
        ("https://host/mcp?exaApiKey=abc", "https://host/mcp?exaApiKey=***", "query.exaApiKey"),
        ("https://host/a?sv=2&sig=aB3dE6%3D", "https://host/a?sv=2&sig=***", "query.sig"),
        (f"https://host/a?q={TOKEN}", "https://host/a?q=***", "query.q"),
        (f"https://host/a?{TOKEN}", "https://host/a?***", "query"),
        (f"https://host/{TOKEN}/mcp", "https://host/***/mcp", "path.0"),
        ("https://host/a;jsessionid=12ab/b", "https://host/a;jsessionid=***/b", "path.0"),
        ("https://host/x#access_token=abc&b=1", "https://host/x#access_token=***&b=1", "fragment.access_token"),
        ("https://host/a?u=https%3A%2F%2Fada%3Apw%40other", "https://host/a?u=***", "query.u"),
        ("/callback?code=a1b2c3d4&state=1", "/callback?code=***&state=1", "query.code"),
    ],
)
@pytest.mark.requirement("secrets:urls")
def test_a_secret_in_a_url_is_taken_out(url: str, clean: str, where: str):
    scrubbed = scrub_url(url, cautious=False)
    assert scrubbed.clean == clean
    assert [finding.where for finding in scrubbed.findings] == [where]
    assert scrubbed.certain


def test_every_part_of_a_webhooks_path_is_taken_out():
    assert (
        scrub_url("https://hooks.slack.com/services/T00/B00/aB3").clean
        == "https://hooks.slack.com/services/***/***/***"
    )


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (f"https://host/{RANDOM}/mcp", "https://host/***/mcp"),
        (f"https://host/a?q={RANDOM}", "https://host/a?q=***"),
        ("https://host/a?key=mysecret", "https://host/a?key=***"),
        ("https://host/v1/key/my-own-key-1/mcp", "https://host/v1/key/***/mcp"),
        (f"https://host/a#{RANDOM}", "https://host/a#***"),
    ],
)
@pytest.mark.requirement("secrets:urls")
def test_what_may_be_a_secret_is_taken_out_only_by_the_cautious(url: str, clean: str):
    scrubbed = scrub_url(url)
    assert scrubbed.clean == clean
    assert not scrubbed.certain
    assert scrub_url(url, cautious=False) == (url, ())


@pytest.mark.parametrize(
    "url",
    [
        "https://host.example/a?page=2&sort=name",
        "https://ada@example.org/",
        "ssh://git@github.com/a/b.git",
        "https://host/mcp?api_key=${KEY}&token=$TOKEN&key=%24%7BKEY%7D",
        "https://${USER}:${PASSWORD}@host/",
        "https://host/records/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy",
        "https://host/tasks/550e8400-e29b-41d4-a716-446655440000?next_page_token=abc",
        "postgresql://db:5432/x?application_name=a@b",
        "https://host/a?key=",
        "sqlite:///data/pentad.db",
        "no url at all",
        "",
    ],
)
def test_a_url_without_a_secret_stays_as_it_is(url: str):
    assert scrub_url(url) == (url, ())


def test_the_caller_chooses_what_stands_in_place_of_a_secret():
    def asked(finding: Finding) -> str:
        return f"${{input:{finding.name}}}"

    scrubbed = scrub_url("https://host/mcp?exaApiKey=abc", mark=asked)
    assert scrubbed.clean == "https://host/mcp?exaApiKey=${input:exaApiKey}"
    assert scrub_url(scrubbed.clean, mark=asked) == (scrubbed.clean, ())


@pytest.mark.parametrize(
    ("name", "value", "clean"),
    [
        ("Authorization", "Bearer abc", "Bearer ***"),
        ("authorization", "abc", "***"),
        ("Authorization", 'Digest username="ada", response="x"', "Digest ***"),
        ("Proxy-Authorization", "Basic YTpi", "Basic ***"),
        ("X-API-Key", "abc", "***"),
        ("X-Team-Key", "abc", "***"),
        ("Cookie", "sid=a; theme=b", "sid=***; theme=***"),
        ("Cookie", "abc", "***"),
        ("Set-Cookie", "sid=a; Path=/; HttpOnly", "sid=***; Path=/; HttpOnly"),
        ("X-Custom", TOKEN, "***"),
        ("X-Custom", f"a {TOKEN} b", "a *** b"),
        ("X-Custom", RANDOM, "***"),
        ("Referer", "https://ada:pw@host/", "https://ada:***@host/"),
        ("Authorization", "Bearer ${TOKEN}", None),
        ("Cookie", "sid=${SID}", None),
        ("Content-Type", "application/json", None),
        ("X-Request-Id", "550e8400-e29b-41d4-a716-446655440000", None),
    ],
)
@pytest.mark.requirement("secrets:headers")
def test_a_credential_in_a_header_is_taken_out(name: str, value: str, clean: str | None):
    scrubbed = scrub_header(name, value)
    assert scrubbed.clean == (value if clean is None else clean)
    assert bool(scrubbed.findings) is (clean is not None)
    assert scrub_header(name, scrubbed.clean) == (scrubbed.clean, ())


@given(st.text(max_size=200) | st.from_regex(r"[a-z]{1,9}://[a-z0-9:@/?&=#%.$]{0,80}", fullmatch=True))
@pytest.mark.requirement("secrets:stable")
def test_any_url_is_scrubbed_without_failing_and_scrubbing_again_changes_nothing(url: str):
    once = scrub_url(url)
    assert scrub_url(once.clean).clean == once.clean
    assert (once.clean == url) or once.findings


@pytest.mark.parametrize("piece", ["?a=b&", "/a1B", "a:b@", "://", "%25", ";a=", "#", "https://"])
def test_a_url_made_to_be_slow_is_not(piece: str):
    """A bound on steps, not on time: anything quadratic would not end."""
    scrub_url("https://host/" + piece * (200_000 // len(piece)))
    scrub_header("Cookie", piece * (200_000 // len(piece)))
