"""The table of formats, and the import and export functions that use it.

Translators are imported on first use.
"""

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.default_limits import MIB
from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json import check_bounds
from pentad.kernel.names import did_you_mean
from pentad.rooms.directory.translate.envelope import NO_OVERRIDES, Doubt, Overrides
from pentad.rooms.directory.translate.losses import Translated

MOST_SOURCE: Final = 4 * MIB
_DEPTH: Final = 60
_KEYS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its name. `reads` and `writes` are `module:function` of this package."""

    name: str
    label: str
    """The name in error texts."""
    aliases: tuple[str, ...] = ()
    reads: str | None = None
    writes: str | None = None


FORMATS: Final = (
    Format(
        "mcp", "MCP", ("server.json", "server-json"), "server_json_import:to_record", "server_json_export:from_record"
    ),
    Format("a2a", "A2A", ("agent-card", "a2a-card"), "a2a_cards:to_record", "a2a_cards:from_record"),
    Format(
        "ghcopilot",
        "GitHub Copilot",
        ("copilot", "github-copilot"),
        "host_configs:to_record",
        "host_configs:to_copilot",
    ),
    Format(
        "agentskills",
        "Agent Skills",
        ("agent-skill", "agent-skills", "skill.md"),
        "agent_skills:to_record",
        "agent_skills:from_record",
    ),
    Format("claude", "Claude", ("claude-code", "claude-desktop"), "host_configs:to_record", "host_configs:to_claude"),
    Format("cursor", "Cursor", (), "host_configs:to_record", "host_configs:to_cursor"),
    Format("vscode", "VS Code", ("vs-code",), "host_configs:to_record", "host_configs:to_vscode"),
)
_IMPORT_ORDER: Final = ("mcp", "a2a", "agentskills", "ghcopilot", "claude", "cursor", "vscode")
_EXPORT_ORDER: Final = ("a2a", "ghcopilot", "agentskills", "mcp", "claude", "cursor", "vscode")
_BY_NAME: Final = {form.name: form for form in FORMATS}
_BY_ANY_NAME: Final = _BY_NAME | {alias: form for form in FORMATS for alias in form.aliases}

IMPORTS: Final[Mapping[str, Format]] = {name: _BY_NAME[name] for name in _IMPORT_ORDER}
EXPORTS: Final[Mapping[str, Format]] = {name: _BY_NAME[name] for name in _EXPORT_ORDER}


def import_format(given: str) -> Format:
    """The format a source is in, by any of its names."""
    return _found(given, IMPORTS, "source")


def export_format(given: str) -> Format:
    """The format to write."""
    return _found(given, EXPORTS, "target")


def _found(given: str, known: Mapping[str, Format], which: str) -> Format:
    form = _BY_ANY_NAME.get(given.strip().lower())
    if form is None:
        raise InvalidInput(
            f"Unsupported {which} format: {given[:80]}. Supported formats: {', '.join(known)}",
            hint=did_you_mean(given.strip().lower(), list(known)),
        )
    return form


def parse_source(form: Format, text: str | bytes) -> dict[str, Any]:
    """The source as JSON. A SKILL.md may be given as plain text. InvalidInput if it is not valid."""
    body = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(body) > MOST_SOURCE:
        raise LimitExceeded(f"the source has {len(body)} bytes; the maximum is {MOST_SOURCE}", hint="Shorten it.")
    try:
        plain = body.decode()
    except UnicodeDecodeError:
        raise InvalidInput("the source is not UTF-8", hint="Send it as UTF-8.") from None
    if form.name == "agentskills" and plain.removeprefix("\ufeff").lstrip().startswith("---"):
        return {"skillMarkdown": plain}
    return parse_json(plain)


def parse_json(text: str) -> dict[str, Any]:
    """A JSON object, read strictly."""
    check_bounds(text.encode(), depth=_DEPTH, keys=_KEYS)
    try:
        value: Any = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object, parse_constant=_constant)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except (UnicodeEncodeError, ValueError):
        raise InvalidInput("a text or number in it cannot be kept", hint="Write characters as UTF-8.") from None
    if not isinstance(value, dict):
        raise InvalidInput("the source is not a JSON object", hint="Send one object.")
    return cast("dict[str, Any]", value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidInput("a key is there twice in one object", hint="Keep one of the two.")
    return made


def _constant(name: str) -> Any:
    raise InvalidInput(f"{name} is not JSON", hint="Use a number, or leave the field out.")


def import_record(
    form: Format, source: dict[str, Any], given: Overrides = NO_OVERRIDES, doubt: Doubt = "refuse"
) -> Translated[dict[str, Any]]:
    """The record of a source, without its secrets. `import_pipeline.py` adds skills and domains.

    SuspiciousSource if the caller must decide about values that may be secrets.
    """
    from pentad.rooms.directory.translate.secret_redaction import redact_secrets

    clean, withheld = redact_secrets(form.name, source, doubt)
    if form.name == "mcp":
        from pentad.rooms.directory.translate.server_json_import import wrapped

        clean = wrapped(clean)
    record, losses = _translator(form.reads)(clean, given)
    return Translated(record, withheld + losses)


def export_record(form: Format, record: dict[str, Any]) -> Translated[str]:
    """The record in a format, as text: JSON is indented by two spaces."""
    result, losses = _translator(form.writes)(record)
    if isinstance(result, str):
        return Translated(result, losses)
    return Translated(json.dumps(result, ensure_ascii=False, indent=2), losses)


def _translator(place: str | None) -> Callable[..., Translated[Any]]:
    module, _, name = (place or "").partition(":")
    return getattr(importlib.import_module(f"pentad.rooms.directory.translate.{module}"), name)
