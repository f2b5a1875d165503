"""`/openapi.json`, made from the routes that are really there, never by hand."""

import inspect
import re
from collections.abc import Sequence
from typing import Any, Final

from starlette.routing import BaseRoute, Route

from pentad import __version__

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
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        if isinstance(route, Route):
            path = _PARAMETER.sub(lambda found: "{" + found.group(1) + "}", route.path)
            entry = paths.setdefault(path, {})
            for method in sorted((route.methods or set()) - {"HEAD"}):
                entry[method.lower()] = _operation(route, method)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pentad", "version": __version__},
        "servers": [{"url": server}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": {"Error": _ERROR}},
    }


def _operation(route: Route, method: str) -> dict[str, Any]:
    summary = (inspect.getdoc(route.endpoint) or route.name).split("\n")[0]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind == "int" else "string"}}
        for name, kind in _PARAMETER.findall(route.path)
    ]
    operation: dict[str, Any] = {
        "summary": summary,
        "operationId": f"{method.lower()}_{re.sub(r'[^a-z0-9]+', '_', route.path.lower()).strip('_') or 'home'}",
        "responses": {
            "200": {"description": "OK"},
            "default": {
                "description": "What was wrong, and what to do.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    return {**operation, "parameters": parameters} if parameters else operation
