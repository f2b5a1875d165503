"""Migrates modules (0.3.1: extensions) between OASF versions: names, ids and data.

Before 1.0 a module with an unknown name may have any content, so a module that an old version lacks is kept there under
its own name and restored by a later migration. Some modules changed the shape of their data: MCP has a list of servers
up to 0.8 and one server with connections from 1.0 on; A2A no longer repeats the card; the ACP manifest renamed two
fields in 0.7; AGP became SLIM; and an agent spec now has options.
"""

from typing import Any, Final

from pentad.kernel.json_values import as_list, as_object, as_objects, text_or_none
from pentad.rooms.directory.oasf.class_rules import FEATURE_NAMES, OLD_MODULE_NAMES
from pentad.rooms.directory.oasf.objects import Attribute, Objects, Shape, objects
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, map_class, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED
from pentad.rooms.directory.translate.class_migration import HOWS, ClassMapping, How
from pentad.rooms.directory.translate.json_objects import without_duplicates, without_empty
from pentad.rooms.directory.translate.locator_migration import migrate_locator
from pentad.rooms.directory.translate.losses import Loss

_GONE: Final = object()
"""Stands for a dropped value, because null is a JSON value."""


class VersionProjection:
    """Removes what the tables of an OASF version do not allow, and reports each loss.

    It drops attributes that the version does not have and values that it does not know. Renamed attributes must have
    been migrated before.
    """

    def __init__(self, version: str, losses: list[Loss]) -> None:
        self._version = version
        self._facts: Objects = objects(version)
        self._losses = losses

    def module(self, short: str, value: dict[str, Any], path: str) -> dict[str, Any]:
        return self.object(self._facts.shapes["module", short], value, path)

    def field(self, name: str, value: Any) -> Any:
        """A field of the record itself."""
        projected = self._attribute(self._facts.root.attributes[name], value, name)
        return value if projected is _GONE else projected

    def has_field(self, name: str) -> bool:
        return name in self._facts.root.attributes

    def object(self, shape: Shape, value: Any, path: str) -> Any:
        if shape.open or not isinstance(value, dict):
            return value
        kept: dict[str, Any] = {}
        for name, item in as_object(value).items():
            attribute = shape.attributes.get(name)
            if attribute is None:
                self._losses.append(Loss(f"{path}.{name}", f"OASF {self._version} has no place for it"))
                continue
            projected = self._attribute(attribute, item, f"{path}.{name}")
            if projected is not _GONE:
                kept[name] = projected
        return kept

    def _attribute(self, attribute: Attribute, value: Any, path: str) -> Any:
        if attribute.array and isinstance(value, list):
            projected = [
                migrated_module
                for index, item in enumerate(as_list(value))
                if (migrated_module := self._item(attribute, item, f"{path}[{index}]")) is not _GONE
            ]
            return projected if projected or not value or attribute.requirement == "required" else _GONE
        return self._item(attribute, value, path)

    def _item(self, attribute: Attribute, value: Any, path: str) -> Any:
        if attribute.type in self._facts.types or attribute.type.startswith("class_t:"):
            if attribute.values and value not in attribute.values:
                self._losses.append(Loss(path, f"OASF {self._version} does not know the value {str(value)[:80]!r}"))
                return _GONE
            return value
        if attribute.type == "locator" and isinstance(value, dict):
            return migrate_locator(as_object(value), self._version, self._losses, path)
        shape = self._shape(attribute, value)
        return value if shape is None else self.object(shape, value, path)

    def _shape(self, attribute: Attribute, value: Any) -> Shape | None:
        if not attribute.one_of:
            return self._facts.shapes.get(("object", attribute.type))
        given = as_object(value)
        for shape in self._facts.choices(attribute.type):
            marks = {a.name: a.values[0] for a in shape.attributes.values() if len(a.values) == 1}
            if marks and all(given.get(name) == mark for name, mark in marks.items()):
                return shape
        return None


VERSION_NOTE: Final = "oasf.version"
_FEATURES: Final = {short: name for name, short in FEATURE_NAMES.items()}


class ModuleMigration:
    """Migrates the modules of a record between two versions."""

    def __init__(self, before: str, after: str, losses: list[Loss]) -> None:
        self._before = before
        self._after = after
        self.losses = losses
        self._projection = VersionProjection(after, losses)
        self.mappings: list[ClassMapping] = []

    def migrate(self, value: Any, key: str) -> list[dict[str, Any]]:
        modules = enumerate(as_objects(value))
        return without_duplicates(one for index, module in modules for one in self._module(module, f"{key}[{index}]"))

    def _module(self, module: dict[str, Any], path: str) -> list[dict[str, Any]]:
        name = text_or_none(module.get("name")) or ""
        known = _known(name, self._before)
        found = None if known is None else map_class(known[0], known[1], self._after, "module")
        if known is None or found is None or found.entry.grouping:
            return self._unknown(module, name, path)
        self._add_mapping(name, found.entry.name, HOWS[found.how])
        datas = reshape_module_data(found.entry.short, module.get("data"), self._after, self.losses, f"{path}.data")
        return [self._named(module, found.entry, data, path) for data in datas]

    def _unknown(self, module: dict[str, Any], name: str, path: str) -> list[dict[str, Any]]:
        if self._after >= "1":
            self._add_mapping(name, None, "dropped")
            self.losses.append(Loss(path, f"OASF {self._after} has no module {name[:80]!r}, and allows no others"))
            return []
        self._add_mapping(name, name, "kept as it is")
        return [{key: value for key, value in module.items() if key != "id"}]

    def _named(self, module: dict[str, Any], entry: ClassEntry, data: Any, path: str) -> dict[str, Any]:
        notes = dict(as_object(module.get("annotations")))
        migrated_module: dict[str, Any] = {"name": entry.name, "id": entry.id, "data": data}
        if self._after == "0.3.1":
            migrated_module = {"name": _FEATURES[entry.short], "data": data}
            if version := notes.pop(VERSION_NOTE, None):
                migrated_module["version"] = version
        elif "version" in module:
            notes[VERSION_NOTE] = str(module["version"])
        rest = {
            key: value for key, value in module.items() if key not in ("name", "id", "data", "annotations", "version")
        }
        return self._projection.module(
            entry.short, migrated_module | rest | ({"annotations": notes} if notes else {}), path
        )

    def _add_mapping(self, before: str, after: str | None, how: How) -> None:
        self.mappings.append(ClassMapping("module", before[:200], after, how))


def _known(name: str, version: str) -> tuple[ClassEntry, str] | None:
    """The module with a name, and its version: the record's own, or another one if the module was kept unchanged."""
    if version == "0.3.1":
        feature = taxonomy(version, "module").by_name(FEATURE_NAMES.get(name, ""))
        if feature is not None:
            return feature, version
    elif (own := _named_in(name, version)) is not None:
        return own, version
    if version >= "1":
        return None
    others = (other for other in reversed(EMBEDDED) if other not in (version, "0.3.1"))
    return next(((entry, other) for other in others if (entry := _named_in(name, other)) is not None), None)


def _named_in(name: str, version: str) -> ClassEntry | None:
    full = OLD_MODULE_NAMES.get(name, name) if version == "0.7.0" else name
    entry = taxonomy(version, "module").by_name(full)
    return entry if entry is not None and entry.name == full and not entry.grouping else None


CAPABILITY: Final = "notify"
"""The assumed capability of an MCP server if a version requires one and the record has none."""

_UP: Final = {"local": "stdio", "http": "streamable-http", "sse": "sse"}
_DOWN: Final = {new: old for old, new in _UP.items()}
_CONNECTION: Final = ("url", "command", "args", "env_vars", "headers")
_OFFERED: Final = ("tools", "prompts", "resources")


def reshape_module_data(short: str, data: Any, after: str, losses: list[Loss], path: str) -> list[Any]:
    """The data in the shape of a version; several items if one module becomes several."""
    if not isinstance(data, dict):
        return [data]
    given = as_object(data)
    new = after >= "1"
    match short:
        case "mcp" if new and "servers" in given:
            return [_as_connections(server, losses, f"{path}.servers[{i}]") for i, server in _servers(given)] or [given]
        case "mcp" if not new and "connections" in given:
            return [_as_servers(given, losses, path)]
        case "a2a":
            return [_card(given, new=new)]
        case "manifest" | "acp":
            return [_manifest(given, old=after == "0.3.1")]
        case "agentspec":
            return [_spec(given, new=new, losses=losses, path=path)]
        case "observability" | "observability_observability":
            return [_observability(given, old=after == "0.3.1")]
        case _:
            return [given]


def _servers(given: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    return [(index, as_object(server)) for index, server in enumerate(as_list(given["servers"]))]


def _as_connections(server: dict[str, Any], losses: list[Loss], path: str) -> dict[str, Any]:
    """One server of the list as the data of its own module."""
    lost = [name for name in ("title", "scope", "capabilities") if server.get(name)]
    losses.extend(Loss(f"{path}.{name}", "a module of 1.x has no place for it") for name in lost)
    kind = str(server.get("type"))
    connection = {"type": _UP.get(kind, "stdio")} | {name: server[name] for name in _CONNECTION if name in server}
    common = {name: server[name] for name in ("name", "description", *_OFFERED) if name in server}
    return common | {"connections": [connection]}


def _as_servers(given: dict[str, Any], losses: list[Loss], path: str) -> dict[str, Any]:
    """A server's connections as a list of servers."""
    servers: list[dict[str, Any]] = []
    name = text_or_none(given.get("name")) or "server"
    for index, connection in enumerate(as_objects(given["connections"])):
        server = {
            "name": name if index == 0 else f"{name}-{index + 1}",
            "type": _DOWN.get(str(connection.get("type")), "local"),
            "capabilities": [CAPABILITY],
            "description": given.get("description"),
            **({key: given.get(key) for key in _OFFERED} if index == 0 else {}),
        }
        common = {key: connection[key] for key in _CONNECTION if key in connection}
        servers.append(without_empty(server) | common)
    reason = f"the record does not say it, so {CAPABILITY!r} is assumed"
    losses.extend(Loss(f"{path}.servers[{index}].capabilities", reason) for index, _ in enumerate(servers))
    rest = given.keys() - {"name", "description", "connections", *_OFFERED}
    losses.extend(Loss(f"{path}.{key}", "a module of this version has no place for it") for key in sorted(rest))
    return {"servers": servers}


def _card(given: dict[str, Any], *, new: bool) -> dict[str, Any]:
    wanted, other = ("card_schema_version", "protocol_version") if new else ("protocol_version", "card_schema_version")
    if wanted in given:
        return given
    told = as_object(given.get("card_data")).get("protocolVersion")
    version = given.get(other) if new else told if isinstance(told, str) else given.get(other)
    return {key: value for key, value in given.items() if key != other} | {wanted: version or "v1.0.0"}


def _manifest(given: dict[str, Any], *, old: bool) -> dict[str, Any]:
    names = {"acp": "acp_spec", "deployment": "agent_deployment"}
    renamed = names if old else {value: key for key, value in names.items()}
    migrated_module = {renamed.get(key, key): value for key, value in given.items()}
    key = "agent_deployment" if old else "deployment"
    deployment = as_object(migrated_module.get(key))
    if isinstance(deployment.get("agent_deps"), list):
        needed = [_dependency(item, old=old) for item in as_objects(deployment["agent_deps"])]
        migrated_module[key] = deployment | {"agent_deps": needed}
    return migrated_module


def _dependency(item: dict[str, Any], *, old: bool) -> dict[str, Any]:
    reference = dict(as_object(item.get("ref")))
    if old and isinstance(reference.get("locator"), dict):
        locator = as_object(reference.pop("locator"))
        reference["url"] = (as_list(locator.get("urls")) or [locator.get("url")])[0]
    elif not old and isinstance(reference.get("url"), str):
        reference["locator"] = {"type": "unspecified", "url": reference.pop("url")}
    return item | {"ref": reference}


def _observability(given: dict[str, Any], *, old: bool) -> dict[str, Any]:
    """AGP was renamed to SLIM."""
    names = {"SLIM": "AGP"} if old else {"AGP": "SLIM"}
    protocols = given.get("communication_protocols")
    if not isinstance(protocols, list):
        return given
    protocols_there = [names.get(name, name) if isinstance(name, str) else name for name in as_list(protocols)]
    return given | {"communication_protocols": protocols_there}


def _spec(given: dict[str, Any], *, new: bool, losses: list[Loss], path: str) -> dict[str, Any]:
    if new and "runtime_framework" in given:
        rest = {key: value for key, value in given.items() if key != "runtime_framework"}
        return rest | {"deployment_options": [{"runtime_framework": given["runtime_framework"]}]}
    if not new and "deployment_options" in given:
        options = as_objects(given["deployment_options"])
        rest = {key: value for key, value in given.items() if key != "deployment_options"}
        losses.append(Loss(f"{path}.deployment_options", "only the first option's framework has a place"))
        return rest | ({"runtime_framework": options[0].get("runtime_framework")} if options else {})
    return given
