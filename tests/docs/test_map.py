"""`docs/map.md`: every path exists, and its walks name every file that a real request crosses."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
MOST_FILES = 40
_PATH = re.compile(r"`([\w./]+(?:\.py|/))`")
_HEADINGS = {
    "registers": "Registers: create an object",
    "directory": "Directory: push a record",
    "agents": "Agents: send a task",
    "avatars": "Avatars: answer a question",
    "metrics": "Metrics: read one figure",
}


def section(heading: str) -> str:
    return MAP.split(f"## {heading}\n")[1].split("\n## ")[0]


def paths_in(text: str) -> set[str]:
    return set(_PATH.findall(text))


@pytest.fixture(scope="module")
def crossed() -> dict[str, list[str]]:
    """The files one request of each room crosses, by room."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.request_trace"],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.requirement("docs:map")
def test_every_path_of_the_map_exists():
    beside = {"src/", "src/pentad/", "tests/", "tests/behaviour/", "docs/decisions/"}
    named = paths_in(MAP)
    assert len(named) > 80
    assert [path for path in sorted(named - beside) if not (ROOT / "src" / "pentad" / path).exists()] == []
    assert [path for path in sorted(beside) if not (ROOT / path).is_dir()] == []


def test_the_tree_of_the_map_has_every_package_and_top_module():
    tree = section("The tree").split("```")[1]
    named = {line.split()[0].rstrip("/") for line in tree.strip().splitlines() if not line.startswith(" ")}
    package = ROOT / "src" / "pentad"
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py", "entry_points.py"}
    packages = {path.parent.name for path in package.glob("*/__init__.py")}
    assert named == modules | packages


@pytest.mark.interop
@pytest.mark.parametrize("room", _HEADINGS)
@pytest.mark.requirement("docs:map")
def test_a_walk_names_every_file_its_request_crosses(room: str, crossed: dict[str, list[str]]):
    named = paths_in(section("Every request")) | paths_in(section(_HEADINGS[room]))
    assert [path for path in crossed[room] if path.removeprefix("pentad/") not in named] == []


@pytest.mark.interop
@pytest.mark.requirement("docs:map:forty-files")
def test_creating_an_object_crosses_at_most_forty_files(crossed: dict[str, list[str]]):
    assert len(crossed["registers"]) <= MOST_FILES
