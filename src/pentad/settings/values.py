"""Converts a value from a file, variable or flag to the type a setting declares, so a new field needs no code here.

Text is accepted for every type, because the environment has nothing else; other values must have the exact type.
"""

import dataclasses
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any, Final, Literal

from pentad.kernel.errors import Misconfigured
from pentad.net.addresses import networks

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})
_FACTORS: Final = {"kib": 1024, "mib": 1024**2, "gib": 1024**3}
_NETWORK: Final = {IPv4Network, IPv6Network}


class WrongTypeError(ValueError):
    """The value has the wrong type; the message says what is expected."""


def convert(kind: Any, raw: Any) -> Any:
    """Convert `raw` to `kind`; raises WrongTypeError."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return _choice(raw, parts)
    if origin is types.UnionType or origin is typing.Union:
        if set(parts) == _NETWORK:
            return _network(raw)
        return convert(next(part for part in parts if part is not types.NoneType), raw)
    if origin is Mapping and parts[1] is Any:
        return _any_table(raw)
    if origin is Mapping:
        return {name: convert(parts[1], item) for name, item in _pairs(raw)}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _table(kind, raw)
    if origin is tuple and dataclasses.is_dataclass(parts[0]):
        return tuple(convert(parts[0], item) for item in _tables(raw))
    if origin is tuple:
        return tuple(convert(parts[0], item) for item in _items(raw))
    if origin is frozenset:
        return frozenset(convert(parts[0], item) for item in _items(raw))
    return _PLAIN[kind](raw)


def _choice(raw: Any, choices: tuple[Any, ...]) -> Any:
    text = raw.strip().lower() if isinstance(raw, str) else raw
    if text not in choices:
        raise WrongTypeError(f"one of {', '.join(map(str, choices))}")
    return text


def _network(raw: Any) -> Any:
    try:
        return networks(_text(raw))[0]
    except Misconfigured:
        raise WrongTypeError("a network such as 10.1.0.0/16") from None


def _items(raw: Any) -> list[Any]:
    if isinstance(raw, str):
        return [part.strip() for part in raw.split(",") if part.strip()]
    if isinstance(raw, list | tuple | set | frozenset):
        return list(typing.cast("list[Any]", raw))
    raise WrongTypeError("a list")


def _pairs(raw: Any) -> list[tuple[str, Any]]:
    if isinstance(raw, str):
        found = [part.rpartition("=") for part in _items(raw)]
        if not all(name and sign for name, sign, _ in found):
            raise WrongTypeError("pairs such as name=value,other=value")
        return [(name.strip(), value.strip()) for name, _, value in found]
    if isinstance(raw, Mapping):
        return [(str(name), value) for name, value in typing.cast("Mapping[Any, Any]", raw).items()]
    raise WrongTypeError("a table of names and values")


def _any_table(raw: Any) -> dict[str, Any]:
    """A table whose values the setting's owner checks; in the environment, JSON or pairs."""
    if isinstance(raw, str) and raw.lstrip().startswith("{"):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raise WrongTypeError("a table, in JSON") from None
    if isinstance(raw, Mapping):
        return dict(typing.cast("Mapping[str, Any]", raw))
    if not isinstance(raw, str):
        raise WrongTypeError("a table")
    return dict(_pair(part) for part in _items(raw))


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name.strip() or not sign:
        raise WrongTypeError("a table: JSON, or pairs such as name=value,other=value")
    return name.strip(), value.strip()


def _tables(raw: Any) -> list[Any]:
    """Several tables; in the environment, JSON."""
    if isinstance(raw, str):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            raise WrongTypeError("a list of tables, in JSON") from None
    if not isinstance(raw, list | tuple):
        raise WrongTypeError("a list of tables")
    return list(typing.cast("list[Any]", raw))


def _table(kind: type[Any], raw: Any) -> Any:
    known = typing.get_type_hints(kind)
    names = [item.name for item in dataclasses.fields(kind)]
    if not isinstance(raw, Mapping):
        raise WrongTypeError("a table")
    given = typing.cast("Mapping[str, Any]", raw)
    if unknown := [name for name in given if name not in names]:
        raise WrongTypeError(f"a table with {', '.join(names)}; {unknown[0][:80]!r} is none of them")
    values: dict[str, Any] = {}
    for name, value in given.items():
        try:
            values[name] = convert(known[name], value)
        except WrongTypeError as expected:
            raise WrongTypeError(f"a table whose {name} is {expected}") from None
    return kind(**values)


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise WrongTypeError("a text")
    return raw


def _integer(raw: Any) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        number = raw
    else:
        text = raw.strip().lower() if isinstance(raw, str) else ""
        factor = next((factor for unit, factor in _FACTORS.items() if text.endswith(unit)), 1)
        digits = text[:-3].strip() if factor > 1 else text
        if not digits.isascii() or not digits.replace("_", "").isdigit() or len(digits) > 18:
            raise WrongTypeError("a whole number, 0 or more")
        number = int(digits.replace("_", "")) * factor
    if number < 0:
        raise WrongTypeError("a whole number, 0 or more")
    return number


def _number(raw: Any) -> float:
    try:
        number = float(raw) if isinstance(raw, str | int | float) and not isinstance(raw, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise WrongTypeError("a number, 0 or more")
    return number


def _boolean(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    text = raw.strip().lower() if isinstance(raw, str) else ""
    if text not in _TRUE | _FALSE:
        raise WrongTypeError("true or false")
    return text in _TRUE


def _path(raw: Any) -> Path:
    text = str(raw) if isinstance(raw, Path) else _text(raw)
    if not text or "\0" in text:
        raise WrongTypeError("a path")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise WrongTypeError("a path whose ~ is a known home") from None


_PLAIN: Final[dict[Any, Callable[[Any], Any]]] = {
    str: _text,
    int: _integer,
    float: _number,
    bool: _boolean,
    Path: _path,
}
