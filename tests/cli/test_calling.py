"""`pentad list` and `pentad call`, in process, on a room that has one of everything."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import ROOM, run
from tests.conformance.server import environment, pentad

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


PROFILE = """
[profiles.names]
rooms = ["directory"]
tools = ["objects", "search_tools"]
read_only = true
"""


@pytest.mark.requirement("cli:profile")
def test_the_tools_of_a_profile_are_listed(tmp_path: Path) -> None:
    (tmp_path / "pentad.toml").write_text(PROFILE, encoding="utf-8")
    here = ("--rooms", "directory,registers", "--data", "d", "--json")

    def names(*arguments: str) -> list[str]:
        return [one["name"] for one in json.loads(run("list", "tools", *arguments, *here, home=tmp_path).stdout)]

    assert {"objects", "directory_delete", "agntcy_dir_push_record"} <= set(names())
    assert names("--profile", "core") == ["search_tools", "describe_tool", "call_tool", "search"]
    own = names("--profile", "names")
    assert {"objects", "directory_diff", "search_tools"} <= set(own)
    assert not {"registers", "directory_delete", "call_tool"} & set(own)
    unknown = run("list", "tools", "--profile", "nmaes", *here, home=tmp_path)
    assert (unknown.returncode, "'names'" in unknown.stderr) == (3, True)


@pytest.mark.requirement("cli:profile")
def test_a_tool_that_is_not_listed_is_called_all_the_same(tmp_path: Path) -> None:
    here = ("--rooms", "directory,agents", "--data", "d")
    called = run("call", "agents_lint_context", 'context={"items": {}}', "--json", *here, home=tmp_path)
    assert json.loads(called.stdout)["structuredContent"]["valid"] is True
    wrong = run("call", "agents_lint_contxt", *here, home=tmp_path)
    assert (wrong.returncode, "'agents_lint_context'" in wrong.stderr) == (3, True)


@pytest.mark.requirement("cli:profile")
def test_a_profile_is_served_over_stdio(tmp_path: Path) -> None:
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    child = subprocess.run(
        [pentad(), "mcp", "serve", "--profile", "core", "--rooms", "directory,registers", "--data", str(tmp_path)],
        input=asked, cwd=tmp_path, env=environment(), capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    (line,) = child.stdout.splitlines()
    assert [tool["name"] for tool in json.loads(line)["result"]["tools"]][:2] == ["search_tools", "describe_tool"]
