"""Finds the commands in what a newcomer reads: terminal output, README, hints of errors, the home page."""

import re
import shlex
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser

_FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"`([^`\n]+)`")
_CAPITALS = re.compile(r"\b[A-Z]{3,}\b")


def from_terminal(text: str) -> list[str]:
    """The indented lines that are commands; a backslash continues on the next line."""
    joined = re.sub(r"\\\n\s*", "", text)
    indented = [line.strip() for line in joined.splitlines() if re.match(r" {2,4}\S", line)]
    return [line for line in indented if is_command(line)]


def from_readme(text: str) -> list[str]:
    """The lines of all blocks marked as shell."""
    return [line for block in _FENCE.findall(text) for line in block.splitlines() if line]


def from_hint(text: str) -> list[str]:
    """The texts in backticks."""
    return [found for found in _QUOTED.findall(text) if is_command(found)]


def from_page(html: str) -> list[str]:
    """The preformatted texts that are commands."""
    reader = _Preformatted()
    reader.feed(html)
    return [text for text in reader.texts if is_command(text)]


def is_command(text: str) -> bool:
    """Whether a text begins with a program rather than a word, a URL or JSON."""
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    return first in ("claude", "code", "codex", "curl", "gemini", "make", "pentad") or first.endswith("/pentad")


def filled_in(command: str, values: Mapping[str, str]) -> str:
    """The command with the words in capitals replaced, as a reader would. Raises KeyError for an unknown one."""
    words = shlex.split(command)
    return shlex.join([values[word] if _CAPITALS.fullmatch(word) else word for word in words])


class _Preformatted(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre":
            self._inside = True
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag != "pre"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.texts[-1] += unescape(data)
