"""`pentad directory keys` and `pentad agents keys`, and what commands say about a missing `secret_key`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import run

KEY = "not-a-real-key " * 3
ROOMS = pytest.mark.parametrize("room", ["directory", "agents"])


def listed(home: Path, room: str, **environ: str) -> list[dict[str, Any]]:
    done = run(room, "keys", "list", "--json", home=home, environ=environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@ROOMS
@pytest.mark.requirement("access:signing-keys:commands")
def test_keys_are_listed_and_rotated(tmp_path: Path, room: str) -> None:
    assert listed(tmp_path, room) == []
    for count in (1, 2):
        done = run(room, "keys", "rotate", home=tmp_path)
        assert done.returncode == 0, done.stderr
        found = listed(tmp_path, room)
        assert len(found) == count
        assert found[0]["key"] in done.stderr
    new, old = listed(tmp_path, room)
    assert (new["retired"], old["retired"] is not None) == (None, True)
    table = run(room, "keys", "list", home=tmp_path).stdout
    assert "in use" in table
    assert "PRIVATE" not in table + json.dumps(found)
    done = run(room, "keys", "rotate", "--forget-old", "--json", home=tmp_path)
    assert [key["key"] for key in json.loads(done.stdout)] == [key["key"] for key in listed(tmp_path, room)]
    assert len(listed(tmp_path, room)) == 1


@ROOMS
@pytest.mark.requirement("access:secret-key:wrong")
def test_a_missing_or_wrong_secret_key_is_told_without_a_traceback(tmp_path: Path, room: str) -> None:
    assert run(room, "keys", "rotate", home=tmp_path, environ={"PENTAD_SECRET_KEY": KEY}).returncode == 0
    assert len(listed(tmp_path, room, PENTAD_SECRET_KEY=KEY)) == 1
    other = "another-unreal-key " * 3
    commands = ((room, "keys", "list"), (room, "keys", "rotate"), ("list", "tools", "--rooms", room))
    for environ in ({}, {"PENTAD_SECRET_KEY": other}, {"PENTAD_SECRET_KEY": "short"}):
        for command in commands:
            done = run(*command, home=tmp_path, environ=environ)
            assert done.returncode != 0
            assert "secret_key" in done.stderr
            assert "Traceback" not in done.stderr
            assert not any(key in done.stderr for key in (KEY.strip(), other.strip()))
    changed = {"PENTAD_SECRET_KEY": other, "PENTAD_SECRET_KEY_PREVIOUS": KEY}
    assert run("list", "tools", home=tmp_path, environ=changed).returncode == 0
    assert len(listed(tmp_path, room, PENTAD_SECRET_KEY=other)) == 1


@pytest.mark.requirement("access:secret-key:wrong")
def test_doctor_tells_whether_secrets_can_be_read(tmp_path: Path) -> None:
    def finding(**environ: str) -> tuple[str, str]:
        done = run("doctor", "--json", home=tmp_path, environ={"PENTAD_GRPC_PORT": "0", **environ})
        assert "Traceback" not in done.stderr
        found = {one["check"]: one for one in json.loads(done.stdout)}
        return found["secrets"]["state"], found["secrets"]["text"]

    assert run("list", "tools", home=tmp_path).returncode == 0
    assert "not encrypted" in finding()[1]
    assert "next start encrypts" in finding(PENTAD_SECRET_KEY=KEY)[1]
    assert run("list", "tools", home=tmp_path, environ={"PENTAD_SECRET_KEY": KEY}).returncode == 0
    assert finding(PENTAD_SECRET_KEY=KEY) == ("ok", "Keys and secrets in the store are encrypted.")
    assert finding()[0] == "fail"
    assert finding(PENTAD_SECRET_KEY="another-unreal-key " * 3)[0] == "fail"


def test_the_secret_key_is_never_shown() -> None:
    from pentad.settings.catalogue import list_settings
    from pentad.settings.model import Settings

    settings = Settings(secret_key="odd://" + KEY, secret_key_previous=(KEY,))
    assert KEY not in repr(settings)
    shown = {line.path: line.value for line in list_settings(settings)}
    assert (shown["secret_key"], shown["secret_key_previous"]) == ("***", "***")
    assert {line.path: line.value for line in list_settings(Settings())}["secret_key_previous"] == ""
