"""Keys for agents: from a file, from the environment, from the system's keyring, in that order.

Ids are case-insensitive. The keyring is used only if it is switched on, and needs the package `keyring`, which is not
part of Pentad. Nothing here logs a key.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast

from pentad.agentvault.exceptions import KeyManagementError

Source = Literal["file", "env", "keyring"]
KEY_PREFIX: Final = "AGENTVAULT_KEY_"
OAUTH_PREFIX: Final = "AGENTVAULT_OAUTH_"
SERVICE: Final = "agentvault:"
OAUTH_SERVICE: Final = "agentvault:oauth:"

_CLIENT_ID: Final = "clientId"
_CLIENT_SECRET: Final = "clientSecret"  # noqa: S105  the name of a member
_SUFFIXES: Final = {"_CLIENT_ID": _CLIENT_ID, "_CLIENT_SECRET": _CLIENT_SECRET}

_log: Final = logging.getLogger(__name__)


class Keyring(Protocol):
    """The part of the package `keyring` that we use."""

    def get_password(self, service_name: str, username: str) -> str | None: ...

    def set_password(self, service_name: str, username: str, password: str) -> None: ...


class KeyManager:
    """API keys and OAuth client credentials by service id."""

    def __init__(
        self,
        key_file_path: str | Path | None = None,
        use_env_vars: bool = True,
        use_keyring: bool = False,
        env_prefix: str | None = None,
        oauth_env_prefix: str | None = None,
    ) -> None:
        self._use_keyring = use_keyring
        self._keyring: Keyring | None = None
        self._key_prefix = KEY_PREFIX if env_prefix is None else env_prefix
        self._oauth_prefix = OAUTH_PREFIX if oauth_env_prefix is None else oauth_env_prefix
        self._keys: dict[str, tuple[str, Source]] = {}
        self._oauth: dict[str, tuple[dict[str, str], Source]] = {}
        if key_file_path is not None:
            self._load_file(Path(key_file_path))
        if use_env_vars:
            self._load_names(os.environ, "env", self._key_prefix)

    def get_key(self, service_id: str) -> str | None:
        """The API key of a service."""
        found = self._key(service_id)
        return found[0] if found else None

    def get_key_source(self, service_id: str) -> str | None:
        """Where the key comes from: `file`, `env`, `keyring`, or None."""
        found = self._key(service_id)
        return found[1] if found else None

    def get_oauth_client_id(self, service_id: str) -> str | None:
        """The OAuth client id of a service."""
        return self._credentials(service_id)[0].get(_CLIENT_ID)

    def get_oauth_client_secret(self, service_id: str) -> str | None:
        """The OAuth client secret of a service."""
        return self._credentials(service_id)[0].get(_CLIENT_SECRET)

    def get_oauth_config_status(self, service_id: str) -> str:
        """Whether the OAuth credentials are complete, partial or missing, and where they come from."""
        found, source = self._credentials(service_id)
        if not found or source is None:
            return "Not Configured"
        return f"{'Configured' if len(found) == 2 else 'Partially Configured'} (Source: {source.upper()})"

    def set_key_in_keyring(self, service_id: str, key_value: str) -> None:
        """Store an API key in the system's keyring."""
        keyring = self._enabled_keyring()
        name = _required(service_id, "service id")
        self._set(keyring, f"{SERVICE}{name}", name, _required(key_value, "key", as_given=True))
        self._keys.setdefault(name, (key_value, "keyring"))

    def set_oauth_creds_in_keyring(self, service_id: str, client_id: str, client_secret: str) -> None:
        """Store OAuth credentials in the system's keyring."""
        keyring = self._enabled_keyring()
        name = _required(service_id, "service id")
        credentials = {
            _CLIENT_ID: _required(client_id, "client id", as_given=True),
            _CLIENT_SECRET: _required(client_secret, "client secret", as_given=True),
        }
        for member, value in credentials.items():
            self._set(keyring, f"{OAUTH_SERVICE}{name}", member, value)
        self._oauth.setdefault(name, (credentials, "keyring"))

    def _key(self, service_id: str) -> tuple[str, Source] | None:
        name = service_id.lower()
        found = self._keys.get(name)
        if found is None and name and self._use_keyring:
            value = self._get(self._enabled_keyring(), f"{SERVICE}{name}", name)
            if value:
                found = self._keys[name] = (value, "keyring")
        return found

    def _credentials(self, service_id: str) -> tuple[dict[str, str], Source | None]:
        name = service_id.lower()
        found = self._oauth.get(name)
        if found is None and name and self._use_keyring:
            keyring = self._enabled_keyring()
            values = {member: self._get(keyring, f"{OAUTH_SERVICE}{name}", member) for member in _SUFFIXES.values()}
            whole = {member: value for member, value in values.items() if value}
            if len(whole) == len(values):  # one half alone is useless
                found = self._oauth[name] = (whole, "keyring")
        return found or ({}, None)

    def _load_file(self, path: Path) -> None:
        readers = {".env": self._load_env_file, ".json": self._load_json_file}
        reader = readers.get(path.suffix.lower() or path.name.lower())
        if reader is None:
            _log.warning("Keys are read from .env and .json files; %s is neither.", path.name)
            return
        try:
            reader(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            _log.warning("No keys are read from %s: %s", path.name, type(error).__name__)

    def _load_env_file(self, text: str) -> None:
        self._load_names(dict(_assignments(text)), "file", "")

    def _load_json_file(self, text: str) -> None:
        data: Any = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("not an object")  # noqa: TRY004  one kind of error for all invalid files
        for name, entry in cast("dict[str, Any]", data).items():
            members: dict[str, Any] = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"apiKey": entry}
            self._add_key(name, members.get("apiKey"), "file")
            oauth: Any = members.get("oauth")
            if isinstance(oauth, dict):
                for member in _SUFFIXES.values():
                    self._add_oauth(name, member, cast("dict[str, Any]", oauth).get(member), "file")

    def _load_names(self, names: Mapping[str, str], source: Source, key_prefix: str) -> None:
        """Keys and credentials from names such as `AGENTVAULT_OAUTH_<ID>_CLIENT_ID`."""
        for name, value in names.items():
            upper = name.upper()
            member = next((one for end, one in _SUFFIXES.items() if upper.endswith(end)), None)
            if member is not None and upper.startswith(self._oauth_prefix.upper()):
                end = "_CLIENT_ID" if member == _CLIENT_ID else "_CLIENT_SECRET"
                self._add_oauth(name[len(self._oauth_prefix) : -len(end)], member, value, source)
            elif upper.startswith(key_prefix.upper()):
                self._add_key(name[len(key_prefix) :], value, source)

    def _add_key(self, name: str, value: Any, source: Source) -> None:
        if name and isinstance(value, str) and value:
            self._keys.setdefault(name.lower(), (value, source))

    def _add_oauth(self, name: str, member: str, value: Any, source: Source) -> None:
        """Add one half of a pair. An earlier source of a service wins."""
        if not (name and isinstance(value, str) and value):
            return
        found, known = self._oauth.setdefault(name.lower(), ({}, source))
        if known == source:
            found.setdefault(member, value)

    def _enabled_keyring(self) -> Keyring:
        if not self._use_keyring:
            raise KeyManagementError("The keyring is not switched on: make the KeyManager with use_keyring=True.")
        if self._keyring is None:
            from importlib import import_module

            try:
                self._keyring = cast("Keyring", import_module("keyring"))
            except ImportError as error:
                raise KeyManagementError(
                    "The system's keyring needs the package `keyring`: install it, or keep keys in a file or in the "
                    "environment."
                ) from error
        return self._keyring

    def _get(self, keyring: Keyring, service: str, user: str) -> str | None:
        try:
            return keyring.get_password(service, user)
        except Exception as error:  # every keyring backend has its own errors
            raise KeyManagementError(f"The keyring could not be read ({type(error).__name__}).") from error

    def _set(self, keyring: Keyring, service: str, user: str, value: str) -> None:
        try:
            keyring.set_password(service, user, value)
        except Exception as error:  # every keyring backend has its own errors
            raise KeyManagementError(f"The keyring could not be written ({type(error).__name__}).") from error


def _required(value: str, what: str, *, as_given: bool = False) -> str:
    if not value:
        raise ValueError(f"The {what} is empty.")
    return value if as_given else value.lower()


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """The `name=value` lines of an environment file, with comments, `export` and quotes as in a shell."""
    for line in text.splitlines():
        name, found, value = line.strip().removeprefix("export ").partition("=")
        name, value = name.strip(), value.strip()
        if not found or not name or name.startswith("#"):
            continue
        if value[:1] in ("'", '"'):
            quoted, closed, _ = value[1:].partition(value[0])
            value = quoted if closed else value
        else:
            value = value.partition(" #")[0].rstrip()
        yield name, value
