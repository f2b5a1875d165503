"""Where and how to reach an agent, read from its card: URL, dialect, credentials.

A card may belong to AgentVault, A2A 0.3, A2A 1.0, or all of them. The order of preference is 1.0 (JSON-RPC before
HTTP+JSON), 0.3, AgentVault.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast
from urllib.parse import urlsplit

from pentad.agentvault.credentials import Scheme
from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object, as_objects, text_or_empty
from pentad.rooms.agents.models import Dialect, Json

Binding = Literal["JSONRPC", "HTTP+JSON"]
Card = Mapping[str, Any]
_ORDER: Final[tuple[tuple[Dialect, Binding], ...]] = (
    ("1.0", "JSONRPC"),
    ("1.0", "HTTP+JSON"),
    ("0.3", "JSONRPC"),
    ("agentvault", "JSONRPC"),
)
_MAX_ENTRIES: Final = 32


@dataclass(frozen=True, slots=True)
class Interface:
    """A URL of an agent, with its dialect and binding."""

    url: str
    dialect: Dialect
    binding: Binding = "JSONRPC"
    tenant: str | None = None


def agent_name(card: Card) -> str:
    """The name of an agent for errors and tasks."""
    found = card.get("humanReadableId") or card.get("name")
    return found[:100] if isinstance(found, str) and found else "the agent"


def interfaces(card: Card) -> list[Interface]:
    """Every interface of a card that we support, best first."""
    found = [*_v10(card), *_v03(card), *_agentvault(card)]
    found.sort(key=lambda one: _ORDER.index((one.dialect, one.binding)))
    return list(dict.fromkeys(found))


def best_interface(card: Card, dialect: Dialect | None = None) -> Interface:
    """The best interface, or the best one in a dialect; InvalidInput if there is none."""
    for one in interfaces(card):
        if dialect is None or one.dialect == dialect:
            return one
    offered = sorted({f"{one.dialect} ({one.binding})" for one in interfaces(card)})
    raise InvalidInput(
        f"The card of {agent_name(card)} offers {', '.join(offered) or 'no dialect that is spoken here'}.",
        hint="Supported are A2A 1.0 (JSONRPC, HTTP+JSON), A2A 0.3 (JSONRPC) and AgentVault.",
    )


def schemes(card: Card, service: str | None = None) -> list[Scheme]:
    """The authentication schemes of a card, AgentVault's or A2A's."""
    keep = service or _text(card.get("humanReadableId")) or _host(card) or "agent"
    declared = list(_declared(card))
    if declared:
        return [_agentvault_scheme(one, service or _text(one.get("service_identifier")) or keep) for one in declared]
    known = as_object(card.get("securitySchemes"))
    found = [
        scheme
        for name, scopes in _required(card)
        if (scheme := _a2a_scheme(as_object(known.get(name)), keep, scopes)) is not None
    ]
    return found or ([] if any(_required(card)) else [Scheme("none", keep)])


def _v10(card: Card) -> Iterator[Interface]:
    for one in _list(card.get("supportedInterfaces")):
        url, binding = _text(one.get("url")), str(one.get("protocolBinding", "")).upper()
        version = str(one.get("protocolVersion", "1.0"))
        if url is None or binding not in ("JSONRPC", "HTTP+JSON"):
            continue
        tenant = _text(one.get("tenant"))
        if version.partition(".")[0] == "1":
            yield Interface(url, "1.0", "JSONRPC" if binding == "JSONRPC" else "HTTP+JSON", tenant)
        elif version.startswith("0.3") and binding == "JSONRPC":
            yield Interface(url, "0.3")


def _v03(card: Card) -> Iterator[Interface]:
    if not str(card.get("protocolVersion", "")).startswith("0."):
        return
    preferred, url = str(card.get("preferredTransport") or "JSONRPC").upper(), _text(card.get("url"))
    if url is not None and preferred == "JSONRPC":
        yield Interface(url, "0.3")
    for one in _list(card.get("additionalInterfaces")):
        other = _text(one.get("url"))
        if other is not None and str(one.get("transport", "")).upper() == "JSONRPC":
            yield Interface(other, "0.3")


def _agentvault(card: Card) -> Iterator[Interface]:
    url = _text(card.get("url"))
    if url is not None and _text(as_object(card.get("capabilities")).get("a2aVersion")) is not None:
        yield Interface(url, "agentvault")


def _declared(card: Card) -> Iterator[Json]:
    for one in _list(card.get("authSchemes")):
        if one.get("scheme") in ("apiKey", "bearer", "oauth2", "none"):
            yield one


def _agentvault_scheme(one: Json, service: str) -> Scheme:
    scopes = tuple(str(scope) for scope in one.get("scopes") or ())
    return Scheme(one["scheme"], service, token_url=_text(one.get("tokenUrl")), scopes=scopes)


def _required(card: Card) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The required schemes with their scopes: 1.0's, otherwise 0.3's."""
    for one in _list(card.get("securityRequirements")):
        for name, scopes in as_object(one.get("schemes")).items():
            yield name, _scopes(as_object(scopes).get("list"))
    if not card.get("securityRequirements"):
        for one in _list(card.get("security")):
            for name, scopes in one.items():
                yield name, _scopes(scopes)


def _a2a_scheme(one: Json, service: str, scopes: tuple[str, ...]) -> Scheme | None:
    key = as_object(one.get("apiKeySecurityScheme")) or (one if one.get("type") == "apiKey" else {})
    if key and key.get("location", key.get("in", "header")) == "header":
        return Scheme("apiKey", service, header=_text(key.get("name")) or "X-Api-Key")
    http = as_object(one.get("httpAuthSecurityScheme")) or (one if one.get("type") == "http" else {})
    if http and str(http.get("scheme", "")).lower() == "bearer":
        return Scheme("bearer", service)
    oauth = as_object(one.get("oauth2SecurityScheme")) or (one if one.get("type") == "oauth2" else {})
    flow = as_object(as_object(oauth.get("flows")).get("clientCredentials"))
    if (token_url := _text(flow.get("tokenUrl"))) is not None:
        return Scheme("oauth2", service, token_url=token_url, scopes=scopes)
    return None


def _host(card: Card) -> str | None:
    first = next(iter(interfaces(card)), None)
    return urlsplit(first.url).hostname if first is not None else None


def _scopes(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in cast("list[Any]", value)) if isinstance(value, list) else ()


def _text(value: Any) -> str | None:
    return text_or_empty(value) or None


def _list(value: Any) -> list[Json]:
    return as_objects(value)[:_MAX_ENTRIES]
