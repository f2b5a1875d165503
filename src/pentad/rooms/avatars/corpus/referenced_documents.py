"""Documents behind references: resources of any room, such as objects of a register, and pages of the web.

Resources are read with the rights of a caller, the web through the guarded fetcher.

A document keeps the reference and the hash of what was read (`url`, `snapshot`), so its passages can be traced back.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

from pentad.documents.document import FORMATS
from pentad.documents.normalization import normal
from pentad.kernel.errors import PentadError
from pentad.mcp.references import WEB, Resolved, scheme_of, split_snapshot
from pentad.rooms.avatars.corpus.ingest_plan import FoundFile
from pentad.rooms.avatars.corpus.ingest_report import FileLine
from pentad.rooms.avatars.corpus.sources import Source, slug

Resolve = Callable[[str], Awaitable[Resolved]]


@dataclass(frozen=True, slots=True)
class ReferenceReader:
    """Follows references for one caller."""

    resolve: Resolve
    schemes: Sequence[str]

    def followed(self, details: Mapping[str, Any]) -> str | None:
        """The reference in the description of a source, if it can be followed.

        Most sources name a web address for their readers only; `"fetch": true` says that the document is there.
        """
        url = details.get("url")
        if not isinstance(url, str) or (is_web(url) and details.get("fetch") is not True):
            return None
        return url if scheme_of(url) in self.schemes else None


def is_web(url: object) -> bool:
    """Whether this is a web address."""
    return isinstance(url, str) and scheme_of(url) in WEB


FOLDER: Final = "references"
"""Where such documents are in a corpus."""
_SUFFIXES: Final[Mapping[str, str]] = {
    "application/json": ".md",
    "text/markdown": ".md",
    "text/plain": ".txt",
    "text/html": ".html",
    "application/pdf": ".pdf",
    "application/epub+zip": ".epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
_LONGEST_NAME: Final = 120
_DEEPEST: Final = 6


@dataclass(slots=True)
class ReferencedDocuments:
    """The documents, a report line for each one that could not be read, and their sources by name."""

    found: list[FoundFile | FileLine] = field(default_factory=list[FoundFile | FileLine])
    sources: dict[str, Source] = field(default_factory=dict[str, Source])


@asynccontextmanager
async def read_references(
    resolve: Resolve | None, wanted: Sequence[tuple[str, Source | None]]
) -> AsyncGenerator[ReferencedDocuments]:
    """The documents behind references, in a temporary folder. Each reference may come with its description."""
    made = ReferencedDocuments()
    if not wanted or resolve is None:
        yield made
        return
    with tempfile.TemporaryDirectory(prefix="pentad-references-") as folder:
        for uri, source in wanted:
            await _add(made, Path(folder), resolve, uri, source)
        yield made


async def _add(made: ReferencedDocuments, folder: Path, resolve: Resolve, uri: str, source: Source | None) -> None:
    stem = slug(split_snapshot(uri)[0])[-_LONGEST_NAME:].strip("-") or "reference"
    try:
        resolved = await resolve(uri)
    except PentadError as error:
        made.found.append(FileLine(f"{FOLDER}/{stem}", "failed", reason="unreadable", note=error.sentence()))
        return
    suffix = _SUFFIXES.get((resolved.media_type or "text/plain").partition(";")[0].strip().lower())
    if suffix is None:
        note = f"{resolved.media_type} is no document that can be read."
        made.found.append(FileLine(f"{FOLDER}/{stem}", "failed", reason="unsupported", note=note))
        return
    name = PurePosixPath(FOLDER, stem + suffix)
    value = resolved.content() if suffix == ".md" else None
    body = resolved.body if value is None or isinstance(value, str) else "\n\n".join(_lines(value)).encode()
    path = folder / name.name
    await asyncio.to_thread(path.write_bytes, body)
    details: dict[str, Any] = {"url": uri, "snapshot": f"sha256:{resolved.sha256}"}
    known = source or Source(stem, normal(_title(value)) or uri)
    made.sources[str(name)] = replace(known, details={**known.details, **details})
    made.found.append(FoundFile(path, name, FORMATS[suffix]))


def _title(value: Any) -> str:
    """The title of an object, if it has one."""
    if isinstance(value, dict):
        for name in ("title", "name"):
            if isinstance(text := cast("dict[str, Any]", value).get(name), str):
                return text.strip()
    return ""


def _lines(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """JSON as paragraphs that can be quoted: a line for each value, with its path. Metadata is left out."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, one in cast("dict[str, Any]", value).items():
            if not name.startswith(("@", "_")):
                yield from _lines(one, f"{path} {name}".strip(), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for one in cast("list[Any]", value):
            yield from _lines(one, path, depth + 1)
    elif value is not None and value != "":
        text = str(value)  # pyright: ignore[reportUnknownArgumentType]  foreign JSON
        yield f"{path}: {text}" if path else text


def names_of_failures(lines: Iterable[FoundFile | FileLine]) -> set[str]:
    """The names, without suffix, of references that could not be read: their former versions stay."""
    return {line.path for line in lines if isinstance(line, FileLine) and line.path.startswith(f"{FOLDER}/")}
