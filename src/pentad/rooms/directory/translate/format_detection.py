"""Detects the format of a source from its content."""

from dataclasses import dataclass
from typing import Any, Literal

from pentad.kernel.errors import InvalidInput
from pentad.rooms.directory.oasf.parsing import parse_record
from pentad.rooms.directory.translate.bundles import Bundle, bundle_record, is_bundle, read_bundle
from pentad.rooms.directory.translate.envelope import Doubt, Overrides
from pentad.rooms.directory.translate.formats import (
    IMPORTS,
    import_format,
    import_record,
    parse_json,
    parse_source,
)
from pentad.rooms.directory.translate.losses import Translated
from pentad.rooms.directory.translate.secret_redaction import check_record

Detected = Literal["mcp", "a2a", "agentskills", "ghcopilot", "claude", "oasf", "bundle"]

Content = str | bytes | dict[str, Any] | Bundle


@dataclass(frozen=True, slots=True)
class Read:
    """A source that was read: its format, and its record. An OASF record is its own translation."""

    format: str
    translated: Translated[dict[str, Any]]


def read_source(content: Content, form: str | None, given: Overrides, doubt: Doubt = "refuse") -> Read:
    """The record of a source in the given or detected format, without its secrets."""
    if isinstance(content, Bundle):
        return Read("bundle", bundle_record(content, given, doubt))
    if isinstance(content, bytes) and is_bundle(content) and form in (None, "bundle", "agentskills"):
        return Read("bundle", bundle_record(read_bundle(content), given, doubt))
    name = form.strip().lower() if form else None
    if name == "oasf" or (name is None and _looks(content) == "oasf"):
        record = _record(content)
        check_record(record, doubt)
        return Read("oasf", Translated(record, []))
    chosen = import_format(name or _looks(content))
    source = content if isinstance(content, dict) else parse_source(chosen, content)
    return Read(chosen.name, import_record(chosen, source, given, doubt))


def _record(content: str | bytes | dict[str, Any]) -> dict[str, Any]:
    return content if isinstance(content, dict) else parse_record(content)


def _looks(content: str | bytes | dict[str, Any]) -> Detected:
    if isinstance(content, dict):
        return detected(content)
    try:
        text = content.decode() if isinstance(content, bytes) else content
    except UnicodeDecodeError:
        raise InvalidInput("the source is not UTF-8 and no archive", hint="Send text, a zip or a tar.") from None
    if text.removeprefix("\ufeff").lstrip().startswith("---"):
        return "agentskills"
    return detected(parse_json(text))


def detected(source: dict[str, Any]) -> Detected:
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
    if isinstance(source.get("server"), dict) or any(isinstance(source.get(k), list) for k in ("packages", "remotes")):
        return "mcp"
    card = {"url", "capabilities", "protocolVersion", "supportedInterfaces", "defaultInputModes", "provider", "skills"}
    if isinstance(source.get("name"), str) and len(card & source.keys()) >= 2:
        return "a2a"
    raise InvalidInput(
        "the format of the source cannot be told from its content", hint=f"Name it: {', '.join(IMPORTS)} or oasf."
    )
