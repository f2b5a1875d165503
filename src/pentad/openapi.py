"""Generates OpenAPI documents from the descriptions of routes: `/openapi.json`, and one for each register.

A route that lists its errors (`Operation.errors`) is described completely: those errors, and the ones the front sends
before the route runs. Any other route may answer with any error, in the server's own format.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final

from pydantic import TypeAdapter
from starlette.routing import BaseRoute, Route

from pentad.kernel.errors import PROBLEM_TYPE
from pentad.platform import Operation, Parameter, operation_of

_PARAMETER: Final = re.compile(r"\{([^}:]+)(?::([^}]+))?\}")
_REFERENCE: Final = "#/components/schemas/{model}"
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "What was wrong, and what to do about it (RFC 9457). Programs read `error.code`.",
    "required": ["title", "status", "detail", "error"],
    "properties": {
        "title": {"type": "string", "description": "The name of the status."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "The message and the hint as one text."},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "details": {"type": "object"},
            },
        },
    },
}
_BY_THE_FRONT: Final = (400, 401, 403, 421, 429, 500, 503)
_BY_THE_FRONT_OF_BODIES: Final = (408, 413, 415)
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_HEADERS: Final = {
    "ETag": "The version of what is in the body, for If-Match and If-None-Match.",
    "Content-Disposition": "Says that this is a file to save, and its name.",
    "Retry-After": "How many seconds to wait.",
    "WWW-Authenticate": "How to log in.",
}
_HEADERS_OF_ERRORS: Final = {401: "WWW-Authenticate", 429: "Retry-After", 503: "Retry-After"}
_ALWAYS_SENT: Final = frozenset({401, 429})
"""Errors that always have their header. A 503 has one only if waiting helps."""
_ACTIONS: Final = {"read": "Read", "write": "Change", "admin": "Administer"}


Described = tuple[str, str, Operation]
"""A path, a method, and what it does."""


def document(
    operations: Iterable[Described],
    *,
    title: str,
    version: str,
    server: str,
    schemes: Mapping[str, Mapping[str, Any]],
    description: str = "",
) -> dict[str, Any]:
    """The whole document."""
    made = _Document(schemes)
    paths: dict[str, dict[str, Any]] = {}
    for pattern, method, operation in operations:
        path = _PARAMETER.sub(lambda found: "{" + found.group(1) + "}", pattern)
        paths.setdefault(path, {})[method.lower()] = made.operation(pattern, method, operation)
    components: dict[str, Any] = {"schemas": made.schemas()}
    if schemes:
        components["securitySchemes"] = schemes
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, **({"description": description} if description else {})},
        "servers": [{"url": server}],
        "paths": dict(sorted(paths.items())),
        "components": components,
    }


def operations_of(routes: Iterable[BaseRoute]) -> Iterator[Described]:
    """The operations of routes. Assume that a route without a description may return anything to anyone."""
    for route in routes:
        if isinstance(route, Route) and route.include_in_schema:
            operation = operation_of(route.endpoint) or Operation("", "", public=True)
            if not operation.summary:
                summary = (inspect.getdoc(route.endpoint) or route.name).split("\n")[0]
                operation = replace(operation, summary=summary)
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield route.path, method, operation


def security_schemes(site: str, rooms: Iterable[str], *, issues_tokens: bool) -> dict[str, dict[str, Any]]:
    """The authentication schemes of a server that requires login, by name."""
    schemes: dict[str, dict[str, Any]] = {
        "basic": {"type": "http", "scheme": "basic", "description": "The name and password of a user."},
        "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, or an access token."},
        "api_key": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "An API key."},
    }
    if issues_tokens:
        flow = {
            "authorizationUrl": f"{site}/oauth/authorize",
            "tokenUrl": f"{site}/oauth/token",
            "refreshUrl": f"{site}/oauth/token",
            "scopes": {f"{room}:{action}": f"{text} {room}." for room in rooms for action, text in _ACTIONS.items()},
        }
        schemes["oauth2"] = {
            "type": "oauth2",
            "description": "OAuth 2.1 with PKCE; clients register at /oauth/register.",
            "flows": {"authorizationCode": flow},
        }
    return schemes


@dataclass(slots=True)
class _Document:
    """A document in progress. Types become references to components, which are written at the end."""

    schemes: Mapping[str, Mapping[str, Any]]
    names: set[str] = field(default_factory=set[str])
    types: dict[str, TypeAdapter[Any]] = field(default_factory=dict[str, TypeAdapter[Any]])
    places: list[tuple[dict[str, Any], str]] = field(default_factory=list[tuple[dict[str, Any], str]])

    def operation(self, pattern: str, method: str, described: Operation) -> dict[str, Any]:
        name = f"{method.lower()}_{re.sub(r'[^a-z0-9]+', '_', pattern.lower()).strip('_') or 'home'}"
        while name in self.names:
            name += "_"
        self.names.add(name)
        operation: dict[str, Any] = {"operationId": name, "summary": described.summary}
        if described.topic:
            operation["tags"] = [described.topic]
        parameters: list[dict[str, Any]] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind == "int" else "string"}}
            for name, kind in _PARAMETER.findall(pattern)
        ]
        parameters += [_parameter(one) for one in described.parameters]
        if parameters:
            operation["parameters"] = parameters
        if content := self._request_content(described):
            operation["requestBody"] = {"required": described.body_required, "content": content}
        operation["responses"] = self._responses(described, method)
        if self.schemes:
            operation["security"] = self._security(described)
        return operation

    def schemas(self) -> dict[str, Any]:
        """All components; fills in the references to them."""
        named, made = TypeAdapter.json_schemas(
            [(name, "validation", adapter) for name, adapter in self.types.items()], ref_template=_REFERENCE
        )
        for place, name in self.places:
            place["schema"] = named[name, "validation"]
        return {"Problem": _PROBLEM, **made.get("$defs", {})}

    def _security(self, described: Operation) -> list[dict[str, list[str]]]:
        scopes = [] if described.scope is None else [described.scope]
        ways = [{name: scopes if name == "oauth2" else []} for name in self.schemes]
        return [{}, *ways] if described.public else ways

    def _request_content(self, described: Operation) -> dict[str, Any]:
        shapes = {} if described.body is None else {"application/json": described.body}
        content = {kind: self._schema(shape) for kind, shape in {**shapes, **described.other_bodies}.items()}
        return content | {kind: {"schema": _FORMS.get(kind, _BINARY)} for kind in described.uploads}

    def _responses(self, described: Operation, method: str) -> dict[str, Any]:
        success: dict[str, Any] = {"description": HTTPStatus(described.status).phrase}
        content = {kind: {"schema": _BINARY} for kind in described.produces}
        if described.answer is not None:
            content["application/json"] = self._schema(described.answer)
        if content:
            success["content"] = content
        if described.headers:
            success["headers"] = {name: _header(name, required=True) for name in described.headers}
        responses: dict[str, Any] = {str(described.status): success}
        if described.not_modified:
            responses["304"] = {
                "description": "If-None-Match names the current version.",
                "headers": {"ETag": _header("ETag", required=True)},
            }
        if described.errors is None:
            return {**responses, "default": _problem("What was wrong, and what to do.")}
        by_the_front = {*_BY_THE_FRONT, *(_BY_THE_FRONT_OF_BODIES if method in _WITH_BODY else ())}
        for status in sorted({*described.errors, *by_the_front}):
            responses[str(status)] = self._error(status, described.errors, by_the_front)
        return responses

    def _error(self, status: int, errors: Mapping[int, Any], by_the_front: Iterable[int]) -> dict[str, Any]:
        response = _problem(HTTPStatus(status).phrase)
        if (shape := errors.get(status)) is not None:
            content = {"application/json": self._schema(shape)}
            response["content"] = content | response["content"] if status in by_the_front else content
        if (name := _HEADERS_OF_ERRORS.get(status)) is not None:
            response["headers"] = {name: _header(name, required=status in _ALWAYS_SENT)}
        return response

    def _schema(self, shape: Any) -> dict[str, Any]:
        """A placeholder for the schema of a type."""
        name = str(shape)
        if name not in self.types:
            self.types[name] = TypeAdapter(shape)
        place: dict[str, Any] = {}
        self.places.append((place, name))
        return place


_BINARY: Final = {"type": "string", "format": "binary"}
_FORMS: Final[dict[str, dict[str, Any]]] = {
    "multipart/form-data": {"type": "object", "required": ["file"], "properties": {"file": _BINARY}},
    "application/x-www-form-urlencoded": {"type": "object", "additionalProperties": {"type": "string"}},
}


def _parameter(one: Parameter) -> dict[str, Any]:
    limits = {"minimum": one.minimum, "maximum": one.maximum, "enum": list(one.choices) or None}
    schema: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}
    entry: dict[str, Any] = {"name": one.name, "in": one.place, "description": one.description}
    if one.type == "object":  # any number of parameters: name[member]=value, or member=value
        schema = {"type": "object", "additionalProperties": {"type": "string", **schema}}
        name, bracket, _ = one.name.partition("[")
        entry.update(name=name, style="deepObject" if bracket else "form", explode=True, schema=schema)
    else:
        entry["schema"] = {"type": one.type, **schema}
    return {**entry, "required": True} if one.required else entry


def _problem(text: str) -> dict[str, Any]:
    return {"description": text, "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}


def _header(name: str, *, required: bool) -> dict[str, Any]:
    return {"description": _HEADERS[name], "required": required, "schema": {"type": "string"}}
