"""The settings of rooms. A room declares a dataclass (`Room.settings`); this module finds it and fills it in.

The layers are those of the core: default < file (`[rooms.<name>]`) < environment (`PENTAD_<NAME>_<SETTING>`, or a
variable of the system the room replaces) < flag. An unknown key in the file is an error. An unknown variable is only a
warning, because the environment is shared with other programs. A removed setting is a warning in both.
"""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, Final

from pentad.entry_points import entry_points, load
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.settings.model import DEFAULT, Origin, RoomSettings, Settings
from pentad.settings.values import WrongTypeError, convert

ROOMS: Final = "pentad.rooms"
MODELS: Final = "pentad.settings"


def installed_rooms() -> list[str]:
    """The names of the installed rooms; none is imported."""
    return list(entry_points(ROOMS))


def declared_settings(room: str) -> type[Any]:
    """The settings model of an installed room, from the group `pentad.settings` or else from the room itself."""
    reference = entry_points(MODELS).get(room)
    try:
        return load(reference) if reference is not None else load(entry_points(ROOMS)[room]).settings
    except Exception as error:
        raise Misconfigured(
            f"The settings of the room {room!r} cannot be loaded: {error}.", hint="Install its package again."
        ) from error


def fields_of(model: type[Any]) -> dict[str, "dataclasses.Field[Any]"]:
    """The settings of a model by name."""
    return {field.name: field for field in dataclasses.fields(model) if "about" in field.metadata}


def variables_of(room: str, field: "dataclasses.Field[Any]") -> tuple[str, ...]:
    """The environment variables for a field; the first one set wins."""
    return (prefix_of(room) + field.name.upper(), *field.metadata.get("variables", ()))


def prefix_of(room: str) -> str:
    """The prefix of a room's variables."""
    return f"PENTAD_{room.upper().replace('-', '_')}_"


@dataclasses.dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of one room, and where each value came from."""

    values: Any
    origins: Mapping[str, Origin]
    warnings: tuple[str, ...] = ()

    def origin(self, name: str) -> Origin:
        return self.origins.get(name, DEFAULT)


def resolve_room(settings: Settings, room: str, model: type[Any] = RoomSettings) -> Resolved:
    """Fill in a room's model; Misconfigured for an unknown key or a value that does not fit."""
    given = {**_from_file(settings, room, model), **_from_environment(settings, room, model)}
    fields, kinds = fields_of(model), typing.get_type_hints(model)
    values: dict[str, Any] = {
        name: field.metadata["demo"] for name, field in fields.items() if settings.demo and "demo" in field.metadata
    }
    for name, field in fields.items():
        core = field.metadata.get("core")
        if core is not None and getattr(settings, core):
            given[name] = (getattr(settings, core), settings.origin(core))
        if name in given:
            values[name] = _convert(kinds[name], *given[name], f"rooms.{room}.{name}")
    if extra := {name: raw for name, (raw, _) in given.items() if name not in fields}:
        values["extra"] = extra
    origins = {name: origin for name, (_, origin) in given.items()}
    return Resolved(model(**values), origins, _removed_warnings(settings, room, model))


def _from_file(settings: Settings, room: str, model: type[Any]) -> dict[str, tuple[Any, Origin]]:
    file = Origin("file", "" if settings.file is None else str(settings.file))
    table = settings.room_tables.get(room, {})
    for name in table:
        if name not in fields_of(model) and name not in model.removed and not model.accepts(name):
            path = f"rooms.{room}.{name}"
            meant = did_you_mean(path, [f"rooms.{room}.{one}" for one in fields_of(model)])
            raise Misconfigured(
                f"{file.detail or 'The configuration'} has an unknown setting {path!r}.", hint=meant or "Remove it."
            )
    return {name: (raw, file) for name, raw in table.items() if name not in model.removed}


def _removed_warnings(settings: Settings, room: str, model: type[Any]) -> tuple[str, ...]:
    """A warning for every removed setting that the file or the environment still has."""
    table = settings.room_tables.get(room, {})
    warnings: list[str] = []
    for name, replacement in model.removed.items():
        if name in table:
            warnings.append(f"{settings.file} has 'rooms.{room}.{name}', which no longer exists. {replacement}")
        if (variable := prefix_of(room) + name.upper()) in settings.environment:
            warnings.append(f"The variable {variable} no longer has any effect. {replacement}")
    return tuple(warnings)


def _from_environment(settings: Settings, room: str, model: type[Any]) -> dict[str, tuple[Any, Origin]]:
    fields, prefix = fields_of(model), prefix_of(room)
    names = {name: variables_of(room, field) for name, field in fields.items()}
    for variable in settings.environment:
        name = variable.removeprefix(prefix).lower()
        if variable.startswith(prefix) and name not in fields and model.accepts(name):
            names[name] = (variable,)
    found: dict[str, tuple[Any, Origin]] = {}
    for name, variables in names.items():
        variable = next((one for one in variables if settings.environment.get(one)), None)
        if variable is not None:
            found[name] = (settings.environment[variable], Origin("environment", variable))
    return found


def _convert(kind: Any, raw: Any, origin: Origin, path: str) -> Any:
    try:
        return convert(kind, raw)
    except WrongTypeError as expected:
        raise wrong_value(path, origin, expected) from None


def wrong_value(path: str, origin: Origin, expected: WrongTypeError) -> Misconfigured:
    """The error for an invalid value. It does not repeat the value, which may be a secret."""
    place = origin.detail if origin.layer == "environment" else f"{path} ({origin})"
    return Misconfigured(f"{place} has an invalid value.", hint=f"It must be {expected}.", details={"setting": path})
