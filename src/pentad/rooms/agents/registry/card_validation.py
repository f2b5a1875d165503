"""Validates a card by the rules of every dialect it claims. Each problem has a pointer.

Lenient accepts what the dialects' own parsers accept; strict also requires what their documents require. A card that
claims no dialect is validated as AgentVault's, so that missing members are named.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

import msgspec
from pydantic import ValidationError

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_values import as_list
from pentad.kernel.problems import Finding, Place, finding, nearest_names
from pentad.kernel.secrets.names import is_secret_member
from pentad.kernel.secrets.references import is_reference
from pentad.kernel.secrets.text import found_in, scrub_text

CardLevel = Literal["lenient", "strict"]
MAX_BYTES: Final = 256 * 1024
_MAX_ID_LENGTH: Final = 200
_BINDINGS: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
_OWN_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


def problem_json(problem: Finding) -> dict[str, Any]:
    made = {"path": problem.pointer, "rule": problem.code, "message": problem.message}
    return {**made, "suggestions": list(problem.suggestions)} if problem.suggestions else made


def validate_card(card: Mapping[str, Any], level: CardLevel = "lenient") -> dict[str, Any]:
    """The card, if it is valid."""
    size = len(msgspec.json.encode(card))
    if size > MAX_BYTES:
        raise LimitExceeded(f"The card has {size} bytes; the maximum is {MAX_BYTES}.", hint="Shorten its descriptions.")
    if problems := problems_of(card, level):
        listed = "; ".join(f"{one.pointer or 'the card'}: {one.message}" for one in problems[:5])
        more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
        raise InvalidInput(
            f"The card is not valid: {listed}{more}.",
            hint="Correct it and send it again.",
            details={"problems": [problem_json(one) for one in problems]},
        )
    return dict(card)


def problems_of(card: Mapping[str, Any], level: CardLevel = "lenient") -> list[Finding]:
    """Every problem of a card."""
    is_a2a_1 = "supportedInterfaces" in card
    is_a2a_0 = "preferredTransport" in card or str(card.get("protocolVersion", "")).startswith("0.")
    is_agentvault = any(key in card for key in ("humanReadableId", "authSchemes", "schemaVersion"))
    found: list[Finding] = []
    if is_agentvault or not (is_a2a_0 or is_a2a_1):
        found += _agentvault(card, level)
    if is_a2a_0 or is_a2a_1:
        found += _a2a(card, level, interfaces=is_a2a_1)
    found += _texts(card)
    found += _secrets(card)
    return list(dict.fromkeys(found))


def _agentvault(card: Mapping[str, Any], level: CardLevel) -> Iterator[Finding]:
    from pentad.agentvault.models.agent_card import STRICT, AgentCard

    try:
        AgentCard.model_validate(dict(card), context=STRICT if level == "strict" else None)
    except ValidationError as error:
        for one in error.errors(include_url=False, include_context=False, include_input=False):
            yield finding(one["type"], one["msg"], _place(one["loc"]))


def _a2a(card: Mapping[str, Any], level: CardLevel, *, interfaces: bool) -> Iterator[Finding]:
    for key in ("name", "description", "version"):
        yield from _required(card, key, str)
    yield from _required(card, "capabilities", dict)
    yield from _required(card, "skills", list)
    if interfaces:
        yield from _interfaces(card.get("supportedInterfaces"))
    else:
        yield from _required(card, "url", str)
    if level == "strict":
        for key in ("defaultInputModes", "defaultOutputModes"):
            yield from _required(card, key, list)
        if isinstance(url := card.get("url"), str) and not _is_reachable(url):
            yield finding("url", "must be https, or http on this machine", (None, "url"))
    for number, skill in enumerate(as_list(card.get("skills"))):
        place = ((None, "skills"), number)
        if not isinstance(skill, dict):
            yield finding("type", "must be an object", place)
            continue
        for key in ("id", "name", "description"):
            yield from _required(cast("dict[str, Any]", skill), key, str, place)
        if level == "strict":
            yield from _required(cast("dict[str, Any]", skill), "tags", list, place)


def _interfaces(given: Any) -> Iterator[Finding]:
    if not isinstance(given, list) or not given:
        yield finding("type", "must be a list of at least one interface", (None, "supportedInterfaces"))
        return
    for number, one in enumerate(cast("list[Any]", given)):
        place = ((None, "supportedInterfaces"), number)
        if not isinstance(one, dict):
            yield finding("type", "must be an object", place)
            continue
        entry = cast("dict[str, Any]", one)
        yield from _required(entry, "url", str, place)
        yield from _required(entry, "protocolBinding", str, place)
        binding = entry.get("protocolBinding")
        if isinstance(binding, str) and binding not in _BINDINGS and ":" not in binding:
            near, _ = nearest_names(binding, _BINDINGS)
            message = f"must be one of {', '.join(_BINDINGS)}, or a URI"
            yield finding("enum", message, (place, "protocolBinding"), suggestions=tuple(near))


def _texts(card: Mapping[str, Any]) -> Iterator[Finding]:
    """Problems with values that no dialect forbids but that lists could not show."""
    readable = card.get("humanReadableId")
    if isinstance(readable, str) and not 0 < len(readable) <= _MAX_ID_LENGTH:
        yield finding("length", f"must have 1 to {_MAX_ID_LENGTH} characters", (None, "humanReadableId"))
    if b"\\u0000" in msgspec.json.encode(card):
        yield finding("characters", "holds a NUL character", None)


def _secrets(value: Any, place: Place = None) -> Iterator[Finding]:
    """Problems with texts that contain a secret, because cards are public. An object with such a name describes how to
    log in.
    """
    if isinstance(value, str):
        for kind in dict.fromkeys(kind for kind, _, _ in found_in(value)):
            yield finding("secret", f"looks like a secret ({kind}), and everybody may read a card", place)
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            below = (place, scrub_text(key))
            in_scopes = place is not None and place[1] == "scopes"
            named = isinstance(inner, str) and not in_scopes and is_secret_member(key, inner)
            if named and not is_reference(cast("str", inner)):
                yield finding("secret", "has the name of a secret, and everybody may read a card", below)
            else:
                yield from _secrets(inner, below)
    elif isinstance(value, list):
        for number, inner in enumerate(cast("list[Any]", value)):
            yield from _secrets(inner, (place, number))


def _required(card: Mapping[str, Any], key: str, kind: type, place: Place = None) -> Iterator[Finding]:
    value = card.get(key)
    if key not in card:
        yield finding("missing", "is required", (place, key))
    elif not isinstance(value, kind) or value == "":
        yield finding("type", f"must be {_KINDS[kind]}", (place, key))


_KINDS: Final[dict[type, str]] = {str: "a text", dict: "an object", list: "a list"}


def _is_reachable(url: str) -> bool:
    """Whether a URL is https, or http to this machine; `localhost.example.com` is not this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in _OWN_HOSTS))


def _place(keys: tuple[int | str, ...]) -> Place:
    place: Place = None
    for key in keys:
        place = (place, key)
    return place
