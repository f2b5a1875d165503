"""Exports a record as server.json, the MCP registry's description of a server.

A record that was imported from a server.json returns the original. Otherwise packages are derived from the launch
commands; a program that no package manager starts has no place in a server.json.
"""

import re
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, as_texts, text_or_none
from pentad.rooms.directory.translate.envelope import (
    artifact_json,
    find_module,
    module_artifact,
    module_path,
    unexported_parts,
)
from pentad.rooms.directory.translate.host_configs import CONFIG, Exported
from pentad.rooms.directory.translate.json_objects import without_duplicates, without_empty
from pentad.rooms.directory.translate.launches import (
    INPUT,
    MODULES,
    PLACEHOLDER,
    Launch,
    connection_of,
    package_kind,
    split_arguments,
)
from pentad.rooms.directory.translate.losses import Loss, Translated
from pentad.rooms.directory.translate.server_json_import import launches_of

SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_VERSIONED: Final = re.compile(r"([^:]+?)(?:@|==)([^@=/]+)")
_UNNAMED: Final = re.compile(r"[^a-zA-Z0-9.-]+")


def from_record(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    """The server.json of a record."""
    module = find_module(record, MODULES)
    if module is None:
        raise InvalidInput("MCP module not found in record", hint=f"The record needs a module {MODULES[0]}.")
    found = module_artifact(module)
    data = as_object(module.get("data"))
    path = module_path(record, module)
    losses = [loss for loss in unexported_parts(record, module, "a server.json") if loss.path != "locators"]
    if found.why:
        losses.append(Loss(f"{path}.artifact", found.why))
    original = _original((found.artifact_type != CONFIG and artifact_json(found)) or None, data)
    if original is not None:
        return Translated(original, losses + _other_locators(record, original))
    server, more_losses = _build_server(record)
    return Translated(server, losses + more_losses + _other_locators(record, server))


def _original(source: dict[str, Any] | None, data: dict[str, Any]) -> dict[str, Any] | None:
    """The original server.json, unless the module's connections have changed since."""
    for server in (source, as_object(data.get("mcp_data"))):
        if server:
            connections = without_duplicates(map(connection_of, launches_of(server)))
            if connections and connections == data.get("connections"):
                return server
    return None


def _other_locators(record: dict[str, Any], server: dict[str, Any]) -> list[Loss]:
    repository = as_object(server.get("repository")).get("url")
    return [
        Loss(f"locators[{index}]", "a server.json names the repository alone")
        for index, locator in enumerate(as_objects(record.get("locators")))
        if _urls(locator) != [repository]
    ]


def _urls(locator: dict[str, Any]) -> list[str]:
    return as_texts(locator.get("urls")) or as_texts([locator.get("url")])


def _build_server(record: dict[str, Any]) -> Translated[dict[str, Any]]:
    exported = Exported(record)
    losses = [loss for loss in exported.losses if ".data." in loss.path]
    packages: list[dict[str, Any]] = []
    remotes: list[dict[str, Any]] = []
    for name, launch in exported.named:
        if launch.transport != "stdio":
            remotes.append(_remote(launch))
        elif package := _package(launch):
            packages.append(package)
        else:
            reason = f"{launch.command!r} is not started by a package manager, so there is no package to name"
            losses.append(Loss(f"{exported.path}.data ({name})", reason))
    if not packages and not remotes:
        raise InvalidInput(
            "no connection of the record can be expressed as a package or a remote",
            hint="Give the module a url, or npx.",
        )
    locators = as_objects(record.get("locators"))
    sources = [url for one in locators if one.get("type") in ("source_code", "source-code") for url in _urls(one)]
    server = {
        "$schema": SCHEMA,
        "name": qualified_name(record, text_or_none(exported.data.get("name"))),
        "description": text_or_none(exported.data.get("description")) or text_or_none(record.get("description")),
        "version": text_or_none(record.get("version")),
        "repository": {"url": sources[0], "source": _forge(sources[0])} if sources else None,
        "packages": packages,
        "remotes": remotes,
    }
    return Translated(without_empty(server), losses)


def qualified_name(record: dict[str, Any], name: str | None) -> str:
    """The name with a namespace, which the registry requires; `local` if there is none."""
    wanted = name or text_or_none(record.get("name")) or "server"
    namespace, slash, rest = wanted.removeprefix("https://").removeprefix("http://").rpartition("/")
    kept = _UNNAMED.sub("-", rest).strip("-") or "server"
    return f"{_UNNAMED.sub('.', namespace).strip('.') or 'local'}/{kept}" if slash else f"local/{kept}"


def _forge(url: str) -> str:
    return next((forge for forge in ("github", "gitlab", "bitbucket") if f"{forge}." in url), "git")


def _remote(launch: Launch) -> dict[str, Any]:
    headers = [_input(name, value) for name, value in launch.headers]
    return without_empty({"type": launch.transport, "url": launch.url, "headers": headers})


def _input(name: str, value: str) -> dict[str, Any]:
    asked = {place: {"isRequired": True, "isSecret": True} for place in PLACEHOLDER.findall(value)}
    return without_empty({"name": name, "value": value, "variables": asked})


def _package(launch: Launch) -> dict[str, Any] | None:
    kind = package_kind(launch)
    before, identifier, after = split_arguments(kind, list(launch.args))
    if kind is None or identifier is None:
        return None
    if kind == "oci":
        before = _beyond_run(before, launch)
    elif kind == "nuget":
        after = after[1:] if after[:1] in (["--yes"], ["-y"]) else after
        after = after[1:] if after[:1] == ["--"] else after
    match = None if kind in ("oci", "mcpb") else _VERSIONED.fullmatch(identifier)
    name, version = match.groups() if match else (identifier, None)
    variables = [
        without_empty(
            {
                "name": variable.name,
                "description": variable.description,
                "default": INPUT.sub(r"{\1}", variable.value or ""),
                "isRequired": variable.required,
                "isSecret": True if variable.value is None else None,
            }
        )
        for variable in launch.env
    ]
    return without_empty(
        {
            "registryType": kind,
            "identifier": name,
            "version": version,
            "runtimeHint": None if launch.command == "docker" else launch.command,
            "runtimeArguments": [{"type": "positional", "value": argument} for argument in before],
            "packageArguments": [{"type": "positional", "value": argument} for argument in after],
            "environmentVariables": variables,
            "transport": {"type": "stdio"},
        }
    )


def _beyond_run(before: list[str], launch: Launch) -> list[str]:
    """The arguments of `docker` that hosts do not add themselves. They add `run`, stdin and the variables."""
    passed, kept = {variable.name for variable in launch.env}, list[str]()
    rest = iter(before)
    for argument in rest:
        if argument in ("-e", "--env") and (value := next(rest, None)) is not None:
            kept += [] if value in passed else [argument, value]
        elif argument not in ("run", "-i", "-it", "--interactive", "--rm"):
            kept.append(argument)
    return kept
