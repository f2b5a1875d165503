"""`pentad registers` as people use it, on each store: look, bring a file in, take one out."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from tests.rooms.registers.interface.terminal import Terminal

TREE: dict[str, Any] = {
    "title": "Tree",
    "slug": "tree",
    "required": ["number"],
    "properties": {
        "number": {"type": "string", "unique": True},
        "height": {"type": "number", "minimum": 0},
        "note": {"type": "string"},
    },
}


@pytest.fixture
def terminal(tmp_path: Path, database_url: str | None) -> Terminal:
    """A terminal on each store, with a register of trees."""
    found = Terminal(tmp_path, database_url)
    found.call("schemas", action="create", data=TREE)
    found.call("registers", action="create", data={"title": "City", "slug": "city", "schemas": ["tree"]})
    return found


def bring(terminal: Terminal, text: str, *options: str, name: str = "trees.csv") -> Any:
    (terminal.home / name).write_text(text, encoding="utf-8")
    return terminal.run("registers", "import", name, "-r", "city", "-s", "tree", *options)


def take(terminal: Terminal, *options: str) -> Any:
    return terminal.run("registers", "export", "-r", "city", "-s", "tree", *options)


def test_registers_are_listed_with_their_schemas_and_counts(terminal: Terminal) -> None:
    assert bring(terminal, "number,height\nT-1,4\nT-2,5\n").returncode == 0
    assert json.loads(terminal.run("registers", "list", "--json").stdout) == [
        {"register": "city", "title": "City", "schema": "tree", "objects": 2}
    ]
    assert terminal.run("registers", "list").stdout.splitlines() == [
        "register  title  schema  objects",
        "city      City   tree    2",
    ]


@pytest.mark.requirement("registers:describe:wires")
def test_a_register_is_described(terminal: Terminal) -> None:
    assert bring(terminal, "number,height\nT-1,4\n").returncode == 0
    found = json.loads(terminal.run("registers", "describe", "city", "--json").stdout)
    assert found["schemas"][0]["properties"]["number"] == {"type": "string", "required": True, "unique": True}
    assert terminal.run("registers", "describe", "city").stdout.splitlines()[:3] == [
        "tree: Tree, 1 object",
        "name    is",
        "number  string, required, unique",
    ]
    few = json.loads(terminal.run("registers", "describe", "city", "--json", "--max-tokens", "60").stdout)
    assert few["cut"]["max_tokens"] == 60
    assert "town" in terminal.run("registers", "describe", "town").stderr


def test_an_import_says_what_it_did_and_leaves_stdout_alone(terminal: Terminal) -> None:
    done = bring(terminal, "number,height\nT-1,4\n")
    assert (done.returncode, done.stdout) == (0, "")
    said, way_back = done.stderr.splitlines()
    assert said == "1 row: 1 created, 0 updated, 0 unchanged. Everything was imported."
    assert way_back.startswith("To take it back: pentad registers undo ")


def test_bad_rows_are_listed_and_keep_everything_out(terminal: Terminal) -> None:
    done = bring(terminal, "number,height\nT-1,4\nT-2,tall\n")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["row  column  problem", "3    height  'tall' is not a number."]
    assert done.stderr.endswith("1 bad. Nothing was written.\n")
    assert json.loads(terminal.run("registers", "list", "--json").stdout)[0]["objects"] == 0


def test_partial_dry_run_and_key_do_what_they_say(terminal: Terminal) -> None:
    partial = json.loads(bring(terminal, "number,height\nT-1,4\nT-2,tall\n", "--partial", "--json").stdout)
    assert (partial["created"], partial["failed"], partial["written"]) == (1, 1, True)
    dry = json.loads(bring(terminal, "number,height\nT-1,9\n", "--key", "number", "--dry-run", "--json").stdout)
    assert (dry["updated"], dry["written"]) == (1, False)
    real = json.loads(bring(terminal, "number,height\nT-1,9\n", "--key", "number", "--json").stdout)
    assert (real["updated"], real["written"]) == (1, True)


def test_an_export_goes_to_stdout_as_csv_unless_told_otherwise(terminal: Terminal) -> None:
    bring(terminal, "number,height\nT-1,4\nT-2,5\n")
    lines = take(terminal).stdout.lstrip("\ufeff").splitlines()
    assert lines[0] == "_id,_version,number,height,note"
    assert len(lines) == 3
    rows = [json.loads(line) for line in take(terminal, "--format", "jsonl", "--fields", "number").stdout.splitlines()]
    assert [row["number"] for row in rows] == ["T-1", "T-2"]
    assert "height" not in rows[0]


def test_a_filter_chooses_and_a_file_names_its_format(terminal: Terminal) -> None:
    bring(terminal, "number,height\nT-1,4\nT-2,5\n")
    done = take(terminal, "--filter", '{"height": {"gt": 4}}', "--out", "tall.xlsx")
    assert (done.returncode, done.stdout) == (0, "")
    sheet = load_workbook(io.BytesIO((terminal.home / "tall.xlsx").read_bytes()), read_only=True).worksheets[0]
    assert [row[2:4] for row in sheet.iter_rows(values_only=True)] == [("number", "height"), ("T-2", 5)]
    assert [path.name for path in terminal.home.glob("*.part")] == []


def test_a_failed_export_leaves_the_file_as_it_was(terminal: Terminal) -> None:
    (terminal.home / "kept.csv").write_text("mine", encoding="utf-8")
    done = take(terminal, "--fields", "heigth", "--out", "kept.csv")
    assert done.returncode == 1
    assert "heigth" in done.stderr
    assert (terminal.home / "kept.csv").read_text(encoding="utf-8") == "mine"
    assert [path.name for path in terminal.home.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("registers", "export", "-r", "town", "-s", "tree"), 3, "Register town not found"),
        (("registers", "export", "-r", "city", "-s", "tree", "--filter", "{"), 2, "is not JSON"),
        (("registers", "import", "missing.csv", "-r", "city", "-s", "tree"), 2, "does not exist"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    terminal: Terminal, arguments: tuple[str, ...], code: int, complaint: str
) -> None:
    done = terminal.run(*arguments)
    assert done.returncode == code
    assert complaint in done.stderr


def test_a_file_of_an_unknown_kind_is_refused(terminal: Terminal) -> None:
    done = bring(terminal, "x", name="trees.pdf")
    assert done.returncode == 1
    assert "no format 'pdf'" in done.stderr


@pytest.mark.requirement("registers:errors:hints")
def test_what_is_missing_is_looked_for_by_the_command(terminal: Terminal) -> None:
    for verb in (
        ("export", "-r", "none-such", "-s", "tree"),
        ("describe", "none-such"),
        ("schema", "history", "none-such"),
        ("purge", "-r", "city", "-s", "none-such"),
    ):
        refused = terminal.run("registers", *verb)
        assert refused.returncode == 3
        assert "pentad registers list" in refused.stderr
        assert "action=list" not in refused.stderr


@pytest.mark.requirement("registers:errors:hints")
def test_the_token_for_a_loss_is_named_as_the_option_that_takes_it(terminal: Terminal) -> None:
    bring(terminal, "number,note\nT-1,tall\n")
    patch = ("patch", "tree", '[{"op": "drop", "property": "note"}]')
    asked = of_schema(terminal, *patch)
    token = re.findall(r"hint: To go ahead, repeat the command with --confirm (\w+)\.", asked.stderr)[0]
    assert (asked.returncode, 'confirm "' in asked.stderr) == (1, False)
    assert of_schema(terminal, *patch, "--confirm", token).returncode == 0


def of_schema(terminal: Terminal, *arguments: str) -> Any:
    return terminal.run("registers", "schema", *arguments)


@pytest.mark.requirement("registers:schema-change:patch")
def test_a_schema_is_planned_patched_listed_compared_and_undone(terminal: Terminal) -> None:
    assert bring(terminal, "number,height,note\nT-1,4,old\nT-2,5,\n").returncode == 0
    rename = '[{"op": "rename", "property": "height", "to": "height_m"}]'
    plan = of_schema(terminal, "plan", "tree", rename)
    assert (plan.returncode, plan.stderr) == (0, "2 objects: 2 would change, 0 would not fit.\n")
    assert "height: renamed to height_m" in plan.stdout
    done = of_schema(terminal, "patch", "tree", rename, "--reason", "metres")
    assert (done.returncode, done.stderr) == (0, "tree is at version 0.0.2 now. 2 objects were migrated.\n")
    assert "height: renamed to height_m" in done.stdout
    (terminal.home / "drop.json").write_text('{"op": "drop", "property": "note"}', encoding="utf-8")
    refused = of_schema(terminal, "patch", "tree", "@drop.json")
    assert refused.returncode != 0
    assert "the values of 'note' in 1 object" in refused.stderr
    token = json.loads(of_schema(terminal, "plan", "tree", "@drop.json", "--json").stdout)["confirm"]
    assert of_schema(terminal, "patch", "tree", "@drop.json", "--confirm", token).returncode == 0
    history = json.loads(of_schema(terminal, "history", "tree", "--json").stdout)
    assert [(row["version"], row["action"]) for row in history] == [(3, "patch"), (2, "patch"), (1, "create")]
    assert history[1]["reason"] == "metres"
    assert "note: removed" in of_schema(terminal, "diff", "tree", "2", "3").stdout
    assert of_schema(terminal, "undo", "tree").returncode == 0
    assert "old" in take(terminal, "--format", "jsonl").stdout
    assert "is not JSON" in of_schema(terminal, "patch", "tree", "drop note").stderr


@pytest.mark.requirement("registers:errors:hints")
def test_a_plan_that_would_be_refused_gives_the_migration_as_the_option_that_takes_it(terminal: Terminal) -> None:
    bring(terminal, "number,height,note\nT-1,4,old\nT-2,5,new\n")
    change = ("tree", '[{"op": "change", "property": "note", "definition": {"enum": ["Old", "New"]}}]')
    plan = of_schema(terminal, "plan", *change)
    assert (plan.returncode, "action=" in plan.stderr) == (1, False)
    migration = re.findall(r"With these steps all would fit: --migration '(.*)'", plan.stderr)[0]
    assert of_schema(terminal, "plan", *change, "--migration", migration).returncode == 0
    assert of_schema(terminal, "patch", *change, "--migration", migration).returncode == 0
    stricter = ("tree", '[{"op": "change", "property": "height", "definition": {"maximum": 4}}]')
    plan = of_schema(terminal, "plan", *stricter)
    assert (plan.returncode, "give steps that make them fit with --migration" in plan.stderr) == (1, True)
    assert "is not JSON" in of_schema(terminal, "plan", *stricter, "--migration", "map it").stderr


@pytest.mark.requirement("registers:warnings:undeclared")
def test_an_import_warns_of_columns_that_the_schema_does_not_have(terminal: Terminal) -> None:
    done = bring(terminal, '{"number": "T-1", "hieght": 4}\n', name="trees.jsonl")
    assert done.returncode == 0
    assert "Did you mean 'height'? (1 row)" in done.stderr


@pytest.mark.requirement("registers:transfer:undo")
def test_an_import_is_taken_back_by_the_id_it_printed(terminal: Terminal) -> None:
    done = bring(terminal, "number,height\nT-1,4\nT-2,5\n")
    [transfer] = re.findall(r"pentad registers undo (\S+)", done.stderr)
    undone = terminal.run("registers", "undo", transfer)
    assert (undone.returncode, undone.stderr) == (0, "2 deleted, 0 changed back, 0 left alone.\n")
    assert take(terminal, "--format", "jsonl").stdout == ""
    again = terminal.run("registers", "undo", transfer)
    assert again.returncode != 0
    assert f"The import {transfer} is undone." in again.stderr


@pytest.mark.requirement("registers:evolution:index-limit", "registers:evolution:index-limit-together")
def test_too_many_indexes_are_refused_in_words(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def patch(names: list[str]) -> Any:
        steps = [{"op": "add", "property": name, "definition": {"type": "string", "unique": True}} for name in names]
        return of_schema(terminal, "patch", "tree", json.dumps(steps))

    many = patch([f"p{number}" for number in range(64)])
    assert (many.returncode, "asks for 65 indexes, and 64 is the most" in many.stderr) == (1, True)
    monkeypatch.setattr("pentad.rooms.registers.objects.indexes.MOST_INDEXES_TOGETHER", 1)
    one = patch(["code"])
    assert (one.returncode, "all schemas of the store together may have 1" in one.stderr) == (1, True)
    assert "version 0.0.1" not in one.stderr
    monkeypatch.undo()
    assert patch(["code"]).returncode == 0


def delete_trees(terminal: Terminal) -> list[str]:
    """Delete all trees; returns their ids."""
    ids = [json.loads(line)["@self"]["id"] for line in take(terminal, "--format", "jsonl").stdout.splitlines()]
    operations = [{"action": "delete", "id": one} for one in ids]
    arguments = {"action": "bulk", "register": "city", "schema": "tree", "operations": operations}
    assert terminal.run("call", "objects", "--args", "-", stdin=json.dumps(arguments)).returncode == 0
    return ids


@pytest.mark.requirement("registers:deleted:command")
def test_deleted_objects_are_listed_and_restored(terminal: Terminal) -> None:
    bring(terminal, "number,height\nT-1,4\nT-2,5\nT-3,6\n")
    ids = delete_trees(terminal)
    place = ("-r", "city", "-s", "tree")
    lines = terminal.run("registers", "deleted", *place).stdout.splitlines()
    assert lines[0].split() == ["id", "name", "deleted", "by"]
    assert {line.split()[0] for line in lines[1:]} == set(ids)
    page = terminal.run("registers", "deleted", *place, "--limit", "2")
    cursor = re.findall(r"2 of 3\. There is more: --cursor (\S+)", page.stderr)[0]
    rest = terminal.run("registers", "deleted", *place, "--limit", "2", "--cursor", cursor, "--json")
    assert len(json.loads(rest.stdout)["results"]) == 1
    few = json.loads(terminal.run("registers", "deleted", *place, "--filter", '{"height": 4}', "--json").stdout)
    assert [row["number"] for row in few["results"]] == ["T-1"]

    unclear = terminal.run("registers", "restore", *place)
    assert (unclear.returncode, "--filter '{}' restores all" in unclear.stderr) == (2, True)
    one = terminal.run("registers", "restore", ids[0], *place)
    assert (one.returncode, one.stderr) == (0, "1 object was restored.\n")
    assert terminal.run("registers", "restore", ids[0][:-1], *place).returncode == 3
    two = terminal.run("registers", "restore", "T-2", "T-3", *place)
    assert (two.returncode, two.stderr) == (0, "2 objects were restored.\n")
    delete_trees(terminal)
    assert terminal.run("registers", "restore", "--filter", "{}", *place).stderr == "3 objects were restored.\n"
    assert terminal.run("registers", "deleted", *place).stderr == "There are no deleted objects.\n"


@pytest.mark.requirement("registers:deleted:command")
def test_an_object_that_cannot_be_restored_is_named(terminal: Terminal) -> None:
    bring(terminal, "number,height\nT-1,4\nT-2,5\n")
    [first, _] = delete_trees(terminal)
    bring(terminal, "number,height\nT-1,9\n")
    done = terminal.run("registers", "restore", "--filter", "{}", "-r", "city", "-s", "tree")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].startswith(first)
    assert "must be unique" in done.stdout
    assert done.stderr == "1 object was restored.\n"


@pytest.mark.requirement("registers:writes:repeated-keys")
def test_a_batch_with_one_key_twice_is_refused_with_both_rows(terminal: Terminal) -> None:
    rows = [{"action": "upsert", "data": {"number": "T-1", "height": height}} for height in (1, 2)]
    arguments = json.dumps({"action": "bulk", "register": "city", "schema": "tree", "operations": rows})
    refused = terminal.run("call", "objects", "--args", "-", stdin=arguments)
    assert refused.returncode == 1
    assert "Rows 0 and 1 are both for the object with number 'T-1'." in refused.stderr
    assert take(terminal, "--format", "jsonl").stdout == ""


@pytest.mark.requirement("registers:errors:hints", "registers:deleted:purge")
def test_deleted_objects_and_their_register_are_purged_with_a_token(terminal: Terminal) -> None:
    bring(terminal, "number,height\nT-1,4\nT-2,5\nT-3,6\n")
    place = {"register": "city", "schema": "tree"}
    for row in (json.loads(line) for line in take(terminal, "--format", "jsonl").stdout.splitlines()):
        arguments = json.dumps({"action": "delete", **place, "id": row["@self"]["id"]})
        assert terminal.run("call", "objects", "--args", "-", stdin=arguments).returncode == 0

    def token_in(refused: Any) -> str:
        assert refused.returncode != 0
        assert 'confirm "' not in refused.stderr
        return re.findall(r"hint: To go ahead, repeat the command with --confirm (\w+)\.", refused.stderr)[0]

    few = ("registers", "purge", "-r", "city", "-s", "tree", "--filter", '{"height": 4}')
    asked = terminal.run(*few)
    assert "1 deleted object of city/tree" in asked.stderr
    assert terminal.run(*few, "--confirm", token_in(asked)).stderr == "1 deleted object was purged.\n"
    asked = terminal.run("registers", "delete", "city")
    assert "2 deleted objects of register 'city'" in asked.stderr
    done = terminal.run("registers", "delete", "city", "--confirm", token_in(asked))
    assert (done.returncode, done.stderr) == (0, "The register city is deleted.\n")


@pytest.mark.requirement("registers:views:changed", "registers:views:versions")
def test_a_view_is_changed_member_by_member_unless_it_is_at_another_version(terminal: Terminal) -> None:
    query = json.dumps({"filter": {"height": {"gt": 4}}, "sort": ["-height"], "columns": ["number"]})
    place = ("-r", "city", "-s", "tree")
    made = terminal.run("registers", "views", "create", "High trees", *place, "--query", query, "--json")
    assert json.loads(made.stdout)["version"] == 1
    update = ("registers", "views", "update", "high-trees")
    done = terminal.run(*update, "--columns", "number, height", "--title", "Tall", "--shared", "--if-version", "1")
    assert (done.returncode, done.stderr) == (0, "high-trees is at version 2 now.\n")
    stale = terminal.run(*update, "--title", "Small", "--if-version", "1")
    assert (stale.returncode, "version 2, not 1" in stale.stderr) == (1, True)
    sortless = terminal.run(*update, "--query", '{"sort": null}', "--slug", "tall", "--not-shared", "--json")
    view = json.loads(sortless.stdout)
    assert (view["title"], view["slug"], view["shared"], view["version"]) == ("Tall", "tall", False, 3)
    assert view["query"] == {"filter": {"height": {"gt": 4}}, "columns": ["number", "height"]}
    assert "Say what to change" in terminal.run(*update).stderr
    assert terminal.run("registers", "views", "delete", "tall", "--if-version", "2").returncode == 1
    assert terminal.run("registers", "views", "delete", "tall", "--if-version", "3").returncode == 0
