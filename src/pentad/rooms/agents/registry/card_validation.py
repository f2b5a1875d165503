"""Validates a card by the rules of every dialect it claims. Each problem has a pointer.

Lenient accepts what the dialects' own parsers accept; strict also requires what their documents require. A card that
claims no dialect is validated as AgentVault's, so that missing members are named.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec
from pydantic import ValidationError

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.secrets.names import is_secret_member
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import found_in, scrub_text

Level = Literal["lenient", "strict"]
MOST_BYTES: Final = 256 * 1024
_LONGEST_ID: Final = 200
_BINDINGS: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
_OWN_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class CardProblem:
    """A problem at one place of a card."""

    path: str
    rule: str
    message: str

    def as_json(self) -> dict[str, str]:
        return {"path": self.path, "rule": self.rule, "message": self.message}


def checked(card: Mapping[str, Any], level: Level = "lenient") -> dict[str, Any]:
    """The card, if it is valid."""
    size = len(msgspec.json.encode(card))
    if size > MOST_BYTES:
        raise LimitExceeded(f"The card has {size} bytes; the most is {MOST_BYTES}.", hint="Shorten its descriptions.")
    if problems := problems_of(card, level):
        said = "; ".join(f"{one.path or 'the card'}: {one.message}" for one in problems[:5])
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise InvalidInput(
            f"The card is not valid: {said}{more}.",
            hint="Correct it and send it again.",
            details={"problems": [one.as_json() for one in problems]},
        )
    return dict(card)


def problems_of(card: Mapping[str, Any], level: Level = "lenient") -> list[CardProblem]:
    """Every problem of a card."""
    is_a2a_1 = "supportedInterfaces" in card
    is_a2a_0 = "preferredTransport" in card or str(card.get("protocolVersion", "")).startswith("0.")
    is_agentvault = any(key in card for key in ("humanReadableId", "authSchemes", "schemaVersion"))
    found: list[CardProblem] = []
    if is_agentvault or not (is_a2a_0 or is_a2a_1):
        found += _agentvault(card, level)
    if is_a2a_0 or is_a2a_1:
        found += _a2a(card, level, interfaces=is_a2a_1)
    found += _texts(card)
    found += _secrets(card)
    return list(dict.fromkeys(found))


def _agentvault(card: Mapping[str, Any], level: Level) -> Iterator[CardProblem]:
    from pentad.agentvault.models.agent_card import STRICT, AgentCard

    try:
        AgentCard.model_validate(dict(card), context=STRICT if level == "strict" else None)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            yield CardProblem(_pointer(one["loc"]), one["type"], one["msg"])


def _a2a(card: Mapping[str, Any], level: Level, *, interfaces: bool) -> Iterator[CardProblem]:
    for key in ("name", "description", "version"):
        yield from _needed(card, key, str)
    yield from _needed(card, "capabilities", dict)
    yield from _needed(card, "skills", list)
    if interfaces:
        yield from _interfaces(card.get("supportedInterfaces"))
    else:
        yield from _needed(card, "url", str)
    if level == "strict":
        for key in ("defaultInputModes", "defaultOutputModes"):
            yield from _needed(card, key, list)
        if isinstance(url := card.get("url"), str) and not _is_reachable(url):
            yield CardProblem("/url", "url", "must be https, or http on this machine")
    for number, skill in enumerate(_list(card.get("skills"))):
        if not isinstance(skill, dict):
            yield CardProblem(f"/skills/{number}", "type", "must be an object")
            continue
        for key in ("id", "name", "description"):
            yield from _needed(cast("dict[str, Any]", skill), key, str, f"/skills/{number}")
        if level == "strict":
            yield from _needed(cast("dict[str, Any]", skill), "tags", list, f"/skills/{number}")


def _interfaces(given: Any) -> Iterator[CardProblem]:
    if not isinstance(given, list) or not given:
        yield CardProblem("/supportedInterfaces", "type", "must be a list of at least one interface")
        return
    for number, one in enumerate(cast("list[Any]", given)):
        path = f"/supportedInterfaces/{number}"
        if not isinstance(one, dict):
            yield CardProblem(path, "type", "must be an object")
            continue
        entry = cast("dict[str, Any]", one)
        yield from _needed(entry, "url", str, path)
        yield from _needed(entry, "protocolBinding", str, path)
        binding = entry.get("protocolBinding")
        if isinstance(binding, str) and binding not in _BINDINGS and ":" not in binding:
            yield CardProblem(f"{path}/protocolBinding", "enum", f"must be one of {', '.join(_BINDINGS)}, or a URI")


def _texts(card: Mapping[str, Any]) -> Iterator[CardProblem]:
    """Values that no dialect forbids but no list could show."""
    readable = card.get("humanReadableId")
    if isinstance(readable, str) and not 0 < len(readable) <= _LONGEST_ID:
        yield CardProblem("/humanReadableId", "length", f"must have 1 to {_LONGEST_ID} characters")
    if b"\\u0000" in msgspec.json.encode(card):
        yield CardProblem("", "characters", "holds a NUL character")


def _secrets(value: Any, path: tuple[int | str, ...] = ()) -> Iterator[CardProblem]:
    """Texts that contain a secret, because cards are public. An object under such a name describes how to log in."""
    if isinstance(value, str):
        for kind in dict.fromkeys(kind for kind, _, _ in found_in(value)):
            yield CardProblem(_pointer(path), "secret", f"looks like a secret ({kind}), and everybody may read a card")
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            place = (*path, scrub_text(key))
            named = isinstance(inner, str) and path[-1:] != ("scopes",) and is_secret_member(key, inner)
            if named and not is_reference(cast("str", inner)):
                yield CardProblem(_pointer(place), "secret", "has the name of a secret, and everybody may read a card")
            else:
                yield from _secrets(inner, place)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from _secrets(inner, (*path, number))


def _needed(card: Mapping[str, Any], key: str, kind: type, under: str = "") -> Iterator[CardProblem]:
    value = card.get(key)
    if key not in card:
        yield CardProblem(f"{under}/{key}", "missing", "is required")
    elif not isinstance(value, kind) or value == "":
        yield CardProblem(f"{under}/{key}", "type", f"must be {_KINDS[kind]}")


_KINDS: Final[dict[type, str]] = {str: "a text", dict: "an object", list: "a list"}


def _is_reachable(url: str) -> bool:
    """https, or http to this machine; `localhost.example.com` is not this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in _OWN_HOSTS))


def _pointer(place: tuple[int | str, ...]) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in place)


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
