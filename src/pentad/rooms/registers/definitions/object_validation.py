"""Finds what is wrong with an object, in words a person or a model can act on.

A problem is a finding of `kernel.problems`: the place, the rule, and the received value. It may name the nearest valid
value and carry a JSON Patch. A patch is first tried on a copy, and included only if it removes the problem and adds
none. `json_text` encodes an object and rejects values that cannot be stored: a NUL character or a number beyond a
double's range is valid JSON, but PostgreSQL cannot index it.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from pentad.kernel.counts import counted
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.json_patch import json_patch, value_at
from pentad.kernel.json_pointer import pointer
from pentad.kernel.json_values import as_list, as_object
from pentad.kernel.names import nearest
from pentad.kernel.problems import NO_VALUE, Finding, closest_value, convert_value
from pentad.kernel.schema import FORMAT_EXAMPLES, Failure, Path, measure
from pentad.rooms.registers.definitions.formats import tidied
from pentad.rooms.registers.definitions.json_diff import quoted

Check = Callable[[Any], list[Failure]]
Operations = tuple[dict[str, Any], ...]
FailureKeys = set[tuple[Path, str, str]]

MOST_PROBLEMS: Final = 50
_MOST_IN_SENTENCE: Final = 8
_MOST_TRIALS: Final = 50
_MOST_TRIED_VALUES: Final = 20_000
_MOST_NAMES: Final = 200
_TYPE_NAMES: Final[dict[str, str]] = {
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
    "contains": "has no member that fits `contains`",
    "minContains": "has too few members that fit `contains`",
    "maxContains": "has too many members that fit `contains`",
    "not": "must not fit the schema under `not`",
    "falseSchema": "is not allowed here",
    "anyOf": "matches none of the alternatives",
    "oneOf": "must match exactly one of the alternatives",
}
_encode: Final = msgspec.json.Encoder().encode
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY_DIGITS: Final = b"0" * 309
_SAMPLE_STEP: Final = 100
_SAMPLE: Final = b"000"
"""Finds three digits in a row among every hundredth character: overlong numbers have them, little else does."""
_LARGEST: Final = 10**308


class Problem(Finding, frozen=True, kw_only=True):
    """One rule an object breaks. `code` is the rule, `constraint` its value, and `where` the path in parts."""

    where: Path = ()

    @property
    def nearest(self) -> Any:
        return self.suggestions[0] if self.suggestions else None

    def as_json(self) -> dict[str, Any]:
        return problem_json(self)

    def redacted(self) -> "Problem":
        """The same problem for a caller who may not see the value."""
        return problem(self.where[:1], "hidden", "does not fit the schema, and you may not read it")

    def sentence(self) -> str:
        place = self.pointer or "the object"
        received = "" if self.value is NO_VALUE else f", received {quoted(self.value)}"
        nearest_value = f" (nearest: {quoted(self.nearest)})" if self.nearest is not None else ""
        return f"{place} {self.message}{received}{nearest_value}"


def problem(where: Path, rule: str, message: str, received: Any = NO_VALUE, expected: Any = None) -> Problem:
    return Problem(rule, message, pointer=pointer(where), value=received, constraint=expected, where=where)


def problem_json(found: Finding) -> dict[str, Any]:
    """The wire form of a finding about an object or a schema."""
    body: dict[str, Any] = {"path": found.pointer, "rule": found.code, "message": found.message}
    if found.value is not NO_VALUE:
        body["received"] = shortened(found.value)
    if found.constraint is not None:
        body["expected"] = shortened(found.constraint)
    if found.suggestions:
        body["nearest"] = shortened(found.suggestions[0])
    if found.patch:
        body["patch"] = list(found.patch)
    return body


def redacted(problems: Iterable[Problem], hidden: Collection[str]) -> list[Problem]:
    """The problems without values of hidden properties; a problem of the whole object may involve any of them."""
    return [one.redacted() if hidden and (not one.where or one.where[0] in hidden) else one for one in problems]


def validation_error(problems: Sequence[Problem], what: str = "The object") -> InvalidInput:
    """The error with all problems of one object."""
    sentences = "; ".join(problem.sentence() for problem in problems[:_MOST_IN_SENTENCE])
    more = f"; and {len(problems) - _MOST_IN_SENTENCE} more" if len(problems) > _MOST_IN_SENTENCE else ""
    patched = any(problem.patch for problem in problems)
    return InvalidInput(
        f"{what} has {counted(len(problems), 'problem')}: {sentences}{more}.",
        hint="Apply the patches in details.problems, or correct these places." if patched else "Correct these places.",
        details={"problems": [problem.as_json() for problem in problems[:MOST_PROBLEMS]]},
    )


def shortened(value: Any) -> Any:
    """A value, shortened so that an answer can repeat it."""
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


# the text of an object


def json_text(data: Any) -> tuple[str, Problem | None]:
    """The JSON text of an object, in its key order, and the problem that prevents storing it."""
    try:
        raw = _encode(data)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "", problem((), "json", "is not plain JSON")
    # 1e400 is read as infinity and written as null, so nulls that are not in the data are suspicious
    suspicious = (
        (b"\\" in raw and b"\\u0000" in raw)
        or ((nulls := raw.count(b"null")) and nulls != _top_level_nulls(data))
        or (_SAMPLE in raw[::_SAMPLE_STEP].translate(_DIGITS) and _TOO_MANY_DIGITS in raw.translate(_DIGITS))
    )
    return raw.decode(), (next(_unstorable(data, ()), None) if suspicious else None)


def _top_level_nulls(data: Any) -> int:
    """Count nulls on the first level, where nearly all are; if there are more, the whole object is searched."""
    return list(cast("dict[str, Any]", data).values()).count(None) if isinstance(data, dict) else 0


def _unstorable(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str) and "\0" in value:
        yield problem(path, "text", "contains a NUL character, which cannot be stored")
    elif (isinstance(value, int) and abs(value) > _LARGEST) or (isinstance(value, float) and not math.isfinite(value)):
        yield problem(path, "number", "is a number too large to be compared or stored")
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield from _unstorable(name, (*path, name))
            yield from _unstorable(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _unstorable(inner, (*path, index))


# wording the validator's failures


def read_failures(failures: Iterable[Failure]) -> list[Problem]:
    """One problem per missing or unexpected property; for alternatives, the problems of the closest one."""
    return [found for failure in failures for found in _problems_of(failure)][:MOST_PROBLEMS]


def _problems_of(failure: Failure) -> list[Problem]:
    if failure.rule == "required":
        return [problem((*failure.path, str(failure.expected)), "required", "is required and missing")]
    if failure.rule in ("additionalProperties", "unevaluatedProperties"):
        return [_unexpected_property(failure, str(name)) for name in as_list(failure.expected)]
    if failure.rule in ("anyOf", "oneOf") and failure.branches:
        return _closest_alternative(failure)
    return [_single_problem(failure)]


def _unexpected_property(failure: Failure, name: str) -> Problem:
    received = as_object(failure.received).get(name)
    return problem((*failure.path, name), failure.rule, "is not a property of this schema", received)


def _single_problem(failure: Failure) -> Problem:
    rule, expected = failure.rule, failure.expected
    if rule == "type":
        types = cast("list[str]", expected) if isinstance(expected, list) else [str(expected)]
        message = "must be " + " or ".join(_TYPE_NAMES.get(name, name) for name in types)
        return problem(failure.path, rule, message, failure.received, types[0] if len(types) == 1 else types)
    if rule == "enum":
        values = as_list(expected)
        listed = ", ".join(quoted(value) for value in values[:20])
        return problem(failure.path, rule, f"must be one of {listed}", failure.received, values)
    if rule == "const":
        return problem(failure.path, rule, f"must be {quoted(expected)}", failure.received, expected)
    if rule == "pattern" and expected is None:  # if the library gives up, it does not name the pattern
        return problem(failure.path, rule, "cannot be compared with its pattern in reasonable time", failure.received)
    if rule in _MESSAGES:
        message = _MESSAGES[rule].format(quoted(expected))
        if rule == "format" and expected in FORMAT_EXAMPLES:
            message += f", such as {FORMAT_EXAMPLES[expected]}"
        return problem(failure.path, rule, message, failure.received, None if rule == "not" else expected)
    if rule in ("depth", "json", "schema"):
        return problem(failure.path, rule, failure.message, expected=expected)
    return problem(failure.path, rule, failure.message, failure.received)


def _closest_alternative(failure: Failure) -> list[Problem]:
    """If exactly one alternative is of the right kind, report its problems."""
    fitting = [
        branch for branch in failure.branches if branch and not any(_is_other_kind(failure, one) for one in branch)
    ]
    if len(fitting) == 1:
        return read_failures(fitting[0])
    reasons = [_single_problem(branch[0]).message for branch in failure.branches if branch]
    if not reasons:
        found = _single_problem(failure)
        return [msgspec.structs.replace(found, message="matches more than one of the alternatives")]
    listed = "; or ".join(dict.fromkeys(reasons[:5]))
    return [problem(failure.path, failure.rule, f"matches none of the alternatives: {listed}", failure.received)]


def _is_other_kind(failure: Failure, inner: Failure) -> bool:
    """Whether an alternative has another type, or another value in the property that distinguishes them."""
    if inner.path == failure.path:
        return inner.rule in ("type", "const", "enum")
    return inner.rule == "const" and len(inner.path) == len(failure.path) + 1


# suggestions


def add_suggestions(
    problems: Sequence[Problem], data: Any, check: Check, names: Callable[[Path], Mapping[str, Any]]
) -> list[Problem]:
    """Add suggestions to problems. `names(path)` gives the properties that an object at a path may have."""
    current, failures = data, _failure_keys(check(data))
    trials = min(_MOST_TRIALS, _MOST_TRIED_VALUES // measure(data)[1])
    improved: list[Problem] = []
    for found in problems:
        better = found
        for guess, operations in _candidates(found, data, names):
            suggestions = () if guess is None else (guess,)
            if not better.suggestions:
                better = msgspec.structs.replace(found, suggestions=suggestions)
            if not operations or trials < 1:
                continue
            trials -= 1
            if (tried := _try_patch(operations, current, check, failures)) is not None:
                current, failures = tried
                better = msgspec.structs.replace(found, suggestions=suggestions, patch=operations)
                break
        improved.append(better)
    return improved


def _try_patch(
    operations: Operations, current: Any, check: Check, before: FailureKeys
) -> tuple[Any, FailureKeys] | None:
    """The patched object, if that helps. Patches build on each other, so the caller can apply them all together."""
    try:
        changed = json_patch(current, operations)
    except PentadError:
        return None
    after = _failure_keys(check(changed))
    return (changed, after) if after < before else None


def _failure_keys(failures: Sequence[Failure]) -> FailureKeys:
    found: FailureKeys = set()
    for failure in failures:
        if failure.rule in ("additionalProperties", "unevaluatedProperties"):
            found.update((failure.path, failure.rule, str(name)) for name in as_list(failure.expected))
        else:
            detail = str(failure.expected) if failure.rule == "required" else ""
            found.add((failure.path, failure.rule, detail))
    return found


def _candidates(
    found: Problem, data: Any, names: Callable[[Path], Mapping[str, Any]]
) -> Iterator[tuple[Any, Operations]]:
    """Values to suggest, each with the patch that sets it; without a patch it is only a guess."""
    if found.code == "required":
        yield from _for_missing(found, data, names(found.where[:-1]))
    elif found.code in ("additionalProperties", "unevaluatedProperties"):
        yield from _for_unexpected(found, data, names(found.where[:-1]))
    else:
        for value in _candidate_values(found):
            yield value, ({"op": "replace", "path": found.pointer, "value": value},)
        if found.code in ("minimum", "maximum"):
            yield found.constraint, ()


def _candidate_values(found: Problem) -> Iterator[Any]:
    received, expected = found.value, found.constraint
    if found.code == "type":
        kinds = cast("list[str]", expected) if isinstance(expected, list) else [str(expected)]
        yield from (value for kind in kinds if (value := convert_value(received, kind)) is not NO_VALUE)
    elif found.code == "enum":
        if (value := closest_value(received, cast("list[Any]", expected))) is not NO_VALUE:
            yield value
    elif found.code == "const":
        yield expected
    elif found.code == "format" and isinstance(received, str):
        yield from (text for text in tidied(received, str(expected)) if text != received)
    elif found.code == "pattern" and isinstance(received, str) and received.strip() != received:
        yield received.strip()


def _for_missing(found: Problem, data: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Operations]]:
    name = str(found.where[-1])
    unknown = [key for key in _object_at(data, found.where[:-1]) if key not in known]
    if len(close := _near(name, unknown)) == 1:
        source = pointer((*found.where[:-1], close[0]))
        yield close[0], ({"op": "move", "from": source, "path": found.pointer},)
    definition = as_object(known.get(name))
    options = as_list(definition.get("enum"))
    value = definition.get("default", definition.get("const", options[0] if len(options) == 1 else None))
    if value is not None:
        yield value, ({"op": "add", "path": found.pointer, "value": value},)


def _for_unexpected(found: Problem, data: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Operations]]:
    given = _object_at(data, found.where[:-1])
    if len(close := _near(str(found.where[-1]), [key for key in known if key not in given])) == 1:
        target = pointer((*found.where[:-1], close[0]))
        yield close[0], ({"op": "move", "from": found.pointer, "path": target},)
    yield None, ({"op": "remove", "path": found.pointer},)


def _near(name: str, names: list[str]) -> list[str]:
    """Up to two close names. Comparing is slow, so among many names only those with the same first letter count."""
    if len(names) > _MOST_NAMES:
        names = [other for other in names if other[:1].casefold() == name[:1].casefold()][:_MOST_NAMES]
    return nearest(name, names, limit=2)


def _object_at(data: Any, path: Path) -> Mapping[str, Any]:
    try:
        return as_object(value_at(data, path))
    except KeyError:
        return {}
