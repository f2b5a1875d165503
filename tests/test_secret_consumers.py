"""Everything that hides secrets gives the same answer for the same name: that of `pentad.kernel.secrets`."""

import json

import pytest

from pentad.kernel.errors import Unavailable
from pentad.kernel.secrets.names import is_secret_name
from pentad.logs import safe_value
from pentad.rooms.agents.context.redaction import redact_items as redacted_context
from pentad.rooms.directory.translate.formats import import_format, import_record
from pentad.rooms.metrics.collectors.anypoint.response_projection import redact as redacted_answer
from pentad.settings.catalogue import catalogue, list_settings
from pentad.settings.model import Settings

VALUE = "s3cr3t-canary"
NAMES = [
    "apiKey", "exaApiKey", "x-api-key", "AUTH", "authorization", "Proxy-Authorization", "cookie", "passwd", "pwd",
    "client_secret", "private_key", "GITHUB_PAT", "PGPASSWORD", "sessionid", "refresh_token", "max_tokens", "author",
    "primary_key", "key_id", "pin", "secretary", "cookie_policy", "token_count",
]  # fmt: skip


def hidden_by_logs(name: str) -> bool:
    return VALUE not in json.dumps(safe_value("extra", {name: VALUE}))


def hidden_by_metrics(name: str) -> bool:
    return VALUE not in json.dumps(redacted_answer({name: VALUE}))


def hidden_by_settings(name: str) -> bool:
    tables = {"r": {"inner": {name: VALUE}}}
    return VALUE not in str([line.value for line in list_settings(Settings(room_tables=tables))])


def hidden_by_contexts(name: str) -> bool:
    return VALUE not in json.dumps(redacted_context({"a": {"content": {name: VALUE}}}).items)


def hidden_by_the_directory(name: str) -> bool:
    source = {"mcpServers": {"x": {"command": "x", "env": {name: VALUE}}}}
    return VALUE not in json.dumps(import_record(import_format("claude"), source).result)


def hidden_by_errors(name: str) -> bool:
    return VALUE not in Unavailable(json.dumps({"error": "no", name: VALUE})).message


@pytest.mark.parametrize(
    "hidden",
    [hidden_by_logs, hidden_by_metrics, hidden_by_settings, hidden_by_contexts, hidden_by_the_directory,
     hidden_by_errors],
)  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.requirement("secrets:one-decision")
def test_all_agree_on_what_a_secret_is_called(name: str, hidden: object):
    assert callable(hidden)
    assert hidden(name) is is_secret_name(name)


@pytest.mark.requirement("secrets:one-decision")
def test_a_setting_that_is_called_like_a_secret_is_declared_as_one():
    for path, entry in catalogue().items():
        if is_secret_name(path.rpartition(".")[2], "variable") and entry.kind in (str, str | None):
            assert entry.secret, path


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://host/mcp?api_key=abc", "https://host/mcp?api_key=***"),
        (["https://ada:pw@host/"], "['https://ada:***@host/']"),
        ("ghp_" + "A1b2C3d4E5" * 3, "***"),
        ("${KEY}", "${KEY}"),
    ],
)
def test_a_setting_is_hidden_by_what_it_holds_too(value: object, shown: str):
    lines = list_settings(Settings(room_tables={"r": {"address": value}}))
    assert [line.value for line in lines if line.path == "rooms.r.address"] == [shown]


def test_metrics_hide_a_secret_under_a_harmless_name():
    assert redacted_answer({"note": ["use ghp_" + "A1b2C3d4E5" * 3]}) == {"note": ["use [redacted:github-token]"]}


@pytest.mark.requirement("secrets:errors")
def test_an_error_never_repeats_a_secret_it_was_made_with():
    foreign = f"401 from https://host/a?api_key={VALUE}: Authorization: Bearer {VALUE} is not valid."
    error = Unavailable(foreign, hint=f"Look at https://ada:{VALUE}@host/.", details={"answer": [{"said": foreign}]})
    for told in (str(error), error.sentence(), json.dumps(error.as_json()), repr(error)):
        assert VALUE not in told
    assert error.message.startswith("401 from https://host/a?api_key=[redacted:")
    assert error.message.endswith(" is not valid.")


@pytest.mark.parametrize(
    "text",
    [
        "password: must have at least twelve characters",
        "token: Field required",
        "Write postgresql://user:password@host/name, or leave it out for SQLite in the data folder.",
        "The token is expired.",
        "No method 'tokens/list'. Did you mean 'tools/list'?",
    ],
)
@pytest.mark.requirement("secrets:errors")
def test_an_error_about_a_secret_keeps_its_words(text: str):
    assert Unavailable(text, hint=text).message == text
