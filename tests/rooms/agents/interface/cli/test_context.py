"""`pentad agents context`: what its verbs print, where, and how they end."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from pentad.app import open_app
from pentad.cli.main import LAUNCHER
from pentad.kernel.errors import Conflict, Forbidden, InvalidInput
from pentad.kernel.principal import LOCAL
from pentad.rooms.agents.context.integrity import bytes_hash, items_hash
from pentad.rooms.agents.interface.cli.context import context
from pentad.settings.sources import load_settings
from tests.rooms.directory.oasf.samples import sample

ITEMS = {
    "note": {"mediaType": "text/plain", "content": "hello"},
    "numbers": {"mediaType": "application/json", "content": {"n": 9007199254740993}},
}


def ran(tmp_path: Path, verb: str, value: Any, *options: str) -> Result:
    path = tmp_path / "context.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    done = CliRunner().invoke(context, [verb, str(path), *options], standalone_mode=False, obj=LAUNCHER)
    if done.exception is not None:
        raise done.exception
    return done


def test_lint_tells_each_issue_with_its_place_and_fails_for_errors(tmp_path: Path):
    good = ran(tmp_path, "lint", {"items": ITEMS})
    assert good.return_value == 0
    assert good.stdout.startswith("WARNING big-integer /items/numbers/content/n: ")
    bad = ran(tmp_path, "lint", {"items": {"a": {"media_type": "x"}}})
    assert bad.return_value == 1
    assert bad.stdout.splitlines() == [
        (
            "ERROR unknown-item-member /items/a/media_type: 'media_type' is no member of an item."
            " Did you mean `mediaType`?"
        ),
        "ERROR empty-item /items/a: The item has neither `content` nor `ref`. Give it one of them.",
    ]
    assert ran(tmp_path, "lint", {"items": {"a": {"media_type": "x"}}}, "--level", "lenient").return_value == 0
    assert ran(tmp_path, "lint", "{").stdout.startswith("ERROR not-parsed /: This is not JSON")
    told = json.loads(ran(tmp_path, "lint", {"items": ITEMS}, "--json").stdout)
    assert (told["valid"], told["sha256"]) == (True, items_hash(ITEMS))


def test_hash_is_the_same_for_42_and_42_0(tmp_path: Path):
    hashes = {ran(tmp_path, "hash", f'{{"items": {{"a": {{"content": {n}}}}}}}').stdout for n in ("42", "42.0")}
    assert hashes == {items_hash({"a": {"content": 42}}) + "\n"}
    each = json.loads(ran(tmp_path, "hash", {"items": ITEMS}, "--json").stdout)
    assert list(each["items"]) == ["note", "numbers"]


def test_redact_gives_the_context_out_and_tells_what_it_masked(tmp_path: Path):
    value = {"items": {"a": {"content": {"password": "c4n4ry"}, "metadata": {"x-audience": ["bob"]}}}}
    done = ran(tmp_path, "redact", value, "--target", "bob")
    assert json.loads(done.stdout)["items"]["a"]["content"] == {"password": "[redacted:key-name]"}
    assert done.stderr == "/items/a/content/password: key-name masked\n"
    assert "c4n4ry" not in ran(tmp_path, "redact", value, "--target", "bob", "--json").output
    with pytest.raises(Forbidden):
        ran(tmp_path, "redact", value, "--target", "eve")


def test_plan_fits_and_tells_what_became_of_each(tmp_path: Path):
    value = {"items": {**ITEMS, "long": {"mediaType": "text/plain", "content": "x" * 9_000}}}
    done = ran(tmp_path, "plan", value, "--max-bytes", "2000")
    assert len(json.loads(done.stdout)["items"]["long"]["content"]) < 2_000
    assert done.stderr.splitlines()[0] == "note: kept, 52 -> 52 bytes"
    assert "long: shortened, 9047 -> " in done.stderr
    told = json.loads(ran(tmp_path, "plan", value, "--max-tokens", "500", "--no-refs", "--json").stdout)
    assert (told["max_bytes"], [one["fate"] for one in told["items"]]) == (2_000, ["kept", "kept", "shortened"])


def test_resolve_puts_in_what_references_lead_to(tmp_path: Path):
    async def pushed() -> str:
        async with open_app(load_settings({"data": tmp_path / "data", "rooms": "directory"})) as app:
            return (await app.rooms[0].service.node.push(LOCAL, sample("1.0.0"))).cid

    cid = asyncio.run(pushed())
    data = ["--data", str(tmp_path / "data"), "--rooms", "agents,directory"]
    value = {"items": {**ITEMS, "record": {"ref": f"cid:{cid}"}}}
    whole = json.loads(ran(tmp_path, "resolve", value, *data).stdout)["items"]
    assert whole["note"] == ITEMS["note"]
    assert whole["record"]["content"]["name"] == sample("1.0.0")["name"]
    assert json.loads(ran(tmp_path, "resolve", value, "--item", "note", *data).stdout) == value
    with pytest.raises(click.UsageError, match="no item 'other'"):
        ran(tmp_path, "resolve", value, "--item", "other", *data)
    with pytest.raises(InvalidInput, match="gopher"):
        ran(tmp_path, "resolve", {"items": {"a": {"ref": "gopher://x"}}}, *data)
    changed = {"items": {"record": {"ref": f"cid:{cid}", "metadata": {"x-sha256": bytes_hash(b"another")}}}}
    with pytest.raises(Conflict):
        ran(tmp_path, "resolve", changed, *data)


def test_a_file_that_is_no_context_is_refused(tmp_path: Path):
    for text in ("", "[]", '{"items": {"a": 1}}'):
        with pytest.raises(InvalidInput):
            ran(tmp_path, "hash", text)
