"""Brings a draft into the shape of its OASF version: handles texts, single values and other names that models write.

Only the form changes. Missing content is never invented; the validator asks for it afterwards. Each change is a
finding, and one JSON Patch leads from the draft to the result.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, cast

import msgspec

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_pointer import pointer
from pentad.kernel.problems import Finding, Patch, fold
from pentad.rooms.directory.oasf.class_items import ClassItems
from pentad.rooms.directory.oasf.lenient_json import parse_leniently
from pentad.rooms.directory.oasf.locator_items import LOCATOR_KEYS, LocatorItems
from pentad.rooms.directory.oasf.objects import objects
from pentad.rooms.directory.oasf.parsing import parse_json
from pentad.rooms.directory.oasf.taxonomy import taxonomy
from pentad.rooms.directory.oasf.versions import EMBEDDED, NEWEST, embedded_version

_ALIASES: Final = {
    "agentname": "name",
    "displayname": "name",
    "title": "name",
    "desc": "description",
    "summary": "description",
    "about": "description",
    "agentdescription": "description",
    "agentversion": "version",
    "author": "authors",
    "creator": "authors",
    "creators": "authors",
    "createdby": "authors",
    "maintainer": "authors",
    "maintainers": "authors",
    "created": "created_at",
    "createdon": "created_at",
    "createddate": "created_at",
    "creationdate": "created_at",
    "date": "created_at",
    "timestamp": "created_at",
    "skill": "skills",
    "capabilities": "skills",
    "domain": "domains",
    "locator": "locators",
    "module": "modules",
}
"""Other names of a record's attributes, folded."""

MAPPED: Final = "class_mapped"
"""The code of findings about free words that were read as a class."""

_VERSION_KEYS: Final = ("schemaversion", "oasfversion", "oasfschemaversion", "schema", "oasf")
_NUMBERS: Final = re.compile(r"(\d{1,4})(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?")
_COMPANY: Final = re.compile(r"\s*(inc|llc|ltd|gmbh|co|corp|ag|sa|bv|plc|jr|sr)\.?\s*", re.IGNORECASE)
_DATES: Final = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%d %b %Y")
_LATEST_SECONDS: Final = 4_102_444_800
"""Timestamps above this are in milliseconds."""
_ENOUGH_NAMES: Final = 2
"""An inner object with this many attributes of a record is taken as the record if the outer one has fewer."""
_PARTS: Final = frozenset({"metadata", "meta", "info", "agent", "record"})
"""Objects that models put some attributes of the record into."""
_MOST_NESTED: Final = 3
_MOST_LOOKED_AT: Final = 100


class RecordDraft(NamedTuple):
    """A draft in the shape of a record, the patch from the JSON that was read, and the changes as findings."""

    data: dict[str, Any]
    patch: Patch
    findings: list[Finding]


def read_draft(text: str) -> RecordDraft:
    """The record in a text. InvalidInput if the text is not a JSON object."""
    value, findings = parse_leniently(text, parse_json)
    return coerce(value, findings)


def coerce(value: Any, findings: Iterable[Finding] = ()) -> RecordDraft:
    """A JSON value in the shape of a record."""
    found = list(findings)
    inner, patch = _unwrapped(value)
    if patch:
        found.append(_changed("record_nested", "The record is nested in another value.", ""))
    if not isinstance(inner, dict):
        raise InvalidInput("the record is not a JSON object", hint="Send one object with a schema_version.")
    record = cast("dict[str, Any]", inner)
    data = _Coercion(dict(record), found).run()
    return RecordDraft(data, [*patch, *_difference(record, data)], found)


def _unwrapped(value: Any) -> tuple[Any, Patch]:
    """The record inside values such as `{"agent": {...}}`, `[{...}]` or `{"arguments": {"record_json": "{...}"}}`, and
    the patch that makes it the whole document."""
    level = [] if _record_names(value) >= _ENOUGH_NAMES else [value]
    for _ in range(_MOST_NESTED):
        level = [inner for outer in level for inner in _inside(outer)][:_MOST_LOOKED_AT]
        for inner in level:
            if _record_names(inner) >= _ENOUGH_NAMES:
                return inner, [{"op": "replace", "path": "", "value": inner}]
    return value, []


def _inside(outer: Any) -> list[Any]:
    """The values in which a record may be nested. An attribute of records holds none."""
    if isinstance(outer, list):
        items = cast("list[Any]", outer)
        return items if len(items) == 1 else []
    if not isinstance(outer, dict):
        return []
    known = objects(NEWEST).root.attributes
    values = [value for key, value in cast("dict[str, Any]", outer).items() if key not in known]
    return [_parsed(value) if isinstance(value, str) else value for value in values]


def _parsed(text: str) -> Any:
    """The JSON object in a text, if there is one."""
    try:
        return parse_json(text) if text.lstrip().startswith("{") else None
    except InvalidInput:
        return None


def _record_names(value: Any) -> int:
    """How many attributes of a record a value has."""
    if not isinstance(value, dict):
        return 0
    known = {fold(name) for name in objects(NEWEST).root.attributes}
    keys = {fold(key[:100]) for key in cast("dict[str, Any]", value)}
    return len({name for name in keys if name in known or name in _ALIASES})


class _Coercion:
    """Coerces one record, step by step."""

    def __init__(self, data: dict[str, Any], findings: list[Finding]) -> None:
        self._data = data
        self._findings = findings

    def run(self) -> dict[str, Any]:
        version = self._version()
        served = embedded_version(version)
        if served is None:
            return self._data
        self._names(served.version)
        self._lift_parts(served.version)
        self._nothing()
        self._texts()
        self._authors()
        self._date()
        locators = LocatorItems(served.version)
        self._put("locators", locators.coerced(self._data.get("locators"), self._loose_locators(served.version)))
        for family in ("skill", "domain"):
            if f"{family}s" in objects(served.version).root.attributes:
                items = ClassItems(served.version, family)
                self._put(f"{family}s", items.coerced(self._data.get(f"{family}s")), items.notes)
        self._modules()
        return self._data

    def _version(self) -> str:
        """The OASF version, as three numbers."""
        key = next((key for name in _VERSION_KEYS for key in self._data if fold(key[:100]) == name), None)
        given = self._data.get(key) if key is not None else None
        if isinstance(given, str) and key == "schema_version" and embedded_version(given) is not None:
            return given
        version = _version_meant(given) if given is not None else None
        if version is None and given is None:
            version = _likely_version(self._data)
            self._note(
                "version_missing", f'There is no "schema_version"; the record was read as {version}.', "schema_version"
            )
        elif version is None:
            return str(given)
        else:
            self._note("version_spelling", f'"{str(given)[:60]}" was read as {version}.', "schema_version")
        if key is not None:
            del self._data[key]
        self._data["schema_version"] = version
        return version

    def _names(self, version: str) -> None:
        """Attributes under another name or spelling."""
        known = {fold(name): name for name in objects(version).root.attributes}
        for key in list(self._data):
            name = _attribute(known, key)
            if name is None or key == name or self._data.get(name) not in (None, "", [], {}):
                continue
            self._data[name] = self._data.pop(key)
            self._note("attribute_renamed", f'"{key[:60]}" is called "{name}".', name)

    def _lift_parts(self, version: str) -> None:
        """Attributes of the record inside an object such as `{"metadata": {"name": ...}}`."""
        known = {fold(name): name for name in objects(version).root.attributes}
        for key in [key for key in self._data if fold(key[:100]) in _PARTS]:
            part = self._data[key]
            if not isinstance(part, dict):
                continue
            inner = {_attribute(known, name): value for name, value in cast("dict[str, Any]", part).items()}
            if None in inner or len(inner) < len(cast("dict[str, Any]", part)) or inner.keys() & self._data.keys():
                continue
            del self._data[key]
            self._data |= cast("dict[str, Any]", inner)
            self._note("attribute_nested", f'The attributes in "{key[:60]}" belong to the record itself.', "")

    def _nothing(self) -> None:
        """Attributes without a value."""
        for key in [key for key, value in self._data.items() if value is None]:
            del self._data[key]
            self._note("attribute_null", f'"{key[:60]}" has no value.', key)

    def _texts(self) -> None:
        """Texts that were written as a number or as a list, and annotations with other values than texts."""
        version = self._data.get("version")
        if isinstance(version, float) or (isinstance(version, int) and not isinstance(version, bool)):
            self._put("version", str(version))
        described = self._data.get("description")
        if (
            isinstance(described, list)
            and described
            and all(isinstance(one, str) for one in cast("list[Any]", described))
        ):
            self._put("description", " ".join(cast("list[str]", described)))
        notes = self._data.get("annotations")
        if isinstance(notes, dict):
            self._put("annotations", {key: _text(one) for key, one in cast("dict[str, Any]", notes).items()})

    def _authors(self) -> None:
        given = self._data.get("authors")
        if isinstance(given, str):
            self._put("authors", _split_authors(given))
        elif isinstance(given, dict):
            self._put("authors", [_author(cast("Any", given))])
        elif isinstance(given, list):
            self._put("authors", [_author(one) for one in cast("list[Any]", given) if one not in (None, "")])

    def _date(self) -> None:
        given = self._data.get("created_at")
        if isinstance(given, int | float) and not isinstance(given, bool):
            self._put("created_at", _moment(given) or given)
        elif isinstance(given, str) and (day := _day(given)):
            self._put("created_at", day)

    def _loose_locators(self, version: str) -> Iterator[tuple[str, Any]]:
        """Addresses at the top level of the record, such as `repository`. They are removed from there."""
        if "locators" not in objects(version).root.attributes:
            return
        for key in list(self._data):
            kind = LOCATOR_KEYS.get(fold(key[:100]))
            if kind is not None and key != "locators":
                yield kind, self._data.pop(key)

    def _modules(self) -> None:
        given = self._data.get("modules")
        if isinstance(given, dict):
            modules = cast("dict[str, Any]", given)
            if all(isinstance(data, dict) for data in modules.values()):
                self._put("modules", [{"name": name, "data": data} for name, data in modules.items()])
        elif isinstance(given, list):
            items = cast("list[Any]", given)
            self._put("modules", [{"name": one, "data": {}} if isinstance(one, str) else one for one in items])

    def _put(self, name: str, value: Any, notes: Iterable[str] = ()) -> None:
        if value is None or value == self._data.get(name):
            return
        self._data[name] = value
        for note in notes:
            self._note(MAPPED, note, name)
        self._note("attribute_shape", f'"{name}" was put into the form of its OASF version.', name)

    def _note(self, code: str, message: str, path: str) -> None:
        self._findings.append(_changed(code, message, path))


def _attribute(known: Mapping[str, str], key: str) -> str | None:
    """The attribute that a key means; None if there is none. `known` has the attributes by their folded names."""
    folded = fold(key[:100])
    return known.get(folded) or known.get(fold(_ALIASES.get(folded, "")))


def _changed(code: str, message: str, path: str) -> Finding:
    return Finding(code, message, path, f"/{path}" if path else "", certain=True)


def _version_meant(given: Any) -> str | None:
    """The version that a text or number such as `v1.0` means; None if it is unknown."""
    match = _NUMBERS.search(str(given)[:200])
    if match is None:
        return None
    major, minor, patch = match.groups()
    if patch is not None:
        whole = f"{int(major)}.{int(minor)}.{int(patch)}"
        return whole if embedded_version(whole) is not None else None
    line = f"{int(major)}.{int(minor or 0)}."
    return next((known for known in EMBEDDED if known.startswith(line)), None)


def _likely_version(data: Mapping[str, Any]) -> str:
    """The version whose classes a draft names most often; the newest if there is a tie."""
    named = re.findall(r"[a-z][a-z_]+(?:/[a-z_]+)+", str([data.get("skills"), data.get("domains")])[:20_000])

    def known(version: str) -> int:
        tables = taxonomy(version, "skill"), taxonomy(version, "domain")
        return sum(any(classes.by_name(name) for classes in tables) for name in named)

    return max(EMBEDDED[1:], key=lambda version: (known(version), EMBEDDED.index(version)))


def _split_authors(text: str) -> list[str]:
    """The names in a text. "Acme, Inc." is one."""
    names: list[str] = []
    for part in re.split(r"[;,\n]", text[:20_000]):
        if names and _COMPANY.fullmatch(part):
            names[-1] += f", {part.strip()}"
        elif part.strip():
            names.append(part.strip())
    return names


def _author(given: Any) -> Any:
    """An author as one text: `Ada Park <ada@example.org>`."""
    if not isinstance(given, dict):
        return given
    fields = cast("dict[str, Any]", given)
    texts = {key.casefold(): value for key, value in fields.items() if isinstance(value, str) and value}
    name = next((texts[key] for key in ("name", "fullname", "organization", "organisation") if key in texts), "")
    address = texts.get("email") or texts.get("mail") or texts.get("url")
    if name and address:
        return f"{name} <{address}>"
    return name or address or fields


def _text(value: Any) -> str:
    """A value as text: JSON unless it is text already."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _moment(seconds: float) -> str | None:
    try:
        moment = datetime.fromtimestamp(seconds / 1000 if seconds > _LATEST_SECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def _day(text: str) -> str | None:
    """The start of a day that was written without a time."""
    text = re.sub(r"(?<=\d)(st|nd|rd|th)\b", "", text[:50])
    for form in _DATES if len(text) <= 40 else ():
        try:
            day = datetime.strptime(text.strip(), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return day.strftime("%Y-%m-%dT00:00:00Z")
    return None


def _difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Patch:
    """The patch from one record to another, attribute by attribute."""
    patch: Patch = [{"op": "remove", "path": pointer([key])} for key in before if key not in after]
    for key, value in after.items():
        if key not in before:
            patch.append({"op": "add", "path": pointer([key]), "value": value})
        elif before[key] != value or before[key].__class__ is not value.__class__:
            patch.append({"op": "replace", "path": pointer([key]), "value": value})
    return patch
