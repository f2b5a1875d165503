"""Printed commands are called as the reader has to type them."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from pentad.terminal import program as module
from pentad.terminal.program import as_typed, program, remember_program, with_program
from tests.cli.processes import run


def remembered(argv0: str, **environ: str) -> str:
    remember_program(argv0, environ)
    assert "PENTAD_LAUNCHER" not in environ
    return environ["PENTAD_PROGRAM"]


@pytest.fixture
def on_path(tmp_path: Path) -> Path:
    script = tmp_path / "bin" / "pentad"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    return script


@pytest.mark.requirement("cli:program")
def test_an_installed_program_is_called_by_its_name(on_path: Path) -> None:
    assert remembered(str(on_path), PATH=str(on_path.parent)) == "pentad"


@pytest.mark.requirement("cli:program")
def test_a_program_that_is_not_on_the_path_is_called_as_it_was_typed(on_path: Path) -> None:
    assert remembered(str(on_path), PATH="/nowhere") == str(on_path)
    assert remembered(".venv/bin/pentad", PATH=str(on_path.parent)) == ".venv/bin/pentad"
    assert remembered("/x/my tools/pentad", PATH="") == "'/x/my tools/pentad'"


@pytest.mark.requirement("cli:program")
def test_the_launcher_of_a_clone_is_named_and_not_what_it_starts() -> None:
    assert remembered("/clone/.venv/bin/pentad", PENTAD_LAUNCHER="./pentad", PATH="") == "./pentad"
    assert remembered("/clone/.venv/bin/pentad", PENTAD_LAUNCHER="pentad", PATH="") == "./pentad"


def test_an_image_and_worker_processes_are_told_the_name() -> None:
    assert (
        remembered("/usr/bin/pentad", PENTAD_PROGRAM="docker exec -it pentad pentad") == "docker exec -it pentad pentad"
    )


def test_a_module_is_called_by_the_interpreter_that_runs_it() -> None:
    assert remembered("/lib/pentad/cli/main.py", PATH="") == f"{sys.executable} -m pentad.cli.main"


@pytest.mark.requirement("cli:program")
def test_uvx_is_told_again_where_the_program_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", "/cache/uv/archive-v0/abc")
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(module, "_installed_from", lambda: str(tmp_path))
    assert remembered("/cache/uv/archive-v0/abc/bin/pentad") == f"uvx --from {tmp_path} pentad"
    monkeypatch.setattr(module, "_installed_from", lambda: None)
    assert remembered("/cache/uv/archive-v0/abc/bin/pentad") == "uvx pentad"


def test_the_place_an_installation_came_from_is_read_from_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    class Installed:
        def __init__(self, text: str | None) -> None:
            self.text = text

        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return self.text

    def installed(text: str | None) -> None:
        monkeypatch.setattr(metadata, "distribution", lambda _name: Installed(text))

    installed(json.dumps({"url": "file:///home/ada/my%20clone", "dir_info": {}}))
    assert module._installed_from() == "/home/ada/my clone"
    installed(json.dumps({"url": "https://example.org/pentad.whl"}))
    assert module._installed_from() == "https://example.org/pentad.whl"
    installed(None)
    assert module._installed_from() is None


def test_only_commands_in_backticks_are_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENTAD_PROGRAM", "./pentad")
    assert program() == "./pentad"
    assert as_typed("pentad doctor") == "./pentad doctor"
    assert with_program("Run `pentad doctor`; pentad and `pentadic x` stay.") == (
        "Run `./pentad doctor`; pentad and `pentadic x` stay."
    )


@pytest.mark.requirement("cli:program")
def test_errors_and_help_name_commands_as_they_have_to_be_typed(tmp_path: Path) -> None:
    environ = {"PENTAD_PROGRAM": "./pentad"}
    assert "hint: Try `./pentad --help`." in run("cal", home=tmp_path, environ=environ).stderr
    assert "=bash_source ./pentad)" in run("--help", home=tmp_path, environ=environ).stdout
    assert "=bash_source pentad)" in run("--help", home=tmp_path).stdout
