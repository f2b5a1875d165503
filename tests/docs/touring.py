"""Pages that show what a room really answers: every block is made by a tour of calls and compared with the page.

`PENTAD_WRITE_DOCS=1` writes the blocks into the page instead.
"""

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import replace
from functools import partial
from pathlib import Path
from string import Template
from textwrap import wrap
from typing import Any, cast

import pytest

from docs_src.tour_steps import Command, Read, Request, Table
from pentad.app import App, open_app
from pentad.http.application import http_application
from pentad.kernel.clock import SystemClock
from pentad.settings.model import Settings
from tests.cli.processes import run
from tests.rooms.registers.site import Site
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 108
TIME_OF_FILES = 1_780_000_000
EXAMPLES = ('{"', '["', '"{{')
PARAMETER = re.compile(r"[@_a-z][\w@.\[\]]*=\S+$")
MARK = re.compile(r"<!-- tour: (?P<name>[a-z-]+) -->\n(?P<block>.*?)<!-- end -->", re.DOTALL)

Steady = Callable[[str], str]
"""Gives values that differ from run to run names that do not."""


class StillClock(SystemClock):
    """The same second on every run."""

    __slots__ = ("_later",)

    def __init__(self, later: float = 0.0) -> None:
        self._later = later

    def now(self) -> float:
        return TIME_OF_FILES + self._later


def tour_named(monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    """A module of docs_src."""
    monkeypatch.syspath_prepend(ROOT / "docs_src")
    sys.modules.pop(name, None)
    return __import__(name)


def filled(value: Any, known: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: filled(member, known) for name, member in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [filled(member, known) for member in cast("list[Any]", value)]
    return known.get(value[1:], value) if isinstance(value, str) and value.startswith("$") else value


async def answer(client: Any, step: Any, known: dict[str, Any], layout: "Layout | None" = None) -> tuple[str, str]:
    layout = layout or pretty
    arguments = filled(step.arguments, known)
    result = await client.call_tool(step.tool, arguments)
    assert step.shown or not result["isError"], result
    said = result.get("structuredContent")
    for name, member in step.keep.items():
        known[name] = said[member]
    shown = layout(said) if said is not None else "\n".join(wrap(result["content"][0]["text"], WIDTH))
    return layout({"tool": step.tool, "arguments": arguments}), shown


def pretty(value: Any, indent: str = "") -> str:
    """JSON in as few lines as fit the page."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list):
        return short
    inner = indent + "  "
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        members = [f"{inner}{json.dumps(name)}: {pretty(member, inner)}" for name, member in items]
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + pretty(member, inner) for member in cast("list[Any]", value)) + f"\n{indent}]"


def packed(value: Any, indent: str = "") -> str:
    """The same in fewer lines: neighbouring members share a line if they fit. Objects in a list keep their own."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= WIDTH or not isinstance(value, dict | list):
        return short
    inner = indent + "  "
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        parts = [f"{json.dumps(name)}: {packed(member, inner)}" for name, member in items]
    else:
        parts = [packed(member, inner) for member in cast("list[Any]", value)]
    lines: list[str] = []
    for part in parts:
        room = lines and "\n" not in lines[-1] + part and len(inner) + len(lines[-1]) + 2 + len(part) <= WIDTH
        if room and not (isinstance(value, list) and part.startswith("{")):
            lines[-1] += f", {part}"
        else:
            lines.append(part)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n" + ",\n".join(inner + line for line in lines) + f"\n{indent}{closing}"


Layout = Callable[[Any], str]
"""How JSON is laid out on a page: `pretty` or `packed`."""


def block(asked: str, shown: str, language: str) -> str:
    return f"```json\n{asked}\n```\n```{language}\n{shown}\n```\n"


def command(step: Any, home: Path, database: str | None = None) -> str:
    text = ""
    if step.file is not None:
        name, content = step.file
        (home / name).write_text(content, encoding="utf-8")
        os.utime(home / name, (TIME_OF_FILES, TIME_OF_FILES))  # the date of a file can become part of a CID
        text = f"```\n$ cat {name}\n{content.rstrip()}\n"
    else:
        text = "```\n"
    store = ("--data", str(home / "data")) if step.on_store else ()
    environ = {"PENTAD_DATABASE": database} if database else {}
    done = run(*shlex.split(step.line)[1:], *store, home=home, environ=environ)
    return f"{text}$ {step.line}\n{(done.stdout + done.stderr).strip()}\n```\n"


async def _asked(step: Any, settings: Settings, known: dict[str, Any], layout: Layout) -> str:
    settings = replace(settings, agent=getattr(step, "hosted", ()))
    # agents are imported from the folder of the tour's files
    with chdir(settings.data.parent):
        return await _asked_in_folder(step, settings, known, layout)


async def _asked_in_folder(step: Any, settings: Settings, known: dict[str, Any], layout: Layout) -> str:
    async with open_app(settings, clock=StillClock(getattr(step, "later", 0.0))) as app:
        if isinstance(step, Request):
            return await _requested(app, step, known, layout)
        if isinstance(step, Table):
            return await _tabled(app, step, known)
        async with app.client() as client:
            if isinstance(step, Read):
                found = await client.request("resources/read", {"uri": step.uri})
                return f"```json\n{layout(json.loads(found['contents'][0]['text']))}\n```\n"
            asked, shown = await answer(client, step, known, layout)
    if not step.answered:
        return f"```json\n{asked}\n```\n"
    return block(asked, shown, "json" if shown.startswith("{") else "text")


async def _requested(app: App, step: Request, known: dict[str, Any], layout: Layout) -> str:
    path = Template(step.path).safe_substitute(known)
    body = filled(step.body, known)
    site = Site(app, http_application(app), {})
    given = {name.lower(): value for name, value in step.headers.items()}
    reply = await site.send(step.method, path, body, who="", headers=given)
    head = "".join(f"{name}: {value}\n" for name, value in step.headers.items())
    sent = "" if body is None else f"{body.decode() if isinstance(body, bytes) else layout(body)}\n"
    kind = reply.headers["content-type"].partition(";")[0]
    if kind == "text/event-stream":
        shown, said = _events(reply.body.decode().strip(), layout)
    else:
        shown, said = layout(reply.json), reply.json
    known.update({name: said[member] for name, member in step.keep.items()})
    return f"```\n{step.method} {path}\n{head}{sent}\n{reply.status} {kind}\n{shown}\n```\n"


def _events(stream: str, layout: Layout) -> tuple[str, Any]:
    """A stream with the data of its events laid out, and the task in its first event."""
    lines = [line.partition(" ") for line in stream.splitlines()]
    data = [json.loads(value) for name, _, value in lines if name == "data:"]
    shown = "\n".join(
        f"{name} {layout(json.loads(value)) if name == 'data:' else value}".strip() for name, _, value in lines
    )
    return shown, data[0].get("task", {})


async def _tabled(app: App, step: Table, known: dict[str, Any]) -> str:
    heads = step.heads if step.column is None else ("asked of", *step.heads)
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for asks, meaning in step.rows:
        found = await _found(app, step, asks, known)
        first = "" if step.column is None else f"`{asks[step.column]}` | "
        lines.append(f"| {first}`{_in_short(step, asks)}` | {meaning} | {found} |")
    return "\n".join(lines) + "\n"


def _in_short(step: Table, asks: Any) -> str:
    if isinstance(asks, str):
        return asks
    if step.shown is not None:
        asks = asks[step.shown]
    if isinstance(asks, dict):
        asks = {name: value for name, value in cast("dict[str, Any]", asks).items() if name != step.column}
    return json.dumps(asks)


async def _found(app: App, step: Table, asks: Any, known: dict[str, Any]) -> str:
    """The answer in short: the values of the rows, or the rows if they have several."""
    if step.path is not None:
        more = "".join(f"&{name}={value}" for name, value in step.arguments.items())
        reply = await Site(app, http_application(app), {}).send("GET", f"{step.path}?{asks}{more}", who="")
        assert reply.status == 200, reply.body
        said = reply.json
    else:
        own = asks if step.argument is None else {step.argument: asks}
        takes_fields = step.column is not None and "aggregate" not in asks
        hidden = step.hidden.get(asks[step.column], {}) if takes_fields else {}
        async with app.client() as client:
            if step.tool == "views":
                return await _view(client, step, own)
            result = await client.call_tool(step.tool, filled({**step.arguments, **hidden, **own}, known))
        assert not result["isError"], result
        said = result["structuredContent"]
    found = said.get(step.member, ())
    if step.member == "migrated":
        changed = found["samples"][-1]
        return f"`{json.dumps(changed['before'])}` becomes `{json.dumps(changed['after'])}`"
    if isinstance(found, dict):  # facets
        found = [bucket for facet in cast("dict[str, Any]", found).values() for bucket in facet["buckets"]]
    return _listed(found)


async def _view(client: Any, step: Table, own: dict[str, Any]) -> str:
    """The rows of a view with these columns."""
    place = {**step.arguments, step.column: own[step.column]} if step.column else step.arguments
    query = {name: value for name, value in own.items() if name != step.column}
    made = await client.call_tool("views", {"action": "create", "data": {"title": "Row", **place, "query": query}})
    assert not made["isError"], made
    named = {"id": made["structuredContent"]["id"]}
    result = await client.call_tool("views", {"action": "run", **named})
    await client.call_tool("views", {"action": "delete", **named})
    return _listed(result["structuredContent"]["results"])


def _listed(rows: Any) -> str:
    return ", ".join(_short(row) for row in rows) or "nothing"


def _short(row: Any) -> str:
    if not isinstance(row, dict):
        return str(row)
    values = {name: value for name, value in cast("dict[str, Any]", row).items() if name not in ("id", "@self")}
    if len(values) > 1:
        return f"`{json.dumps(values)}`"
    [value] = values.values()
    return "null" if value is None else str(value)


def check_page(
    page: Path,
    tour: Any,
    room: str,
    home: Path,
    steady: Steady,
    layout: Layout = pretty,
    *,
    database: str | None = None,
    compared: Callable[[str], str] = str,
) -> None:
    """Make every block of the tour; the page must show these. The examples within its text are run afterwards.

    `compared` leaves out what differs between stores.
    """
    made: dict[str, str] = {}
    known: dict[str, Any] = {}
    settings = Settings(data=home / "data", database=database, rooms=(room,), auth="none")
    for name, step in tour.TOUR.items():
        if isinstance(step, Command):
            made[name] = steady(command(step, home, database))
        else:
            shown_block = steady(asyncio.run(_asked(step, settings, known, layout)))
            if getattr(step, "shown", True) is not False:
                made[name] = shown_block
    text = page.read_text(encoding="utf-8")
    if os.environ.get("PENTAD_WRITE_DOCS") and database is None:
        text = MARK.sub(lambda mark: f"<!-- tour: {mark['name']} -->\n{made[mark['name']]}<!-- end -->", text)
        page.write_text(text, encoding="utf-8")
    shown: Mapping[str, str] = {mark["name"]: mark["block"] for mark in MARK.finditer(text)}
    assert set(shown) == set(made), "every step is on the page, and nothing else"
    for name, block_of_it in made.items():
        assert compared(shown[name]) == compared(block_of_it), name
    if examples := getattr(tour, "INLINE", None):
        assert inline_examples(text) == set(examples), "every example within the text is run"
        asyncio.run(_run_inline(examples, settings, known))


def inline_examples(text: str) -> set[str]:
    """The JSON and the URL parameters that a page shows within its text."""
    prose = re.sub(r"```.*?```", "", MARK.sub("", text), flags=re.DOTALL)
    found = {re.sub(r"^\w+: ", "", span) for span in re.findall(r"`([^`\n]+)`", prose)}
    return {span for span in found if PARAMETER.match(span) or (span.startswith(EXAMPLES) and _is_json(span))}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


async def _run_inline(examples: Mapping[str, tuple[Any, str]], settings: Settings, known: dict[str, Any]) -> None:
    async with open_app(settings) as app, app.client() as client:
        site = Site(app, http_application(app), {})

        async def said(step: Any) -> str:
            if isinstance(step, Request):
                path = step.path
                for name, value in known.items():
                    path = path.replace(f"${name}", str(value))
                return json.dumps((await site.send(step.method, path, step.body, who="")).json)
            return json.dumps((await client.call_tool(step.tool, filled(step.arguments, known)))["structuredContent"])

        for text, (step, expected) in examples.items():
            found = await until(partial(said, step), partial(_has_text, expected), seconds=20)
            assert expected in found, text


def _has_text(expected: str, found: str) -> bool:
    return expected in found
