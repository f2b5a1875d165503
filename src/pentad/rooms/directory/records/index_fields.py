"""The indexed fields of a record, for all five schema versions. Never fails: values of the wrong shape are left out.

A class (skill, domain, module) with only an id or only a name gets the other from the taxonomy of the record's own
schema version, so one term stands for one class of one version. Terms are in lower case.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from pentad.kernel.cid import canonical_json
from pentad.kernel.json_values import as_list, as_objects
from pentad.rooms.directory.oasf.versions import Family, embedded_version
from pentad.rooms.directory.search.sort_keys import created_key, version_key
from pentad.search.searchable import SearchField, SearchFields
from pentad.search.word_table import WordTable

NO_NUMBER: Final = -1
_version_key: Final = lru_cache(maxsize=4_096)(version_key)
_HIGHEST: Final = 2**63 - 1


class Kind(IntEnum):
    """The kind of a term. The numbers are stored, so they never change their meaning."""

    NAME = 1
    VERSION = 2
    SKILL = 3
    DOMAIN = 4
    MODULE = 5
    LOCATOR = 6
    AUTHOR = 7
    ANNOTATION = 8
    SCHEMA_VERSION = 9
    LOCATOR_TYPE = 10
    ANNOTATION_KEY = 11


class Term(NamedTuple):
    """An index term. `text` is a name, a class's full name, a locator's type or an annotation's key; `number` a class
    id or -1; `detail` a locator's address, an annotation's value or a version's sort key."""

    kind: Kind
    text: str
    number: int = NO_NUMBER
    detail: str = ""


class FieldTexts(NamedTuple):
    """The text of each field of free-text search, in the order of the columns of `directory_words`."""

    name: str
    description: str
    skills: str
    domains: str
    modules: str
    authors: str
    annotations: str


FIELDS: Final[SearchFields] = {
    "name": SearchField(4.0, 3, 0.5),
    "description": SearchField(1.0, 30, 0.5),
    "skills": SearchField(2.0, 12, 0.5),
    "domains": SearchField(1.6, 8, 0.5),
    "modules": SearchField(1.2, 4, 0.5),
    "authors": SearchField(1.0, 3, 0.5),
    "annotations": SearchField(0.6, 6, 0.5),
}
"""The fields of free-text search, with their weights and usual lengths in words."""

WORDS: Final = WordTable(
    "directory_words",
    "record",
    FieldTexts._fields,
    longest=30_000,
    parts={
        "name": ("A", ("name",)),
        "classes": ("B", ("skills", "domains", "modules")),
        "description": ("C", ("description",)),
        "others": ("D", ("authors", "annotations")),
    },
)


class ClassTerm(NamedTuple):
    """A class as a record gives it, completed from its taxonomy."""

    name: str
    number: int
    caption: str


@dataclass(frozen=True, slots=True)
class IndexedFields:
    """Everything the store has of a record besides its text. The description is in lower case, only for comparison."""

    name: str
    version: str
    schema_version: str
    created_at: str
    description: str
    previous_cid: str | None
    version_key: str
    created_key: float | None
    terms: tuple[Term, ...]
    labels: tuple[str, ...]
    texts: FieldTexts


def indexed_fields(data: Mapping[str, Any]) -> IndexedFields:
    """The indexed fields of a record."""
    schema_version = _text(data, "schema_version")
    name, version = _text(data, "name"), _text(data, "version")
    created_at, description = _text(data, "created_at"), _text(data, "description")
    skills = list(classes_of(data, "skill"))
    domains = list(classes_of(data, "domain"))
    modules = list(classes_of(data, "module"))
    locators = list(locators_of(data))
    authors = [clean(author) for author in as_list(data.get("authors")) if isinstance(author, str)]
    annotations = annotations_of(data)
    key = _version_key(version)
    terms: list[Term] = [
        Term(Kind.NAME, name.lower()),
        Term(Kind.VERSION, version.lower(), detail=key),
        Term(Kind.SCHEMA_VERSION, schema_version.lower(), detail=version_key(schema_version)),
    ]
    for kind, classes in ((Kind.SKILL, skills), (Kind.DOMAIN, domains), (Kind.MODULE, modules)):
        terms += [Term(kind, found.name.lower(), found.number) for found in classes]
    terms += [Term(Kind.LOCATOR, kind.lower(), detail=url.lower()) for kind, url in locators]
    terms += [Term(Kind.LOCATOR_TYPE, kind.lower()) for kind, _ in locators]
    terms += [Term(Kind.AUTHOR, author.lower()) for author in authors]
    terms += [Term(Kind.ANNOTATION, key.lower(), detail=value.lower()) for key, value in annotations.items()]
    terms += [Term(Kind.ANNOTATION_KEY, key.lower()) for key in annotations]
    return IndexedFields(
        name=name,
        version=version,
        schema_version=schema_version,
        created_at=created_at,
        description=description.lower(),
        previous_cid=_text(data, "previous_record_cid") or None,
        version_key=key,
        created_key=created_key(created_at),
        terms=tuple(dict.fromkeys(terms)),
        labels=_labels(skills, domains, modules, locators),
        texts=FieldTexts(
            name,
            description,
            _class_text(skills),
            _class_text(domains),
            _class_text(modules),
            " ".join(authors),
            " ".join(f"{key} {value}" for key, value in annotations.items()),
        ),
    )


def labels_of(data: Mapping[str, Any]) -> tuple[str, ...]:
    """The labels a record is routed by: `/skills/...`, `/domains/...`, `/modules/...`, `/locators/<type>`."""
    families = (classes_of(data, "skill"), classes_of(data, "domain"), classes_of(data, "module"))
    return _labels(*families, locators_of(data))


def classes_of(data: Mapping[str, Any], family: Family) -> Iterator[ClassTerm]:
    """The skills, domains or modules of a record, completed from the taxonomy of its schema version."""
    version = _text(data, "schema_version")
    items = as_objects(data.get(f"{family}s"))
    if family == "module" and not items:
        items = as_objects(data.get("extensions"))
    for item in items:
        number = item.get("id", item.get("class_uid"))
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _HIGHEST:
            number = NO_NUMBER
        name = _text(item, "name") or _text(item, "class_name")
        if name or number != NO_NUMBER:
            yield _complete_class(version, family, number, name, "class_uid" in item)


def annotations_of(data: Mapping[str, Any]) -> dict[str, str]:
    """A record's own annotations. Values that are not text are written as JSON."""
    found = data.get("annotations")
    if not isinstance(found, dict):
        return {}
    return {
        clean(key): clean(value if isinstance(value, str) else canonical_json(value).decode())
        for key, value in cast("dict[str, Any]", found).items()
    }


def clean(text: str) -> str:
    """The text without NUL, which PostgreSQL cannot store."""
    return text.replace("\0", "\ufffd") if "\0" in text else text


@lru_cache(maxsize=16_384)
def _complete_class(version: str, family: Family, number: int, name: str, by_number: bool) -> ClassTerm:
    """Complete a class from its name, or from its id if it has none. Only 0.3.1 goes by id even if there is a name."""
    from pentad.rooms.directory.oasf.taxonomy import taxonomy  # loads tables, so not before the first record

    serves = embedded_version(version)
    if serves is None:
        return ClassTerm(name, number, "")
    table = taxonomy(serves.version, family)
    entry = None
    if name and not by_number:
        entry = table.by_name(name)
    elif number != NO_NUMBER:
        entry = table.by_id(number)
    if entry is None or (name and entry.grouping):  # a module may have a name that now only groups modules
        return ClassTerm(name, number, "")
    return ClassTerm(entry.name, number if number != NO_NUMBER else entry.id, entry.caption)


def locators_of(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Type and address of every locator; the address may be empty."""
    for item in as_objects(data.get("locators")):
        kind = _text(item, "type")
        urls = [clean(url) for url in as_list(item.get("urls")) if isinstance(url, str)]
        if url := _text(item, "url"):
            urls.append(url)
        if kind or urls:
            yield from ((kind, url) for url in urls or [""])


def _labels(
    skills: Iterable[ClassTerm], domains: Iterable[ClassTerm], modules: Iterable[ClassTerm],
    locators: Iterable[tuple[str, str]],
) -> tuple[str, ...]:  # fmt: skip
    found = [f"/skills/{entry.name}" for entry in skills if entry.name]
    found += [f"/domains/{entry.name}" for entry in domains if entry.name]
    found += [f"/modules/{entry.name}" for entry in modules if entry.name]
    found += [f"/locators/{kind}" for kind, _ in locators if kind]
    return tuple(dict.fromkeys(found))


def _class_text(classes: Iterable[ClassTerm]) -> str:
    """The words of classes: captions, and full names, which include the names of their parents."""
    return " ".join(part for entry in classes for part in (entry.caption, entry.name) if part)


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return clean(value) if isinstance(value, str) else ""
