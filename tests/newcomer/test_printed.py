"""Commands are found in texts as a person reads them."""

import pytest

from tests.newcomer.printed import filled_in, from_hint, from_page, from_readme, from_terminal


def test_commands_of_a_terminal_are_indented_and_may_take_several_lines() -> None:
    text = (
        "Ready: http://x/\n  curl -u a:b http://x \\\n    -d '{}'\nor:\n    ./pentad list tools\n  Log in at http://x\n"
    )
    assert from_terminal(text) == ["curl -u a:b http://x -d '{}'", "./pentad list tools"]


def test_commands_of_the_readme_are_in_blocks_for_the_shell() -> None:
    text = "```sh\nmake demo\n```\nx\n```text\n./pentad no\n```\n```sh\na\nb\n```\n"
    assert from_readme(text) == ["make demo", "a", "b"]


def test_commands_of_a_hint_are_in_backticks() -> None:
    assert from_hint("Run `./pentad models pull`, or set `x`.") == ["./pentad models pull"]


def test_commands_of_a_page_are_preformatted() -> None:
    assert from_page("<pre>claude mcp add &#x27;x&#x27;</pre><p>make no</p><pre>{}</pre>") == ["claude mcp add 'x'"]


def test_words_in_capitals_have_to_be_known() -> None:
    command = './pentad call x data=\'{"a": "URL b"}\' FOLDER'
    assert filled_in(command, {"FOLDER": "/my docs"}).endswith(" '/my docs'")
    with pytest.raises(KeyError):
        filled_in(command, {})
