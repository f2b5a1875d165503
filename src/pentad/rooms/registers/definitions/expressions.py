"""Parses the small language of computed properties and default templates.

    price * amount                    total if total > 0 else null          sum(lines.price)
    concat(first, " ", last)          `odd name`.inner[0]                   @user

Names are properties, `@name` is information about the call, and `{{ ... }}` inside a text is a template. The language
has no loops, assignments, imports or attribute access. Text length, depth and operations are limited; `evaluation.py`
runs the tree.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from pentad.kernel.errors import InvalidInput
from pentad.kernel.names import did_you_mean
from pentad.rooms.registers.definitions.functions import FUNCTIONS

LONGEST: Final = 4_000
DEEPEST: Final = 32
MOST_OPERATIONS: Final = 150
_RESERVED: Final = frozenset({"and", "or", "not", "if", "else", "in", "true", "false", "null"})
_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "null": None}
_COMPARISONS: Final = ("==", "!=", "<=", ">=", "<", ">", "in")
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)
      | (?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')
      | (?P<quoted>`[^`]+`)
      | (?P<fact>@[A-Za-z_][A-Za-z0-9_]*)
      | (?P<name>[^\W\d]\w*)
      | (?P<mark>==|!=|<=|>=|[-+*/%<>().,\[\]])""",
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}


Renames = Mapping[tuple[str, ...], tuple[str, ...]]
"""The new paths of renamed properties by their old ones."""
_BARE: Final = re.compile(r"[^\W\d]\w*")


class ExpressionError(InvalidInput):
    """An expression that cannot be parsed or evaluated; the message says where."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: Any


@dataclass(frozen=True, slots=True)
class Lookup:
    """A property by its path, or information about the call (`@name`)."""

    path: tuple[str | int, ...]
    fact: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """`not`, unary minus, and all binary operators."""

    sign: str
    operands: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Choice:
    chosen: "Node"
    condition: "Node"
    otherwise: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function in the table; a list in brackets is a call of `list`."""

    name: str
    arguments: tuple["Node", ...]


Node = Constant | Lookup | Operation | Choice | Call


@dataclass(frozen=True, slots=True)
class Expression:
    source: str
    tree: Node

    def properties(self) -> frozenset[str]:
        """The top-level properties that an expression reads."""
        return frozenset(str(node.path[0]) for node in _nodes(self.tree) if isinstance(node, Lookup) and not node.fact)

    def facts(self) -> frozenset[str]:
        """The call information (`@name`) that an expression reads, without the `@`."""
        return frozenset(str(node.path[0]) for node in _nodes(self.tree) if isinstance(node, Lookup) and node.fact)


@dataclass(frozen=True, slots=True)
class Template:
    """A text with `{{ expression }}` in it. If the template is a single expression, the value keeps its type."""

    parts: tuple[str | Expression, ...]

    def properties(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.properties() for part in self.parts if isinstance(part, Expression)))


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def parse_expression(source: str) -> Expression:
    """The syntax tree of an expression; ExpressionError gives the column."""
    return Expression(source, _Parser(source).whole())


def parse_template(text: str) -> Template:
    """The parts of a template."""
    if len(text) > LONGEST:
        raise ExpressionError(f"A template has at most {LONGEST} characters; this one has {len(text)}.")
    parts: list[str | Expression] = []
    rest = text
    while rest:
        before, opened, after = rest.partition("{{")
        if before:
            parts.append(before)
        if not opened:
            break
        inside, closed, rest = after.partition("}}")
        if not closed:
            raise ExpressionError(f"The template {text[:80]!r} opens {{{{ and never closes it.")
        parts.append(parse_expression(inside.strip()))
    return Template(tuple(parts))


def renamed_path(path: tuple[Any, ...], renames: Renames) -> tuple[Any, ...]:
    """A path after renames of the property or one that contains it; the innermost rename wins."""
    for length in range(len(path), 0, -1):
        if (new := renames.get(path[:length])) is not None:
            return (*new, *path[length:])
    return path


def rename_in_expression(source: str, renames: Renames) -> str:
    """The expression with the new property names. Texts, `@` names and functions with the same name stay."""
    parser = _Parser(source)
    parser.whole()
    for lookup, tokens in sorted(parser.lookups, key=lambda found: found[1][0].at, reverse=True):
        renamed = zip(tokens, lookup.path, renamed_path(lookup.path, renames), strict=True)
        for token, old, new in reversed(list(renamed)):
            if old != new:
                source = source[: token.at] + _written(token, str(new)) + source[token.at + len(token.text) :]
    return source


def rename_in_template(text: str, renames: Renames) -> str:
    """The same in each `{{ expression }}` of a template."""
    before, opened, rest = text.partition("{{")
    inside, closed, after = rest.partition("}}")
    if not closed:
        return text
    expression = inside.strip()
    renamed = inside.replace(expression, rename_in_expression(expression, renames), 1) if expression else inside
    return f"{before}{opened}{renamed}{closed}{rename_in_template(after, renames)}"


def is_template(value: Any) -> bool:
    return isinstance(value, str) and "{{" in value


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Operation(operands=inner) | Call(arguments=inner):
            for operand in inner:
                yield from _nodes(operand)
        case Choice():
            for operand in (node.chosen, node.condition, node.otherwise):
                yield from _nodes(operand)
        case _:
            pass


def _tokens(source: str) -> list[_Token]:
    if len(source) > LONGEST:
        raise ExpressionError(f"An expression has at most {LONGEST} characters; this one has {len(source)}.")
    found: list[_Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise ExpressionError(
                f"Cannot read {source[at : at + 10]!r} at column {at + 1} of the expression {source[:80]!r}.",
                hint="Names with odd characters go in `backticks`, texts in quotes.",
            )
        if match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match.group(), at))
        at = match.end()
    found.append(_Token("end", "", len(source)))
    return found


class _Parser:
    """Recursive descent, one method per precedence level."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = _tokens(source)
        self._next = 0
        self._depth = 0
        self._operations = 0
        self.lookups: list[tuple[Lookup, list[_Token]]] = []
        """Every property read, with the token of each step of its path."""

    def whole(self) -> Node:
        tree = self._choice()
        if self._here.kind != "end":
            self._fail(f"{self._here.text!r} is not expected here")
        return tree

    @property
    def _here(self) -> _Token:
        return self._tokens[self._next]

    def _take(self, *texts: str) -> str | None:
        token = self._here
        if token.text in texts and token.kind in ("mark", "name"):
            self._next += 1
            return token.text
        return None

    def _expect(self, text: str) -> None:
        if self._take(text) is None:
            self._fail(f"{text!r} is expected before {self._here.text or 'the end'!r}")

    def _fail(self, what: str) -> NoReturn:
        raise ExpressionError(f"{what} (column {self._here.at + 1} of the expression {self._source[:80]!r}).")

    def _operation(self, sign: str, left: Node, right: Node) -> Node:
        """Chains nest to the left, so their length becomes recursion depth during evaluation."""
        self._operations += 1
        if self._operations > MOST_OPERATIONS:
            self._fail(f"An expression has at most {MOST_OPERATIONS} operations")
        return Operation(sign, (left, right))

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"An expression nests at most {DEEPEST} levels")
        chosen = self._either()
        if self._take("if"):
            condition = self._either()
            self._expect("else")
            chosen = Choice(chosen, condition, self._choice())
        self._depth -= 1
        return chosen

    def _either(self) -> Node:
        left = self._both()
        while self._take("or"):
            left = self._operation("or", left, self._both())
        return left

    def _both(self) -> Node:
        left = self._negated()
        while self._take("and"):
            left = self._operation("and", left, self._negated())
        return left

    def _negated(self) -> Node:
        negations = 0
        while self._take("not"):
            negations += 1
        node = self._compared()
        return node if not negations else Operation("not", (node,)) if negations % 2 else _truth(node)

    def _compared(self) -> Node:
        left = self._sum()
        if sign := self._take(*_COMPARISONS):
            return self._operation(sign, left, self._sum())
        return left

    def _sum(self) -> Node:
        left = self._product()
        while sign := self._take("+", "-"):
            left = self._operation(sign, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._signed()
        while sign := self._take("*", "/", "%"):
            left = self._operation(sign, left, self._signed())
        return left

    def _signed(self) -> Node:
        minus = False
        while self._take("-"):
            minus = not minus
        node = self._primary()
        return Operation("minus", (node,)) if minus else node

    def _primary(self) -> Node:
        token = self._here
        if self._take("("):
            inner = self._choice()
            self._expect(")")
            return inner
        if self._take("["):
            return Call("list", self._arguments("]"))
        if token.kind in ("mark", "end") or (token.kind == "name" and token.text in _RESERVED - _CONSTANTS.keys()):
            self._fail(f"A value is expected before {token.text or 'the end'!r}")
        self._next += 1
        if token.kind == "number":
            return Constant(_number(token.text))
        if token.kind == "string":
            return Constant(_unquoted(token.text))
        if token.text in _CONSTANTS:
            return Constant(_CONSTANTS[token.text])
        if token.kind == "name" and self._take("("):
            return self._call(token.text)
        lookup, tokens = self._lookup(token)
        if not lookup.fact:
            self.lookups.append((lookup, tokens))
        return lookup

    def _call(self, name: str) -> Node:
        function = FUNCTIONS.get(name)
        if function is None:
            guess = did_you_mean(name, FUNCTIONS)
            self._fail(f"There is no function {name!r}. {guess or 'Functions: ' + ', '.join(FUNCTIONS)}")
        arguments = self._arguments(")")
        if not function.least <= len(arguments) <= function.most:
            self._fail(f"{name} takes {function.least} to {function.most} arguments, not {len(arguments)}")
        return Call(name, arguments)

    def _arguments(self, closing: str) -> tuple[Node, ...]:
        found: list[Node] = []
        while self._take(closing) is None:
            if found:
                self._expect(",")
            found.append(self._choice())
        return tuple(found)

    def _lookup(self, first: _Token) -> tuple[Lookup, list[_Token]]:
        steps: list[str | int] = [first.text.strip("`@")]
        tokens = [first]
        while mark := self._take(".", "["):
            token = self._here
            tokens.append(token)
            self._next += 1
            if mark == "." and token.kind in ("name", "quoted"):
                steps.append(token.text.strip("`"))
            elif mark == "[" and token.kind == "string":
                steps.append(_unquoted(token.text))
            elif mark == "[" and token.kind == "number" and token.text.isdecimal():
                steps.append(int(token.text))
            else:
                self._next -= 1
                self._fail("A name or a number is expected here")
            if mark == "[":
                self._expect("]")
        return Lookup(tuple(steps), fact=first.kind == "fact"), tokens


def _written(token: _Token, name: str) -> str:
    """A name as it is written in a path."""
    if token.kind == "string":
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if _BARE.fullmatch(name) is not None and name not in _RESERVED:
        return name
    if "`" in name:
        raise ExpressionError(
            f"The name {name[:80]!r} cannot be written in an expression.", hint="Choose another name."
        )
    return f"`{name}`"


def _truth(node: Node) -> Node:
    return Operation("not", (Operation("not", (node,)),))


def _number(text: str) -> int | float:
    if text.isdecimal() and len(text) <= 19:
        return int(text)
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ExpressionError(f"The number {text[:20]} is too large.")
    return value


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match.group(1), match.group(1)), text[1:-1], flags=re.DOTALL)
