"""String formats beyond those of JSON Schema, such as colours, versions, addresses and kinds of text.

Every check takes linear time. The validator itself asserts the formats of JSON Schema.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from pentad.kernel.problems import as_rfc3339

_LONGEST: Final = 2_048
_HEX: Final = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
_HEX_ALPHA: Final = re.compile(r"#(?:[0-9A-Fa-f]{4}|[0-9A-Fa-f]{8})")
_NUMBER: Final = r"[0-9]{1,3}(?:\.[0-9]{1,4})?"
_ALPHA: Final = r"(?:0|1|0?\.[0-9]{1,4}|1\.0{1,4}|[0-9]{1,3}%)"
_RGB: Final = re.compile(rf"rgb\( ?({_NUMBER}) ?, ?({_NUMBER}) ?, ?({_NUMBER}) ?\)")
_RGBA: Final = re.compile(rf"rgba\( ?({_NUMBER}) ?, ?({_NUMBER}) ?, ?({_NUMBER}) ?, ?{_ALPHA} ?\)")
_HSL: Final = re.compile(rf"hsl\( ?({_NUMBER}) ?, ?({_NUMBER})% ?, ?({_NUMBER})% ?\)")
_HSLA: Final = re.compile(rf"hsla\( ?({_NUMBER}) ?, ?({_NUMBER})% ?, ?({_NUMBER})% ?, ?{_ALPHA} ?\)")
_SEMVER: Final = re.compile(
    r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)"
    r"(?:-(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_DATE_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?.{0,6}")


def _is_rgb(text: str, pattern: re.Pattern[str] = _RGB) -> bool:
    match = pattern.fullmatch(text)
    return match is not None and all(float(part) <= 255 for part in match.groups())


def _is_hsl(text: str, pattern: re.Pattern[str] = _HSL) -> bool:
    match = pattern.fullmatch(text)
    if match is None:
        return False
    hue, saturation, lightness = (float(part) for part in match.groups())
    return hue <= 360 and saturation <= 100 and lightness <= 100


def _is_colour(text: str) -> bool:
    return any(EXTRA_FORMATS[name](text) for name in EXTRA_FORMATS if name.startswith("color-"))


def _is_url(text: str) -> bool:
    """A web address: http, https or ftp with a host."""
    if len(text) > _LONGEST or any(character.isspace() or character < " " for character in text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https", "ftp") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        return False


def _short(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: len(text) <= _LONGEST and pattern.fullmatch(text) is not None


EXTRA_FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "color-hex": _short(_HEX),
    "color-hex-alpha": _short(_HEX_ALPHA),
    "color-rgb": _is_rgb,
    "color-rgba": lambda text: _is_rgb(text, _RGBA),
    "color-hsl": _is_hsl,
    "color-hsla": lambda text: _is_hsl(text, _HSLA),
    "color": _is_colour,
    "semver": _short(_SEMVER),
    "url": _is_url,
}

ANY_TEXT: Final = frozenset({"text", "markdown", "html"})
STANDARD_FORMATS: Final = frozenset(
    {
        *("date-time", "date", "time", "duration"),
        *("email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
        *("uri", "uri-reference", "iri", "iri-reference", "uuid", "uri-template"),
        *("json-pointer", "relative-json-pointer", "regex"),
    }
)
KNOWN_FORMATS: Final = STANDARD_FORMATS | ANY_TEXT | EXTRA_FORMATS.keys()


def date_of(value: Any) -> str | None:
    """The date of a date-time text; None for any other value."""
    if isinstance(value, str) and 10 < len(value) < 40 and _DATE_TIME.fullmatch(value):
        return value[:10]
    return None


def tidied(value: str, format_name: str) -> Iterator[str]:
    """Likely intended spellings of a text. The caller checks which one is valid."""
    text = value.strip()
    yield text
    if format_name == "uuid":
        bare = text.strip("{}").lower().removeprefix("urn:uuid:").replace("-", "")
        if len(bare) == 32:
            yield "-".join((bare[:8], bare[8:12], bare[12:16], bare[16:20], bare[20:]))
    elif format_name == "semver":
        yield text.lstrip("vV")
    elif format_name in ("color", "color-hex", "color-hex-alpha"):
        yield f"#{text}"
    elif format_name == "date":
        yield text.replace("/", "-").replace(".", "-")
    elif format_name == "date-time":
        if (time := as_rfc3339(text)) is not None:
            yield time
    elif format_name in ("email", "idn-email"):
        yield text.removeprefix("mailto:")
