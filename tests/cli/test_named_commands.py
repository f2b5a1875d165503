"""Every command that a text of Pentad, the README or a document names exists, with these words and options."""

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pentad.cli.main import cli

REPOSITORY = Path(__file__).parents[2]
UNKNOWN = "\u2026"
"""What stands for a value that a text fills in when it is shown."""
EXAMPLES = {"pentad notes": "the verb of the room that docs/write-a-room.md makes"}
_QUOTED = re.compile(r"`((?:\./)?pentad [^`]+)`")
_FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_IN_SHELL = re.compile(r"^\s*(?:\$ |uvx --from \S+ )?((?:\./)?pentad .*)$", re.MULTILINE)
_WHOLE = re.compile(r"pentad [a-z]+( [^.]*)?")


def in_document(text: str) -> Iterator[str]:
    """The commands in backticks, and the lines of code blocks that are one."""
    blocks = _FENCED.findall(text)
    for block in blocks:
        yield from _IN_SHELL.findall(re.sub(r"\\\n\s*", "", block))
    yield from _QUOTED.findall(re.sub(r"\s*\n\s*", " ", _FENCED.sub("", text)))


def in_source(source: str) -> Iterator[str]:
    """The commands in the texts of a module: in backticks, or a text that is nothing else."""
    for text in _texts(ast.parse(source)):
        yield from _QUOTED.findall(re.sub(r"\s+", " ", text))
        if _WHOLE.fullmatch(text):
            yield text


def _texts(tree: ast.AST) -> Iterator[str]:
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else UNKNOWN for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


def named_commands() -> dict[str, str]:
    """Every command, and a file that names it."""
    found: dict[str, str] = {}
    for pattern, read in (("src/**/*.py", in_source), ("docs/**/*.md", in_document), ("*.md", in_document)):
        for path in sorted(REPOSITORY.glob(pattern)):
            text = path.read_text(encoding="utf-8")
            for command in read(text) if "pentad " in text else ():
                found.setdefault(command.strip(), path.relative_to(REPOSITORY).as_posix())
    return found


def words_of(command: str) -> list[str]:
    """The words after `pentad`, up to a comment, a pipe, an arrow or another command."""
    words = shlex.split(command.replace("\\|", "|"), comments=True)[1:]
    ends = [place for place, word in enumerate(words) if word in ("|", "&&", ";", ">", "<", "&", "||", "->")]
    return words[: ends[0]] if ends else words


def written_out(words: list[str]) -> Iterator[list[str]]:
    """One command for each choice of words such as `plan|patch` or `list, show, run`."""
    joined = re.sub(r"(?<=[a-z]), (?=[a-z])", "|", shlex.join(words).replace("'", "")) if "list," in words else None
    given = joined.split() if joined else words
    choices = [word.split("|") if re.fullmatch(r"[a-z]+(\|[a-z]+)+", word) else [word] for word in given]
    return (list(one) for one in itertools.product(*choices))


def is_placeholder(word: str) -> bool:
    return UNKNOWN in word or "..." in word or word.isupper() or word.startswith(("<", "[", "{"))


def problem(words: list[str]) -> str | None:
    """What is wrong with a command; None if it can be typed so."""
    command: click.Command = cli
    context = click.Context(command, info_name="pentad")
    while isinstance(command, click.Group):
        if words and words[0].startswith("-"):
            break
        if not words or is_placeholder(words[0]):
            return None
        inner = command.get_command(context, words[0])
        if inner is None:
            return f"there is no {words[0]!r} in `{context.command_path}`"
        context = click.Context(inner, info_name=words[0], parent=context)
        command, words = inner, words[1:]
    valued = {name for one in command.params if isinstance(one, click.Option) and not one.is_flag for name in one.opts}
    if words and words[-1] in valued:  # the option is named, not the whole command
        words = [*words, UNKNOWN]
    elif words and words[-1] == "..." and words[-2] not in valued:
        words = words[:-1]
    try:
        options, arguments, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return error.format_message()
    return _wrong_value(command, options) or _too_many(command, arguments)


def _wrong_value(command: click.Command, options: "dict[str, object]") -> str | None:
    """A value that is none of those to choose from."""
    for one in command.params:
        given = options.get(one.name or "")
        if isinstance(one.type, click.Choice) and isinstance(given, str) and not is_placeholder(given):
            choices = [str(choice) for choice in one.type.choices]  # pyright: ignore[reportUnknownVariableType]
            if given not in choices:
                return f"{given!r} is none of {', '.join(choices)}"
    return None


def _too_many(command: click.Command, left: list[str]) -> str | None:
    return f"{left[0]!r} is one word too many" if left and not isinstance(command, click.Group) else None


@pytest.mark.requirement("cli:named-commands")
def test_every_command_a_text_names_can_be_typed() -> None:
    named = named_commands()
    assert len(named) > 150, "the commands are found"
    wrong = {
        f"{where}: {one}": what
        for one, where in named.items()
        if one not in EXAMPLES
        for words in written_out(words_of(one))
        if (what := problem(words)) is not None
    }
    assert wrong == {}


@pytest.mark.requirement("cli:named-commands")
@pytest.mark.parametrize(
    "command",
    [
        "pentad serv",
        "pentad users delete ada",
        "pentad serve --prot 80",
        "pentad list tool",
        "pentad list tools prompts",
        "pentad keys create laptop desktop",
        "pentad install netscape",
    ],
)
def test_a_command_that_cannot_be_typed_is_noticed(command: str) -> None:
    assert [problem(words) for words in written_out(words_of(command))] != [None]
    assert problem(words_of("pentad users add ada")) is None


@pytest.mark.requirement("cli:named-commands")
def test_commands_are_found_in_texts_blocks_and_values() -> None:
    source = 'hint = f"Run `pentad login {url}` first."\nNEXT = "pentad list tools"\nOTHER = "pentad is a server."\n'
    assert list(in_source(source)) == [f"pentad login {UNKNOWN}", "pentad list tools"]
    text = "Run `pentad users\nadd NAME`.\n```sh\n./pentad audit \\\n  --json   # all\n```\n"
    assert list(in_document(text)) == ["./pentad audit --json   # all", "pentad users add NAME"]
