"""The command itself: what it imports, how it ends, what it says to a slip."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from pentad import __version__
from pentad.cli.main import VERBS, cli, room_verbs
from pentad.kernel import errors
from pentad.terminal.output import EXIT_CODES, ExitCode, exit_code
from tests.cli.processes import COMMAND, PATIENCE, child_environment, run

HEAVY = ("uvicorn", "starlette", "psycopg", "pydantic", "apsw", "rich", "aiohttp", "msgspec", "tomlkit")
WHAT_WAS_IMPORTED = """
import atexit, sys
atexit.register(lambda: print("\\nIMPORTED", *sorted(sys.modules), file=sys.stderr))
from pentad.cli.main import main
sys.argv[0] = "pentad"
main()
"""


def imported_by(home: Path, *args: str, **environ: str) -> tuple[str, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", WHAT_WAS_IMPORTED, *args],
        capture_output=True,
        encoding="utf-8",
        env=child_environment(home, **environ),
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout, set(done.stderr.rpartition("IMPORTED ")[2].split())


@pytest.mark.parametrize(
    ("args", "environ", "shown"),
    [
        (["--help"], {}, "Exit codes:"),
        (["--version"], {}, __version__),
        ([], {"_PENTAD_COMPLETE": "bash_complete", "COMP_WORDS": "pentad ", "COMP_CWORD": "1"}, "plain,doctor"),
        ([], {"_PENTAD_COMPLETE": "zsh_complete", "COMP_WORDS": "pentad se", "COMP_CWORD": "1"}, "serve"),
        ([], {"_PENTAD_COMPLETE": "fish_complete", "COMP_WORDS": "pentad se", "COMP_CWORD": "se"}, "serve"),
        ([], {"_PENTAD_COMPLETE": "bash_complete", "COMP_WORDS": "pentad users ", "COMP_CWORD": "2"}, "plain,passwd"),
        (["users", "--help"], {}, "passwd"),
    ],
)
def test_help_version_and_completion_import_nothing_heavy(
    tmp_path: Path, args: list[str], environ: dict[str, str], shown: str
) -> None:
    output, modules = imported_by(tmp_path, *args, **environ)
    assert shown in output
    assert modules.isdisjoint(HEAVY)
    assert not [name for name in modules if name.startswith(("pentad.app", "pentad.storage"))]
    rooms = {name.removeprefix("pentad.rooms.") for name in modules if name.startswith("pentad.rooms.")}
    assert all(name.count(".") == 0 or name.endswith(".verbs") for name in rooms), "a room is more than its verbs"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.requirement("cli:completion")
def test_every_shell_gets_its_completion_script(tmp_path: Path, shell: str) -> None:
    environ = {"_PENTAD_COMPLETE": f"{shell}_source"}
    if shell == "bash":
        environ["PATH"] = "/usr/bin:/bin"
    output, _ = imported_by(tmp_path, **environ)
    assert "_PENTAD_COMPLETE" in output


@pytest.mark.requirement("cli:room-verbs")
def test_every_verb_exists_and_its_help_line_is_its_own() -> None:
    context = click.Context(cli)
    for name, verb in {**VERBS, **room_verbs()}.items():
        command = cli.get_command(context, name)
        assert command is not None
        assert (command.help or "").strip().partition("\n")[0] == verb.help, name


def test_every_option_of_every_verb_is_explained() -> None:
    context = click.Context(cli)

    def walk(command: click.Command, path: str) -> None:
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help or parameter.show_default, f"{path} {parameter.opts}"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                walk(inner, f"{path} {name}")

    walk(cli, "pentad")


STORE_VERBS = [
    "serve", "mcp serve", "list", "call", "doctor", "backup", "restore", "migrate",
    "users add", "users list", "users remove", "users passwd", "keys create", "keys list", "keys revoke",
]  # fmt: skip


@pytest.mark.parametrize("verb", STORE_VERBS)
def test_every_verb_that_touches_the_store_lets_one_choose_it(verb: str) -> None:
    context = click.Context(cli)
    command: click.Command | None = cli
    for name in verb.split():
        assert isinstance(command, click.Group)
        command = command.get_command(context, name)
    assert command is not None
    assert {"--data", "--database"} <= {option for parameter in command.params for option in parameter.opts}


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["sreve"], 2, "Did you mean 'serve'?"),
        (["serve", "--prot", "1"], 2, "--port"),
        (["serve", "--port", "many"], 2, "not a valid integer"),
        (["serve", "--port", "99999"], 2, "0 to 65535"),
        (["serve", "--auth", "none", "--host", "0.0.0.0"], 2, "--auth none is refused"),
        (["serve", "--rooms", "nowhere"], 2, "There is no room 'nowhere'"),
        (["serve", "--rooms", "no.such.module:ROOM"], 2, "cannot be imported"),
        (["serve", "--config", "none.toml"], 2, "does not exist"),
        (["serve", "--database", "mysql://root:hunter2@x/y"], 2, "postgresql://"),
        (["list", "things"], 2, "tools"),
        (["list", "tools", "--rooms", "nowhere"], 2, "There is no room"),
        (["call", "no_such_tool", "--data", "d"], 3, "There is no tool"),
        (["call", "x", "--args", "missing.json"], 2, "cannot be read"),
        (["call", "x", "--url", "http://127.0.0.1:9/mcp"], 5, "error:"),
        (["call", "x", "--url", "ftp://host"], 1, "not a server's address"),
        (["backup", "b", "--data", "none"], 3, "There is no store"),
        (["restore", "missing"], 2, "does not exist"),
        (["users", "add", "ada", "--data", "d"], 2, "--password-stdin"),
        (["users", "remove", "nobody", "--data", "d"], 3, "There is no user"),
        (["keys", "revoke", "nothing", "--data", "d"], 3, "There is no key"),
        (["keys", "create", "x", "--scope", "everything", "--data", "d"], 1, "scope"),
        (["install", "notepad"], 2, "claude-code"),
    ],
)
@pytest.mark.requirement("cli:errors")
def test_a_slip_ends_with_its_code_a_sentence_and_no_traceback(
    tmp_path: Path, args: list[str], code: int, said: str
) -> None:
    done = run(*args, home=tmp_path)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("error: ")
    assert "hunter2" not in done.stderr
    assert done.stdout == ""
    assert done.returncode == code


def test_a_reader_that_goes_away_is_met_with_silence(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=child_environment(tmp_path)
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""


def test_every_kind_of_error_has_an_exit_code_that_is_documented() -> None:
    assert exit_code(errors.NotFound("x")) == ExitCode.UNKNOWN
    assert exit_code(errors.Forbidden("x")) == exit_code(errors.Unauthenticated("x")) == ExitCode.REFUSED
    assert exit_code(errors.Unavailable("x")) == ExitCode.UNAVAILABLE
    assert exit_code(errors.RateLimited("x", retry_after=1)) == ExitCode.UNAVAILABLE
    assert exit_code(errors.Misconfigured("x")) == ExitCode.USAGE
    assert exit_code(errors.Conflict("x")) == ExitCode.FAILED
    assert set(EXIT_CODES) == set(ExitCode)
