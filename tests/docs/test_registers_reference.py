"""The tables and rules in the reference of the registers page are those of the room."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, get_args

import click
import pytest

from pentad.rooms.registers.interface import object_tool, tool_schemas
from pentad.rooms.registers.interface.cli.commands import registers
from pentad.rooms.registers.interface.rest.routes import TABLE
from pentad.rooms.registers.interface.transfer_tool import TransferArguments
from tests.conformance.server import serving
from tests.docs.touring import ROOT
from tests.rooms.registers.site import Site, open_site

READ_BY_OBJECTS = object_tool._READS
PAGE = (ROOT / "docs" / "registers.md").read_text(encoding="utf-8")
OBJECT = "/objects/{register}/{schema}"
WRITES = {"register", "schema", "max_tokens", "reason", "if_version", "idempotency_key", "fields"}
"""Arguments that the text below the table of `objects` names once for all actions, and `fields` of an answer."""


def section(title: str) -> str:
    return PAGE.split(f"\n{title}\n")[1].split("\n##")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their heads."""
    bodies = re.findall(r"^\|(?:---\|)+\n((?:\|.*\n?)+)", text, re.MULTILINE)
    assert bodies
    return [[cell.strip() for cell in line.strip("|").split("|")] for body in bodies for line in body.splitlines()]


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def full_paths(cell: str) -> list[str]:
    """The paths of a row; `.../logs` goes on behind the last whole one, `/oas` stands beside or below the first."""
    known, found, whole = {route.path for route in TABLE}, list[str](), OBJECT
    for span in spans(cell):
        path = span.partition("?")[0]
        if path.startswith("..."):
            found.append(whole + path.removeprefix("..."))
            continue
        first = found[0] if found else ""
        candidates = (first.rpartition("/")[0] + path, first + path, path)
        whole = next((one for one in candidates if one in known), path)
        found.append(whole)
    return found


def test_the_rest_table_has_every_route_and_no_other() -> None:
    named = set[tuple[str, str]]()
    for paths, methods, *_ in rows(section("### REST")):
        of_path, given = full_paths(paths), re.findall(r"`([A-Z ]+)`", methods.partition(";")[0])
        given = given * len(of_path) if len(given) == 1 else given
        named |= {(method, path) for path, all_ in zip(of_path, given, strict=True) for method in all_.split()}
    assert named == {(route.method, route.path) for route in TABLE}


def test_the_tables_of_tools_have_every_action_and_argument() -> None:
    tools, arguments = section("### Tools").split("| `objects` | arguments besides")
    listed = {spans(name)[0]: spans(actions)[0].split() for name, actions in rows(tools) if spans(actions)}
    assert listed == {
        "registers": list(get_args(tool_schemas.RegisterAction)),
        "schemas": list(get_args(tool_schemas.SchemaAction)),
        "views": list(get_args(tool_schemas.ViewAction)),
        "transfer": list(get_args(TransferArguments.model_fields["action"].annotation)),
        "attachments": list(get_args(tool_schemas.AttachmentAction)),
    }
    named = {
        action: {word for span in spans(cell) if '"' not in span and "{" not in span for word in span.split()}
        for actions, cell in rows(arguments.partition("\nWrites also")[0])
        for action in spans(actions)
    }
    assert named.keys() == READ_BY_OBJECTS.actions.keys()
    for action, read in READ_BY_OBJECTS.actions.items():
        assert read - WRITES <= named[action] | {"id", "offset"}, action
        assert {name for name in named[action] if name in tool_schemas.OBJECTS["properties"]} <= read | WRITES, action


def verbs_in(cell: str) -> list[str]:
    """The commands of a row, without `pentad registers`: `list`, `schema plan`, `schema patch`."""
    found = list[str]()
    for span in spans(cell):
        words = span.removeprefix("pentad registers ").split()
        if words[0] == "pentad" or words[0].startswith("-"):
            continue
        subverbs = words[1].split("/") if words[0] in ("schema", "views", "organisations") else [""]
        found += [f"{words[0]} {sub}".strip() for sub in subverbs]
    return found


def test_the_table_of_commands_has_every_command_and_real_options() -> None:
    context = click.Context(registers)
    real = dict[str, click.Command]()
    for name in registers.list_commands(context):
        command = registers.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            real |= {f"{name} {sub}": one for sub, one in command.commands.items()}
        else:
            real[name] = command
    named = set[str]()
    for cell, means in rows(section("### Command line").replace("\\|", "/")):
        verbs = verbs_in(cell)
        named |= set(verbs)
        options = {text for verb in verbs for param in real[verb].params for text in param.opts}
        assert set(re.findall(r"--[a-z-]+", means)) <= options, cell
    assert named == real.keys()


@pytest.mark.anyio
async def test_the_rule_under_access_does_what_it_says(tmp_path: Path) -> None:
    [rule] = re.findall(r"```json\n(.*?)\n```", section("### Access"), re.DOTALL)
    async with open_site(tmp_path) as site:
        properties = {"until": {"type": "string", "format": "date-time"}, "note": {"type": "string"}}
        place = await site.pair(properties, authorization=json.loads(rule))
        # the rule compares points in time: noon in Tokyo is long before ten in the morning in Amsterdam
        for until, status in (("2026-05-17T08:00:01Z", 200), ("2026-05-17T12:00:00+09:00", 403)):
            made = await site.made(place, {"until": until})
            path = f"/api{place}/{made['id']}"
            assert (await site.send("GET", path, who="")).status == 200
            assert (await site.send("PATCH", path, {"note": "x"}, who="writer")).status == status
            assert (await site.send("PATCH", path, {"note": "y"}, who="admin")).status == 200


async def authors(site: Site, books: dict[str, Any]) -> tuple[str, str]:
    """The paths of authors with this property `books`, and of books."""
    text = {"type": "string"}
    book = await site.made("/schemas", {"title": "Book", "slug": "book", "properties": {"title": text}})
    author = await site.made("/schemas", {"title": "Author", "slug": "author", "properties": {"name": text, **books}})
    refers = {"properties": {"author": {**text, "$ref": "author"}}}
    assert (await site.send("PATCH", f"/api/schemas/{book['id']}", refers)).status == 200
    register = await site.made("/registers", {"title": "Shelf", "schemas": [author["id"], book["id"]]})
    return f"/objects/{register['id']}/{author['id']}", f"/objects/{register['id']}/{book['id']}"


@pytest.mark.anyio
@pytest.mark.parametrize("row", [0, 1, 2], ids=["inversedBy", "writeBack", "removeAfterWriteBack"])
async def test_the_table_of_both_sides_says_what_happens(tmp_path: Path, row: int) -> None:
    table = rows(section("#### References written from both sides"))
    assert len(table) == 3
    [first] = spans(table[0][0])
    books = json.loads(f"{{{first}}}")
    for cells in table[1 : row + 1]:
        books["books"] |= json.loads(f"{{{spans(cells[0])[0]}}}")
    is_set = row > 0
    async with open_site(tmp_path) as site:
        of_author, of_book = await authors(site, books)
        one, other = await site.made(of_book, {"title": "One"}), await site.made(of_book, {"title": "Two"})
        ada = await site.made(of_author, {"name": "Ada", "books": [one["id"]]})
        assert (await site.send("GET", f"/api{of_book}/{one['id']}")).json.get("author") == (
            ada["id"] if is_set else None
        )
        assert (await site.send("PATCH", f"/api{of_book}/{other['id']}", {"author": ada["id"]})).status == 200
        seen = (await site.send("GET", f"/api{of_author}/{ada['id']}")).json["books"]
        assert set(seen) == ({other["id"]}, {one["id"]}, {one["id"], other["id"]})[row]


@pytest.mark.interop
def test_curl_sends_a_form_with_files_as_the_page_says(tmp_path: Path) -> None:
    [command] = [span for span in spans(section("### Attachments")) if span.startswith("curl ")]
    photo = b"\xff\xd8\xff\xe0 not much of a photo"
    (tmp_path / "photo.jpg").write_bytes(photo)
    with serving("registers") as served:

        def curl(path: str, *options: str) -> Any:
            words = ["curl", "--silent", "--show-error", "--fail-with-body", *options, f"{served.site}/api{path}"]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, timeout=60)
            assert done.returncode == 0, (done.stdout, done.stderr)
            return json.loads(done.stdout)

        def post(path: str, body: dict[str, Any]) -> Any:
            return curl(path, "-H", "content-type: application/json", "-d", json.dumps(body))

        schema = post("/schemas", {"title": "Thing"})["id"]
        register = post("/registers", {"title": "Things", "schemas": [schema]})["id"]
        made = post(f"/objects/{register}/{schema}", {"name": "One"})
        files = f"/objects/{register}/{schema}/{made['id']}/files"
        curl(files, *command.split()[1:])
        assert [(one["name"], one["size"]) for one in curl(files)["results"]] == [("photo.jpg", len(photo))]
