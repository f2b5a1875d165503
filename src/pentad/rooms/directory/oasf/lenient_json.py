"""Reads JSON as people and language models write it: in a Markdown fence, with comments, other quotes, and commas that
are missing or too many.

Strict JSON is read as it is. Otherwise the text is rewritten as strict JSON, and a finding says what was wrong. Nothing
is guessed: a text that is cut off, or repeats a key, cannot be read.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.problems import Finding

_FENCE: Final = re.compile(r"```[ \t]*[A-Za-z0-9_+-]*[ \t]*\n")
# Possessive, and also matches an unclosed string or comment: a failed attempt would be repeated at every quote.
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*+"?)"""
    r"""|(?P<quoted>'(?:[^'\\]|\\.)*+'?|[\u201c\u201d](?:[^\u201c\u201d\\]|\\.)*+[\u201c\u201d]?)"""
    r"""|(?P<comment>//[^\n]*+|\#[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?)"""
    r"""|(?P<space>\s++)"""
    r"""|(?P<word>[A-Za-z_$][A-Za-z0-9_$-]*+)"""
    r"""|(?P<other>[-+0-9.eE]++|.)""",
    re.DOTALL,
)
_OTHER_WORDS: Final = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_BEFORE_VALUES: Final = frozenset("{[,:")
_AFTER_VALUES: Final = frozenset("}],:")
_JSON_WORDS: Final = frozenset({"true", "false", "null"})

Strict = Callable[[str], Any]
"""Parses strict JSON, or raises InvalidInput."""


def parse_leniently(text: str, strict: Strict) -> tuple[Any, list[Finding]]:
    """The value in a text, and findings about its syntax. InvalidInput if it is not JSON at all."""
    findings: list[Finding] = []
    try:
        value = strict(text)
    except InvalidInput:
        body = _inner(text.removeprefix("\ufeff"), findings)
        if not body:
            raise
        value = strict(_rewritten(body, findings))
    if isinstance(value, str) and value.lstrip().startswith("{"):
        findings.append(_finding("text_encoded_twice", "The record is JSON inside a JSON string."))
        value = strict(value)
    return value, findings


def _inner(text: str, findings: list[Finding]) -> str:
    """The JSON inside a text: the content of its first fence with JSON, or from the first brace to the last one."""
    fences = list(_FENCE.finditer(text))
    start = next((one for one in fences if text[one.end() : one.end() + 100].lstrip().startswith(("{", "["))), None)
    start = start or next(iter(fences), None)
    if start is not None:
        end = text.find("```", start.end())
        inner = text[start.end() : len(text) if end < 0 else end]
        findings.append(_finding("text_fenced", "The JSON is inside a Markdown fence."))
        return inner.strip()
    bare = text.strip()
    opening = min((place for mark in "{[" if (place := bare.find(mark)) >= 0), default=0)
    closing = max(bare.rfind("}"), bare.rfind("]"))
    inner = bare[opening : closing + 1] if closing > opening else bare
    if inner != bare:
        findings.append(_finding("text_around", "There is other text around the JSON."))
    return inner


def _rewritten(text: str, findings: list[Finding]) -> str:
    """The text as strict JSON, without guessing."""
    tokens = [(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(text)]
    if any(kind == "comment" for kind, _ in tokens):
        findings.append(_finding("text_comment", "JSON has no comments."))
    meant, seen = _meant_tokens(tokens)
    written: list[str] = []
    for index, (kind, word) in enumerate(meant):
        following = meant[index + 1][1] if index + 1 < len(meant) else ""
        if word == "," and following in ("}", "]", ""):
            seen.add("text_trailing_comma")
        elif kind == "text":
            plain = _escaped(word)
            seen |= {"text_line_break"} if plain != word else set()
            written.append(plain)
        elif kind == "quoted":
            seen.add("text_quotes")
            written.append(_requoted(word))
        elif kind == "word" and word not in _JSON_WORDS:
            seen.add("text_word")
            written.append(json.dumps(word) if following == ":" else _OTHER_WORDS.get(word, word))
        else:
            written.append(word)
    findings += [_finding(code, message) for code, message in _MESSAGES.items() if code in seen]
    return " ".join(written)


def _meant_tokens(tokens: Iterable[tuple[str, str]]) -> tuple[list[tuple[str, str]], set[str]]:
    """The tokens without comments and space, with commas where a value ends one line and the next line begins another;
    and the codes of what was wrong."""
    meant: list[tuple[str, str]] = []
    seen: set[str] = set()
    new_line = False
    for kind, word in tokens:
        if kind in ("comment", "space"):
            new_line = new_line or "\n" in word
            continue
        ends_value = bool(meant) and meant[-1][1] not in _BEFORE_VALUES
        if new_line and ends_value and word not in _AFTER_VALUES:
            meant.append(("other", ","))
            seen.add("text_comma_missing")
        meant.append((kind, word))
        new_line = False
    return meant, seen


_MESSAGES: Final = {
    "text_comma_missing": "There is no comma between two items.",
    "text_trailing_comma": "There is a comma after the last item.",
    "text_quotes": "Texts in JSON are in double quotes.",
    "text_word": "Keys in JSON are in double quotes, and its constants are true, false and null.",
    "text_line_break": "Line breaks inside a text are written as \\n in JSON.",
}


def _requoted(token: str) -> str:
    inner = token[1:-1].replace("\\'", "'")
    return '"' + re.sub(r'(?<!\\)"', r"\\\"", _escaped(inner)) + '"'


def _escaped(token: str) -> str:
    return token.replace("\r\n", "\\n").replace("\n", "\\n").replace("\t", "\\t")


def _finding(code: str, message: str) -> Finding:
    return Finding(code, message, certain=True)
