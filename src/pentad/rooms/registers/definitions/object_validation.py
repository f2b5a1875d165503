"""What is wrong with an object, said so that a person or a model can mend it: where, which rule, what was received.

A problem may carry the nearest valid value, and a JSON Patch where the mending is certain (`suggestions.py` decides).

XXX The JSON text of an object, and what no store could keep: found before anything is written.

Text is as msgspec writes it, key order kept. A NUL character and a number beyond a double's range are valid JSON that
PostgreSQL cannot index, so both are refused on every store alike. A number such as 1e400 is read as infinite and would
be written as null, so every null is looked at twice.

XXX The nearest valid value for a problem, and a JSON Patch where the mending is certain.

Certain means proven: a candidate is tried on a copy of the object, and a patch is only handed out when the problem, and
nothing else, is gone. Guesses that are merely likely are told as `nearest` without a patch.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.json_patch import json_patch, value_at
from pentad.kernel.names import nearest
from pentad.kernel.schema import Failure, Path, measure, pointer
from pentad.rooms.registers.definitions.formats import tidied
from pentad.rooms.registers.definitions.json_diff import quoted
from pentad.rooms.registers.definitions.json_values import as_list, as_mapping

MOST_PROBLEMS: Final = 50
_MOST_SPOKEN: Final = 8
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

    def redacted(self) -> "Problem":
        """The same problem for whoever may not know what is there."""
        return Problem(self.where[:1], "hidden", "does not fit the schema, and is not yours to read")

    def sentence(self) -> str:
        place = self.path or "the object"
        received = "" if self.received is _ABSENT else f", received {quoted(self.received)}"
        mended = f" (nearest: {quoted(self.nearest)})" if self.nearest is not None else ""
        return f"{place} {self.message}{received}{mended}"


def validation_error(problems: Sequence[Problem], what: str = "The object") -> InvalidInput:
    """The error that carries all problems of one object."""
    spoken = "; ".join(problem.sentence() for problem in problems[:_MOST_SPOKEN])
    more = f"; and {len(problems) - _MOST_SPOKEN} more" if len(problems) > _MOST_SPOKEN else ""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    patched = any(problem.patch for problem in problems)
    return InvalidInput(
        f"{what} has {count}: {spoken}{more}.",
        hint="Apply the patches in details.problems, or correct these places." if patched else "Correct these places.",
        details={"problems": [problem.as_json() for problem in problems[:MOST_PROBLEMS]]},
    )


def read_failures(failures: Iterable[Failure]) -> list[Problem]:
    """Failures of the validator in our words: one problem a missing or unwanted property, the closest alternative."""
    return [problem for failure in failures for problem in _problems_of(failure)][:MOST_PROBLEMS]


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


def _problems_of(failure: Failure) -> list[Problem]:
    if failure.rule == "required":
        where = (*failure.path, str(failure.expected))
        return [Problem(where, "required", "is required and missing")]
    if failure.rule in ("additionalProperties", "unevaluatedProperties"):
        return [_unexpected_property(failure, str(name)) for name in as_list(failure.expected)]
    if failure.rule in ("anyOf", "oneOf") and failure.branches:
        return _closest_alternative(failure)
    return [_single_problem(failure)]


def _unexpected_property(failure: Failure, name: str) -> Problem:
    received = as_mapping(failure.received).get(name)
    return Problem((*failure.path, name), failure.rule, "is not a property of this schema", received)


def _single_problem(failure: Failure) -> Problem:
    rule, expected = failure.rule, failure.expected
    if rule == "type":
        types = cast("list[str]", expected) if isinstance(expected, list) else [str(expected)]
        message = "must be " + " or ".join(_ARTICLES.get(name, name) for name in types)
        return Problem(failure.path, rule, message, failure.received, types[0] if len(types) == 1 else types)
    if rule == "enum":
        values = as_list(expected)
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


def _closest_alternative(failure: Failure) -> list[Problem]:
    """When exactly one alternative is of the right kind, what is wrong with that one is what helps."""
    fitting = [
        branch for branch in failure.branches if branch and not any(_is_other_kind(failure, one) for one in branch)
    ]
    if len(fitting) == 1:
        return read_failures(fitting[0])
    reasons = [_single_problem(branch[0]).message for branch in failure.branches if branch]
    if not reasons:
        return [replace(_single_problem(failure), message="matches more than one of the alternatives")]
    spoken = "; or ".join(dict.fromkeys(reasons[:5]))
    return [Problem(failure.path, failure.rule, f"matches none of the alternatives: {spoken}", failure.received)]


def _is_other_kind(failure: Failure, inner: Failure) -> bool:
    """Whether an alternative is of another kind altogether: other type, or another constant that tells them apart."""
    if inner.path == failure.path:
        return inner.rule in ("type", "const", "enum")
    return inner.rule == "const" and len(inner.path) == len(failure.path) + 1


_encode: Final = msgspec.json.Encoder().encode
_DIGITS: Final = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY_DIGITS: Final = b"0" * 309
_EVERY: Final = 100
_SAMPLE: Final = b"000"
"""Three digits in a row of every hundredth character: a number that is too long has them, hardly anything else does."""
_LARGEST: Final = 10**308


def json_text(data: Any) -> tuple[str, Problem | None]:
    """The text, and the problem that keeps it from being stored."""
    try:
        raw = _encode(data)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "", Problem((), "json", "is not plain JSON")
    suspicious = (
        (b"\\" in raw and b"\\u0000" in raw)
        or ((nulls := raw.count(b"null")) and nulls != _top_level_nulls(data))
        or (_SAMPLE in raw[::_EVERY].translate(_DIGITS) and _TOO_MANY_DIGITS in raw.translate(_DIGITS))
    )
    return raw.decode(), (next(_unstorable(data, ()), None) if suspicious else None)


def _top_level_nulls(data: Any) -> int:
    """The nulls of the first level, where nearly all of them are: what is more is looked for."""
    return list(cast("dict[str, Any]", data).values()).count(None) if isinstance(data, dict) else 0


def _unstorable(value: Any, path: Path) -> Iterator[Problem]:
    if isinstance(value, str) and "\0" in value:
        yield Problem(path, "text", "contains a NUL character, which cannot be stored")
    elif (isinstance(value, int) and abs(value) > _LARGEST) or (isinstance(value, float) and not math.isfinite(value)):
        yield Problem(path, "number", "is a number too large to be compared or stored")
    elif isinstance(value, dict):
        for name, inner in cast("dict[str, Any]", value).items():
            yield from _unstorable(name, (*path, name))
            yield from _unstorable(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from _unstorable(inner, (*path, index))


Check = Callable[[Any], list[Failure]]
Operations = tuple[dict[str, Any], ...]
Places = set[tuple[Path, str, str]]

_MOST_TRIALS: Final = 50
_TRIED_VALUES: Final = 20_000
_MOST_NAMES: Final = 200
_CLOSE: Final = 0.7
_CLEARLY: Final = 0.08
_WHOLE: Final = 2**53


def add_suggestions(
    problems: Sequence[Problem], data: Any, check: Check, names: Callable[[Path], Mapping[str, Any]]
) -> list[Problem]:
    """The problems with what would mend them. `names(path)` tells the properties an object at a path may have."""
    current, places = data, _failure_keys(check(data))
    left = min(_MOST_TRIALS, _TRIED_VALUES // measure(data)[1])
    mended: list[Problem] = []
    for problem in problems:
        better = problem
        for guess, operations in _candidates(problem, data, names):
            if guess is not None and better.nearest is None:
                better = replace(problem, nearest=guess)
            if not operations or left < 1:
                continue
            left -= 1
            if (tried := _try_patch(operations, current, check, places)) is not None:
                current, places = tried
                better = replace(problem, nearest=guess, patch=operations)
                break
        mended.append(better)
    return mended


def _try_patch(operations: Operations, current: Any, check: Check, before: Places) -> tuple[Any, Places] | None:
    """The object with the patch, on top of those already handed out, so that all of them can be applied together."""
    try:
        changed = json_patch(current, operations)
    except PentadError:
        return None
    after = _failure_keys(check(changed))
    return (changed, after) if after < before else None


def _failure_keys(failures: Sequence[Failure]) -> Places:
    found: Places = set()
    for failure in failures:
        if failure.rule in ("additionalProperties", "unevaluatedProperties"):
            found.update((failure.path, failure.rule, str(name)) for name in as_list(failure.expected))
        else:
            detail = str(failure.expected) if failure.rule == "required" else ""
            found.add((failure.path, failure.rule, detail))
    return found


def _candidates(
    problem: Problem, data: Any, names: Callable[[Path], Mapping[str, Any]]
) -> Iterator[tuple[Any, Operations]]:
    """Pairs of a value to name and the patch that would bring it; an empty patch is a guess only."""
    if problem.rule == "required":
        yield from _for_missing(problem, data, names(problem.where[:-1]))
    elif problem.rule in ("additionalProperties", "unevaluatedProperties"):
        yield from _for_unexpected(problem, data, names(problem.where[:-1]))
    else:
        received = problem.received
        for value in _candidate_values(problem, received):
            yield value, ({"op": "replace", "path": problem.path, "value": value},)
        if problem.rule in ("minimum", "maximum"):
            yield problem.expected, ()


def _candidate_values(problem: Problem, received: Any) -> Iterator[Any]:
    if problem.rule == "type":
        wanted = problem.expected
        for name in cast("list[str]", wanted) if isinstance(wanted, list) else [str(wanted)]:
            yield from conversions(received, name)
    elif problem.rule == "enum":
        yield from near_values(received, cast("list[Any]", problem.expected))
    elif problem.rule == "const":
        yield problem.expected
    elif problem.rule == "format" and isinstance(received, str):
        yield from (text for text in tidied(received, str(problem.expected)) if text != received)
    elif problem.rule == "pattern" and isinstance(received, str) and received.strip() != received:
        yield received.strip()


def conversions(value: Any, wanted: str) -> Iterator[Any]:
    """The same value in another type, where nothing is lost."""
    if isinstance(value, str):
        yield from _from_text(value, wanted)
    elif wanted == "string" and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63:
        yield str(value)
    elif wanted == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        yield int(value)


def _from_text(text: str, wanted: str) -> Iterator[Any]:
    trimmed = text.strip()
    if wanted == "boolean" and trimmed.lower() in ("true", "false"):
        yield trimmed.lower() == "true"
    elif wanted == "null" and trimmed in ("", "null"):
        yield None
    elif wanted in ("integer", "number", "array", "object") and len(trimmed) <= 10_000:
        try:
            value = msgspec.json.decode(trimmed)
        except (msgspec.DecodeError, RecursionError):
            return
        kinds = {"integer": int, "number": (int, float), "array": list, "object": dict}
        if isinstance(value, kinds[wanted]) and not isinstance(value, bool):
            yield value


def near_values(received: Any, options: Sequence[Any]) -> Iterator[Any]:
    """The option meant: spelled otherwise, given in another type, or the one clearly closest in letters."""
    if not isinstance(received, str):
        yield from (option for option in options if isinstance(option, str) and option == str(received))
        return
    folded = received.strip().casefold()
    alike = [option for option in options if str(option).strip().casefold() == folded]
    if alike:
        yield from alike[:1] if len(alike) == 1 else ()
        return
    scored = sorted(
        ((SequenceMatcher(None, folded[:200], option.casefold()).ratio(), option) for option in _texts(options)),
        reverse=True,
    )
    if scored and scored[0][0] >= _CLOSE and (len(scored) == 1 or scored[0][0] - scored[1][0] >= _CLEARLY):
        yield scored[0][1]


def _texts(options: Sequence[Any]) -> list[str]:
    return [option for option in options[:500] if isinstance(option, str)]


def _for_missing(problem: Problem, data: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Operations]]:
    name = str(problem.where[-1])
    owner = _at(data, problem.where[:-1])
    if isinstance(owner, Mapping):
        strangers = [key for key in cast("Mapping[str, Any]", owner) if key not in known]
        if len(close := _near(name, strangers)) == 1:
            source = pointer((*problem.where[:-1], close[0]))
            yield close[0], ({"op": "move", "from": source, "path": problem.path},)
    definition = known.get(name)
    if isinstance(definition, Mapping):
        facts = cast("Mapping[str, Any]", definition)
        options = as_list(facts.get("enum"))
        value = facts.get("default", facts.get("const", options[0] if len(options) == 1 else None))
        if value is not None:
            yield value, ({"op": "add", "path": problem.path, "value": value},)


def _for_unexpected(problem: Problem, data: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Operations]]:
    name = str(problem.where[-1])
    owner = _at(data, problem.where[:-1])
    given = as_mapping(owner)
    free = [key for key in known if key not in given]
    if len(close := _near(name, free)) == 1:
        target = pointer((*problem.where[:-1], close[0]))
        yield close[0], ({"op": "move", "from": problem.path, "path": target},)
    yield None, ({"op": "remove", "path": problem.path},)


def _near(name: str, names: list[str]) -> list[str]:
    """Up to two names close to this one; among very many only those that begin alike are looked at."""
    if len(names) > _MOST_NAMES:
        names = [other for other in names if other[:1].casefold() == name[:1].casefold()][:_MOST_NAMES]
    return nearest(name, names, limit=2)


def _at(data: Any, path: Path) -> Any:
    try:
        return value_at(data, path)
    except KeyError:
        return None
