"""Logging to stderr, as JSON lines or for a terminal.

Secrets are removed when a line is formatted, so no caller can forget to. Nothing is written to stdout, because it
carries the protocol over stdio.
"""

import json
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TextIO

from pentad.kernel.clock import iso
from pentad.kernel.errors import without_secrets
from pentad.kernel.secrets.names import is_secret_member
from pentad.kernel.trace import request_mark

Format = Literal["auto", "json", "console"]

HIDDEN: Final = "[redacted:key-name]"

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_COLOURS: Final = {"DEBUG": "2", "INFO": "32", "WARNING": "33", "ERROR": "31", "CRITICAL": "1;31"}


def safe_value(name: str, value: Any) -> Any:
    """A value for the log: masked if its name marks a secret; otherwise with secrets removed from its text."""
    if is_secret_member(name, value):
        return HIDDEN
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {without_secrets(str(key)): safe_value(str(key), inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  extras may be of any type
    if isinstance(value, list | tuple | set | frozenset):
        return [safe_value("", inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]  extras may be of any type
    return without_secrets(str(value))


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    """The values passed as `extra=`, and the id of the current request."""
    found: dict[str, Any] = {}
    if (mark := request_mark.get()) is not None:
        if mark.request_id:
            found["request_id"] = mark.request_id
        if mark.trace_id is not None:
            found["trace_id"] = mark.trace_id
    found.update((key, value) for key, value in vars(record).items() if key not in _STANDARD)
    return {key: safe_value(key, value) for key, value in found.items()}


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, logger, message, extras, exception."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **_extras(record),
        }
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False, default=str)


class Console(logging.Formatter):
    """Readable lines: time, level, message, extras as key=value. A message is one line; a traceback keeps its lines."""

    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        level = f"{record.levelname.lower():<8}"
        if self._colour:
            level = f"\x1b[{_COLOURS.get(record.levelname, '0')}m{level}\x1b[0m"
        extras = "".join(f" {key}={value}" for key, value in _extras(record).items())
        text = _one_line(without_secrets(record.getMessage()) + extras)
        if record.exc_info:
            text += "\n" + _CONTROL.sub(_escaped, without_secrets(self.formatException(record.exc_info)))
        return f"{iso(record.created)[11:23]} {level} {text}"


def configure_logging(level: str, format: Format = "auto", stream: TextIO | None = None) -> None:  # noqa: A002  the setting's own name
    """Send all logging to stderr. Called once, by a command that serves."""
    target = stream or sys.stderr
    chosen = format if format != "auto" else ("console" if target.isatty() else "json")
    handler = logging.StreamHandler(target)
    handler.setFormatter(JsonLines() if chosen == "json" else Console(colour=_wants_colour(target)))
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)


def log_warnings(warnings: Iterable[str]) -> None:
    """Log the warnings of the settings."""
    for warning in warnings:
        logging.getLogger("pentad.settings").warning("%s", warning)


def _wants_colour(target: TextIO) -> bool:
    import os

    return target.isatty() and not os.environ.get("NO_COLOR")


def _one_line(text: str) -> str:
    return _CONTROL.sub(_escaped, text.replace("\r", "\\r").replace("\n", "\\n"))


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
