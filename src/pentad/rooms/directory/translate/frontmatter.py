"""Reads the frontmatter of a SKILL.md: the small part of YAML that such files use, line by line, within bounds.

Read are `key: value` with plain, quoted and block texts, lists, and one section of pairs (`metadata`). What YAML has
beyond that (anchors, tags, merged keys, nesting) is refused where its value is needed and left unread elsewhere: the
file itself travels with the record.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from pentad.kernel.errors import InvalidInput, LimitExceeded

MOST_CHARACTERS: Final = 64 * 1024
MOST_LINES: Final = 2_000

_FENCE: Final = re.compile(r"(?:(?<=[\r\n])|(?<![\s\S])|(?<=\ufeff))---[ \t]*(?:\r\n|\r|\n|\Z)")
_KEY: Final = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|)")
_BLOCK: Final = re.compile(r"([|>])([+-]?)[1-9]?([+-]?)")
_DOUBLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SINGLE: Final = re.compile(r"'((?:[^']|'')*)'", re.DOTALL)
_ITEM: Final = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,"'\[\]{}][^,\[\]{}]*|)\s*([,\]])""", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED: Final = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "N": "\x85",
    "_": "\xa0", "L": "\u2028", "P": "\u2029", "\n": "",
}  # fmt: skip
_BEYOND: Final = ("&", "*", "!", "%", "@", "`", "{")
_HINT: Final = "Write it as a plain or quoted text, or as a block text (| or >)."

Value = str | list[str] | dict[str, Any]


@dataclass(slots=True)
class Frontmatter:
    """What stands above a skill's text. `beyond` names the keys whose values are not of the part that is read."""

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    beyond: dict[str, str] = field(default_factory=dict[str, str])

    def text(self, key: str) -> str | None:
        """The value of a key as text; InvalidInput when it is more than that."""
        if key in self.beyond:
            raise InvalidInput(f"the frontmatter's {key} {self.beyond[key]}", hint=_HINT)
        value = self.values.get(key)
        if isinstance(value, list | dict):
            raise InvalidInput(f"the frontmatter's {key} is not a text", hint=_HINT)
        return value

    def texts(self, key: str) -> list[str]:
        """The value of a key as a list: a text is a list of one."""
        value = self.values.get(key)
        return value if isinstance(value, list) else [value] if isinstance(value, str) and value else []

    def section(self, key: str) -> dict[str, Any]:
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}


def split(text: str) -> tuple[str, str]:
    """The frontmatter and the body of a SKILL.md."""
    start = re.match(r"\ufeff?[\r\n]*", text)
    begin = start.end() if start else 0
    first = _FENCE.match(text, begin)
    last = _FENCE.search(text, first.end()) if first else None
    if first and last:
        return text[first.end() : last.start()], text[last.end() :]
    raise InvalidInput("missing frontmatter delimiters", hint="Begin the file with name and description between ---.")


def read(text: str) -> Frontmatter:
    """The values of a frontmatter."""
    if len(text) > MOST_CHARACTERS:
        raise LimitExceeded(
            f"the frontmatter has {len(text)} characters; the most are {MOST_CHARACTERS}", hint="Move text to the body."
        )
    lines = re.split(r"\r\n|\r|\n", text)
    if len(lines) > MOST_LINES:
        raise LimitExceeded(f"the frontmatter has {len(lines)} lines; the most are {MOST_LINES}")
    found = Frontmatter()
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise InvalidInput(
                f"line {index} of the frontmatter is not `key: value`: {line.strip()[:60]!r}", hint=_HINT
            )
        end = index
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t" or lines[end].startswith("- ")):
            end += 1
        key, value = match[1], (match[2] or "").strip()
        if key in found.values or key in found.beyond:
            raise InvalidInput(f"the frontmatter has {key} twice", hint="Keep one of the two.")
        _take(found, key, value, lines[index:end])
        index = end
    return found


def _take(found: Frontmatter, key: str, value: str, below: list[str]) -> None:
    try:
        found.values[key] = _value(value, below)
    except InvalidInput as error:
        found.beyond[key] = error.message


def _value(value: str, below: list[str]) -> Value:
    block = _BLOCK.fullmatch(_uncommented(value)) if value[:1] in "|>" and value else None
    if block is not None:
        return _block(below, folded=block[1] == ">", chomping=block[2] or block[3])
    more = [line.strip() for line in below if line.strip() and not line.lstrip().startswith("#")]
    if _uncommented(value):
        return _scalar(value, below if value[0] in "\"'" else more)
    if not more:
        return ""
    if all(line.startswith("- ") for line in more):
        return [_plain(line[2:].strip()) for line in more]
    return _pairs(below)


def _scalar(value: str, more: list[str]) -> Value:
    if value.startswith("[") and not more:
        return _flow(value)
    if value[0] in "\"'":
        return _plain(_joined([value, *(line.strip() for line in more)]))
    return _plain(" ".join([_uncommented(value), *map(_uncommented, more)]))


def _plain(value: str) -> str:
    """The text of one scalar."""
    if value[:1] == '"':
        match = _DOUBLE.match(value)
        if match is None or _uncommented(" " + value[match.end() :]).strip():
            raise InvalidInput("has quotes that do not end")
        return _ESCAPE.sub(_unescaped, match[1])
    if value[:1] == "'":
        match = _SINGLE.match(value)
        if match is None or _uncommented(" " + value[match.end() :]).strip():
            raise InvalidInput("has quotes that do not end")
        return match[1].replace("''", "'")
    if value.startswith(_BEYOND):
        raise InvalidInput(f"begins with {value[0]!r}, which is read as more than a text")
    return _uncommented(value)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise InvalidInput("has an escape that is no character")
        return chr(number)
    return _ESCAPED.get(code, code)


def _uncommented(value: str) -> str:
    """Without a comment, which begins with # after a space."""
    if value.startswith("#"):
        return ""
    cut = re.search(r"[ \t]#", value)
    return (value[: cut.start()] if cut else value).strip()


def _joined(lines: list[str]) -> str:
    """Lines of a quoted text: a line break is a space, an empty line a line break."""
    text = lines[0]
    breaks = 0
    for line in lines[1:]:
        if not line:
            breaks += 1
            continue
        text += "\n" * breaks if breaks else " "
        text += line
        breaks = 0
    return text


def _flow(value: str) -> list[str]:
    """A list in brackets, of texts."""
    items: list[str] = []
    place, mark = 1, ","
    while mark == ",":
        match = _ITEM.match(value, place)
        if match is None:
            raise InvalidInput("is a list of more than texts")
        place, mark = match.end(), match[2]
        if match[1].strip():
            items.append(_plain(match[1].strip()))
    if _uncommented(value[place:]):
        raise InvalidInput("is a list with something behind it")
    return items


def _pairs(below: list[str]) -> dict[str, Any]:
    """A section of `key: value` lines, indented all the same."""
    lines = [line for line in below if line.strip() and not line.lstrip().startswith("#")]
    indent = len(lines[0]) - len(lines[0].lstrip())
    pairs: dict[str, Any] = {}
    for line in lines:
        match = _KEY.fullmatch(line.strip())
        if match is None or len(line) - len(line.lstrip()) != indent or line[0] != " ":
            raise InvalidInput("is nested deeper than pairs of texts")
        value = (match[2] or "").strip()
        if match[1] in pairs:
            raise InvalidInput(f"has {match[1]} twice")
        pairs[match[1]] = _flow(value) if value.startswith("[") else _plain(value) if value else ""
    return pairs


def _block(below: list[str], *, folded: bool, chomping: str) -> str:
    indents = [len(line) - len(line.lstrip(" ")) for line in below if line.strip()]
    cut = min(indents, default=0)
    if cut == 0 and indents:
        raise InvalidInput("is a block text that is not indented")
    lines = [line[cut:].rstrip() for line in below]
    while lines and not lines[-1]:
        lines.pop()
    text = _folded(lines) if folded else "\n".join(lines)
    return text if chomping == "-" or not text else text + "\n"


def _folded(lines: list[str]) -> str:
    text = ""
    breaks = 0
    for line in lines:
        if not line:
            breaks += 1
            continue
        text += "\n" * breaks if breaks else " " if text else ""
        text += line
        breaks = 0
    return text


def quoted(value: str, *, always: bool = False) -> str:
    """The text as one scalar that is read back the same; plain where that is safe."""
    plain = value == value.strip() != "" and not re.search(r"""[:#\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]""", value)
    if plain and not always and not value.startswith((*_BEYOND, '"', "'", "[", "]", "}", "|", ">", "-", "?", ",")):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", lambda found: _code(found[0]), escaped) + '"'


def _code(character: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or f"\\u{ord(character):04x}"


def is_key(text: str) -> bool:
    """Whether a key is one that is read back."""
    return _KEY.fullmatch(f"{text}:") is not None and ":" not in text and text == text.strip()
