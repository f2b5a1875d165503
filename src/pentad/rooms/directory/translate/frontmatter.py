"""Reads the frontmatter of a SKILL.md: `key: value` lines, lists, and one level of sections such as `metadata`.

Real skills are often not valid YAML (`description: Use this when: ...`), so keys and plain texts are read line by line,
each key by itself; libyaml reads quoted texts, block texts and lists. Anything beyond texts, lists of texts and one
level of pairs is an error where its value is needed and ignored elsewhere: the file itself is kept in the record.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput, LimitExceeded

MOST_CHARACTERS: Final = 64 * 1024
MOST_LINES: Final = 2_000

_FENCE: Final = re.compile(r"(?:(?<=[\r\n])|(?<![\s\S])|(?<=\ufeff))---[ \t]*(?:\r\n|\r|\n|\Z)")
_KEY: Final = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*)|)")
_BEYOND: Final = ("&", "*", "!", "%", "@", "`", "{")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_HINT: Final = "Write it as a plain or quoted text, or as a block text (| or >)."

Value = str | list[str] | dict[str, Any]


@dataclass(slots=True)
class Frontmatter:
    """The values above a skill's text. `beyond` has the reason for each key that could not be read."""

    values: dict[str, Value] = field(default_factory=dict[str, Value])
    beyond: dict[str, str] = field(default_factory=dict[str, str])

    def text(self, key: str) -> str | None:
        """The value of a key as text; InvalidInput if it is something else."""
        if key in self.beyond:
            raise InvalidInput(f"the frontmatter's {key} {self.beyond[key]}", hint=_HINT)
        value = self.values.get(key)
        if isinstance(value, list | dict):
            raise InvalidInput(f"the frontmatter's {key} is not a text", hint=_HINT)
        return value

    def texts(self, key: str) -> list[str]:
        """The value of a key as a list; a text is a list of one."""
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
    """The values of a front matter."""
    if len(text) > MOST_CHARACTERS:
        raise LimitExceeded(
            f"the frontmatter has {len(text)} characters; the maximum is {MOST_CHARACTERS}",
            hint="Move text to the body.",
        )
    lines = re.split(r"\r\n|\r|\n", text)
    if len(lines) > MOST_LINES:
        raise LimitExceeded(f"the frontmatter has {len(lines)} lines; the maximum is {MOST_LINES}")
    found = Frontmatter()
    for key, value, below in _entries(lines):
        if key in found.values or key in found.beyond:
            raise InvalidInput(f"the frontmatter has {key} twice", hint="Keep one of the two.")
        try:
            found.values[key] = _value(value, below)
        except InvalidInput as error:
            found.beyond[key] = error.message
    return found


def _entries(lines: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Each key with the rest of its line and the lines that belong to it: indented, empty, or items of a list."""
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if _is_nothing(line):
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise InvalidInput(
                f"line {index} of the frontmatter is not `key: value`: {line.strip()[:60]!r}", hint=_HINT
            )
        end = index
        while end < len(lines) and (not lines[end].strip() or lines[end][0] in " \t" or lines[end].startswith("- ")):
            end += 1
        yield match[1], (match[2] or "").strip(), lines[index:end]
        index = end


def _is_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _value(value: str, below: list[str]) -> Value:
    if value.startswith(("|", ">", '"', "'", "[")):
        return _yaml("\n".join([value, *below, ""]))
    more = [line.strip() for line in below if not _is_nothing(line)]
    if plain := _uncommented(value):
        if plain.startswith(_BEYOND):
            raise InvalidInput(f"begins with {plain[0]!r}, which is read as more than a text")
        return " ".join([plain, *map(_uncommented, more)])
    if not more:
        return ""
    if all(line.startswith("- ") for line in more):
        return _yaml("\n".join([*more, ""]))
    return _section([line for line in below if not _is_nothing(line)])


def _section(lines: list[str]) -> dict[str, Any]:
    """`key: value` lines with the same indentation."""
    indent = len(lines[0]) - len(lines[0].lstrip(" "))
    pairs: dict[str, Any] = {}
    for key, value, below in _entries([line[indent:] if not line[:indent].strip() else line for line in lines]):
        if below or not indent:
            raise InvalidInput("is nested deeper than pairs of texts")
        if key in pairs:
            raise InvalidInput(f"has {key} twice")
        pairs[key] = _value(value, [])
    return pairs


def _yaml(text: str) -> str | list[str]:
    """A text or a list of texts. Works on events: libyaml's tree builder recurses, and deep nesting crashes it."""
    import yaml

    items: list[str] = []
    is_list = False
    try:
        parse = cast("Callable[[str, object], Iterator[object]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType]  untyped
        for event in parse(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader)):
            if isinstance(event, yaml.ScalarEvent) and event.anchor is None and event.tag is None:
                items.append(str(event.value))
            elif isinstance(event, yaml.SequenceStartEvent) and not is_list:
                is_list = True
            elif isinstance(event, yaml.NodeEvent):
                raise InvalidInput("is a list of more than texts" if is_list else "is more than a text")
    except yaml.YAMLError:
        unclosed = text.startswith(("'", '"'))
        raise InvalidInput("has quotes that do not end" if unclosed else "is not valid YAML") from None
    return items if is_list else items[0]


def _uncommented(value: str) -> str:
    """The text without its comment, which begins with # after a space."""
    if value.startswith("#"):
        return ""
    cut = re.search(r"[ \t]#", value)
    return (value[: cut.start()] if cut else value).strip()


def quoted(value: str, *, always: bool = False) -> str:
    """The text as one scalar that reads back the same; plain where that is safe."""
    plain = value == value.strip() != "" and not re.search("[:#]", value) and not _UNPRINTABLE.search(value)
    if plain and not always and not value.startswith((*_BEYOND, '"', "'", "[", "]", "}", "|", ">", "-", "?", ",")):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _UNPRINTABLE.sub(lambda found: _escape(found[0]), escaped) + '"'


def _escape(character: str) -> str:
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(character) or f"\\u{ord(character):04x}"


def is_key(text: str) -> bool:
    """Whether a key reads back."""
    return _KEY.fullmatch(f"{text}:") is not None and ":" not in text and text == text.strip()
