"""Verbs without --data find the store of the server that runs, and say which store it is if that is not obvious."""

import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import ROOM, child, run

SERVE = ("serve", "--port", "0", "--rooms", ROOM)
QUIET = {"PENTAD_GRPC_PORT": "0"}


def files(home: Path) -> list[Path]:
    return sorted((home / ".local/share/pentad/running").glob("*"))


def leave_file(home: Path, **changes: Any) -> Path:
    """A server's file; by default of this process, which is alive."""
    import psutil

    content = {
        "pid": os.getpid(),
        "started": psutil.Process().create_time(),
        "host": "127.0.0.1",
        "port": 4321,
        "grpc_port": 0,
        "public_url": None,
        "data": str(home / "elsewhere"),
        "database": None,
        "config": None,
        "demo": False,
    }
    path = home / ".local/share/pentad/running" / f"{changes.get('name', 'one')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    changes.pop("name", None)
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    return path


def add_user(home: Path, name: str, *more: str) -> str:
    done = run("users", "add", name, "--password-stdin", *more, home=home, stdin="x" * 20)
    assert done.returncode == 0, done.stderr
    return done.stderr


def users(home: Path, *more: str) -> tuple[list[str], str]:
    done = run("users", "list", "--json", *more, home=home)
    assert done.returncode == 0, done.stderr
    return [one["name"] for one in json.loads(done.stdout)], done.stderr


@pytest.mark.requirement("cli:running:found")
def test_a_verb_reaches_the_data_of_the_running_server_and_is_quiet_about_it(tmp_path: Path) -> None:
    with child(*SERVE, "--data", "d", home=tmp_path, **QUIET) as server:
        server.line("Pentad is ready at")
        (file,) = files(tmp_path)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert users(tmp_path) == (["admin"], "")
        made = run("keys", "create", "laptop", home=tmp_path)
        assert (made.returncode, made.stderr.count("\n")) == (0, 1)
        assert server.end(signal.SIGTERM) == 0
    assert files(tmp_path) == []
    listed = run("keys", "list", "--data", "d", home=tmp_path).stdout
    assert "laptop" in listed


@pytest.mark.requirement("cli:running:found")
def test_several_workers_leave_one_file(tmp_path: Path) -> None:
    with child(*SERVE, "--workers", "2", "--data", "d", home=tmp_path, **QUIET) as server:
        server.line("Pentad is ready at")
        assert len(files(tmp_path)) == 1
        assert server.end(signal.SIGINT) == 0
    assert files(tmp_path) == []


@pytest.mark.requirement("cli:running:stale")
@pytest.mark.parametrize(
    "changes",
    [
        {"pid": 2**22 + 1},  # beyond the largest process id
        {"started": 1.0},  # the id was given to another process since
        {"pid": "x"},
        {"unknown": 1},
    ],
)
def test_a_file_that_a_killed_server_left_is_ignored(tmp_path: Path, changes: dict[str, Any]) -> None:
    add_user(tmp_path, "ada", "--data", "elsewhere")
    leave_file(tmp_path, **changes)
    names, said = users(tmp_path)
    assert names == []
    assert "new, empty store" in said


@pytest.mark.requirement("cli:running:stale")
def test_a_file_of_another_user_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_user(tmp_path, "ada", "--data", "elsewhere")
    leave_file(tmp_path)
    assert users(tmp_path)[0] == ["ada"]
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert users(tmp_path)[0] == []


@pytest.mark.requirement("cli:running:told")
def test_a_verb_says_which_store_it_uses_if_there_are_two(tmp_path: Path) -> None:
    add_user(tmp_path, "eve")  # in the default store
    add_user(tmp_path, "ada", "--data", "elsewhere")
    leave_file(tmp_path)
    names, said = users(tmp_path)
    assert names == ["ada"]
    default = tmp_path / ".local/share/pentad"
    text = "Using the server at http://127.0.0.1:4321/. To use another store, name it with --data: "
    assert said == f"{text}{default}\n"
    assert users(tmp_path, "--data", str(default)) == (["eve"], "")


@pytest.mark.requirement("cli:running:told")
def test_a_verb_with_a_url_says_nothing_of_stores_here(tmp_path: Path) -> None:
    add_user(tmp_path, "eve")
    add_user(tmp_path, "ada", "--data", "elsewhere")
    leave_file(tmp_path)
    done = run("users", "list", "--url", "http://127.0.0.1:9", home=tmp_path)
    assert done.returncode != 0
    assert "Using the server" not in done.stderr


@pytest.mark.requirement("cli:running:told")
def test_of_several_servers_the_newest_is_used(tmp_path: Path) -> None:
    import psutil

    began = psutil.Process().create_time()
    add_user(tmp_path, "ada", "--data", "new")
    leave_file(tmp_path, name="1", data=str(tmp_path / "old"), started=began - 20)
    leave_file(tmp_path, name="2", data=str(tmp_path / "new"), started=began + 20)
    names, said = users(tmp_path)
    assert names == ["ada"]
    assert str(tmp_path / "old") in said


@pytest.mark.requirement("cli:running:told")
def test_a_new_store_is_announced_and_a_known_one_is_not(tmp_path: Path) -> None:
    first, second = add_user(tmp_path, "ada"), add_user(tmp_path, "eve")
    assert f"new, empty store: {tmp_path / '.local/share/pentad'}" in first
    assert second == "Added eve as reader.\n"
    assert "empty" not in add_user(tmp_path, "ada", "--data", "named")


def test_a_store_that_is_named_is_used_whatever_runs(tmp_path: Path) -> None:
    add_user(tmp_path, "ada", "--data", "named")
    leave_file(tmp_path)
    assert users(tmp_path, "--data", "named") == (["ada"], "")
    by_variable = run("users", "list", "--json", home=tmp_path, environ={"PENTAD_DATA": "named"})
    assert (json.loads(by_variable.stdout)[0]["name"], by_variable.stderr) == ("ada", "")
    (tmp_path / "pentad.toml").write_text('data = "named"\n', encoding="utf-8")
    assert users(tmp_path) == (["ada"], "")


@pytest.mark.requirement("cli:running:no-secret")
def test_the_file_has_no_secret_and_postgresql_has_to_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pentad.settings.model import Settings
    from pentad.terminal.running_servers import server_file

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    settings = Settings(data=tmp_path, database="postgresql://ada:hunter2@db.example/x", secret_key="k" * 32)
    with server_file() as written:
        written(settings)
        (file,) = files(tmp_path)
        text = file.read_text(encoding="utf-8")
        assert "hunter2" not in text
        assert "k" * 32 not in text
        assert "db.example" not in text
        names, said = users(tmp_path)
    assert names == []
    assert "keeps its data in PostgreSQL; name that with --database" in said


def test_a_server_runs_where_its_file_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pentad.settings.model import Settings
    from pentad.terminal.running_servers import server_file

    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(blocked))
    with server_file() as written:
        written(Settings(data=tmp_path))


@pytest.mark.requirement("cli:running:own-store")
def test_a_server_that_a_client_starts_keeps_the_default_store(tmp_path: Path) -> None:
    from pentad.terminal.options import read_settings

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path))
        patch.delenv("XDG_DATA_HOME", raising=False)
        leave_file(tmp_path)
        assert read_settings(running="fallback").data == tmp_path / "elsewhere"
        add_user(tmp_path, "ada", "--data", str(tmp_path / ".local/share/pentad"))
        assert read_settings(running="fallback").data == tmp_path / ".local/share/pentad"
        assert read_settings(running="use").data == tmp_path / "elsewhere"
        assert read_settings(running="ignore").data == tmp_path / ".local/share/pentad"


@pytest.mark.requirement("cli:running:own-store")
def test_install_names_the_store_of_the_running_server_and_its_address(tmp_path: Path) -> None:
    leave_file(tmp_path)
    printed = json.loads(run("install", "cursor", "--print", home=tmp_path).stdout)
    assert printed["mcpServers"]["pentad"]["args"][-2:] == ["--data", str(tmp_path / "elsewhere")]
    by_address = json.loads(run("install", "cursor", "--print", "--http", home=tmp_path).stdout)
    assert by_address["mcpServers"]["pentad"]["url"] == "http://127.0.0.1:4321/mcp"


def test_the_doctor_examines_the_running_server_and_does_not_want_its_port(tmp_path: Path) -> None:
    with child(*SERVE, "--data", "d", home=tmp_path, **QUIET) as server:
        server.line("Pentad is ready at")
        found = {one["check"]: one for one in json.loads(run("doctor", "--json", home=tmp_path).stdout)}
        assert str(tmp_path / "d") in found["data folder"]["text"]
        assert found["server"]["state"] == "ok"
        assert "port" not in found
