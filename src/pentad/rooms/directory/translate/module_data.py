"""Reshapes the data of modules whose form changed between OASF versions.

MCP: a list of servers up to 0.8, one server with its connections from 1.0 on. A2A: what the card says itself is no
longer said beside it. The ACP manifest changed two names at 0.7, AGP became SLIM, and an agent spec has options now.
"""

from typing import Any, Final

from pentad.rooms.directory.translate.losses import Loss
from pentad.rooms.directory.translate.shapes import items_of, mapping_of, objects_of, text_of, without_nothing

CAPABILITY: Final = "notify"
"""What is assumed of an MCP server where a version asks and the record does not say."""

_UP: Final = {"local": "stdio", "http": "streamable-http", "sse": "sse"}
_DOWN: Final = {new: old for old, new in _UP.items()}
_CONNECTION: Final = ("url", "command", "args", "env_vars", "headers")
_OFFERED: Final = ("tools", "prompts", "resources")


def reshaped(short: str, data: Any, after: str, losses: list[Loss], path: str) -> list[Any]:
    """The data in the form of a version. More than one where one module becomes several."""
    if not isinstance(data, dict):
        return [data]
    given = mapping_of(data)
    new = after >= "1"
    match short:
        case "mcp" if new and "servers" in given:
            return [_connected(server, losses, f"{path}.servers[{i}]") for i, server in _servers(given)] or [given]
        case "mcp" if not new and "connections" in given:
            return [_served(given, losses, path)]
        case "a2a":
            return [_card(given, new=new)]
        case "manifest" | "acp":
            return [_manifest(given, old=after == "0.3.1")]
        case "agentspec":
            return [_spec(given, new=new, losses=losses, path=path)]
        case "observability" | "observability_observability":
            return [_observed(given, old=after == "0.3.1")]
        case _:
            return [given]


def _servers(given: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(index, mapping_of(server)) for index, server in enumerate(items_of(given["servers"]))]


def _connected(server: dict[str, Any], losses: list[Loss], path: str) -> dict[str, Any]:
    """A server of the list as a module's data of its own."""
    lost = [name for name in ("title", "scope", "capabilities") if server.get(name)]
    losses.extend(Loss(f"{path}.{name}", "a module of 1.x has no place for it") for name in lost)
    kind = str(server.get("type"))
    connection = {"type": _UP.get(kind, "stdio")} | {name: server[name] for name in _CONNECTION if name in server}
    said = {name: server[name] for name in ("name", "description", *_OFFERED) if name in server}
    return said | {"connections": [connection]}


def _served(given: dict[str, Any], losses: list[Loss], path: str) -> dict[str, Any]:
    """A server's connections as servers of a list."""
    servers: list[dict[str, Any]] = []
    name = text_of(given.get("name")) or "server"
    for index, connection in enumerate(objects_of(given["connections"])):
        server = {
            "name": name if index == 0 else f"{name}-{index + 1}",
            "type": _DOWN.get(str(connection.get("type")), "local"),
            "capabilities": [CAPABILITY],
            "description": given.get("description"),
            **({key: given.get(key) for key in _OFFERED} if index == 0 else {}),
        }
        said = {key: connection[key] for key in _CONNECTION if key in connection}
        servers.append(without_nothing(server) | said)
    reason = f"the record does not say it, so {CAPABILITY!r} is assumed"
    losses.extend(Loss(f"{path}.servers[{index}].capabilities", reason) for index, _ in enumerate(servers))
    rest = given.keys() - {"name", "description", "connections", *_OFFERED}
    losses.extend(Loss(f"{path}.{key}", "a module of this version has no place for it") for key in sorted(rest))
    return {"servers": servers}


def _card(given: dict[str, Any], *, new: bool) -> dict[str, Any]:
    wanted, other = ("card_schema_version", "protocol_version") if new else ("protocol_version", "card_schema_version")
    if wanted in given:
        return given
    told = mapping_of(given.get("card_data")).get("protocolVersion")
    version = given.get(other) if new else told if isinstance(told, str) else given.get(other)
    return {key: value for key, value in given.items() if key != other} | {wanted: version or "v1.0.0"}


def _manifest(given: dict[str, Any], *, old: bool) -> dict[str, Any]:
    names = {"acp": "acp_spec", "deployment": "agent_deployment"}
    renamed = names if old else {value: key for key, value in names.items()}
    made = {renamed.get(key, key): value for key, value in given.items()}
    key = "agent_deployment" if old else "deployment"
    deployment = mapping_of(made.get(key))
    if isinstance(deployment.get("agent_deps"), list):
        needed = [_dependency(item, old=old) for item in objects_of(deployment["agent_deps"])]
        made[key] = deployment | {"agent_deps": needed}
    return made


def _dependency(item: dict[str, Any], *, old: bool) -> dict[str, Any]:
    reference = dict(mapping_of(item.get("ref")))
    if old and isinstance(reference.get("locator"), dict):
        locator = mapping_of(reference.pop("locator"))
        reference["url"] = (items_of(locator.get("urls")) or [locator.get("url")])[0]
    elif not old and isinstance(reference.get("url"), str):
        reference["locator"] = {"type": "unspecified", "url": reference.pop("url")}
    return item | {"ref": reference}


def _observed(given: dict[str, Any], *, old: bool) -> dict[str, Any]:
    """AGP was renamed to SLIM."""
    names = {"SLIM": "AGP"} if old else {"AGP": "SLIM"}
    protocols = given.get("communication_protocols")
    if not isinstance(protocols, list):
        return given
    spoken = [names.get(name, name) if isinstance(name, str) else name for name in items_of(protocols)]
    return given | {"communication_protocols": spoken}


def _spec(given: dict[str, Any], *, new: bool, losses: list[Loss], path: str) -> dict[str, Any]:
    if new and "runtime_framework" in given:
        rest = {key: value for key, value in given.items() if key != "runtime_framework"}
        return rest | {"deployment_options": [{"runtime_framework": given["runtime_framework"]}]}
    if not new and "deployment_options" in given:
        options = objects_of(given["deployment_options"])
        rest = {key: value for key, value in given.items() if key != "deployment_options"}
        losses.append(Loss(f"{path}.deployment_options", "only the first option's framework has a place"))
        return rest | ({"runtime_framework": options[0].get("runtime_framework")} if options else {})
    return given
