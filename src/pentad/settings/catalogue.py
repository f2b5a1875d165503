"""The flat list of all settings: path, type, default, description, and whether it is secret."""

import dataclasses
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from pentad.kernel.default_limits import Limits
from pentad.kernel.secrets.names import is_secret_member
from pentad.mcp.profiles import Profile
from pentad.net.fetch_policy import FetchPolicy
from pentad.settings.model import Origin, Settings
from pentad.settings.rooms import declared_settings, fields_of, installed_rooms, resolve_room

LIMITS: Final = {
    "body_bytes": "The largest body of a call.",
    "upload_bytes": "The largest body of an upload.",
    "json_depth": "How deep JSON may be nested.",
    "json_keys": "How many members one JSON text may have.",
    "batch_messages": "How many messages one batch may hold.",
    "header_bytes": "The largest head of a request.",
    "header_seconds": "How long a client may take to send a request's head.",
    "body_bytes_per_second": "The minimum rate at which a body must arrive.",
    "keep_alive_seconds": "How long an idle connection stays open.",
    "connections_per_address": "How many connections one address may hold.",
    "calls_in_flight": "How many calls run at once; more are refused as overloaded.",
    "calls_per_second": "How many calls a second one caller may make on average; 0 is no limit.",
    "calls_burst": "How many calls one caller may make at once after a pause.",
    "anonymous_per_second": "Requests a second from one address without credentials, on average; 0 is no limit.",
    "anonymous_burst": "How many of them one address may send at once after a pause.",
    "anonymous_in_flight": "How many requests without credentials run at once; further ones wait.",
    "anonymous_body_bytes": "The largest body of a request without credentials.",
    "logins_per_second": "Unverified credentials one address may try a second, on average; 0 is no limit.",
    "logins_burst": "How many of them one address may try at once after a pause.",
    "tool_seconds": "How long a tool may run; 0 is no limit.",
    "result_bytes": "The largest inline result; a larger one becomes a link.",
    "sessions": "How many sessions are kept.",
    "sessions_per_principal": "How many sessions one caller may keep.",
    "session_idle_seconds": "How long a session lasts without a call.",
    "streams_per_principal": "How many open streams one caller may hold.",
    "list_page": "Entries per page of a list.",
}

FETCH: Final = {
    "allow_hosts": "Hosts that may be fetched even if their address is private.",
    "allow_networks": "Private networks that may be fetched, as CIDR ranges.",
    "allow_http": "Whether plain http URLs may be fetched.",
    "ports": "Ports that may be fetched; by default 80, 443 and most above 1023.",
    "content_types": "Content types to accept; by default any.",
    "max_bytes": "The largest response.",
    "max_ratio": "The highest compression ratio of a response.",
    "max_redirects": "How many redirects are followed.",
    "timeout": "Seconds for a whole request.",
    "connect_seconds": "Seconds to connect.",
    "connections": "How many connections are open at once.",
    "proxy": "A proxy for all requests.",
    "user_agent": "The User-Agent of requests.",
}

_DESCRIPTIONS: Final[dict[type, dict[str, str]]] = {Limits: LIMITS, FetchPolicy: FETCH}


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting. `path` is its name in the file (`limits.body_bytes`)."""

    path: str
    kind: Any
    default: Any
    about: str
    secret: bool

    @property
    def variable(self) -> str:
        """Its name in the environment."""
        return "PENTAD_" + self.path.upper().replace(".", "_")

    def display(self, value: Any) -> str:
        """A value of this setting for display, with secrets masked."""
        from pentad.kernel.secrets.urls import is_url, scrub_url  # not every server needs it

        if value is None or value == ():
            return ""
        if isinstance(value, str) and is_url(value) and (not self.secret or self.path == "database"):
            return scrub_url(value, greedy_login=self.path == "database").clean
        if self.secret:
            return "***"
        if isinstance(value, Mapping):
            pairs = typing.cast("Mapping[str, tuple[str, ...] | Profile]", value).items()
            return ",".join(f"{name}={' '.join(one) if isinstance(one, tuple) else one}" for name, one in pairs)
        if isinstance(value, tuple | frozenset):
            items = typing.cast("tuple[Any, ...] | frozenset[Any]", value)
            return ",".join(sorted(map(str, items)) if isinstance(items, frozenset) else map(str, items))
        return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting with its value as text, for display."""

    path: str
    value: str
    origin: Origin
    about: str


@cache
def catalogue() -> dict[str, Entry]:
    """Every setting by path, in the order of declaration."""
    return {entry.path: entry for entry in _entries(Settings, "")}


def value_of(settings: Settings, path: str) -> Any:
    """The value of a setting by path."""
    value: Any = settings
    for part in path.split("."):
        value = getattr(value, part)
    return value


def list_settings(settings: Settings) -> list[SettingLine]:
    """All settings with value, origin and description; secrets are masked."""
    lines = [
        SettingLine(path, entry.display(value_of(settings, path)), settings.origin(path), entry.about)
        for path, entry in catalogue().items()
    ]
    installed = installed_rooms()
    for room in installed:
        model = declared_settings(room)
        found = resolve_room(settings, room, model)
        for name, field in fields_of(model).items():
            value = getattr(found.values, name)
            entry = Entry(f"rooms.{room}.{name}", None, None, field.metadata["about"], field.metadata["secret"])
            text = str(_masked(name, value)) if value and isinstance(value, Mapping) else entry.display(value)
            lines.append(SettingLine(entry.path, text, found.origin(name), entry.about))
        lines += _undeclared(room, found.values.extra, found.origin)
    for room, table in settings.room_tables.items():
        if room not in installed:
            file = Origin("file", str(settings.file or ""))
            lines += _undeclared(room, table, lambda _, file=file: file)
    return lines


def _undeclared(room: str, values: Mapping[str, Any], origin: Callable[[str], Origin]) -> list[SettingLine]:
    """Settings that only the room or one of its plug-ins declares."""
    return [
        SettingLine(f"rooms.{room}.{key}", str(_masked(key, value)), origin(key), f"A setting of the room {room}.")
        for key, value in values.items()
    ]


def _masked(key: str, value: Any) -> Any:
    """A room's value for display: secrets are masked by member name, at any depth, and inside URLs."""
    from pentad.kernel.secrets.urls import scrub_value  # not every server needs this

    if isinstance(value, Mapping):
        inner = typing.cast("Mapping[str, Any]", value)
        return {name: "***" if _is_header(key) else _masked(name, one) for name, one in inner.items()}
    if isinstance(value, list | tuple):
        return [_masked(key, one) for one in typing.cast("list[Any]", value)]
    if is_secret_member(key, value, "variable"):
        return "***"
    return scrub_value(value, key, key).clean if isinstance(value, str) else value


def _is_header(key: str) -> bool:
    """Whether a member holds headers, which may be credentials whatever their names."""
    return key.lower() == "headers"


def _entries(kind: type, prefix: str) -> list[Entry]:
    found: list[Entry] = []
    types = typing.get_type_hints(kind)
    for item in dataclasses.fields(kind):
        path = prefix + item.name
        inner = types[item.name]
        if dataclasses.is_dataclass(inner) and isinstance(inner, type):
            found += _entries(inner, path + ".")
            continue
        about = item.metadata.get("about") or _DESCRIPTIONS.get(kind, {}).get(item.name)
        if about is not None:
            found.append(Entry(path, inner, item.default, about, bool(item.metadata.get("secret"))))
    return found
