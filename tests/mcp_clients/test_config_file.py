"""Changing somebody else's file: whole or not at all, and never over what they wrote meanwhile."""

from pathlib import Path

import pytest

from pentad.kernel.errors import Conflict, Misconfigured
from pentad.mcp_clients.config_file import edit_file


@pytest.mark.requirement("cli:install")
def test_what_the_client_wrote_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one", encoding="utf-8")

    def change(text: str) -> str:
        if text == "one":
            path.write_text("two", encoding="utf-8")
        return text + "!"

    assert edit_file(path, change) == tmp_path / "file.bak"
    assert path.read_text(encoding="utf-8") == "two!"
    assert (tmp_path / "file.bak").read_text(encoding="utf-8") == "two"


def test_a_file_that_never_holds_still_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("0", encoding="utf-8")

    def change(text: str) -> str:
        path.write_text(str(int(text) + 1), encoding="utf-8")
        return "mine"

    with pytest.raises(Conflict):
        edit_file(path, change)
    assert path.read_text(encoding="utf-8") == "3"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_new_file_is_for_its_owner_only(tmp_path: Path) -> None:
    edit_file(tmp_path / "new" / "file", lambda text: text + "x")
    assert (tmp_path / "new" / "file").stat().st_mode & 0o077 == 0


def test_a_refusal_leaves_no_trace(tmp_path: Path) -> None:
    def refuse(text: str) -> str:
        raise Misconfigured("It is odd.")

    with pytest.raises(Misconfigured, match="It is odd"):
        edit_file(tmp_path / "file", refuse)
    assert list(tmp_path.iterdir()) == []
