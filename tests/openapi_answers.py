"""Compares real answers with an OpenAPI document: status, media type, headers and body must be as described."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs

Document = dict[str, Any]
_PARAMETER = re.compile(r"\\\{[^}]+\\\}")


def _closed(schema: Document) -> Document:
    """A model that allows only its own members, unless it says otherwise."""
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


class Answers:
    """The responses that a document describes."""

    def __init__(self, document: Document) -> None:
        self.document = document
        patterns = {path: _PARAMETER.sub("[^/]+", re.escape(path)) for path in document["paths"]}
        fixed_first = sorted(patterns.items(), key=lambda one: one[0].count("{"))
        self._patterns = [(re.compile(pattern), path) for path, pattern in fixed_first]
        self._validators: dict[str, Any] = {}
        self._closed = {"schemas": {name: _closed(one) for name, one in document["components"]["schemas"].items()}}
        self.seen: set[tuple[str, str, int]] = set()
        """The operations and statuses that were called."""

    def called(self, method: str, path: str, status: int) -> None:
        if (found := self.operation(method, path)) is not None:
            self.seen.add((method, found[0], status))

    def operation(self, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
        """The path as the document writes it, and its operation."""
        plain = path.removeprefix("/index.php/apps/openregister").rstrip("/")
        for pattern, template in self._patterns:
            if pattern.fullmatch(plain):
                found = self.document["paths"][template].get(method.lower())
                return None if found is None else (template, found)
        return None

    def problems(self, method: str, path: str, status: int, headers: Mapping[str, str], body: bytes) -> Iterator[str]:
        """Deviations from the description; paths and methods missing from the document are ignored."""
        found = self.operation(method, path)
        if found is None:
            return
        responses = found[1]["responses"]
        response = responses.get(str(status), responses.get("default"))
        if response is None:
            yield f"{status} is not among {', '.join(responses)}"
            return
        for name, facts in response.get("headers", {}).items():
            if facts.get("required") and name.lower() not in headers:
                yield f"{status} has no header {name}"
        content = response.get("content", {})
        if not content:
            if body:
                yield f"{status} has a body"
            return
        kind = headers.get("content-type", "").partition(";")[0]
        media = content.get(kind, content.get("*/*"))
        if media is None:
            yield f"{status} is {kind}, not {', '.join(content)}"
        elif kind in ("application/json", "application/problem+json") and "*/*" not in content:
            for error in self._validator(media["schema"]).iter_errors(json.loads(body)):
                yield f"{status}: {error.message} at {list(error.instance_path)}"

    def _validator(self, schema: Mapping[str, Any]) -> Any:
        key = json.dumps(schema)
        if key not in self._validators:
            whole = {**schema, "components": self._closed}
            self._validators[key] = jsonschema_rs.Draft202012Validator(whole)
        return self._validators[key]
