"""The verbs on PostgreSQL: the same words, another store."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.processes import run
from tests.stores import PostgresServer

PASSWORD = "correct horse battery"


@pytest.fixture
def environ(postgres_server: PostgresServer) -> Iterator[dict[str, str]]:
    with postgres_server.empty_database() as url:
        yield {"PENTAD_DATABASE": url, "PENTAD_PORT": "0", "PENTAD_GRPC_PORT": "0"}


def test_the_doctor_asks_the_server_about_its_tables_its_clock_and_vectors(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    before = json.loads(run("doctor", "--json", home=tmp_path, environ=environ).stdout)
    states = {finding["check"]: finding["state"] for finding in before}
    assert (states["store"], states["migrations"], states["store clock"]) == ("ok", "warn", "ok")
    assert "CREATE EXTENSION" in next(finding["fix"] for finding in before if finding["check"] == "pgvector")
    assert run("migrate", home=tmp_path, environ=environ).returncode == 0
    after = json.loads(run("doctor", "--json", home=tmp_path, environ=environ).stdout)
    assert {finding["check"]: finding["state"] for finding in after}["migrations"] == "ok"


def test_a_backup_brings_back_what_was_there(tmp_path: Path, environ: dict[str, str]) -> None:
    def names() -> list[str]:
        return [
            user["name"] for user in json.loads(run("users", "list", "--json", home=tmp_path, environ=environ).stdout)
        ]

    def add(name: str) -> None:
        done = run("users", "add", name, "--password-stdin", home=tmp_path, stdin=PASSWORD, environ=environ)
        assert done.returncode == 0, done.stderr

    add("ada")
    assert run("backup", "saved", home=tmp_path, environ=environ).returncode == 0
    add("late")
    assert names() == ["ada", "late"]
    restored = run("restore", "saved", home=tmp_path, environ=environ)
    assert restored.returncode == 0, restored.stderr
    assert names() == ["ada"]


def test_a_backup_of_one_kind_of_store_is_not_forced_into_the_other(tmp_path: Path, environ: dict[str, str]) -> None:
    assert run("migrate", home=tmp_path, environ=environ).returncode == 0
    assert run("backup", "saved", home=tmp_path, environ=environ).returncode == 0
    done = run("restore", "saved", "--data", "d", home=tmp_path)
    assert done.returncode == 2
    assert "SQLite" in done.stderr
