"""Keys: files, environment and keyring, in that order."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pentad.agentvault import KeyManagementError, KeyManager

ENV_FILE = """
# a comment
Foo=from-file
export SHELL_STYLE='quoted # not a comment'
spaced = "a b"   # a comment
hash=a#b
empty=
AGENTVAULT_OAUTH_Foo_CLIENT_ID=file-id
AGENTVAULT_OAUTH_Foo_CLIENT_SECRET=file-secret
AGENTVAULT_OAUTH_half_CLIENT_ID=only-id
no assignment
"""
JSON_FILE: dict[str, Any] = {
    "Plain": "k1",
    "both": {"apiKey": "k2", "oauth": {"clientId": "i", "clientSecret": "s"}},
    "half": {"oauth": {"clientId": "i"}},
    "number": 5,
    "empty": "",
    "odd": {"oauth": "text"},
}


class FakeKeyring(ModuleType):
    """The system's keyring, in memory."""

    def __init__(self, **stored: str) -> None:
        super().__init__("keyring")
        self.stored: dict[tuple[str, str], str] = {}
        self.broken = False

    def get_password(self, service_name: str, username: str) -> str | None:
        self._check()
        return self.stored.get((service_name, username))

    def set_password(self, service_name: str, username: str, password: str) -> None:
        self._check()
        self.stored[service_name, username] = password

    def _check(self) -> None:
        if self.broken:
            raise OSError("locked")


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> FakeKeyring:
    fake = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", fake)
    return fake


def test_an_environment_file_holds_keys_and_credentials(tmp_path: Path):
    path = tmp_path / "keys.env"
    path.write_text(ENV_FILE, encoding="utf-8")
    keys = KeyManager(path, use_env_vars=False)
    found = {name: keys.get_key(name) for name in ("foo", "FOO", "shell_style", "spaced", "hash", "empty", "other")}
    assert found == {
        "foo": "from-file",
        "FOO": "from-file",
        "shell_style": "quoted # not a comment",
        "spaced": "a b",
        "hash": "a#b",
        "empty": None,
        "other": None,
    }
    assert (keys.get_oauth_client_id("FOO"), keys.get_oauth_client_secret("foo")) == ("file-id", "file-secret")
    assert keys.get_key_source("foo") == "file"
    assert keys.get_oauth_config_status("foo") == "Configured (Source: FILE)"
    assert keys.get_oauth_config_status("half") == "Partially Configured (Source: FILE)"
    assert keys.get_oauth_config_status("other") == "Not Configured"


def test_a_json_file_holds_keys_and_credentials(tmp_path: Path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(JSON_FILE), encoding="utf-8")
    keys = KeyManager(str(path), use_env_vars=False)
    assert [keys.get_key(name) for name in JSON_FILE] == ["k1", "k2", None, None, None, None]
    assert keys.get_oauth_client_secret("BOTH") == "s"
    assert keys.get_oauth_config_status("half") == "Partially Configured (Source: FILE)"
    assert keys.get_oauth_config_status("plain") == "Not Configured"


@pytest.mark.parametrize(
    ("name", "text"),
    [("keys.txt", "a=b"), ("missing.json", None), ("bad.json", "{"), ("list.json", "[]"), ("bytes.env", "a=\udcff")],
)
def test_a_file_that_cannot_be_read_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, text: str | None
):
    if text is not None:
        (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    assert KeyManager(tmp_path / name, use_env_vars=False).get_key("a") is None
    assert name in caplog.text


def test_a_file_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "keys.env"
    path.write_text(ENV_FILE, encoding="utf-8")
    for name, value in {
        "AGENTVAULT_KEY_FOO": "from-env",
        "AGENTVAULT_KEY_BAR": "from-env",
        "AGENTVAULT_KEY_": "nobody's",
        "AGENTVAULT_OAUTH_FOO_CLIENT_ID": "env-id",
        "AGENTVAULT_OAUTH_HALF_CLIENT_SECRET": "env-secret",
        "AGENTVAULT_OAUTH_BAR_CLIENT_ID": "env-id",
        "AGENTVAULT_OAUTH_BAR_CLIENT_SECRET": "env-secret",
    }.items():
        monkeypatch.setenv(name, value)
    keys = KeyManager(path)
    assert (keys.get_key("foo"), keys.get_key_source("foo")) == ("from-file", "file")
    assert (keys.get_key("bar"), keys.get_key_source("bar")) == ("from-env", "env")
    assert (keys.get_key(""), keys.get_key_source("nothing")) == (None, None)
    assert keys.get_oauth_client_id("foo") == "file-id"
    assert keys.get_oauth_client_secret("half") is None
    assert keys.get_oauth_config_status("bar") == "Configured (Source: ENV)"
    assert KeyManager(use_env_vars=False).get_key("bar") is None


def test_the_names_in_the_environment_can_be_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_KEY_X", "k")
    monkeypatch.setenv("MY_OAUTH_X_CLIENT_ID", "i")
    keys = KeyManager(env_prefix="MY_KEY_", oauth_env_prefix="MY_OAUTH_")
    assert (keys.get_key("x"), keys.get_oauth_client_id("x")) == ("k", "i")


def test_the_keyring_comes_last_and_only_where_it_is_switched_on(keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AGENTVAULT_KEY_FOO", "from-env")
    keyring.stored = {
        ("agentvault:foo", "foo"): "from-ring",
        ("agentvault:bar", "bar"): "from-ring",
        ("agentvault:oauth:bar", "clientId"): "i",
        ("agentvault:oauth:bar", "clientSecret"): "s",
        ("agentvault:oauth:half", "clientId"): "i",
    }
    assert KeyManager().get_key("bar") is None
    keys = KeyManager(use_keyring=True)
    assert (keys.get_key("Foo"), keys.get_key_source("Foo")) == ("from-env", "env")
    assert (keys.get_key("Bar"), keys.get_key_source("Bar")) == ("from-ring", "keyring")
    assert keys.get_oauth_config_status("bar") == "Configured (Source: KEYRING)"
    assert keys.get_oauth_config_status("half") == "Not Configured"


def test_keys_are_stored_in_the_keyring(keyring: FakeKeyring):
    keys = KeyManager(use_env_vars=False, use_keyring=True)
    keys.set_key_in_keyring("Foo", "Key")
    keys.set_oauth_creds_in_keyring("Foo", "Id", "Secret")
    assert keyring.stored == {
        ("agentvault:foo", "foo"): "Key",
        ("agentvault:oauth:foo", "clientId"): "Id",
        ("agentvault:oauth:foo", "clientSecret"): "Secret",
    }
    assert (keys.get_key("foo"), keys.get_oauth_client_secret("foo")) == ("Key", "Secret")
    for call in (
        lambda: keys.set_key_in_keyring("", "k"),
        lambda: keys.set_key_in_keyring("foo", ""),
        lambda: keys.set_oauth_creds_in_keyring("foo", "", "s"),
        lambda: keys.set_oauth_creds_in_keyring("foo", "i", ""),
    ):
        with pytest.raises(ValueError, match="empty"):
            call()


def test_a_keyring_that_is_off_locked_or_missing_says_so(keyring: FakeKeyring, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(KeyManagementError, match="use_keyring=True"):
        KeyManager().set_key_in_keyring("a", "b")
    keyring.broken = True
    with pytest.raises(KeyManagementError, match="could not be read"):
        KeyManager(use_keyring=True).get_key("a")
    with pytest.raises(KeyManagementError, match="could not be written"):
        KeyManager(use_keyring=True).set_key_in_keyring("a", "b")
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setenv("AGENTVAULT_KEY_FOO", "from-env")
    keys = KeyManager(use_keyring=True)
    assert keys.get_key("foo") == "from-env"
    with pytest.raises(KeyManagementError, match="package `keyring`"):
        keys.get_key("other")
