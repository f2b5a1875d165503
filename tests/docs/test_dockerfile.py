"""The recipe of the image takes only what is there, and what it starts are Pentad's own commands."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def lines_of(instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.+)$", RECIPE, re.MULTILINE)


@pytest.mark.requirement("dir:setup:docker")
def test_the_image_runs_the_command_the_package_installs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    (entry,) = lines_of("ENTRYPOINT")

    assert json.loads(entry) == ["pentad"]
    assert "pentad" in project["scripts"]


def test_everything_the_image_copies_is_there_and_let_through():
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line[0] == "!"}
    copied = {name for line in lines_of("COPY") for name in line.split()[:-1]}

    assert copied == let_through
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_does_not_run_as_root():
    assert lines_of("USER") == ["pentad"]
