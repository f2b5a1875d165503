"""`pentad doctor`: sound, doubtful and broken machines, told apart by state, fix and exit code."""

import contextlib
import json
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest

from pentad.cli.checks import check_clients, check_folder
from pentad.mcp_clients.clients import CLIENTS, Machine
from tests.access.issuing import EC, ISSUER, RSA, claims, key_set, signed
from tests.cli.processes import COMMAND, PATIENCE, child_environment, run
from tests.ports import free_port
from tests.refusing import damage


def report(home: Path, *args: str, **environ: str) -> tuple[int, dict[str, dict[str, str]]]:
    done = run("doctor", "--json", *args, home=home, environ=environ)
    assert "Traceback" not in done.stderr
    return done.returncode, {finding["check"]: finding for finding in json.loads(done.stdout)}


@pytest.fixture
def ports() -> dict[str, str]:
    """Free ports; and search by words alone, so that a report does not depend on a model that was pulled."""
    return {"PENTAD_PORT": str(free_port()), "PENTAD_GRPC_PORT": "0", "PENTAD_SEARCH_EMBEDDER": "none"}


@pytest.mark.requirement("cli:doctor")
def test_a_fresh_machine_is_well_and_stays_untouched(tmp_path: Path, ports: dict[str, str]) -> None:
    code, found = report(tmp_path, "--data", "new", **ports)
    assert (code, {finding["state"] for finding in found.values()}) == (0, {"ok"})
    assert not (tmp_path / "new").exists()


@pytest.mark.requirement("settings:removed")
def test_a_removed_setting_is_reported_with_its_replacement(tmp_path: Path, ports: dict[str, str]) -> None:
    (tmp_path / "pentad.toml").write_text("[rooms.agents]\nlease_seconds = 60\n", encoding="utf-8")
    code, found = report(tmp_path, "--data", "new", **ports)
    assert (code, found["configuration"]["state"]) == (1, "warn")
    assert "'rooms.agents.lease_seconds'" in found["configuration"]["text"]
    assert "jobs" in found["configuration"]["text"]


@pytest.mark.requirement("settings:removed")
def test_a_server_starts_with_a_removed_setting_and_logs_its_replacement(tmp_path: Path) -> None:
    (tmp_path / "pentad.toml").write_text("[rooms.agents]\nlease_seconds = 60\n", encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "mcp", "serve", "--data", "new"],
        check=False, input="", text=True, capture_output=True, timeout=PATIENCE,
        cwd=tmp_path, env=child_environment(tmp_path),
    )  # fmt: skip
    assert done.returncode == 0
    [line] = [json.loads(line) for line in done.stderr.splitlines() if "lease_seconds" in line]
    assert (line["level"], line["logger"]) == ("warning", "pentad.settings")
    assert "jobs" in line["message"]


def test_a_store_in_use_is_examined(tmp_path: Path, ports: dict[str, str]) -> None:
    assert run("migrate", "--data", "d", home=tmp_path).returncode == 0
    code, found = report(tmp_path, "--data", "d", **ports)
    assert code == 0
    assert {"store", "migrations", "disk", "clock", "data folder", "sqlite"} <= set(found)


@pytest.mark.requirement("registers:evolution:index-limit")
def test_a_schema_with_too_many_indexes_deserves_attention(tmp_path: Path, ports: dict[str, str]) -> None:
    assert run("migrate", "--data", "d", home=tmp_path).returncode == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "d" / "pentad.db")) as store:
        store.execute(
            "INSERT INTO schemas (id, uuid, slug, organisation, body, created_at, updated_at)"
            " VALUES (7, 'a', 'wide', 'default', '{\"title\": \"Wide\", \"version\": \"0.0.1\"}', 0, 0)"
        )
        for number in range(65):
            store.execute(f"CREATE INDEX ox_7_{number:012x} ON objects (uuid) WHERE schema = 7")
        store.commit()
    code, found = report(tmp_path, "--data", "d", **ports)
    assert (code, found["registers"]["state"]) == (1, "warn")
    assert found["registers"]["text"].startswith("Schema 7 has 65 indexes")
    assert "'wide'" in found["registers"]["text"]
    assert "x-index" in found["registers"]["fix"]


@pytest.mark.parametrize("broken", ["file", "file/below"])
def test_a_data_folder_that_is_none_is_a_failure_with_a_fix(tmp_path: Path, ports: dict[str, str], broken: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, found = report(tmp_path, "--data", broken, **ports)
    assert (code, found["data folder"]["state"]) == (2, "fail")
    assert "--data" in found["data folder"]["fix"]


def test_a_store_that_is_another_kind_of_file_is_a_failure(tmp_path: Path, ports: dict[str, str]) -> None:
    (tmp_path / "pentad.db").write_bytes(b"this is not a database at all" * 100)
    code, found = report(tmp_path, "--data", str(tmp_path), **ports)
    assert (code, found["store"]["state"]) == (2, "fail")


def test_a_wrong_file_is_reported_and_the_rest_still_looked_at(tmp_path: Path) -> None:
    (tmp_path / "pentad.toml").write_text("prot = 1", encoding="utf-8")
    code, found = report(tmp_path)
    assert (code, found["python"]["state"]) == (2, "ok")
    assert "'port'" in found["configuration"]["fix"]


def test_an_unknown_variable_and_a_taken_port_deserve_attention(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, found = report(tmp_path, PENTAD_PORT=port, PENTAD_GRPC_PORT="0", PENTAD_HOTS="x")
    assert code == 1
    assert found["port"]["state"] == "warn"
    assert "PENTAD_HOST" in found["configuration"]["text"]


def test_a_database_out_of_reach_fails_without_showing_its_password(tmp_path: Path, ports: dict[str, str]) -> None:
    done = run("doctor", "--database", "postgresql://ada:hunter2@127.0.0.1:1/x", home=tmp_path, environ=ports)
    assert done.returncode == 2
    assert "hunter2" not in done.stdout + done.stderr


@pytest.mark.requirement("cli:doctor")
def test_the_text_report_names_the_fix(tmp_path: Path, ports: dict[str, str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    lines = run("doctor", "--data", "file", home=tmp_path, environ=ports).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("fail"))
    assert lines[at + 1].strip().startswith("-> ")


def test_clients_are_found_with_and_without_pentad_and_with_a_command_that_is_gone(tmp_path: Path) -> None:
    def write(name: str, text: str) -> None:
        path = CLIENTS[name].path(Machine("linux", tmp_path, {}))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    write("cursor", "{}")
    write("gemini", "{")
    write("codex", '[mcp_servers.pentad]\ncommand = "/gone/pentad"\n')
    write("vscode", '{"servers": {"pentad": {"url": "http://127.0.0.1:8700/mcp"}}}')
    found = {finding.check: finding for finding in check_clients(CLIENTS.values(), Machine("linux", tmp_path, {}))}
    assert {check.removeprefix("client "): finding.state for check, finding in found.items()} == {
        "cursor": "ok",
        "gemini": "warn",
        "codex": "warn",
        "vscode": "ok",
    }
    assert "pentad install codex" in found["client codex"].fix


def test_looking_at_a_folder_leaves_nothing_in_it(tmp_path: Path) -> None:
    assert all(finding.state in ("ok", "warn") for finding in check_folder(tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("access:jwt:watched")
def test_an_issuer_whose_keys_cannot_be_read_is_a_failure_with_the_setting_to_change(
    tmp_path: Path, ports: dict[str, str]
) -> None:
    issuer = {"PENTAD_JWT_ISSUER": "https://login.example", "PENTAD_JWT_AUDIENCE": "pentad"}
    (tmp_path / "keys.json").write_bytes(key_set(RSA, EC))
    known = {**ports, **issuer, "PENTAD_JWT_JWKS_FILE": str(tmp_path / "keys.json")}
    code, found = report(tmp_path, "--data", "d", **known)
    assert (code, found["token issuer"]["state"]) == (0, "ok")
    assert "2 usable keys" in found["token issuer"]["text"]
    away = {**ports, **issuer, "PENTAD_JWT_JWKS_URL": f"http://127.0.0.1:{free_port()}/keys"}
    code, found = report(tmp_path, "--data", "d", **away)
    assert (code, found["token issuer"]["state"]) == (2, "fail")
    assert away["PENTAD_JWT_JWKS_URL"] in found["token issuer"]["text"]
    assert "jwt.jwks_url" in found["token issuer"]["fix"]
    (tmp_path / "keys.json").write_bytes(key_set(RSA))
    code, found = report(tmp_path, "--data", "d", **known, PENTAD_JWT_ALGORITHMS="ES256")
    assert (code, found["token issuer"]["state"]) == (2, "fail")
    assert "jwt.algorithms" in found["token issuer"]["fix"]


@pytest.mark.requirement("access:jwt:why")
def test_a_token_is_tried_and_its_refusal_explained(tmp_path: Path, ports: dict[str, str]) -> None:
    (tmp_path / "keys.json").write_bytes(key_set(RSA))
    known = {
        **ports,
        "PENTAD_JWT_ISSUER": ISSUER,
        "PENTAD_JWT_AUDIENCE": "pentad",
        "PENTAD_JWT_JWKS_FILE": str(tmp_path / "keys.json"),
        "PENTAD_JWT_ROLES": "staff=reader",
    }
    for changes, state, text in (
        ({}, "fail", "audience"),
        ({"aud": "pentad", "scope": None}, "warn", "may do nothing"),
        ({"aud": "pentad", "scope": None, "roles": ["staff"]}, "ok", "*:read"),
    ):
        token = signed(claims(time.time(), **changes))
        (tmp_path / "token").write_text(token, encoding="utf-8")
        _, found = report(tmp_path, "--data", "d", "--token-file", str(tmp_path / "token"), **known)
        assert found["token"]["state"] == state
        assert text in found["token"]["text"]
        assert token not in json.dumps(found)


@pytest.mark.requirement("storage:integrity", "cli:doctor")
def test_a_damaged_page_is_found_and_the_end_is_a_failure(tmp_path: Path, ports: dict[str, str]) -> None:
    assert run("migrate", "--data", "d", home=tmp_path).returncode == 0
    code, found = report(tmp_path, "--data", "d", **ports)
    assert (code, found["integrity"]["state"]) == (0, "ok")
    damage(tmp_path / "d" / "pentad.db", "audit_batches")
    code, found = report(tmp_path, "--data", "d", **ports)
    assert (code, found["integrity"]["state"]) == (2, "fail")
    assert "pentad restore" in found["integrity"]["fix"]
    assert found["store"]["state"] == "ok", "what was tried works"
    _, found = report(tmp_path, "--data", "d", "--check-seconds", "0", **ports)
    assert "integrity" not in found
