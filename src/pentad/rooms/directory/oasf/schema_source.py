"""The source of schemas and validation: the embedded tables, or an OASF server over its HTTP API."""

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, cast
from urllib.parse import quote, urlsplit

import msgspec

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, Misconfigured, NotFound, PentadError, Unavailable
from pentad.kernel.json_pointer import pointer
from pentad.kernel.names import did_you_mean
from pentad.kernel.ports import Fetched, Fetcher
from pentad.kernel.problems import Finding
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.taxonomy import ClassEntry, taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, NEWEST, Family


class UnknownVersion(InvalidInput):
    """The OASF version is unknown here."""

    def __init__(self, version: str, available: list[str]) -> None:
        super().__init__(
            f"There is no OASF version {version[:40]!r}.",
            hint=f"Available versions: {', '.join(available)}.",
            details={"available_versions": available},
        )
        self.version = version
        self.available = available


class SchemaSource(Protocol):
    """OASF as the directory uses it."""

    async def versions(self) -> tuple[list[str], str]:
        """The available versions, and the default one."""
        ...

    async def json_schema(self, version: str) -> dict[str, Any]:
        """The JSON Schema of a record."""
        ...

    async def children(self, version: str, family: Family, parent: str | None = None) -> list[ClassEntry]:
        """The direct children of a class (by short or full name), or the top classes, sorted by name."""
        ...

    async def validate(self, data: dict[str, Any]) -> Report:
        """Validate a record by the version it names."""
        ...


class EmbeddedSchemas:
    """The tables that come with Pentad, loaded on first use."""

    def __init__(self, default_version: str = NEWEST) -> None:
        self._default = default_version if default_version in EMBEDDED else NEWEST

    async def versions(self) -> tuple[list[str], str]:
        return list(EMBEDDED), self._default

    async def json_schema(self, version: str) -> dict[str, Any]:
        from pentad.rooms.directory.oasf.json_schema import json_schema

        _check(version)
        return json_schema(version)

    async def children(self, version: str, family: Family, parent: str | None = None) -> list[ClassEntry]:
        _check(version)
        classes = taxonomy(version, family)
        found = classes.children(parent or None)
        if not found:
            raise no_children(parent or "", [entry.short for entry in classes.all if classes.children(entry.name)])
        return found

    async def validate(self, data: dict[str, Any]) -> Report:
        from pentad.rooms.directory.oasf.validator import validate

        return validate(data)


def no_children(parent: str, known: list[str]) -> NotFound:
    """The error for a parent class that is unknown or has no children."""
    hint = did_you_mean(parent, known) or "Leave the parent out for the top classes."
    return NotFound(f"parent '{parent[:200]}' not found or has no children", hint=hint)


def _check(version: str) -> None:
    if version not in EMBEDDED:
        raise UnknownVersion(version, list(EMBEDDED))


SECONDS: Final = 30.0
CACHE_SECONDS: Final = 300.0
"""How many seconds versions and taxonomies are cached."""

_MOST_BYTES: Final = 16 * MIB
_OK: Final = 200
_DEPTH: Final = 8


class RemoteSchemas:
    """An OASF server. The operator chose it, so it may be on a private network.

    Its answers are bounded and checked like any other foreign text. Versions and taxonomies are cached for a while;
    validation results and schemas are not.
    """

    def __init__(self, url: str, fetcher: Fetcher, clock: Clock | None = None) -> None:
        self.url = normalise_url(url)
        self._fetcher = fetcher
        self._clock = clock or SystemClock()
        self._cache: dict[str, tuple[float, Any]] = {}

    async def versions(self) -> tuple[list[str], str]:
        what = "get available schema versions"
        answer = _answer_object(await self._cached("/api/versions", what), what)
        listed = answer.get("versions")
        found = [_version_of(entry) for entry in cast("list[Any]", listed)] if isinstance(listed, list) else []
        default = _version_of(answer.get("default"))
        available = [version for version in found if version]
        if not available:
            raise _remote_failure(what, "the answer names no version")
        if not default:
            raise _remote_failure("get default schema version", "the answer names none")
        return available, default

    async def json_schema(self, version: str) -> dict[str, Any]:
        await self._check(version)
        what = f"get the schema of version {version}"
        name = "agent" if version.startswith("0.3.") else "record"
        return _answer_object(await self._get(f"/schema/{quote(version, safe='')}/objects/{name}", what), what)

    async def children(self, version: str, family: Family, parent: str | None = None) -> list[ClassEntry]:
        await self._check(version)
        what = f"get the {family}s of version {version}"
        path = f"/api/{quote(version, safe='')}/{family}_categories"
        nodes = _answer_object(await self._cached(path, what), what)
        found = nodes if not parent else _classes_below(nodes, parent)
        if not found:
            raise no_children(parent or "", list(nodes))
        entries = [
            _class_entry(key, cast("dict[str, Any]", node)) for key, node in found.items() if isinstance(node, dict)
        ]
        return sorted(entries, key=lambda entry: entry.name.encode())

    async def validate(self, data: dict[str, Any]) -> Report:
        version = data.get("schema_version")
        if not isinstance(version, str) or not version:
            raise InvalidInput("schema_version field is missing", hint="Name the OASF version of the record.")
        name = "agent" if version.startswith("0.3.") else "record"
        path = f"/api/{quote(version, safe='')}/validate/object/{name}?missing_recommended=true"
        what = "validate the record"
        answer = _answer_object(await self._request(path, what, msgspec.json.encode(data)), what)
        if "errors" not in answer and "warnings" not in answer:
            raise _remote_failure(what, "the answer is not a verdict")
        report = Report(version)
        for entry in _listed_objects(answer.get("errors")):
            report.error(_remote_finding(entry, "error"))
        for entry in _listed_objects(answer.get("warnings")):
            report.warning(_remote_finding(entry, "warning"))
        return report

    async def _check(self, version: str) -> None:
        available, _ = await self.versions()
        if version not in available:
            raise UnknownVersion(version, available)

    async def _cached(self, path: str, what: str) -> Any:
        until, value = self._cache.get(path, (0.0, None))
        if self._clock.monotonic() >= until:
            value = await self._get(path, what)
            self._cache[path] = (self._clock.monotonic() + CACHE_SECONDS, value)
        return value

    async def _get(self, path: str, what: str) -> Any:
        return await self._request(path, what, None)

    async def _request(self, path: str, what: str, body: bytes | None) -> Any:
        headers = {"accept": "application/json"} | ({} if body is None else {"content-type": "application/json"})
        method = "GET" if body is None else "POST"
        try:
            answer = await self._fetcher.fetch(
                self.url + path,
                method=method,
                headers=headers,
                body=body,
                max_bytes=_MOST_BYTES,
                timeout=SECONDS,
                trusted=True,
            )
        except PentadError as error:
            raise _remote_failure(what, error.message) from error
        return _decode_answer(answer, what)


def normalise_url(url: str) -> str:
    """The address with a scheme and without a trailing slash."""
    text = url.strip()
    text = (text if text.startswith(("http://", "https://")) else f"http://{text}").rstrip("/")
    try:
        usable = bool(urlsplit(text).hostname) and urlsplit(text).port != 0
    except ValueError:
        usable = False
    if not usable:
        raise Misconfigured("The address of the OASF server is not a URL.", hint="Write it as https://host[:port].")
    return text


def _remote_failure(what: str, why: str) -> Unavailable:
    return Unavailable(
        f"Failed to {what}: {why}",
        hint="Check the address of the OASF server, or leave it out to use the embedded schemas.",
    )


def _decode_answer(answer: Fetched, what: str) -> Any:
    if answer.status != _OK:
        raise _remote_failure(what, f"the OASF server answered with HTTP status {answer.status}")
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _remote_failure(what, "the OASF server did not answer with JSON") from None


def _answer_object(answer: Any, what: str) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise _remote_failure(what, "the OASF server did not answer with a JSON object")
    return cast("dict[str, Any]", answer)


def _version_of(entry: Any) -> str:
    """The version of an entry, under its current or former key."""
    if not isinstance(entry, dict):
        return ""
    fields = cast("dict[str, Any]", entry)
    version = fields.get("schema_version") or fields.get("version")
    return version if isinstance(version, str) else ""


def _classes_below(nodes: Mapping[str, Any], parent: str, depth: int = 0) -> dict[str, Any]:
    """The classes below the one with this key or full name; empty if there is none."""
    for key, node in nodes.items():
        if not isinstance(node, dict) or depth > _DEPTH:
            continue
        fields = cast("dict[str, Any]", node)
        classes = fields.get("classes")
        below = cast("dict[str, Any]", classes) if isinstance(classes, dict) else {}
        if parent in (key, fields.get("name")):
            return below
        if found := _classes_below(below, parent, depth + 1):
            return found
    return {}


def _class_entry(key: str, node: dict[str, Any]) -> ClassEntry:
    number, name, caption = node.get("id"), node.get("name"), node.get("caption")
    return ClassEntry(
        id=number if isinstance(number, int) else 0,
        name=name if isinstance(name, str) and name else key,
        caption=caption if isinstance(caption, str) else "",
        grouping=node.get("category") is True,
        deprecated=bool(node.get("deprecated")),
    )


def _listed_objects(listed: Any) -> list[dict[str, Any]]:
    if not isinstance(listed, list):
        return []
    return [cast("dict[str, Any]", entry) for entry in cast("list[Any]", listed) if isinstance(entry, dict)]


def _remote_finding(entry: dict[str, Any], kind: Literal["error", "warning"]) -> Finding:
    expected = entry.get("expected_type")
    path = str(entry.get("attribute_path") or "")
    code = str(entry.get(kind) or kind)
    return Finding(
        code=code,
        message=str(entry.get("message") or code),
        path=path,
        pointer=_pointer(path),
        value=entry.get("value"),
        expected=str(expected) if expected else None,
        constraint=entry.get("constraint") if code == "constraint_failed" else None,
    )


def _pointer(path: str) -> str:
    """The JSON Pointer of a path such as `skills[0].name`."""
    keys = path.replace("[", ".").replace("]", "").split(".") if path else []
    return pointer(keys)
