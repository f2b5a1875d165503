"""The entry of a record's MCP server in a client's configuration, with references or prompts for its secrets.

Values that a user must provide are never written into a file if the client can ask for them or read them from the
environment. For a client that can do neither, the caller asks.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.mcp_clients.clients import Client
from pentad.rooms.directory.translate.host_configs import Exported
from pentad.rooms.directory.translate.json_objects import without_empty
from pentad.rooms.directory.translate.launches import INPUT, PLACEHOLDER, Launch, checked_command

Ask = Callable[[str], str]
"""Asks the user for a value by its name."""

_NO_NAME: Final = re.compile(r"[^A-Z0-9_]+")
_NO_ENTRY: Final = re.compile(r"[^A-Za-z0-9_-]+")
_BEARER: Final = re.compile(r"Bearer \{([A-Za-z_][\w-]*)\}")


@dataclass(slots=True)
class ClientEntry:
    """The entry of a server. `prompts` are questions that the client asks; the user sets `variables` in the
    environment."""

    name: str
    members: dict[str, Any]
    prompts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    variables: list[str] = field(default_factory=list[str])


def client_entry(client: Client, record: dict[str, Any], ask: Ask) -> ClientEntry:
    """The entry for the first launch or address that the client supports."""
    ways = [launch for _, launch in Exported(record).named if launch.transport == "stdio" or client.url is not None]
    if not ways:
        raise InvalidInput(
            f"{client.title} starts servers itself, and this one is only reached by its address.",
            hint=f"Add the address in {client.title} by hand, or choose another client.",
        )
    name = _NO_ENTRY.sub("-", str(record.get("name", "")).rstrip("/").rpartition("/")[2]).strip("-") or "server"
    values = _Values(client, ask)
    if client.name == "codex":
        members = _codex(ways[0], name, values)
    elif ways[0].transport == "stdio":
        members = _started(ways[0], name, values)
    else:
        members = _reached(client, ways[0], values)
    kind = {"stdio": "stdio", "streamable-http": "http", "sse": "sse"}[ways[0].transport]
    typed = {"type": kind} if client.has_type else {}
    return ClientEntry(name, {**typed, **members}, values.prompts, values.variables)


class _Values:
    """Placeholders for the user's values, in the syntax of a client."""

    def __init__(self, client: Client, ask: Ask) -> None:
        self._client = client
        self._ask = ask
        self._known: dict[str, str] = {}
        self.prompts: list[dict[str, Any]] = []
        self.variables: list[str] = []

    def variable(self, name: str) -> str:
        """An environment variable for a value that the user has to set."""
        return self.passed(_NO_NAME.sub("_", name.upper()).strip("_") or "VALUE")

    def passed(self, name: str) -> str:
        """An environment variable that the user has to set and the server reads by this name."""
        if name not in self.variables:
            self.variables.append(name)
        return name

    def reference(self, name: str) -> str:
        """The reference to a value in the file; the value itself if the client has no references."""
        if name not in self._known:
            self._known[name] = self._new(name)
        return self._known[name]

    def _new(self, name: str) -> str:
        form = self._client.reference
        if form is None:
            return self._ask(name)
        if self._client.prompt is not None:
            self.prompts.append({"type": "promptString", "id": name, "description": name, "password": True})
            return form.replace("NAME", name)
        return form.replace("NAME", self.variable(name))

    def in_text(self, text: str) -> str:
        """The text of an argument or variable, with references to the user's values."""
        return INPUT.sub(lambda found: self.reference(found[1]), text)

    def in_address(self, text: str) -> str:
        """A URL or header, with references to the user's values."""
        return PLACEHOLDER.sub(lambda found: self.reference(found[1]), self.in_text(text))


def _started(launch: Launch, name: str, values: _Values) -> dict[str, Any]:
    env = {
        one.name: values.reference(one.name) if one.value is None else values.in_text(one.value)
        for one in launch.env
        if one.value is not None or one.required is not False
    }
    args = [values.in_text(argument) for argument in launch.args]
    return {"command": checked_command(launch, name), **without_empty({"args": args, "env": env})}


def _reached(client: Client, launch: Launch, values: _Values) -> dict[str, Any]:
    headers = {key: values.in_address(value) for key, value in launch.headers if value}
    return without_empty({client.url or "url": values.in_address(launch.url or ""), "headers": headers})


def _codex(launch: Launch, name: str, values: _Values) -> dict[str, Any]:
    """Codex expands nothing: it passes variables on by their names."""
    if launch.transport == "stdio":
        passed, env = list[str](), dict[str, str]()
        for one in launch.env:
            if one.value is not None and not INPUT.fullmatch(one.value):
                env[one.name] = values.in_text(one.value)
            elif one.value is not None or one.required is not False:
                passed.append(values.passed(one.name))
        args = [values.in_text(argument) for argument in launch.args]
        return {
            "command": checked_command(launch, name),
            **without_empty({"args": args, "env": env, "env_vars": passed}),
        }
    members: dict[str, Any] = {"url": values.in_address(launch.url or "")}
    plain: dict[str, str] = {}
    named: dict[str, str] = {}
    for header, value in launch.headers:
        if header.lower() == "authorization" and (token := _BEARER.fullmatch(value)) is not None:
            members["bearer_token_env_var"] = values.variable(token[1])
        elif (whole := PLACEHOLDER.fullmatch(value)) is not None:
            named[header] = values.variable(whole[1])
        elif value:
            plain[header] = values.in_address(value)
    return without_empty({**members, "http_headers": plain, "env_http_headers": named})
