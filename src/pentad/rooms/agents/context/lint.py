"""The context linter: every issue of a context, at one of three levels.

    report = lint({"items": {"doc": {"ref": "https://example.org/a.pdf"}}}, "strict")
    report.valid, [issue.line() for issue in report.issues]

It never raises for bad input: text that is not JSON is just another issue.
"""

import json
from contextlib import suppress
from typing import Any, Final, cast

from pentad.kernel.errors import PentadError
from pentad.kernel.json import check_bounds
from pentad.kernel.secrets.documents import depth_of
from pentad.rooms.agents.context.findings import Issues, Level, Report, place_at
from pentad.rooms.agents.context.integrity import exact_json, items_hash
from pentad.rooms.agents.context.redaction import secret_places
from pentad.rooms.agents.context.validation import validate

MAX_BYTES: Final = 16 * 1024 * 1024
_DEEPEST_TEXT: Final = 128
_MAX_KEYS: Final = 500_000
_LONGEST_NUMBER: Final = 300


def lint(value: Any, level: Level = "standard", *, now: float | None = None) -> Report:
    """Lint a context, or a whole `{"mcp_context": ...}`. Without `now`, nothing has expired."""
    return _report(*validate(unwrapped(value), level, now=now))


def lint_text(text: bytes, level: Level = "standard", *, now: float | None = None) -> Report:
    """Lint the text of a context. Numbers stay exact, and what a parser would silently accept is reported."""
    parsing = Issues(level)
    try:
        value = parse(text, parsing)
    except (PentadError, ValueError, RecursionError) as error:
        message = error.message if isinstance(error, PentadError) else _parse_message(error)
        parsing.add("not-parsed", None, message, "Send one JSON object.")
        return _report(None, parsing)
    shaped, issues = validate(unwrapped(value), level, now=now)
    issues.found[:0] = parsing.found
    return _report(shaped, issues)


def parse(text: bytes, issues: Issues) -> Any:
    """The value of a JSON text: size-limited, with exact integers; duplicate keys and NaN are reported."""
    if len(text) > MAX_BYTES:
        raise ValueError(f"The text has more than {MAX_BYTES} bytes")
    check_bounds(text, depth=_DEEPEST_TEXT, keys=_MAX_KEYS)

    def take(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in made if names.count(name) > 1)
            message = f"The key {twice[:80]!r} occurs twice in one object; the last one counts."
            issues.add("duplicate-key", None, message, "Keep one of the two.")
        return made

    return json.loads(text.decode("utf-8-sig"), object_pairs_hook=take, parse_int=_integer)


def unwrapped(value: Any) -> Any:
    """The context itself, if the caller passed the whole metadata."""
    if isinstance(value, dict) and "items" not in value and isinstance(value.get("mcp_context"), dict):  # pyright: ignore[reportUnknownMemberType]  any JSON
        return cast("dict[str, Any]", value)["mcp_context"]
    return cast("Any", value)


def _report(shaped: dict[str, Any] | None, issues: Issues) -> Report:
    items: dict[str, Any] = (shaped or {}).get("items", {})
    if issues.level != "lenient" and issues.valid:
        for place in secret_places(items):
            issues.add("secret", place_at(place.path), f"This looks like a secret ({place.what}).", "Take it out.")
    valid, size, digest = issues.valid, 0, None
    # the lenient level accepts values without a canonical form, and values too deep to encode
    with suppress(PentadError, RecursionError):
        size = len(exact_json(items)) if items else 0
        digest = items_hash(items) if valid and shaped is not None else None
    return Report(
        level=issues.level,
        valid=valid,
        issues=issues.found,
        more=issues.more,
        value=shaped if valid else None,
        items=len(items),
        bytes=size,
        depth=depth_of(items) if items else 0,
        sha256=digest,
    )


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError(f"A number has more than {_LONGEST_NUMBER} digits")
    return int(text)


def _parse_message(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"This is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
    if isinstance(error, UnicodeDecodeError):
        return "The text is not UTF-8."
    return f"{error}." if str(error) else "The text is nested too deeply."
