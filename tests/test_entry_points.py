"""Entry points are read as `importlib.metadata` reads them, without importing it."""

import sys
from importlib import metadata
from pathlib import Path

import pytest

from pentad.cli.main import room_verbs
from pentad.entry_points import entry_points, load
from pentad.kernel.errors import Misconfigured
from pentad.rooms.finder import find_room, find_rooms


def package(folder: Path, name: str, text: str) -> Path:
    about = folder / f"{name}-1.dist-info"
    about.mkdir(parents=True)
    (about / "entry_points.txt").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.requirement("rooms:installed")
@pytest.mark.parametrize("group", ["pentad.rooms", "pentad.cli", "pentad.settings", "console_scripts", "pytest11"])
def test_they_are_those_that_the_standard_library_finds(group: str) -> None:
    assert entry_points(group) == {point.name: point.value for point in metadata.entry_points(group=group)}


def test_comments_and_extras_are_left_out_and_the_first_copy_of_a_package_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = package(tmp_path / "1", "one", "# x = y:z\n[a]\n[ g ]\nthing = m:o [extra]\n\n; gone = a:b\nother=m:p\n")
    second = package(tmp_path / "2", "one", "[g]\nthing = m:old\n")
    monkeypatch.setattr(sys, "path", [str(first), str(second), str(tmp_path / "missing"), __file__])
    assert entry_points("g") == {"other": "m:p", "thing": "m:o"}
    assert entry_points("a") == {}


def test_two_packages_that_declare_the_same_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(package(tmp_path, "thief", "[pentad.rooms]\ndirectory = other:ROOM\n"))
    with pytest.raises(Misconfigured, match=r"thief and pentad|pentad and thief"):
        find_room("directory")


def test_a_room_that_is_declared_under_another_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = "tests.behaviour.room:ROOM"
    monkeypatch.syspath_prepend(package(tmp_path, "other", f"[pentad.rooms]\nelsewhere = {place}\n"))
    with pytest.raises(Misconfigured, match="'lab' declares it as 'elsewhere'"):
        find_room("elsewhere")


def test_a_broken_package_leaves_the_verbs_of_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(package(tmp_path, "broken", "[pentad.rooms]\nbroken = no_such_module:ROOM\n"))
    assert "directory" in room_verbs()
    assert "'broken' cannot be loaded" in capsys.readouterr().err


@pytest.mark.requirement("cli:room-verbs")
def test_a_room_declares_the_verbs_that_its_package_names() -> None:
    for room in find_rooms(()):
        assert load(entry_points("pentad.cli")[room.name]) is room.cli
