"""Markdown as text: headings give the sections, marks of emphasis, links and lists go, their words stay."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Final

from pentad.rooms.avatars.extract.document import Block, Extracted, of_blocks
from pentad.rooms.avatars.extract.normal import decoded, normal

_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HIDDEN: Final = re.compile(r"<(script|style|template)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX: Final = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\Z")
_SETEXT: Final = re.compile(r" {0,3}(=+|-+)[ \t]*\Z")
_RULE: Final = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_ITEM: Final = re.compile(r"\s*(?:[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+)")
_QUOTE: Final = re.compile(r"\A {0,3}(?:>[ \t]?)+")
_DEFINITION: Final = re.compile(r" {0,3}\[[^\]\n]{1,200}\]:[ \t]*\S+.*\Z")
_TABLE_RULE: Final = re.compile(r"[ \t]*\|?[ \t:|-]*-{3,}[ \t:|-]*\Z")
_CODE: Final = re.compile(r"(?<!`)(`{1,9})(?!`)([^\n]{1,1000}?)(?<!`)\1(?!`)")
_ASIDE: Final = re.compile("\x00(\\d+)\x00")
_INLINE: Final = (
    (re.compile(r"!\[([^\]\n]{0,500})\]\([^()\n]{0,2000}\)"), r"\1"),
    (re.compile(r"\[([^\]\n]{1,500})\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)"), r"\1"),
    (re.compile(r"\[([^\]\n]{1,500})\]\[[^\]\n]{0,200}\]"), r"\1"),
    (re.compile(r"\[\^[^\]\n]{1,60}\]"), ""),
    (re.compile(r"<(https?://[^>\s]{1,2000})>"), r"\1"),
    (re.compile(r"</?[a-zA-Z][^<>\n]{0,1000}>"), ""),
    (re.compile(r"(?<!\w)(\*{1,3})(?=\S)([^*\n]{1,2000})(?<=\S)\1"), r"\2"),
    (re.compile(r"(?<!\w)(_{1,3})(?=\S)([^_\n]{1,2000})(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"~~(?=\S)([^~\n]{1,1000})(?<=\S)~~"), r"\1"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
)


def read(data: bytes) -> Extracted:
    text = normal(decoded(data))
    title = None
    if (front := _FRONT.match(text)) is not None:
        named = _FRONT_TITLE.search(front[1])
        title = named[1].strip().strip("\"'") or None if named else None
        text = text[front.end() :]
    text = _HIDDEN.sub("", _COMMENT.sub("", text))
    return of_blocks(_blocks(text.split("\n")), title=title)


def _blocks(lines: list[str]) -> Iterator[Block]:
    """Paragraphs, items and headings in order. Code stays as it is; nothing in it is a heading."""
    held: list[str] = []
    fence: str | None = None
    code: list[str] = []
    for line in lines:
        opening = _FENCE.match(line)
        if fence is not None:
            if opening is not None and opening[1].startswith(fence) and not line.strip().strip(fence[0]):
                yield Block("\n".join(code))
                fence, code = None, []
            else:
                code.append(line)
            continue
        if opening is not None:
            yield from _paragraph(held)
            fence = opening[1]
        else:
            yield from _line(line, held)
    yield from _paragraph(held)
    yield Block("\n".join(code))


def _line(line: str, held: list[str]) -> Iterator[Block]:
    """One line outside of code: it ends what is held, or joins it."""
    line = _QUOTE.sub("", line, count=1)
    if (heading := _ATX.match(line)) is not None:
        yield from _paragraph(held)
        yield Block(_plain(heading[2] or ""), len(heading[1]))
    elif held and (under := _SETEXT.match(line)) is not None:
        yield Block(_plain(" ".join(held)), 1 if under[1][0] == "=" else 2)
        held.clear()
    elif not line.strip() or _RULE.match(line) or _DEFINITION.match(line) or _TABLE_RULE.match(line):
        yield from _paragraph(held)
    elif (item := _ITEM.match(line)) is not None:
        yield from _paragraph(held)
        held.append(line[item.end() :].strip())
    elif line.lstrip().startswith("|"):
        yield from _paragraph(held)
        yield Block(_plain(" | ".join(cell.strip() for cell in line.strip().strip("|").split("|"))))
    else:
        held.append(line.strip())


def _paragraph(held: list[str]) -> Iterator[Block]:
    if held:
        yield Block(_plain(" ".join(held)))
        held.clear()


def _plain(text: str) -> str:
    """The words of a line without the marks of the format. Code is taken out first: its marks are its own."""
    code: list[str] = []

    def put_aside(span: re.Match[str]) -> str:
        code.append(span[2].strip())
        return f"\x00{len(code) - 1}\x00"

    text = _CODE.sub(put_aside, text)
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return _ASIDE.sub(lambda place: code[int(place[1])], unescape(text))
