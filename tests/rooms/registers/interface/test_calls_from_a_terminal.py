"""`pentad call` on each store: what the tools of the room promise about merging, ids, references, texts and history."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.rooms.registers.interface.terminal import Terminal

PLACE = {"register": "city", "schema": "permit"}
PERMIT: dict[str, Any] = {
    "required": ["number"],
    "properties": {
        "number": {"type": "string", "unique": True, "pattern": "^P-"},
        "fee": {"type": "number"},
        "applicant": {"type": "string", "$ref": "person"},
    },
}


@pytest.fixture
def terminal(tmp_path: Path, database_url: str | None) -> Terminal:
    found = Terminal(tmp_path, database_url)
    found.define("city", person={"properties": {"name": {"type": "string"}}}, permit=PERMIT)
    return found


def create(terminal: Terminal, **data: Any) -> Any:
    return terminal.call("objects", action="create", **PLACE, data=data)


def confirmed(terminal: Terminal, loss: str, tool: str, **arguments: Any) -> Any:
    """What the call answers with the token of its first answer, which names the loss."""
    said = terminal.refusal(tool, **arguments)
    assert loss in said
    [token] = re.findall(r'with confirm "(\w+)"', said)
    return terminal.call(tool, **arguments, confirm=token)


@pytest.mark.requirement(
    "registers:schema-change:merge", "registers:schema-change:confirm", "registers:schema-change:detach"
)
def test_updates_add_and_lose_something_only_with_a_token(terminal: Terminal) -> None:
    create(terminal, number="P-1", fee=5)
    due = {"properties": {"due": {"type": "string", "format": "date"}}}
    changed = terminal.call("schemas", action="update", id="permit", data=due)
    assert (changed["properties"].keys(), changed["required"]) == ({*PERMIT["properties"], "due"}, ["number"])
    drop: dict[str, Any] = {"action": "update", "id": "permit", "data": {"properties": {"fee": None}}}
    assert "fee" not in confirmed(terminal, "the values of 'fee' in 1 object", "schemas", **drop)["properties"]
    terminal.call("schemas", action="create", data={"title": "Other", "slug": "other"})
    joined = terminal.call("registers", action="update", id="city", data={"schemas": ["other"]})
    assert len(joined["schemas"]) == 3
    detach: dict[str, Any] = {"action": "update", "id": "city", "data": {"detach": ["permit"]}}
    assert len(confirmed(terminal, "1 object", "registers", **detach)["schemas"]) == 2


@pytest.mark.requirement("registers:objects:one-id")
def test_an_id_in_data_means_the_object_itself(terminal: Terminal) -> None:
    wanted = "0d6c4a5e-8f5b-4a57-9d0c-3f6d1f3f9a01"
    made = create(terminal, id=wanted, number="P-1")
    assert (made["id"], made["@self"]["id"]) == (wanted, wanted)
    other = create(terminal, number="P-2")["id"]
    said = terminal.refusal("objects", action="patch", **PLACE, id=wanted, data={"id": other, "fee": 5})
    assert other in said
    kept = terminal.call("objects", action="patch", **PLACE, id=wanted, data={"id": wanted, "fee": 5})
    assert (kept["id"], kept["fee"]) == (wanted, 5)


@pytest.mark.requirement("registers:relations:words")
def test_part_of_a_reference_finds_nothing(terminal: Terminal) -> None:
    person = terminal.call("objects", action="create", register="city", schema="person", data={"name": "Ada"})["id"]
    create(terminal, number="P-1", applicant=person)
    for words, found in ((person.split("-")[0], 0), (person, 0), ("P-1", 1)):
        assert terminal.call("objects", action="list", **PLACE, search=words)["total"] == found


@pytest.mark.requirement("registers:history:changed", "registers:errors:hints")
def test_history_and_errors_name_what_changed_and_what_is_there(terminal: Terminal) -> None:
    made = create(terminal, number="P-1", fee=5)["id"]
    terminal.call("objects", action="patch", **PLACE, id="P-1", data={"fee": 7})
    [last, first] = terminal.call("objects", action="history", **PLACE, id=made)["results"]
    assert (first["action"], last["changed"]) == ("create", {"fee": {"old": 5, "new": 7}})
    versions = terminal.refusal("objects", action="revert", **PLACE, id=made, version=9)
    assert f"Object {made} has no version 9 that you may read" in versions
    assert "must match the pattern '^P-'" in terminal.refusal("objects", action="create", **PLACE, data={"number": "1"})
    create(terminal, number="P-2")
    page = terminal.run(
        "call", "objects", "action=list", *(f"{name}={value}" for name, value in PLACE.items()), "limit=1"
    )
    assert "cursor" in page.stdout
