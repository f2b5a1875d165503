"""What is printed: where it goes, and that no text plays with the terminal."""

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pentad.terminal.output import print_error, print_json, print_table, print_text, visible

HOSTILE = "before\x1b[2Jafter\u202e\x9b"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stdout and stderr a terminal. Not a fixture: pytest's own capture would replace them again."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return screen


def test_a_table_is_aligned_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "role"), [("ada", "admin"), ("bartholomew", "reader")], empty="none")
    assert capsys.readouterr().out == "name         role\nada          admin\nbartholomew  reader\n"


def test_an_empty_table_is_a_remark_and_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name",), [], empty="There are none.")
    assert capsys.readouterr() == ("", "There are none.\n")


def test_a_line_break_inside_a_cell_does_not_break_the_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("a",), [("x\ny",)], empty="")
    assert capsys.readouterr().out == "a\nx y\n"


def test_a_terminal_gets_a_drawn_table_without_the_datas_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    print_table(("name", "text"), [("ada", HOSTILE), ("[bold]not markup[/bold]", "x")], empty="")
    drawn = screen.getvalue()
    assert "ada" in drawn
    assert "[bold]not markup[/bold]" in drawn
    assert "\x1b[2J" not in drawn
    assert "\u202e" not in drawn


@pytest.mark.requirement("cli:no-color")
def test_no_colour_is_drawn_for_those_who_want_none(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = terminal(monkeypatch)
    print_error("wrong", "right")
    assert "\x1b[" in coloured.getvalue()
    plain = terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    print_error("wrong", "right")
    assert plain.getvalue() == "error: wrong\nhint: right\n"


def test_text_reaches_a_file_as_it_is_and_a_terminal_made_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    print_text(HOSTILE)
    assert screen.getvalue() == "before\\x1b[2Jafter\\u202e\\x9b\n"
    piped = io.StringIO()
    monkeypatch.setattr(sys, "stdout", piped)
    print_text(HOSTILE)
    assert piped.getvalue() == HOSTILE + "\n"


@given(st.text(max_size=50))
def test_visible_text_holds_no_control_character_but_line_breaks_and_tabs(text: str) -> None:
    assert not [character for character in visible(text) if ord(character) < 32 and character not in "\n\t"]


@pytest.mark.requirement("cli:json")
def test_json_can_be_read_back_whatever_the_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    print_json({"name": "é"})
    assert raw.getvalue() == b'{\n  "name": "\\u00e9"\n}\n'
