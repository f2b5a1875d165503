"""Reads the settings in layers: defaults < file < environment < flags, each value with its origin.

An unknown key in the file is an error, because the operator meant something by it. An unknown variable is only a
warning, because the environment is shared with other programs. Both messages name the nearest setting.
"""

import dataclasses
import os
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean, nearest
from pentad.settings.catalogue import catalogue
from pentad.settings.model import Origin, Settings, checked, user_data_folder
from pentad.settings.rooms import (
    declared_settings,
    fields_of,
    installed_rooms,
    prefix_of,
    resolve_room,
    variables_of,
    wrong_value,
)
from pentad.settings.values import WrongTypeError, convert

T = TypeVar("T")

FILE_NAME: Final = "pentad.toml"
NOT_SETTINGS: Final = frozenset(
    {
        "PENTAD_CONFIG",
        "PENTAD_LAUNCHER",
        "PENTAD_PROGRAM",
        "PENTAD_TOKEN",
        "PENTAD_WORKER_LISTENER",
        "PENTAD_WORKER_LINK",
        "PENTAD_WORKER_NUMBER",
    }
)
"""Variables that are not settings: the configuration file, the name of the program, a command's token, and those for
worker processes."""

_NOTHING: Final[Mapping[str, Any]] = types.MappingProxyType({})


def load_settings(
    flags: Mapping[str, Any] = _NOTHING,
    *,
    config: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Settings:
    """Read every layer. `flags` are keyed by path, None if not given. `pentad.toml` is looked for in `folder`."""
    variables = {name: text for name, text in environ.items() if name.startswith("PENTAD_") and text}
    layers = _Layers()
    data = flags.get("data") or variables.get("PENTAD_DATA")
    home = layers.convert("data", data, Origin("flag", "--data")) if data else user_data_folder(environ)
    layers.values["data"] = home.absolute()
    file = _find_file(config, variables, folder or Path.cwd(), home)
    if file is not None:
        _add_file(layers, file, home)
    others = _add_environment(layers, variables)
    for path, value in flags.items():
        if value is not None:
            layers.set(path, value, Origin("flag", "--" + path.replace("_", "-").replace(".", "-")))
    layers.values["data"] = layers.values["data"].absolute()
    settings = checked(layers.settings(file, {name: text for name, text in environ.items() if text}))
    return _check_rooms(settings, others)


class _Layers:
    """The values of the layers read so far; a later layer overrides an earlier one."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self.tables: dict[str, dict[str, Any]] = {}
        self.warnings: list[str] = []

    def convert(self, path: str, raw: Any, origin: Origin) -> Any:
        try:
            return convert(catalogue()[path].kind, raw)
        except WrongTypeError as expected:
            raise wrong_value(path, origin, expected) from None

    def set(self, path: str, raw: Any, origin: Origin) -> None:
        self.values[path] = self.convert(path, raw, origin)
        self.origins[path] = origin

    def settings(self, file: Path | None, variables: dict[str, str]) -> Settings:
        return dataclasses.replace(
            _with_values(Settings(), self.values),
            file=file,
            room_tables=self.tables,
            environment=variables,
            origins=self.origins,
            warnings=tuple(self.warnings),
        )


def _with_values(part: T, values: Mapping[str, Any]) -> T:
    """Return the settings, or a table of them, with values set by path."""
    own: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        name, dot, rest = path.partition(".")
        if dot:
            tables.setdefault(name, {})[rest] = value
        else:
            own[name] = value
    inner = {name: _with_values(getattr(part, name), given) for name, given in tables.items()}
    return dataclasses.replace(cast("Any", part), **own, **inner)


def _find_file(config: Path | None, variables: Mapping[str, str], folder: Path, home: Path) -> Path | None:
    named = config or (Path(variables["PENTAD_CONFIG"]) if "PENTAD_CONFIG" in variables else None)
    if named is not None:
        if not named.is_file():
            raise Misconfigured(
                f"The configuration file {named} does not exist.", hint="Check the path, or leave it out."
            )
        return named
    return next((path for path in (folder / FILE_NAME, home / FILE_NAME) if path.is_file()), None)


def _add_file(layers: _Layers, file: Path, home: Path) -> None:
    import tomllib

    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{file} is not valid TOML: {error}.", hint="Correct that line.") from None
    except OSError as error:
        raise Misconfigured(f"{file} cannot be read: {error.strerror}.", hint="Check its permissions.") from None
    if "data" in content and file.parent.absolute() == home.absolute():
        raise Misconfigured(
            f"{file} lies in the data folder and cannot name another one.", hint="Remove `data` from it."
        )
    origin = Origin("file", str(file))
    _add_rooms(layers, content.pop("rooms", None), origin)
    _add_table(layers, content, "", origin)


def _add_table(layers: _Layers, table: Mapping[str, Any], prefix: str, origin: Origin) -> None:
    known = catalogue()
    groups = {path[:at] for path in known for at, character in enumerate(path) if character == "."}
    for key, value in table.items():
        path = prefix + key
        if path in known:
            layers.set(path, value, origin)
        elif path in groups and isinstance(value, dict):
            _add_table(layers, cast("dict[str, Any]", value), path + ".", origin)
        else:
            meant = did_you_mean(path, [*known, *groups, "rooms"])
            raise Misconfigured(f"{origin.detail} has an unknown setting {path!r}.", hint=meant or "Remove it.")


def _add_rooms(layers: _Layers, value: Any, origin: Origin) -> None:
    """Add `rooms`: a list of rooms to open, or a table with that list as `open` and a table for each room."""
    if value is None:
        return
    if not isinstance(value, dict):
        layers.set("rooms", value, origin)
        return
    for name, inner in cast("dict[str, Any]", value).items():
        if isinstance(inner, dict):
            layers.tables[name] = cast("dict[str, Any]", inner)
        elif name == "open":
            layers.set("rooms", inner, origin)
        else:
            raise Misconfigured(
                f"{origin.detail} has an unknown setting 'rooms.{name}'.",
                hint="[rooms] has `open`, a list of rooms, and one table for each room, such as [rooms.directory].",
            )


def _add_environment(layers: _Layers, variables: Mapping[str, str]) -> list[str]:
    """Add the core settings; returns the names of the other variables."""
    by_variable = {entry.variable: path for path, entry in catalogue().items()}
    for name, text in sorted(variables.items()):
        if (path := by_variable.get(name)) is not None:
            layers.set(path, text, Origin("environment", name))
    return [name for name in sorted(variables) if name not in by_variable and name not in NOT_SETTINGS]


def _check_rooms(settings: Settings, variables: Sequence[str]) -> Settings:
    """Check the tables and variables of installed rooms, and warn about those that belong to no room.

    Rooms are looked up only if there is such a setting, because most commands should not pay for that.
    """
    if not settings.room_tables and not variables:
        return settings
    installed = installed_rooms()
    warnings = [
        f"{settings.file} has a table for a room {name!r}. Did you mean {near[0]!r}?"
        for name in settings.room_tables
        if name not in installed and (near := nearest(name, installed))
    ]
    for name in installed:
        if name in settings.room_tables or any(variable.startswith(prefix_of(name)) for variable in variables):
            warnings += resolve_room(settings, name, declared_settings(name)).warnings
    if not any(":" in name for name in settings.rooms):  # a room that is not installed may declare them
        warnings += _unknown_variables(settings, variables, installed)
    return dataclasses.replace(settings, warnings=(*settings.warnings, *warnings))


def _unknown_variables(settings: Settings, variables: Sequence[str], installed: Sequence[str]) -> list[str]:
    if not variables:
        return []
    models = {name: declared_settings(name) for name in installed}
    known = {
        variable
        for room, model in models.items()
        for field in fields_of(model).values()
        for variable in variables_of(room, field)
    }
    removed = {prefix_of(room) + name.upper() for room, model in models.items() for name in model.removed}
    prefixes = [prefix_of(name) for name in settings.room_tables if name not in models]
    warnings: list[str] = []
    for name in variables:
        of_plug_in = any(
            name.startswith(prefix_of(room)) and model.accepts(name.removeprefix(prefix_of(room)).lower())
            for room, model in models.items()
        )
        if name not in known | removed and not of_plug_in and not name.startswith(tuple(prefixes)):
            core = (entry.variable for entry in catalogue().values())
            meant = did_you_mean(name, [*core, *known, "PENTAD_CONFIG", "PENTAD_TOKEN"])
            warnings.append(f"The variable {name} is not a Pentad setting." + (f" {meant}" if meant else ""))
    return warnings
