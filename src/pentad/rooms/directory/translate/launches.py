"""How an MCP server is started or reached: the common form behind server.json, mcp.json and OASF modules.

A value that the user must supply is `{name}` in a URL or header, as in the MCP registry, and `${input:NAME}` in a
variable, as in VS Code.
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, as_texts, text_or_none
from pentad.rooms.directory.translate.json_objects import without_empty

Transport = Literal["stdio", "streamable-http", "sse"]

MODULES: Final = ("integration/mcp", "runtime/mcp")
_OLD_TYPES: Final[dict[str, Transport]] = {"local": "stdio", "http": "streamable-http", "sse": "sse"}
_SUFFIXES: Final = ("-mcp-server", "-server", "-mcp")
INPUT: Final = re.compile(r"\$\{input:([^{}]+)\}")
PLACEHOLDER: Final = re.compile(r"(?<!\$)\{([A-Za-z_][\w-]*)\}")


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable; without a value the user must supply one."""

    name: str
    value: str | None = None
    description: str | None = None
    required: bool | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One way to a server."""

    transport: Transport
    name: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: tuple[Variable, ...] = ()
    url: str | None = None
    headers: tuple[tuple[str, str], ...] = ()


_REGISTRIES: Final = {
    "npx": "npm", "bunx": "npm", "uvx": "pypi", "pipx": "pypi", "python": "pypi", "python3": "pypi",
    "docker": "oci", "podman": "oci", "dotnet": "nuget", "dnx": "nuget", "mcpb": "mcpb",
}  # fmt: skip
_VALUE_FLAGS: Final = frozenset(
    {"-e", "--env", "-v", "--volume", "--mount", "-p", "--publish", "--name", "--network", "--from", "--with", "-w"}
)


def package_kind(launch: Launch) -> str | None:
    """The registry of the package that a command starts, such as npm; None if no package manager starts it."""
    command = (launch.command or "").rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")
    return _REGISTRIES.get(command)


def split_arguments(kind: str | None, args: list[str]) -> tuple[list[str], str | None, list[str]]:
    """The arguments before the package, the package, and the arguments after it."""
    takes_value = False
    for index, argument in enumerate(args):
        is_verb = (kind, argument) in {("oci", "run"), ("mcpb", "run"), ("nuget", "tool"), ("nuget", "run")}
        if takes_value or argument.startswith("-") or is_verb:
            takes_value = not takes_value and argument in _VALUE_FLAGS
            continue
        return args[:index], argument, args[index + 1 :]
    return args, None, []


def transport_of(value: Any, default: Transport = "stdio") -> Transport:
    """A transport by any of its names."""
    match value:
        case "stdio" | "local":
            return "stdio"
        case "sse":
            return "sse"
        case "http" | "streamable-http" | "streamableHttp" | "streamable_http":
            return "streamable-http"
        case _:
            return default


def connection_of(launch: Launch) -> dict[str, Any]:
    """The launch as a connection of an OASF 1.x module, whose lists may not have duplicates."""
    variables = [
        without_empty(
            {
                "name": variable.name,
                "description": variable.description or f"Environment variable: {variable.name}",
                "default_value": variable.value,
                "required": variable.required,
            }
        )
        for variable in launch.env
    ]
    return without_empty(
        {
            "type": launch.transport,
            "command": launch.command,
            "args": without_repeats(launch.args),
            "env_vars": list({variable["name"]: variable for variable in variables}.values()),
            "url": launch.url,
            "headers": dict(launch.headers),
        }
    )


def without_repeats(args: Sequence[str]) -> list[str]:
    """The arguments without duplicates: a repeated flag is joined with its value, others are dropped."""
    kept: dict[str, None] = {}
    skip = False
    for index, argument in enumerate(args):
        if skip:
            skip = False
            continue
        following = args[index + 1] if index + 1 < len(args) else ""
        skip = argument in kept and argument.startswith("-") and bool(following) and not following.startswith("-")
        kept[f"{argument}={following}" if skip else argument] = None
    return list(kept)


def connection_launches(connections: Any) -> list[Launch]:
    """The launches of the connections of a 1.x module."""
    return [_launch(item, transport_of(item.get("type"))) for item in as_objects(connections)]


def server_launches(servers: Any) -> list[Launch]:
    """The launches of the servers of a 0.7 or 0.8 module, without unnamed servers."""
    launches: list[Launch] = []
    for server in as_objects(servers):
        if text_or_none(server.get("name")) is not None:
            default: Transport = "stdio" if server.get("command") or not server.get("url") else "streamable-http"
            launch = _launch(server, _OLD_TYPES.get(str(server.get("type")), default))
            known = {variable.name for variable in launch.env}
            more = tuple(Variable(name) for name in passed_variables(launch.args) if name not in known)
            launches.append(replace(launch, env=launch.env + more))
    return launches


def _launch(item: dict[str, Any], transport: Transport) -> Launch:
    args = as_texts(item.get("args"))
    plain = as_object(item.get("env"))
    env = [_variable(variable) for variable in as_objects(item.get("env_vars")) if text_or_none(variable.get("name"))]
    env += [Variable(name, str(value)) for name, value in plain.items()]
    return Launch(
        transport=transport,
        name=text_or_none(item.get("name")),
        command=text_or_none(item.get("command")),
        args=tuple(args),
        env=tuple(env),
        url=text_or_none(item.get("url")),
        headers=tuple((key, str(value)) for key, value in as_object(item.get("headers")).items()),
    )


def passed_variables(args: Sequence[str]) -> list[str]:
    """The names in `-e NAME` pairs, which pass a host variable to a container."""
    pairs = itertools.pairwise(args)
    return list(dict.fromkeys(name for flag, name in pairs if flag == "-e" and name and "=" not in name))


def _variable(item: dict[str, Any]) -> Variable:
    required = item.get("required")
    return Variable(
        item["name"],
        text_or_none(item.get("default_value")),
        text_or_none(item.get("description")),
        required if isinstance(required, bool) else None,
    )


def short_name(name: str) -> str:
    """A server's name as hosts show it."""
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def with_unique_names(launches: Sequence[Launch], name: str, *, shorten: bool = True) -> list[tuple[str, Launch]]:
    """Each launch with a unique name. The first stdio launch gets the plain name."""
    first = next((launch for launch in launches if launch.transport == "stdio"), None)
    ordered = [*([first] if first else []), *(launch for launch in launches if launch is not first)]
    taken: set[str] = set()
    last: dict[str, int] = {}
    named: list[tuple[str, Launch]] = []
    for launch in ordered:
        base = launch.name or name
        base = (short_name(base) or base) if shorten else base
        chosen = base
        while chosen in taken:
            last[base] = last.get(base, 1) + 1
            chosen = f"{base}-{last[base]}"
        taken.add(chosen)
        named.append((chosen, launch))
    return named


def checked_command(launch: Launch, name: str) -> str:
    """The command of a stdio launch; InvalidInput if it has none."""
    if launch.command is None:
        raise InvalidInput(f"missing command for server '{name}'", hint="Give every stdio connection a command.")
    return launch.command
