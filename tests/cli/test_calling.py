"""`pentad list` and `pentad call`, in process, on a room that has one of everything."""

import json
from pathlib import Path

import pytest

from tests.cli.processes import ROOM, run

HERE = ("--rooms", ROOM, "--data", "d")


@pytest.mark.requirement("cli:list")
def test_tools_are_listed_with_their_room_and_schema(tmp_path: Path) -> None:
    listed = json.loads(run("list", "tools", "--json", *HERE, home=tmp_path).stdout)
    entry = next(tool for tool in listed if tool["name"] == "test_simple_text")
    assert (entry["room"], entry["inputSchema"]["type"]) == ("conformance", "object")
    table = run("list", "tools", *HERE, home=tmp_path).stdout.splitlines()
    assert table[0].split() == ["name", "room", "description"]
    assert len(table) == len(listed) + 1


@pytest.mark.parametrize("what", ["resources", "prompts"])
def test_resources_and_prompts_are_listed(tmp_path: Path, what: str) -> None:
    assert json.loads(run("list", what, "--json", *HERE, home=tmp_path).stdout)


def test_resource_templates_are_listed_among_the_resources(tmp_path: Path) -> None:
    listed = json.loads(run("list", "resources", "--json", *HERE, home=tmp_path).stdout)
    assert [entry for entry in listed if "uriTemplate" in entry]


def test_one_room_can_be_listed(tmp_path: Path) -> None:
    rooms = ("--rooms", f"{ROOM},tests.cli.demo_rooms:FILLED", "--data", "d", "--json")
    (tool,) = json.loads(run("list", "tools", "--room", "filled", *rooms, home=tmp_path).stdout)
    assert (tool["name"], tool["room"]) == ("filled", "filled")
    unknown = run("list", "tools", "--room", "fillet", *rooms, home=tmp_path)
    assert (unknown.returncode, "'filled'" in unknown.stderr) == (3, True)


def test_a_call_prints_the_text(tmp_path: Path) -> None:
    done = run("call", "test_simple_text", *HERE, home=tmp_path)
    assert (done.returncode, done.stdout) == (0, "This is a simple text response for testing.\n")


@pytest.mark.requirement("cli:call")
def test_a_call_as_json_prints_the_whole_result(tmp_path: Path) -> None:
    done = run("call", "test_image_content", "--json", *HERE, home=tmp_path)
    assert json.loads(done.stdout)["content"][0]["type"] == "image"
    said = run("call", "test_image_content", *HERE, home=tmp_path)
    assert (said.stdout, "image/png" in said.stderr) == ("", True)


def test_a_tool_that_fails_says_so_on_stderr(tmp_path: Path) -> None:
    done = run("call", "test_error_handling", *HERE, home=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    as_json = run("call", "test_error_handling", "--json", *HERE, home=tmp_path)
    assert (as_json.returncode, json.loads(as_json.stdout)["isError"]) == (1, True)


def test_an_unknown_tool_is_told_the_nearest(tmp_path: Path) -> None:
    done = run("call", "test_simple_txt", *HERE, home=tmp_path)
    assert done.returncode == 3
    assert "'test_simple_text'" in done.stderr


@pytest.mark.requirement("cli:call")
def test_arguments_come_from_a_file_from_stdin_and_from_words(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"nothing_such": 1}', encoding="utf-8")
    from_file = run("call", "test_simple_text", "--args", "a.json", *HERE, home=tmp_path)
    from_stdin = run("call", "test_simple_text", "--args", "-", *HERE, home=tmp_path, stdin='{"nothing_such": 1}')
    assert from_file.returncode == from_stdin.returncode == 1
    assert from_file.stderr == from_stdin.stderr
    assert "nothing_such" in from_file.stderr
    assert run("call", "test_simple_text", "--args", "-", *HERE, home=tmp_path, stdin="[]").returncode == 2
