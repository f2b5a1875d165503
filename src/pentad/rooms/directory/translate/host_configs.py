"""Translates the MCP configurations (mcp.json) of Claude, Cursor, VS Code and GitHub Copilot.

They agree on how servers are launched and differ in how they ask the user for values: Claude and Cursor use environment
variables, VS Code and Copilot use `inputs`.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pentad.kernel.cid import canonical_json
from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, as_texts, text_or_none
from pentad.rooms.directory.translate.envelope import (
    DEFAULT_SERVER_NAME,
    DEFAULT_VERSION,
    NO_OVERRIDES,
    Artifact,
    Overrides,
    artifact_json,
    find_module,
    json_artifact,
    module_artifact,
    module_path,
    new_record,
    unexported_parts,
)
from pentad.rooms.directory.translate.json_objects import without_duplicates, without_empty
from pentad.rooms.directory.translate.launches import (
    INPUT,
    MODULES,
    PLACEHOLDER,
    Launch,
    Variable,
    checked_command,
    connection_launches,
    connection_of,
    package_kind,
    server_launches,
    split_arguments,
    transport_of,
    with_unique_names,
)
from pentad.rooms.directory.translate.losses import Loss, Translated
from pentad.rooms.directory.translate.server_json_import import launches_of

CONFIG: Final = "application/vnd.mcp.config+json"
"""The type of an artifact that is a host's mcp.json."""

_OWN: Final = "workspaceFolder|workspaceFolderBasename|userHome|pathSeparator"
"""Variables that hosts fill in themselves."""

_REFERENCE: Final = re.compile(rf"\$\{{(?:input:|env:)?(?!(?:{_OWN})\}})([A-Za-z_][\w.-]*)\}}")
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_ENV: Final = re.compile(r"[^A-Z0-9_]")
_ROOTS: Final = ("servers", "mcpServers")


def servers_of(source: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The servers of a configuration of any host."""
    for holder in (source, as_object(source.get("mcp"))):
        for root in _ROOTS:
            found = holder.get(root)
            if isinstance(found, dict):
                return {name: as_object(server) for name, server in as_object(found).items()}
    raise InvalidInput("no servers found in MCP configuration", hint="Give an object mcpServers or servers.")


def split_config(source: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Split a configuration into one per server, by name, each with the inputs it uses."""
    servers = servers_of(source)
    known = {str(one.get("id")): one for one in as_objects(source.get("inputs"))}
    configurations: dict[str, dict[str, Any]] = {}
    for name, server in servers.items():
        inputs = [known[one] for one in dict.fromkeys(INPUT.findall(repr(server))) if one in known]
        configurations[name] = {"servers": {name: server}, **({"inputs": inputs} if inputs else {})}
    return configurations


def to_record(source: dict[str, Any], given: Overrides = NO_OVERRIDES) -> Translated[dict[str, Any]]:
    """One record for all servers of a configuration. The host's other settings are not imported."""
    kept, losses = _server_parts(source)
    ordered = json.loads(canonical_json(kept))  # the order of keys must not change the record
    launches = config_launches(ordered)
    if not launches:
        raise InvalidInput("no servers found in MCP configuration", hint="Give every server a command or a url.")
    artifact, rounded = json_artifact(kept, CONFIG)
    servers = servers_of(ordered)
    name = next(iter(servers)) if len(servers) == 1 else DEFAULT_SERVER_NAME
    descriptions = [text_or_none(server.get("description")) for server in servers.values()]
    described = " ".join(text for text in descriptions if text) or " ".join(map(_described, launches))
    reached = {launch.name for launch in launches}
    losses += [
        Loss(f"{key}", "it has neither a command nor a url, so no connection was made of it")
        for key in servers
        if key not in reached
    ]
    data = {"name": name, "description": described, "connections": _connections(launches)}
    record = new_record(
        name=name,
        description=described,
        # A configuration has no version. The digest keeps two servers with one name apart.
        version=f"{DEFAULT_VERSION}+{artifact['digest'].removeprefix('sha256:')[:12]}",
        authors=[],
        created_at=None,
        module={"name": MODULES[0], "data": data, "artifact": artifact},
        given=given,
    )
    return Translated(record, losses + rounded)


def _described(launch: Launch) -> str:
    """A description of a server, from its launch."""
    if launch.transport != "stdio":
        return f"MCP server {launch.name}, reached at {(launch.url or '').partition('?')[0]}."
    _, package, _ = split_arguments(package_kind(launch), list(launch.args))
    started = f"{launch.command} {package}" if package_kind(launch) and package else launch.command
    return f"MCP server {launch.name}, started with {started}."


def _connections(launches: list[Launch]) -> list[dict[str, Any]]:
    return without_duplicates(map(connection_of, launches))


def _server_parts(source: dict[str, Any]) -> tuple[dict[str, Any], list[Loss]]:
    """The servers of a configuration and the inputs they ask for, without a host's other settings."""
    wrapped = not any(isinstance(source.get(root), dict) for root in _ROOTS)
    holder = as_object(source.get("mcp")) if wrapped else source
    kept = {key: value for key, value in holder.items() if key in ("inputs", *_ROOTS)}
    lost = [f"mcp.{key}" for key in holder if key not in kept] if wrapped else []
    lost += [key for key in source if key not in (("mcp",) if wrapped else kept)]
    return ({"mcp": kept} if wrapped else kept), [
        Loss(key, "only servers and their inputs are imported") for key in lost
    ]


def config_launches(source: dict[str, Any]) -> list[Launch]:
    """The launches of a configuration, with the placeholders of every host in one form."""
    holder = source if any(root in source for root in _ROOTS) else as_object(source.get("mcp"))
    descriptions = {
        str(one.get("id")): text_or_none(one.get("description")) for one in as_objects(holder.get("inputs"))
    }
    launches: list[Launch] = []
    for name, server in servers_of(source).items():
        url = (
            text_or_none(server.get("url"))
            or text_or_none(server.get("serverUrl"))
            or text_or_none(server.get("httpUrl"))
        )
        transport = transport_of(server.get("type"), "streamable-http" if url else "stdio")
        command = text_or_none(server.get("command"))
        if (transport == "stdio" and command is None) or (transport != "stdio" and url is None):
            continue
        local = transport == "stdio"
        env = [_variable(key, value, descriptions) for key, value in as_object(server.get("env")).items()]
        headers = [(key, _with_placeholders(str(value))) for key, value in as_object(server.get("headers")).items()]
        launches.append(
            Launch(
                transport=transport,
                name=name,
                command=command if local else None,
                args=tuple(_REFERENCE.sub(r"${input:\1}", arg) for arg in as_texts(server.get("args")))
                if local
                else (),
                env=tuple(env),
                url=None if local or url is None else _with_placeholders(url),
                headers=() if local else tuple(headers),
            )
        )
    return launches


def _variable(name: str, value: Any, descriptions: Mapping[str, str | None]) -> Variable:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    inputs_used = _REFERENCE.fullmatch(text)
    if inputs_used and inputs_used[1] == name:
        return Variable(name, None, descriptions.get(name), required=True)
    return Variable(
        name, _REFERENCE.sub(r"${input:\1}", text) or None, descriptions.get(inputs_used[1]) if inputs_used else None
    )


def _with_placeholders(text: str) -> str:
    return _REFERENCE.sub(r"{\1}", text)


class Exported:
    """The launches of a record's MCP server, ready for export."""

    def __init__(self, record: dict[str, Any]) -> None:
        module = find_module(record, MODULES)
        if module is None:
            raise InvalidInput("MCP module not found in record", hint=f"The record needs a module {MODULES[0]}.")
        self.losses = unexported_parts(record, module, "a host's configuration")
        self.data = as_object(module.get("data"))
        self.path = module_path(record, module)
        self.module_artifact: Artifact = module_artifact(module)
        self.original = artifact_json(self.module_artifact) if self.module_artifact.artifact_type == CONFIG else None
        name = text_or_none(self.data.get("name"))
        if name is None and not isinstance(self.data.get("servers"), list):
            raise InvalidInput(
                "invalid MCP module data: neither name nor servers", hint="Give the module a name and connections."
            )
        self.launches = self._launches()
        plain = name or text_or_none(record.get("name")) or "server"
        self.named = with_unique_names(self.launches, plain, shorten=self.original is None)
        self._add_losses()

    def _launches(self) -> list[Launch]:
        """From the original source, unless the module has changed since."""
        if "name" not in self.data:
            return server_launches(self.data.get("servers"))
        plain = self.data.get("connections")
        if self.original is not None:
            launches = _try(config_launches, self.original)
            if launches and _connections(launches) == plain:
                return launches
            self.original = None
        server = as_object(self.data.get("mcp_data"))
        if server and _connections(launches_of(server)) == plain:
            return launches_of(server, complete=True)
        return connection_launches(plain)

    def _add_losses(self) -> None:
        for key in ("tools", "prompts", "resources"):
            if self.data.get(key):
                self.losses.append(Loss(f"{self.path}.data.{key}", "a host's configuration has no place for it"))
        if self.module_artifact.why:
            self.losses.append(Loss(f"{self.path}.artifact", self.module_artifact.why))
        for index, server in enumerate(as_objects(self.data.get("servers"))):
            if "name" not in self.data and text_or_none(server.get("name")) is None:
                self.losses.append(Loss(f"{self.path}.data.servers[{index}]", "a server without a name is left out"))

    def losses_in_other_form(self) -> list[Loss]:
        """All losses, if the configuration is written for another host."""
        if self.original is None:
            return self.losses
        lost = [key for key in self.original if key not in ("inputs", "mcp", *_ROOTS)]
        started = {launch.name for launch in self.launches if launch.transport == "stdio"}
        for name, server in servers_of(self.original).items():
            address = ("type", "url", "serverUrl", "httpUrl", "headers")
            kept = ("type", "command", "args", "env") if name in started else address
            lost += [f"{name}.{key}" for key in server if key not in kept]
        return self.losses + [Loss(path, "this host's configuration has no place for it") for path in lost]


def _try(read: Callable[[dict[str, Any]], list[Launch]], source: dict[str, Any]) -> list[Launch]:
    try:
        return read(source)
    except InvalidInput:
        return []


def to_claude(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The `.mcp.json` of Claude: values come from the environment as `${NAME}`."""
    return _written(record, "mcpServers", "${{{}}}", {"streamable-http": "http", "sse": "sse"})


def to_cursor(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The `mcp.json` of Cursor: values come from the environment as `${env:NAME}`; Cursor detects the transport."""
    return _written(record, "mcpServers", "${{env:{}}}", {})


def _written(record: dict[str, Any], root: str, reference: str, types: Mapping[str, str]) -> Translated[dict[str, Any]]:
    exported = Exported(record)
    if exported.original is not None and set(exported.original) == {root}:
        inputs_used = {match[0] == reference.format(match[1]) for match in _REFERENCE.finditer(repr(exported.original))}
        if inputs_used <= {True}:  # all placeholders have this host's form
            return Translated(exported.original, exported.losses)
    capitals = exported.original is None  # placeholders of a host are variable names already

    def supplied(match: re.Match[str]) -> str:
        kept = _ENV_NAME.fullmatch(match[1]) and not (capitals and match.re is PLACEHOLDER)
        return reference.format(match[1] if kept else _NO_ENV.sub("_", match[1].upper()))

    servers = {name: _server(name, launch, supplied, types.get(launch.transport)) for name, launch in exported.named}
    return Translated({root: servers}, exported.losses_in_other_form())


def _server(name: str, launch: Launch, supplied: Callable[[re.Match[str]], str], kind: str | None) -> dict[str, Any]:
    if launch.transport != "stdio":
        headers = {key: PLACEHOLDER.sub(supplied, value) for key, value in launch.headers}
        return without_empty({"type": kind, "url": PLACEHOLDER.sub(supplied, launch.url or ""), "headers": headers})
    env = {
        variable.name: INPUT.sub(supplied, variable.value or f"${{input:{variable.name}}}") for variable in launch.env
    }
    args = [INPUT.sub(supplied, argument) for argument in launch.args]
    return {"command": checked_command(launch, name), **without_empty({"args": args, "env": env})}


_VSCODE_TYPES: Final = {"streamable-http": "http", "sse": "sse", "stdio": "stdio"}


def to_copilot(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The configuration of GitHub Copilot: `servers`, and an input for every missing value."""
    return _vscode_config(record, typed=False)


def to_vscode(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The configuration of VS Code: the same, with the transport of every server."""
    return _vscode_config(record, typed=True)


def _vscode_config(record: dict[str, Any], *, typed: bool) -> Translated[dict[str, Any]]:
    exported = Exported(record)
    if exported.original is not None and "servers" in exported.original:
        return Translated(exported.original, exported.losses)
    inputs_used: dict[str, None] = {}
    servers = {name: _vscode_server(name, launch, inputs_used, typed=typed) for name, launch in exported.named}
    inputs = [
        {"id": name, "type": "promptString", "password": True, "description": f"Secret value for {name}"}
        for name in inputs_used
    ]
    return Translated({"servers": servers, "inputs": inputs}, exported.losses_in_other_form())


def _vscode_server(name: str, launch: Launch, inputs_used: dict[str, None], *, typed: bool) -> dict[str, Any]:
    if launch.transport != "stdio":
        url = _as_input(launch.url or "", inputs_used)
        headers = {key: _as_input(value, inputs_used) for key, value in launch.headers}
        return {"type": _VSCODE_TYPES[launch.transport], "url": url, **without_empty({"headers": headers})}
    env = {variable.name: variable.value or f"${{input:{variable.name}}}" for variable in launch.env}
    for text in (*env.values(), *launch.args):
        inputs_used.update(dict.fromkeys(INPUT.findall(text)))
    server = {"command": checked_command(launch, name), "args": list(launch.args), "env": env}
    return {"type": "stdio", **server} if typed else server


def _as_input(text: str, inputs_used: dict[str, None]) -> str:
    inputs_used.update(dict.fromkeys([*INPUT.findall(text), *PLACEHOLDER.findall(text)]))
    return PLACEHOLDER.sub(r"${input:\1}", text)
