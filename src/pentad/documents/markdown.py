"""Reads Markdown (CommonMark with tables) with markdown-it: headings become sections, markup is removed."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pentad.documents.document import Block, Extracted, of_blocks
from pentad.documents.normalization import decoded, normal
from pentad.documents.tables import lines

_FRONT: Final = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_CHECKBOX: Final = re.compile(r"\A\[[ xX]\]\s+")
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\n]{1,60}\]:?")
_INVISIBLE_TAG: Final = re.compile(r"<(script|style|template)\b", re.IGNORECASE)


def read(data: bytes) -> Extracted:
    text = normal(decoded(data))
    title = None
    if (front := _FRONT.match(text)) is not None:
        named = _FRONT_TITLE.search(front[1])
        title = named[1].strip().strip("\"'") or None if named else None
        text = text[front.end() :]
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return of_blocks(_blocks(tokens), title=title)


def _blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    """Paragraphs, list items, table rows, code and headings, in order."""
    level = 0
    table: list[list[str]] = []
    row: list[str] | None = None
    for token in tokens:
        match token.type:
            case "heading_open":
                level = int(token.tag[1])
            case "tr_open":
                row = []
            case "inline" if row is not None:
                row.append(_words(token))
            case "inline":
                yield Block(_CHECKBOX.sub("", _words(token)), level)
                level = 0
            case "tr_close":
                table.append(row or [])
                row = None
            case "table_close":
                yield from map(Block, lines(table, has_header=True))
                table = []
            case "fence" | "code_block":
                yield Block(token.content)
            case "html_block":
                from pentad.documents import html  # loads lxml, which most files do not need

                yield from html.parse(token.content).blocks
            case _:
                pass


def _words(token: Token) -> str:
    text = "".join(_pieces(token.children or ()))
    return " ".join(normal(_FOOTNOTE.sub("", text)).split())  # a character reference may stand for any character


def _pieces(tokens: Sequence[Token]) -> Iterator[str]:
    """The visible text of inline markup: code as it is, the text of links and images, no HTML tags."""
    closing_tag: str | None = None
    for token in tokens:
        if token.type == "html_inline":
            if closing_tag is None and (tag := _INVISIBLE_TAG.match(token.content)) is not None:
                closing_tag = f"</{tag[1].lower()}"
            elif closing_tag is not None and token.content.lower().startswith(closing_tag):
                closing_tag = None
            yield " " if token.content.startswith("<br") else ""
        elif closing_tag is not None:
            continue
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _pieces(token.children or ())
        else:
            yield token.content
