"""Reads `corpus/sources.json` and matches files to its sources.

A source says who wrote it and when, because an avatar speaks as its person only with what that person wrote in their
own time. A file without a description is a source named after the file.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

from pydantic import BaseModel, ConfigDict, StrictBool, StrictInt, StrictStr, ValidationError

from pentad.documents.normalization import normal
from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.config import AvatarConfig, json_file, path_of, source_problems
from pentad.rooms.avatars.models import Role

SOURCES_FILE: Final = "sources.json"
_FILE_KEYS: Final = ("file", "path", "filename")
_NOT_SLUG: Final = re.compile(r"[^a-z0-9]+")
_WORDS: Final = re.compile(r"[^\W\d_]+")


class SourceEntry(BaseModel):
    """One entry of sources.json. Unknown keys are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    title: StrictStr
    id: StrictStr | None = None
    authors: list[StrictStr] = []
    year: StrictInt | None = None
    type: StrictStr | None = None
    role: Role | None = None
    url: StrictStr | None = None
    archive_url: StrictStr | None = None
    doi: StrictStr | None = None
    license: StrictStr | None = None
    verified: StrictBool = False
    priority: StrictStr | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a document. `details` is its entry as written."""

    id: str
    title: str
    type: str | None = None
    year: int | None = None
    role: Role = "by"
    details: dict[str, Any] = field(default_factory=dict[str, Any])


class SourceBook:
    """The sources of one avatar: those of sources.json first, then those of its configuration."""

    def __init__(self, config: AvatarConfig, data: Any = None) -> None:
        self.data = data
        self.warnings: list[str] = []
        self._entries: list[tuple[Source, dict[str, Any]]] = []
        self.referenced: Mapping[str, Source] = {}
        """The sources of documents behind references, by the names of the documents."""
        for place, raw in enumerate(_listed(data)):
            if (entry := self._entry(raw, f"sources[{place}]")) is not None:
                self._entries.append((_source(entry, raw, config), raw))
        self._described = [source for source, _ in self._entries]
        for listed in config.corpus.sources:
            raw = listed.model_dump(by_alias=True, exclude_unset=True)
            archive = {"archive_url": listed.archive_url} if listed.archive_url else {}
            if (entry := self._entry({**raw, **archive}, f"corpus.sources ({listed.title[:40]})")) is not None:
                self._entries.append((_source(entry, {**raw, **archive}, config), raw))

    def missing(self, there: Collection[str]) -> list[Source]:
        """The sources of sources.json without a document."""
        return [source for source in self._described if source.id not in there]

    def of_file(self, path: PurePosixPath) -> Source:
        """The source of a file: the one that names it, or has its name as id or title, or else a new one."""
        if (known := self.referenced.get(str(path))) is not None:
            return known
        for source, raw in self._entries:
            if any(raw.get(key) in (str(path), path.name) for key in _FILE_KEYS):
                return source
        name = slug(path.stem)
        for source, _ in self._entries:
            if name and name in (slug(source.id), slug(source.title)):
                return source
        return Source(name or "document", normal(path.stem).strip() or path.name)

    def _entry(self, raw: Any, where: str) -> SourceEntry | None:
        """Parse one entry; None, with a warning, if it is invalid."""
        try:
            entry = SourceEntry.model_validate(raw)
        except ValidationError as error:
            problem = error.errors()[0]
            self.warnings.append(f"{where} is left out: {path_of(problem['loc']) or 'it'}: {problem['msg']}")
            return None
        self.warnings.extend(f"{where}.{problem}" for problem in source_problems(entry.type, entry.url))
        return entry


def read_sources(corpus: Path, config: AvatarConfig) -> SourceBook:
    """The sources of a corpus; the file may be missing."""
    path = corpus / SOURCES_FILE
    return SourceBook(config, json_file(path, "It describes the documents.") if path.is_file() else None)


def slug(text: str) -> str:
    """The text as an id: lower-case letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_SLUG.sub("-", plain.lower()).strip("-")


def _listed(data: Any) -> Sequence[Any]:
    if data is None:
        return ()
    found = cast("dict[str, Any]", data).get("sources", []) if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise InvalidInput(f"{SOURCES_FILE} has no list of sources.", hint='Write {"sources": [{"title": ...}]}.')
    return cast("list[Any]", found)


def _source(entry: SourceEntry, raw: dict[str, Any], config: AvatarConfig) -> Source:
    title = normal(entry.title).strip() or "Untitled"
    return Source(slug(entry.id or title) or "document", title, entry.type, entry.year, _role(entry, config), dict(raw))


def _role(entry: SourceEntry, config: AvatarConfig) -> Role:
    """By the person or about them: as declared, else by its authors, else by its year."""
    if entry.role is not None:
        return entry.role
    if entry.authors:
        return "by" if any(_same_person(author, config.name) for author in entry.authors) else "about"
    if entry.year is not None and config.death_year is not None and entry.year > config.death_year:
        return "about"
    return "by"


def _same_person(author: str, name: str) -> bool:
    """Whether `Ostrom, E.` is Elinor Ostrom: same family name, and no conflicting given name."""
    wanted = [word.casefold() for word in _WORDS.findall(name)]
    given = [word.casefold() for word in _WORDS.findall(author)]
    if not wanted or wanted[-1] not in given:
        return False
    given.remove(wanted[-1])
    return not given or len(wanted) == 1 or any(word[0] == wanted[0][0] for word in given)
