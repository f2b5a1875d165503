"""Imports server.json, the MCP registry's description of a server, as a record.

The connections follow the reference implementation, which drops the values of flags. Exports that must start the server
use the complete description, which the record keeps (`launches_of` with `complete`).
"""

import re
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, text_or_none
from pentad.rooms.directory.translate.envelope import (
    DEFAULT_SERVER_DESCRIPTION,
    DEFAULT_SERVER_NAME,
    NO_OVERRIDES,
    Overrides,
    first_date,
    json_artifact,
    new_record,
)
from pentad.rooms.directory.translate.json_objects import required_object, without_duplicates, without_empty
from pentad.rooms.directory.translate.launches import (
    MODULES,
    PLACEHOLDER,
    Launch,
    Variable,
    connection_of,
    transport_of,
)
from pentad.rooms.directory.translate.losses import Loss, Translated

OFFICIAL: Final = "io.modelcontextprotocol.registry/official"
_COMMANDS: Final = {"npm": "npx", "pypi": "python", "oci": "docker", "nuget": "dotnet", "mcpb": "mcpb"}
_FIRST: Final = {"pypi": ("-m",), "oci": ("run",), "nuget": ("tool", "run"), "mcpb": ("run",)}
_RUNNERS: Final = {"npm": "npx", "pypi": "uvx", "nuget": "dnx"}
"""The commands with which hosts start packages that are not installed."""
_TAGGED: Final = re.compile(r"@|:[^/]*$")
"""An image with a digest or a tag."""
_NOT_NAME: Final = re.compile(r"[^a-z0-9]+")


def wrapped(source: dict[str, Any]) -> dict[str, Any]:
    """The source with the server under the key `server`."""
    return source if "server" in source else {"server": source}


class _Wrapped(msgspec.Struct):
    server: msgspec.Raw


def server_text(text: str | bytes) -> bytes | None:
    """The server's part of a source, as it was written; None if it is not plain JSON."""
    content = (text.encode() if isinstance(text, str) else text).removeprefix(b"\xef\xbb\xbf")
    try:
        if "server" not in msgspec.json.decode(content, type=dict[str, msgspec.Raw]):
            return content.strip()
        return bytes(msgspec.json.decode(content, type=_Wrapped).server)
    except (msgspec.DecodeError, RecursionError):
        return None


def to_record(source: dict[str, Any], given: Overrides = NO_OVERRIDES) -> Translated[dict[str, Any]]:
    """The record of `{"server": ...}`."""
    if "server" not in source:
        raise InvalidInput("missing 'server' in input data", hint="Give the server.json under the key server.")
    server = required_object(source["server"], "server")
    current = current_form(server)
    launches = launches_of(server)
    if not launches:
        raise InvalidInput(
            "no packages or remotes found in MCP server data", hint="Give the server a package or a remote address."
        )
    artifact, losses = json_artifact(server, written=given.source)
    losses += [Loss(key, "only the server itself is imported") for key in source if key != "server"]
    name = text_or_none(server.get("name")) or DEFAULT_SERVER_NAME
    described = text_or_none(server.get("description")) or DEFAULT_SERVER_DESCRIPTION
    data = {
        "name": name,
        "description": described,
        "connections": without_duplicates(map(connection_of, launches)),
        "mcp_data": {key: value for key, value in server.items() if key != "$schema"},
    }
    record = new_record(
        name=name,
        description=described,
        version=text_or_none(current.get("version")),
        authors=[_author(name)],
        created_at=first_date(_dates(server, source)),
        module={"name": MODULES[0], "data": data, "artifact": artifact},
        given=given,
    )
    repository = text_or_none(as_object(server.get("repository")).get("url"))
    record["locators"] = [{"type": "source_code", "urls": [repository]}] if repository else []
    return Translated(record, losses)


def launches_of(server: dict[str, Any], *, complete: bool = False) -> list[Launch]:
    """Every way to start or reach the server: packages first, then remotes."""
    server = current_form(server)
    packages, remotes = as_objects(server.get("packages")), as_objects(server.get("remotes"))
    if complete:
        packages, remotes = [_filled_package(one) for one in packages], [_filled_remote(one) for one in remotes]
    launches = [_of_package(package, complete=complete) for package in packages]
    launches += [_of_remote(remote) for remote in remotes]
    return [launch for launch in launches if launch.command or launch.url]


_OLD_NAMES: Final = {
    "registry_name": "registryType",
    "registry_type": "registryType",
    "registry_base_url": "registryBaseUrl",
    "file_sha256": "fileSha256",
    "runtime_hint": "runtimeHint",
    "runtime_arguments": "runtimeArguments",
    "package_arguments": "packageArguments",
    "environment_variables": "environmentVariables",
    "is_required": "isRequired",
    "is_secret": "isSecret",
    "is_repeated": "isRepeated",
    "value_hint": "valueHint",
    "transport_type": "type",
    "website_url": "websiteUrl",
}
"""Members of a server.json before September 2025, and their names since."""

_OLD_REGISTRIES: Final = {"docker": "oci", "docker-hub": "oci"}
_OLD_TRANSPORTS: Final = {"streamable": "streamable-http", "http": "streamable-http"}


def is_current_form(server: dict[str, Any]) -> bool:
    """Whether every package and remote has the current member names and transports."""
    parts = {key: server.get(key) for key in ("packages", "remotes")}
    kinds = [remote.get("type") for remote in as_objects(parts["remotes"])]
    return _renamed(parts) == parts and not any(kind is None or kind in _OLD_TRANSPORTS for kind in kinds)


def current_form(server: dict[str, Any]) -> dict[str, Any]:
    """A server.json of any age, with the current member names."""
    parts = {key: [_renamed(one) for one in as_objects(server.get(key))] for key in ("packages", "remotes")}
    for package in parts["packages"]:
        package["registryType"] = _OLD_REGISTRIES.get(str(package.get("registryType")), package.get("registryType"))
        package.setdefault("identifier", package.get("name"))
    for remote in parts["remotes"]:
        remote["type"] = _OLD_TRANSPORTS.get(str(remote.get("type")), remote.get("type"))
    version = text_or_none(server.get("version")) or text_or_none(
        as_object(server.get("version_detail")).get("version")
    )
    return {**_renamed({**server, "packages": [], "remotes": []}), **parts, "version": version}


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {_OLD_NAMES.get(key, key): _renamed(item) for key, item in fields.items()}
    return [_renamed(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def _of_package(package: dict[str, Any], *, complete: bool) -> Launch:
    transport = as_object(package.get("transport"))
    if transport_of(transport.get("type")) != "stdio":
        return _of_remote(transport)
    hint = text_or_none(package.get("runtimeHint"))
    kind = text_or_none(package.get("registryType")) or ""
    args = list(() if hint or (complete and kind in _RUNNERS) else _FIRST.get(kind, ()))
    for argument in as_objects(package.get("runtimeArguments")):
        args += _argument(argument, complete=complete)
    args = args if complete else list(dict.fromkeys(args))
    if complete and kind == "oci":
        args = _container_arguments(args, package)
    if complete and kind in _RUNNERS and hint in (None, _RUNNERS[kind]):
        args = _runner_arguments(args, package, kind)
    else:
        args += _identified(package, kind, hint, complete=complete)
    own = [
        value
        for argument in as_objects(package.get("packageArguments"))
        for value in _package_argument(argument, complete=complete)
    ]
    command = _RUNNERS.get(kind) if complete else None
    args += ["--", *own] if own and command == "dnx" and hint in (None, command) else own
    return Launch(
        transport="stdio",
        command=hint or command or _COMMANDS.get(kind, "echo"),
        args=tuple(args),
        env=tuple(_variables(package.get("environmentVariables"))),
    )


def _filled_package(package: dict[str, Any]) -> dict[str, Any]:
    """The package with the values of its `variables`, and a placeholder where only the user knows the value."""
    lists = ("environmentVariables", "runtimeArguments", "packageArguments")
    filled = {
        key: [{**one, "value": _filled(one, "value", "${{input:{}}}")} for one in as_objects(package.get(key))]
        for key in lists
    }
    return {**package, **filled, "transport": _filled_remote(as_object(package.get("transport")))}


def _filled_remote(remote: dict[str, Any]) -> dict[str, Any]:
    """The same for a remote and its headers, where `{name}` stands for the user's value."""
    headers: list[dict[str, Any]] = []
    for header in as_objects(remote.get("headers")):
        value = _filled(header, "value", "{{{}}}") or text_or_none(header.get("default"))
        asked = header.get("isRequired") or header.get("isSecret")
        name = text_or_none(header.get("name"))
        headers.append({**header, "value": value or (f"{{{_snake(name)}}}" if asked and name else None)})
    return {**remote, "url": _filled(remote, "url", "{{{}}}"), "headers": headers}


def _filled(holder: dict[str, Any], key: str, question: str) -> str | None:
    """A text with the values of its variables."""
    text, variables = text_or_none(holder.get(key)), as_object(holder.get("variables"))

    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            return found[0]
        given = as_object(variables[found[1]])
        return text_or_none(given.get("value")) or text_or_none(given.get("default")) or question.format(found[1])

    return None if text is None else PLACEHOLDER.sub(value, text)


def _runner_arguments(args: list[str], package: dict[str, Any], kind: str) -> list[str]:
    """The arguments of `npx`, `uvx` or `dnx`: this version, without a prompt."""
    identifier, version = text_or_none(package.get("identifier")) or "", text_or_none(package.get("version"))
    named = identifier if version is None else f"{identifier}{'==' if kind == 'pypi' else '@'}{version}"
    asks = not {"-y", "--yes"} & {*args}
    before = ["-y"] if kind == "npm" and asks else []
    after = ["--yes"] if kind == "nuget" and asks else []
    return [*before, *args, *([named] if identifier else []), *after]


def _container_arguments(args: list[str], package: dict[str, Any]) -> list[str]:
    """The arguments of `docker` before the image: run it with stdin and pass the variables."""
    given = args[1:] if args[:1] == ["run"] else args
    wanted = [] if {"-i", "-it", "--interactive"} & {*given} else ["-i"]
    wanted += [] if "--rm" in given else ["--rm"]
    passed = {given[place + 1].partition("=")[0] for place, one in enumerate(given[:-1]) if one in ("-e", "--env")}
    for variable in _variables(package.get("environmentVariables")):
        wanted += [] if variable.name in passed else ["-e", variable.name]
    return ["run", *wanted, *given]


def _argument(argument: dict[str, Any], *, complete: bool) -> list[str]:
    """A named argument becomes its name, followed by its value if `complete`; any other becomes its value."""
    value = text_or_none(argument.get("value")) or (text_or_none(argument.get("default")) if complete else None)
    name = text_or_none(argument.get("name")) if argument.get("type") == "named" else None
    if value is None and complete:
        hint = text_or_none(argument.get("valueHint"))
        required = argument.get("isRequired") or argument.get("isSecret")
        if required or (hint and name is None and argument.get("isRequired") is not False):
            value = f"${{input:{_snake(hint or name or 'value') or 'value'}}}"
        elif hint and name:
            return []  # an optional flag that is invalid without its value
    if name is None:
        return [value] if value else []
    return [name, value] if complete and value else [name]


def _package_argument(argument: dict[str, Any], *, complete: bool) -> list[str]:
    if complete:
        return _argument(argument, complete=True)
    value = text_or_none(argument.get("value")) or text_or_none(argument.get("default"))
    return [value] if value else []


def _identified(package: dict[str, Any], kind: str, hint: str | None, *, complete: bool) -> list[str]:
    identifier = text_or_none(package.get("identifier"))
    version = None if hint and not (complete and kind == "npm") else text_or_none(package.get("version"))
    if identifier is None:
        return []
    if complete and kind == "oci":
        return [tagged_image(package) or identifier]
    if version is None or kind not in ("npm", "oci", "nuget"):
        return [identifier]
    if kind == "nuget":
        return [identifier, "--version", version]
    return [f"{identifier}@{version}" if kind == "npm" else f"{identifier}:{version}"]


def tagged_image(package: dict[str, Any]) -> str | None:
    """The identifier of a container image, with the package's version as its tag if it has neither tag nor digest."""
    identifier, version = text_or_none(package.get("identifier")), text_or_none(package.get("version"))
    return (
        identifier if identifier is None or version is None or _TAGGED.search(identifier) else f"{identifier}:{version}"
    )


def _variables(declared: Any) -> list[Variable]:
    variables: list[Variable] = []
    for item in as_objects(declared):
        if name := text_or_none(item.get("name")):
            required = item.get("isRequired")
            variables.append(
                Variable(
                    name,
                    text_or_none(item.get("value")) or text_or_none(item.get("default")),
                    text_or_none(item.get("description")),
                    required if isinstance(required, bool) else None,
                )
            )
    return variables


def _of_remote(remote: dict[str, Any]) -> Launch:
    headers = [
        (name, text_or_none(header.get("value")) or (f"{{{_snake(name)}}}" if header.get("description") else ""))
        for header in as_objects(remote.get("headers"))
        if (name := text_or_none(header.get("name")))
    ]
    return Launch(
        transport="sse" if remote.get("type") == "sse" else "streamable-http",
        url=text_or_none(remote.get("url")),
        headers=tuple(headers),
    )


def _snake(name: str) -> str:
    return _NOT_NAME.sub("_", name.lower()).strip("_")


def _author(name: str) -> str:
    """The author of `io.github.vendor/server` is vendor."""
    namespace, slash, _ = name.partition("/")
    return namespace.rsplit(".", 1)[-1] if slash else ""


def _dates(server: dict[str, Any], source: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for holder in (source, server):
        meta = as_object(holder.get("_meta"))
        official = as_object(meta.get(OFFICIAL))
        found += [official.get("publishedAt"), official.get("updatedAt"), meta.get("publishedAt")]
    detail = without_empty(as_object(server.get("version_detail")))
    return [*found, detail.get("release_date"), server.get("created_at"), server.get("updated_at")]
