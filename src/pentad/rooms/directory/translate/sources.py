"""Finds sources to import below a folder, and reads them in a given or detected format.

Sources are skills, server.json, agent cards, mcp.json, records and bundles. Discovery reads local files, so only the
owner of the machine may use it. Links are not followed. The content of a JSON file, not only its name, decides its
format.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from pentad.kernel.errors import InvalidInput, LimitExceeded, PentadError
from pentad.kernel.json_values import as_list, as_object, text_or_none
from pentad.kernel.secrets.text import scrub_text
from pentad.rooms.directory.oasf.parsing import parse_record
from pentad.rooms.directory.translate.agent_skills import SKILL_FILE
from pentad.rooms.directory.translate.bundles import (
    MOST_FILES,
    MOST_PACKED,
    MOST_UNPACKED,
    Bundle,
    Member,
    bundle_record,
    is_bundle,
    read_bundle,
)
from pentad.rooms.directory.translate.envelope import Doubt, Overrides
from pentad.rooms.directory.translate.formats import (
    IMPORTS,
    MOST_SOURCE,
    import_format,
    import_record,
    parse_json,
    parse_source,
)
from pentad.rooms.directory.translate.host_configs import split_config
from pentad.rooms.directory.translate.losses import Translated
from pentad.rooms.directory.translate.secret_redaction import check_record
from pentad.rooms.directory.translate.server_json_import import OFFICIAL, server_text

Detected = Literal["mcp", "a2a", "agentskills", "ghcopilot", "claude", "oasf", "bundle", "registry"]

Content = str | bytes | dict[str, Any] | Bundle


@dataclass(frozen=True, slots=True)
class Read:
    """A source that was read: its format and its record. An OASF record is its own translation."""

    format: str
    translated: Translated[dict[str, Any]]


def read_source(content: Content, form: str | None, given: Overrides, doubt: Doubt = "refuse") -> Read:
    """The record of a source in the given or detected format, without its secrets."""
    if isinstance(content, Bundle):
        return Read("bundle", bundle_record(content, given, doubt))
    if isinstance(content, bytes) and is_bundle(content) and form in (None, "bundle", "agentskills"):
        return Read("bundle", bundle_record(read_bundle(content), given, doubt))
    name = form.strip().lower() if form else None
    if name == "oasf" or (name is None and _detect_format(content) == "oasf"):
        record = _parsed_record(content)
        check_record(record, doubt)
        return Read("oasf", Translated(record, []))
    detected = name or _detect_format(content)
    if detected == "registry":
        raise InvalidInput("the source is a list of servers", hint="Import it as a file, or one server at a time.")
    chosen = import_format(detected)
    source = content if isinstance(content, dict) else parse_source(chosen, content)
    if chosen.name == "mcp" and not isinstance(content, dict):
        given = replace(given, source=server_text(content))
    return Read(chosen.name, import_record(chosen, source, given, doubt))


def _parsed_record(content: str | bytes | dict[str, Any]) -> dict[str, Any]:
    return content if isinstance(content, dict) else parse_record(content)


def _detect_format(content: str | bytes | dict[str, Any]) -> Detected:
    if isinstance(content, dict):
        return detect_format(content)
    try:
        text = content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError:
        raise InvalidInput("the source is not UTF-8 and no archive", hint="Send text, a zip or a tar.") from None
    if text.removeprefix("\ufeff").lstrip().startswith("---"):
        return "agentskills"
    return detect_format(parse_json(text))


def detect_format(source: dict[str, Any]) -> Detected:
    """The format of a JSON source, by its keys; InvalidInput if none fits."""
    if isinstance(source.get("schema_version"), str):
        return "oasf"
    if "skillMarkdown" in source:
        return "agentskills"
    if "a2aCard" in source:
        return "a2a"
    if isinstance(source.get("mcpServers"), dict):
        return "claude"
    if isinstance(source.get("servers"), dict) or isinstance(source.get("mcp"), dict):
        return "ghcopilot"
    if isinstance(source.get("servers"), list):
        return "registry"
    if isinstance(source.get("server"), dict) or any(isinstance(source.get(k), list) for k in ("packages", "remotes")):
        return "mcp"
    card = {"url", "capabilities", "protocolVersion", "supportedInterfaces", "defaultInputModes", "provider", "skills"}
    if isinstance(source.get("name"), str) and len(card & source.keys()) >= 2:
        return "a2a"
    raise InvalidInput(
        "the format of the source cannot be detected from its content", hint=f"Name it: {', '.join(IMPORTS)} or oasf."
    )


_SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})
_PACKED: Final = (".zip", ".skill", ".tar", ".tgz", ".tar.gz")


@dataclass(frozen=True, slots=True)
class Source:
    """One source to import, with a label for people. A source that could not be read has an error instead."""

    label: str
    content: Content = b""
    error: PentadError | None = None
    format: str | None = None
    date: float | None = None
    """When the file was last changed, in seconds since 1970."""


_SINGLE: Final = ("oasf", "a2a", "agentskills", "bundle")
"""Formats with a single item."""


def source_parts(source: Source) -> list[Source]:
    """Split a source with several items, such as a registry's list or a host's configuration, into one source each."""
    if source.error is not None or not isinstance(source.content, str | bytes) or source.format in _SINGLE:
        return [source]
    try:
        text = source.content if isinstance(source.content, str) else source.content.decode()
        data = parse_json(text)
        kind = detect_format(data)
    except (PentadError, UnicodeDecodeError):
        return [source]
    if kind == "registry":
        return list(_registry_entries(source, data, text))
    if kind in ("claude", "ghcopilot") and len(configurations := split_config(data)) > 1:
        return [
            replace(source, label=f"{source.label}#{scrub_text(name)}", content=one, format="ghcopilot")
            for name, one in configurations.items()
        ]
    return [source]


def _registry_entries(source: Source, data: dict[str, Any], text: str) -> Iterator[Source]:
    """The servers of a registry's list, each with its original text."""
    try:
        written = msgspec.json.decode(text.removeprefix("\ufeff"), type=_ServerList).servers
    except msgspec.DecodeError:
        written = []
    for index, entry in enumerate(as_list(data["servers"])):
        if isinstance(entry, dict):
            content = bytes(written[index]) if index < len(written) else None
            yield _registry_entry(source, index, cast("dict[str, Any]", entry), content)


class _ServerList(msgspec.Struct):
    servers: list[msgspec.Raw]


def _registry_entry(source: Source, index: int, entry: dict[str, Any], written: bytes | None) -> Source:
    """One server of a registry's list. Before September 2025 its entries were the servers themselves."""
    wrapped = entry if isinstance(entry.get("server"), dict) else {"server": entry}
    server = as_object(wrapped["server"])
    name = " ".join(text for key in ("name", "version") if (text := text_or_none(server.get(key))))
    official = as_object(as_object(wrapped.get("_meta")).get(OFFICIAL))
    deleted = InvalidInput("the registry has deleted this version", hint="It was not imported.")
    error = deleted if official.get("status") == "deleted" else None
    label = f"{source.label}#{scrub_text(name) or index}"
    return replace(source, label=label, content=written or wrapped, format="mcp", error=error)


def discover_sources(paths: Iterable[Path]) -> Iterator[Source]:
    """The sources in files and folders, in a stable order. A file that is named explicitly must be a source."""
    for path in paths:
        if path.is_dir():
            yield from _folder(path, path.name or ".")
        else:
            yield from _file(path, path.name, named=True)


def _folder(folder: Path, label: str) -> Iterator[Source]:
    if (folder / SKILL_FILE).is_file():
        inner = f"{label}/{SKILL_FILE}"
        yield _read_safely(lambda: Source(inner, _skill(folder), date=(folder / SKILL_FILE).stat().st_mtime), inner)
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Source(label, error=InvalidInput(f"the folder cannot be read: {error.strerror}"))
        return
    for entry in entries:
        inner = f"{label}/{entry.name}"
        if entry.is_symlink():
            continue
        if entry.is_dir():
            if entry.name not in _SKIPPED:
                yield from _folder(Path(entry.path), inner)
        elif entry.name.endswith((".json", *_PACKED)):
            yield from _file(Path(entry.path), inner, named=False)


def _file(path: Path, label: str, *, named: bool) -> Iterator[Source]:
    source = _read_safely(lambda: Source(label, _read(path), date=path.stat().st_mtime), label)
    if source.error is not None or not path.name.endswith(".json") or not isinstance(source.content, bytes):
        yield source
        return
    try:
        detect_format(parse_json(source.content.decode()))
    except (PentadError, UnicodeDecodeError):
        if not named and path.name not in ("server.json", "mcp.json", ".mcp.json", "agent-card.json", "agent.json"):
            return  # some unrelated JSON file
    yield source


def _read(path: Path) -> bytes:
    most = MOST_PACKED if path.name.endswith(_PACKED) else MOST_SOURCE
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise LimitExceeded(f"the file has more than {most} bytes", hint="Leave something out.")
    return content


def _read_safely(read: Callable[[], Source], label: str) -> Source:
    try:
        return read()
    except PentadError as error:
        return Source(label, error=error)
    except OSError as error:
        return Source(label, error=InvalidInput(f"the file cannot be read: {error.strerror}", hint="Check its rights."))


def _skill(folder: Path) -> Bundle:
    """A skill's folder as a bundle."""
    members: list[Member] = []
    total = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        for name in sorted(files):
            path = Path(place) / name
            if path.is_symlink() or not path.is_file():
                continue
            total += path.stat().st_size
            if len(members) >= MOST_FILES or total > MOST_UNPACKED:
                raise LimitExceeded(
                    f"the skill's folder has more than {MOST_FILES} files or {MOST_UNPACKED} bytes", hint="Tidy it up."
                )
            members.append(Member(path.relative_to(folder).as_posix(), path.read_bytes()))
    members.sort(key=lambda member: member.path)
    markdown = next(member.content for member in members if member.path == SKILL_FILE)
    try:
        text = markdown.decode()
    except UnicodeDecodeError:
        raise InvalidInput("the SKILL.md is not UTF-8", hint="Save it as UTF-8.") from None
    return Bundle(text, tuple(member for member in members if member.path != SKILL_FILE))
