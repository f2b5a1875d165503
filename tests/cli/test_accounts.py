"""Users, keys, backups and migrations, the way an operator's scripts use them."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.processes import run

PASSWORD = "correct horse battery"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    done = run("users", "add", "Ada", "--role", "admin", "--password-stdin", home=tmp_path, stdin=PASSWORD + "\n")
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.requirement("cli:users")
def test_a_user_is_added_listed_and_removed(home: Path) -> None:
    assert run("users", "add", "bob", "--password-stdin", home=home, stdin=PASSWORD).returncode == 0
    (ada, bob) = json.loads(run("users", "list", "--json", home=home).stdout)
    assert (ada["name"], ada["role"], bob["name"], bob["role"]) == ("Ada", "admin", "bob", "reader")
    assert run("users", "remove", "BOB", home=home).returncode == 0
    table = run("users", "list", home=home).stdout
    assert table.splitlines()[0].split() == ["name", "role", "scopes", "created"]
    assert "bob" not in table


@pytest.mark.requirement("cli:users")
def test_a_password_is_never_repeated(home: Path) -> None:
    done = run("users", "passwd", "ada", "--password-stdin", home=home, stdin="another long password")
    assert done.returncode == 0
    assert "another long password" not in done.stdout + done.stderr
    weak = run("users", "passwd", "ada", "--password-stdin", home=home, stdin="weak\n")
    assert (weak.returncode, "weak" in weak.stderr) == (1, False)


def test_adding_a_user_twice_is_a_failure_with_a_hint(home: Path) -> None:
    done = run("users", "add", "ADA", "--password-stdin", home=home, stdin=PASSWORD)
    assert done.returncode == 1
    assert "hint:" in done.stderr


@pytest.mark.requirement("cli:keys")
def test_a_key_goes_to_stdout_alone_and_is_listed_without_its_token(home: Path) -> None:
    made = run("keys", "create", "laptop", "--owner", "ada", "--scope", "metrics:read", "--days", "1", home=home)
    token = made.stdout.strip()
    assert token.startswith("pentad_")
    assert token not in made.stderr
    listed = run("keys", "list", "--json", home=home).stdout
    (key,) = json.loads(listed)
    assert (key["label"], key["owner"], key["scopes"], key["state"]) == ("laptop", "ada", ["metrics:read"], "active")
    assert token not in listed
    assert run("keys", "revoke", key["id"], home=home).returncode == 0
    assert json.loads(run("keys", "list", "--json", home=home).stdout)[0]["state"] == "revoked"


def test_a_key_can_be_made_without_end(home: Path) -> None:
    made = json.loads(run("keys", "create", "robot", "--days", "0", "--json", home=home).stdout)
    assert made["expires"] is None
    assert made["token"].startswith(f"pentad_{made['id']}_")


@pytest.mark.requirement("cli:backup")
def test_a_backup_brings_back_what_was_there(home: Path) -> None:
    saved = home / "saved"
    assert run("backup", str(saved), home=home).returncode == 0
    assert run("users", "add", "late", "--password-stdin", home=home, stdin=PASSWORD).returncode == 0
    done = run("restore", str(saved), home=home)
    assert done.returncode == 0, done.stderr
    assert "is kept as" in done.stderr
    assert [user["name"] for user in json.loads(run("users", "list", "--json", home=home).stdout)] == ["Ada"]


def test_a_file_that_is_no_backup_replaces_nothing(home: Path) -> None:
    (home / "junk").write_text("not a backup", encoding="utf-8")
    done = run("restore", str(home / "junk"), home=home)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Ada" in run("users", "list", home=home).stdout


@pytest.mark.requirement("cli:migrate", "storage:migrations:plan")
def test_a_plan_shows_what_is_due_and_makes_nothing(tmp_path: Path) -> None:
    planned = json.loads(run("migrate", "--plan", "--json", "--data", "new", home=tmp_path).stdout)
    assert {"set": "access", "number": "0001", "title": "access"} in planned
    assert not (tmp_path / "new").exists()
    assert json.loads(run("migrate", "--json", "--data", "new", home=tmp_path).stdout) == planned
    done = run("migrate", "--plan", "--data", "new", home=tmp_path)
    assert (done.stdout, done.returncode) == ("", 0)
    assert "up to date" in done.stderr


@pytest.mark.requirement("login:link")
def test_a_login_link_goes_to_stdout_alone(home: Path) -> None:
    made = run("users", "link", "ADA", "--port", "8799", home=home)
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"http://127\.0\.0\.1:8799/login/link\?token=pentad_link_[\w-]{43}\n", made.stdout)
    assert "pentad_link_" not in made.stderr
    assert run("users", "link", "nobody", home=home).returncode == 3
