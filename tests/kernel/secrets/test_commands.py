"""Command lines: credentials go from arguments and shell strings, and the command can still be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.secrets.commands import scrub_command

TOKEN = "ghp_" + "A1b2C3d4E5" * 3
RANDOM = "8f3kd9sKJd82hdKq9sLqpZ"


@pytest.mark.parametrize(
    ("argv", "clean"),
    [
        ("npx x --api-key abc", "npx x --api-key ***"),
        ("npx x --api-key=abc", "npx x --api-key=***"),
        ("npx x --token abc y", "npx x --token *** y"),
        ("npx x -token=abc", "npx x -token=***"),
        ("npx x --key abc", "npx x --key ***"),
        ("curl -u ada:pw https://host", "curl -u ada:*** https://host"),
        ("curl -uada:pw https://host", "curl -uada:*** https://host"),
        ("curl --user=ada:pw https://host", "curl --user=ada:*** https://host"),
        ("docker run -e API_KEY=abc image", "docker run -e API_KEY=*** image"),
        ("docker run --env=API_KEY=abc image", "docker run --env=API_KEY=*** image"),
        ("docker build --build-arg NPM_TOKEN=abc .", "docker build --build-arg NPM_TOKEN=*** ."),
        ("env API_KEY=abc npx x", "env API_KEY=*** npx x"),
        ("java -Ddb.password=abc -jar x.jar", "java -Ddb.password=*** -jar x.jar"),
        ("mysql -psecret -u root", "mysql -p*** -u root"),
        ("sshpass -p secret ssh host", "sshpass -p *** ssh host"),
        ("redis-cli -a secret", "redis-cli -a ***"),
        ("docker login -u ada -p secret host", "docker login -u ada -p *** host"),
        ("npx mcp-remote https://host/?key=a1b2c3", "npx mcp-remote https://host/?key=***"),
        ("npx x --dsn postgresql://ada:pw@db/x", "npx x --dsn postgresql://ada:***@db/x"),
        (f"npx x {TOKEN}", "npx x ***"),
        (f"npx x --name={TOKEN}", "npx x --name=***"),
        ("cmd /password:abc", "cmd /password:***"),
    ],
)
@pytest.mark.requirement("secrets:commands")
def test_a_credential_among_arguments_is_taken_out(argv: str, clean: str):
    scrubbed = scrub_command(argv.split(" "), cautious=False)
    assert scrubbed.clean == clean.split(" ")
    assert len(scrubbed.findings) == 1
    assert scrubbed.certain
    assert scrub_command(argv).clean == clean, "the same as one string for a shell"


@pytest.mark.parametrize(
    ("argument", "clean"),
    [
        ("API_KEY=abc npx x", "API_KEY=*** npx x"),
        ("export API_KEY='a b'; npx x --token \"q w\" && y", 'export API_KEY=***; npx x --token "***" && y'),
        ('curl -H "Authorization: Bearer abc" https://host', 'curl -H "Authorization: Bearer ***" https://host'),
        ("sh -c 'TOKEN=abc x'", "sh -c 'TOKEN=*** x'"),
        ("echo   spaced    API_KEY=abc", "echo   spaced    API_KEY=***"),
    ],
)
@pytest.mark.requirement("secrets:commands")
def test_a_string_for_a_shell_is_read_as_one(argument: str, clean: str):
    scrubbed = scrub_command(["bash", "-c", argument])
    assert scrubbed.clean == ["bash", "-c", clean]
    assert all(finding.where.startswith("argument.2") for finding in scrubbed.findings)
    assert scrub_command(argument).clean == clean


@pytest.mark.parametrize("flag", ["-H", "--header", "--headers"])
@pytest.mark.parametrize("value", ["Authorization: Bearer {}", "Authorization:Bearer {}", "X-Api-Key={}"])
def test_a_header_among_arguments_is_read_as_one(flag: str, value: str):
    assert scrub_command(["npx", flag, value.format("abc")]).clean == ["npx", flag, value.format("***")]
    assert scrub_command(["npx", f"{flag}={value.format('abc')}"]).clean[1].endswith(value.format("***"))


@pytest.mark.parametrize(
    "argv",
    [
        ["npx", "-y", "@modelcontextprotocol/server-filesystem@1.2.3", "/home/ada"],
        ["docker", "run", "-u", "1000:1000", "-p", "8080:80", "-e", "API_KEY", "ghcr.io/a/b:v1"],
        ["npx", "x", "--api-key", "${API_KEY}", "--header", "Authorization:${AUTH}"],
        ["x", "--key", "./certs/server.pem", "--token-file=/run/token", "--max-tokens", "100"],
        ["x", "--password-stdin", "--no-auth", "server.js"],
        ["bash", "-c", "echo $API_KEY | x"],
        ["python", "-m", "server", "--port=8700", "--url", "https://host/mcp?page=2"],
        [],
    ],
)
def test_a_command_without_a_credential_stays_as_it_is(argv: list[str]):
    assert scrub_command(argv) == (argv, ())


def test_what_may_be_a_credential_is_said_to_be_a_guess():
    scrubbed = scrub_command(["npx", "x", RANDOM, "--login", "a", "-u", "ada:pw"])
    assert scrubbed.clean == ["npx", "x", "***", "--login", "a", "-u", "ada:***"]
    assert [finding.certain for finding in scrubbed.findings] == [False, False]


words = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    [
        "-c",
        "-H",
        "-u",
        "--token",
        "API_KEY=a b",
        "Authorization: Bearer x1",
        "ada:pw",
        "curl",
        "'",
        '"',
        "\\",
        "$(",
        "${A}",
    ]
)


@given(st.lists(words, max_size=6))
@pytest.mark.requirement("secrets:stable")
def test_any_command_is_scrubbed_without_failing_and_scrubbing_again_changes_nothing(argv: list[str]):
    once = scrub_command(argv)
    assert len(once.clean) == len(argv)
    assert scrub_command(once.clean).clean == once.clean
    line = scrub_command(" ".join(argv))
    assert line.clean == " ".join(argv) or line.findings


@pytest.mark.parametrize("piece", ["a ", "'", '"', "\\", "A=", "-H ", "--token ", 'a"b ', "a'b", "${", "=a"])
def test_a_command_made_to_be_slow_is_not(piece: str):
    """A bound on steps, not on time: anything quadratic would not end."""
    text = piece * (60_000 // len(piece))
    scrub_command(text)
    scrub_command(["bash", "-c", text, f"A={text}"])
