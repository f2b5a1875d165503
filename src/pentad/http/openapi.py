"""`/openapi.json`, generated from the routes that are served."""

import inspect
import re
from collections.abc import Sequence
from typing import Any, Final

from pydantic import BaseModel
from starlette.routing import BaseRoute, Route

from pentad import __version__
from pentad.platform import Parameter, operation_of

_PARAMETER: Final = re.compile(r"\{([^}:]+)(?::([^}]+))?\}")
_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "hint": {"type": "string"},
                "details": {"type": "object"},
            },
        }
    },
}


def document(routes: Sequence[BaseRoute], server: str) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    components: dict[str, Any] = {"Error": _ERROR}
    for route in routes:
        if isinstance(route, Route) and route.include_in_schema:
            path = _PARAMETER.sub(lambda found: "{" + found.group(1) + "}", route.path)
            entry = paths.setdefault(path, {})
            for method in sorted((route.methods or set()) - {"HEAD"}):
                entry[method.lower()] = _operation(route, method, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pentad", "version": __version__},
        "servers": [{"url": server}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": components},
    }


def _operation(route: Route, method: str, components: dict[str, Any]) -> dict[str, Any]:
    described = operation_of(route.endpoint)
    summary = described.summary if described else (inspect.getdoc(route.endpoint) or route.name).split("\n")[0]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind == "int" else "string"}}
        for name, kind in _PARAMETER.findall(route.path)
    ]
    success: dict[str, Any] = {"description": "OK"}
    operation: dict[str, Any] = {
        "summary": summary,
        "operationId": f"{method.lower()}_{re.sub(r'[^a-z0-9]+', '_', route.path.lower()).strip('_') or 'home'}",
        "responses": {
            str(described.status if described else 200): success,
            "default": {
                "description": "What was wrong, and what to do.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    if described is not None:
        operation["tags"] = [described.topic]
        parameters += [_parameter(one) for one in described.parameters]
        content = {} if described.body is None else _content(described.body, components)
        content |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in described.uploads}
        if content:
            operation["requestBody"] = {"required": True, "content": content}
        if described.answer is not None:
            success["content"] = _content(described.answer, components)
    return {**operation, "parameters": parameters} if parameters else operation


def _parameter(one: Parameter) -> dict[str, Any]:
    entry = {"name": one.name, "in": one.place, "description": one.description, "schema": {"type": one.type}}
    return {**entry, "required": True} if one.required else entry


def _content(model: type[BaseModel], components: dict[str, Any]) -> dict[str, Any]:
    """A reference to a model's schema, which goes into the components together with all it needs."""
    schema = model.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
    components.update(schema.pop("$defs", {}))
    components[model.__name__] = schema
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}
