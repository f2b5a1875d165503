"""What is wrong with an object, said so that a person or a model can mend it: where, which rule, what was received.

A problem may carry the nearest valid value, and a JSON Patch where the mending is certain (`suggestions.py` decides).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.kernel.schema import Failure, Path, pointer
from pentad.rooms.registers.definitions.diffing import quoted
from pentad.rooms.registers.definitions.shapes import mapping, members

MOST_PROBLEMS: Final = 50
_SPOKEN: Final = 8
_ABSENT: Final = object()
_ARTICLES: Final[dict[str, str]] = {
    "string": "a string",
    "number": "a number",
    "integer": "an integer",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_MESSAGES: Final[dict[str, str]] = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be above {}",
    "exclusiveMaximum": "must be below {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} members",
    "maxItems": "must have at most {} members",
    "minProperties": "must have at least {} properties",
    "maxProperties": "must have at most {} properties",
    "format": "must be a valid {}",
    "pattern": "must match the pattern {}",
    "uniqueItems": "must not have equal members",
    "contains": "has no member of the kind wanted",
    "minContains": "has too few members of the kind wanted",
    "maxContains": "has too many members of the kind wanted",
    "not": "must not be of the excluded kind",
    "falseSchema": "is not allowed here",
    "anyOf": "matches none of the alternatives",
    "oneOf": "must match exactly one of the alternatives",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule an object breaks. `where` is the path in parts; on the wire it is a JSON pointer."""

    where: Path
    rule: str
    message: str
    received: Any = _ABSENT
    expected: Any = None
    nearest: Any = None
    patch: tuple[dict[str, Any], ...] = ()

    @property
    def path(self) -> str:
        return pointer(self.where)

    def as_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"path": self.path, "rule": self.rule, "message": self.message}
        if self.received is not _ABSENT:
            body["received"] = shortened(self.received)
        if self.expected is not None:
            body["expected"] = shortened(self.expected)
        if self.nearest is not None:
            body["nearest"] = shortened(self.nearest)
        if self.patch:
            body["patch"] = list(self.patch)
        return body

    def without_values(self) -> "Problem":
        """The same problem for whoever may not know what is there."""
        return Problem(self.where[:1], "hidden", "does not fit the schema, and is not yours to read")

    def sentence(self) -> str:
        place = self.path or "the object"
        received = "" if self.received is _ABSENT else f", received {quoted(self.received)}"
        mended = f" (nearest: {quoted(self.nearest)})" if self.nearest is not None else ""
        return f"{place} {self.message}{received}{mended}"


def rejection(problems: Sequence[Problem], what: str = "The object") -> InvalidInput:
    """The error that carries all problems of one object."""
    spoken = "; ".join(problem.sentence() for problem in problems[:_SPOKEN])
    more = f"; and {len(problems) - _SPOKEN} more" if len(problems) > _SPOKEN else ""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    patched = any(problem.patch for problem in problems)
    return InvalidInput(
        f"{what} has {count}: {spoken}{more}.",
        hint="Apply the patches in details.problems, or correct these places." if patched else "Correct these places.",
        details={"problems": [problem.as_json() for problem in problems[:MOST_PROBLEMS]]},
    )


def read_failures(failures: Iterable[Failure]) -> list[Problem]:
    """Failures of the validator in our words: one problem a missing or unwanted property, the closest alternative."""
    return [problem for failure in failures for problem in _read(failure)][:MOST_PROBLEMS]


def shortened(value: Any) -> Any:
    """A value small enough to be repeated in an answer."""
    if isinstance(value, str):
        return value if len(value) <= 200 else value[:197] + "..."
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return quoted(value)
    if isinstance(value, dict) and len(cast("dict[str, Any]", value)) > 20:
        return quoted(value)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [shortened(item) for item in items] if len(items) <= 50 else quoted(items)
    if isinstance(value, dict):
        return {name: shortened(inner) for name, inner in cast("dict[str, Any]", value).items()}
    return value


def _read(failure: Failure) -> list[Problem]:
    if failure.rule == "required":
        where = (*failure.path, str(failure.expected))
        return [Problem(where, "required", "is required and missing")]
    if failure.rule in ("additionalProperties", "unevaluatedProperties"):
        return [_unwanted(failure, str(name)) for name in members(failure.expected)]
    if failure.rule in ("anyOf", "oneOf") and failure.branches:
        return _closest(failure)
    return [_plain(failure)]


def _unwanted(failure: Failure, name: str) -> Problem:
    received = mapping(failure.received).get(name)
    return Problem((*failure.path, name), failure.rule, "is not a property of this schema", received)


def _plain(failure: Failure) -> Problem:
    rule, expected = failure.rule, failure.expected
    if rule == "type":
        types = cast("list[str]", expected) if isinstance(expected, list) else [str(expected)]
        message = "must be " + " or ".join(_ARTICLES.get(name, name) for name in types)
        return Problem(failure.path, rule, message, failure.received, types[0] if len(types) == 1 else types)
    if rule == "enum":
        values = members(expected)
        listed = ", ".join(quoted(value) for value in values[:20])
        return Problem(failure.path, rule, f"must be one of {listed}", failure.received, values)
    if rule == "const":
        return Problem(failure.path, rule, f"must be {quoted(expected)}", failure.received, expected)
    if rule in _MESSAGES:
        message = _MESSAGES[rule].format(quoted(expected))
        return Problem(failure.path, rule, message, failure.received, None if rule == "not" else expected)
    if rule in ("depth", "json", "schema"):
        return Problem(failure.path, rule, failure.message, expected=expected)
    return Problem(failure.path, rule, failure.message, failure.received)


def _closest(failure: Failure) -> list[Problem]:
    """When exactly one alternative is of the right kind, what is wrong with that one is what helps."""
    fitting = [branch for branch in failure.branches if branch and not any(_differs(failure, one) for one in branch)]
    if len(fitting) == 1:
        return read_failures(fitting[0])
    reasons = [_plain(branch[0]).message for branch in failure.branches if branch]
    if not reasons:
        return [replace(_plain(failure), message="matches more than one of the alternatives")]
    spoken = "; or ".join(dict.fromkeys(reasons[:5]))
    return [Problem(failure.path, failure.rule, f"matches none of the alternatives: {spoken}", failure.received)]


def _differs(failure: Failure, inner: Failure) -> bool:
    """Whether an alternative is of another kind altogether: other type, or another constant that tells them apart."""
    if inner.path == failure.path:
        return inner.rule in ("type", "const", "enum")
    return inner.rule == "const" and len(inner.path) == len(failure.path) + 1
