"""The page on registers shows what the room really answers: every block of it is made here and compared.

`PENTAD_WRITE_DOCS=1` writes the blocks into the page instead.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import pytest

from pentad.app import open_app
from pentad.kernel.clock import SystemClock
from pentad.settings.model import Settings
from tests.cli.processes import run

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "registers.md"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
WIDTH = 108
MARK = re.compile(r"<!-- tour: (?P<name>[a-z-]+) -->\n(?P<block>.*?)<!-- end -->", re.DOTALL)


class StillClock(SystemClock):
    """The same second on every run."""

    __slots__ = ()

    def now(self) -> float:
        return 1_780_000_000.0


class Steady:
    """Values that differ from run to run, under names that do not."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        text = UUID.sub(lambda match: self._named(match[0], "0196f0a0-0000-7000-8000-{:012}"), text)
        text = re.sub(r'"(hash|head|session)": "[0-9A-Za-z_-]{32,64}"', r'"\1": "..."', text)
        return re.sub(
            r'("(?:id|plan)": )"([A-Za-z0-9_-]{16,32})"', lambda m: f'{m[1]}"{self._named(m[2], "plan-{}")}"', text
        )

    def _named(self, value: str, form: str) -> str:
        if value not in self._known:
            self._known[value] = form.format(sum(name.startswith(form[:4]) for name in self._known.values()) + 1)
        return self._known[value]


@pytest.fixture
def tour(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(ROOT / "docs_src")
    import registers_tour

    yield registers_tour
    sys.modules.pop("registers_tour", None)


def filled(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: filled(member, known) for name, member in value.items()}
    if isinstance(value, list):
        return [filled(member, known) for member in value]
    return known.get(value[1:], value) if isinstance(value, str) and value.startswith("$") else value


async def answer(client: Any, step: Any, known: dict[str, Any]) -> tuple[str, str]:
    arguments = filled(step.arguments, known)
    result = await client.call_tool(step.tool, arguments)
    assert step.shown or not result["isError"], result
    said = result.get("structuredContent")
    for name, member in step.keep.items():
        known[name] = said[member]
    shown = pretty(said) if said is not None else "\n".join(wrap(result["content"][0]["text"], WIDTH))
    return pretty({"tool": step.tool, "arguments": arguments}), shown


def pretty(value: Any, indent: str = "") -> str:
    """JSON in as few lines as fit the page."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list):
        return short
    inner = indent + "  "
    if isinstance(value, dict):
        members = [f"{inner}{json.dumps(name)}: {pretty(member, inner)}" for name, member in value.items()]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + pretty(member, inner) for member in value) + f"\n{indent}]"


def block(asked: str, shown: str, language: str) -> str:
    return f"```json\n{asked}\n```\n```{language}\n{shown}\n```\n"


def command(step: Any, home: Path) -> str:
    text = ""
    if step.file is not None:
        name, content = step.file
        (home / name).write_text(content, encoding="utf-8")
        text = f"```\n$ cat {name}\n{content.rstrip()}\n"
    else:
        text = "```\n"
    done = run(*step.line.split()[1:], "--data", str(home / "data"), home=home)
    return f"{text}$ {step.line}\n{(done.stdout + done.stderr).strip()}\n```\n"


async def toured(tour: Any, home: Path, steady: Steady) -> dict[str, str]:
    made: dict[str, str] = {}
    known: dict[str, Any] = {}
    settings = Settings(data=home / "data", rooms=("registers",), auth="none")
    async with open_app(settings, clock=StillClock()) as app, app.client() as client:
        for name, step in tour.TOUR.items():
            if isinstance(step, tour.Ask):
                asked, shown = await answer(client, step, known)
                language = "json" if shown.startswith("{") else "text"
                made[name] = steady(block(asked, shown, language))
    return {name: text for name, text in made.items() if tour.TOUR[name].shown}


def test_the_page_shows_what_the_room_answers(tour: Any, tmp_path: Path) -> None:
    steady = Steady()
    made = asyncio.run(toured(tour, tmp_path, steady))
    for name, step in tour.TOUR.items():
        if isinstance(step, tour.Command):
            made[name] = steady(command(step, tmp_path))
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("PENTAD_WRITE_DOCS"):
        page = MARK.sub(lambda mark: f"<!-- tour: {mark['name']} -->\n{made[mark['name']]}<!-- end -->", page)
        PAGE.write_text(page, encoding="utf-8")
    shown = {mark["name"]: mark["block"] for mark in MARK.finditer(page)}
    assert set(shown) == set(made), "every step is on the page, and nothing else"
    for name, text in made.items():
        assert shown[name] == text, name
