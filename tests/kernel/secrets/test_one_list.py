"""There is one list of what a secret is called: any other would disagree with it sooner or later."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pentad

SOURCE = Path(pentad.__file__).parent
OWN = SOURCE / "kernel" / "secrets"
WORDS = {
    "password", "passwords", "passwd", "passphrase", "pwd", "secret", "secrets", "token", "api_key",
    "api-key", "credential", "credentials", "authorization", "cookie", "cookies", "private_key", "access_key",
    "access_token",
}  # fmt: skip
"""What a list of names to recognise secrets by would have in it; two of them make one."""
ALLOWED: dict[str, str] = {}
"""Files that list such words for another purpose than to recognise secrets, with the reason."""


def lists_of_names(tree: ast.AST) -> Iterator[ast.AST]:
    """Literals that enumerate names of secrets: a pattern with alternatives, or a collection of strings."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("compile", "search")
        ):
            patterns = [
                one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            if "|" in "".join(patterns) and names_in(re.split(r"[^A-Za-z_]+", " ".join(patterns))) >= 2:
                yield node
        elif isinstance(node, ast.Tuple | ast.Set | ast.List):
            strings = [one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if names_in(strings) >= 2:
                yield node


def names_in(words: list[str]) -> int:
    return len({word.lower() for word in words} & WORDS)


def found_lists() -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        if OWN in file.parents or file.name.endswith("_pb2.py"):
            continue
        text = file.read_text(encoding="utf-8")
        lowered = text.lower()
        if sum(word in lowered for word in WORDS) < 2:
            continue  # no list can be in it; the tree of every module would cost seconds
        tree = ast.parse(text)
        if lines := [getattr(node, "lineno", 0) for node in lists_of_names(tree)]:
            found[file.relative_to(SOURCE).as_posix()] = lines
    return found


@pytest.mark.requirement("secrets:one-decision")
def test_no_other_module_lists_the_names_of_secrets():
    found = found_lists()
    assert {file: lines for file, lines in found.items() if file not in ALLOWED} == {}
    assert [file for file in ALLOWED if file not in found] == [], "an exception nobody needs any more"


@pytest.mark.parametrize(
    "source",
    ['re.compile(r"password|api_key")', 'NAMES = ("password", "token")', 'X = frozenset({"secret", "cookie"})'],
)
def test_a_second_list_would_be_noticed(source: str):
    assert list(lists_of_names(ast.parse(source)))
