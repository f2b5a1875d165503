"""`./pentad` in a clone: from any folder, through a symlink, with arguments and exit codes passed on."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import PATIENCE, REPOSITORY

FAKE = """#!/bin/sh
printf '%s|' "$PENTAD_LAUNCHER" "$PENTAD_MODELS" "$@"
exit 7
"""
"""Stands for the installed command: shows what it was given."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with the launcher, a Makefile that says what it was asked to make, and nothing set up."""
    folder = tmp_path / "my clone"
    folder.mkdir()
    shutil.copy(REPOSITORY / "pentad", folder)
    (folder / "requirements.lock").write_text("", encoding="utf-8")
    (folder / "fake").write_text(FAKE, encoding="utf-8")
    (folder / "Makefile").write_text(
        ".venv/.run: requirements.lock\n"
        "\t@echo set up\n\t@mkdir -p .venv/bin\n\t@install -m 755 fake .venv/bin/pentad\n\t@touch .venv/.run\n",
        encoding="utf-8",
    )
    return folder


def launch(command: str, *args: str, cwd: Path, **environ: str) -> "subprocess.CompletedProcess[str]":
    known = {"PATH": os.environ["PATH"], **environ}
    return subprocess.run(
        [command, *args], cwd=cwd, env=known, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.requirement("cli:launcher")
def test_the_first_run_sets_up_and_keeps_stdout_clean(clone: Path) -> None:
    first = launch("./pentad", "call", "a tool", "x=$HOME 'y'", "", cwd=clone)
    assert first.stdout == f"./pentad|{clone}/.cache/models|call|a tool|x=$HOME 'y'||"
    assert first.stderr == "set up\n"
    assert first.returncode == 7
    assert launch("./pentad", cwd=clone).stderr == ""


@pytest.mark.requirement("cli:launcher")
def test_it_works_from_any_folder_and_through_symlinks(clone: Path, tmp_path: Path) -> None:
    links = tmp_path / "bin"
    links.mkdir()
    (links / "direct").symlink_to(clone / "pentad")
    (links / "pentad").symlink_to("direct")
    for command in (str(clone / "pentad"), str(links / "pentad"), "bin/pentad"):
        done = launch(command, "doctor", cwd=tmp_path)
        assert done.stdout == f"{command}|{clone}/.cache/models|doctor|"
    by_path = launch("/bin/sh", "-c", "pentad doctor", cwd=tmp_path, PATH=f"{links}:{os.environ['PATH']}")
    assert by_path.stdout == f"{links}/pentad|{clone}/.cache/models|doctor|"


@pytest.mark.requirement("cli:launcher")
def test_changed_versions_are_installed_again(clone: Path) -> None:
    launch("./pentad", cwd=clone)
    changed = (clone / "requirements.lock").stat().st_mtime
    os.utime(clone / ".venv/.run", (changed - 10, changed - 10))
    assert launch("./pentad", cwd=clone).stderr == "set up\n"


def test_a_set_up_that_fails_is_not_passed_over(clone: Path) -> None:
    (clone / "Makefile").write_text(".venv/.run:\n\t@echo no network; exit 1\n", encoding="utf-8")
    failed = launch("./pentad", "doctor", cwd=clone)
    assert failed.returncode != 0
    assert (failed.stdout, "no network" in failed.stderr) == ("", True)


def test_models_are_those_of_the_clone_unless_named(clone: Path) -> None:
    assert launch("./pentad", cwd=clone, PENTAD_MODELS="/m").stdout == "./pentad|/m|"


def test_make_demo_starts_the_launcher_so_that_its_commands_work_in_the_same_folder() -> None:
    text = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    assert "@./pentad demo" in text
    assert os.access(REPOSITORY / "pentad", os.X_OK)
