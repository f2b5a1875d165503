"""The nearest valid value for a problem, and a JSON Patch where the mending is certain.

Certain means proven: a candidate is tried on a copy of the object, and a patch is only handed out when the problem, and
nothing else, is gone. Guesses that are merely likely are told as `nearest` without a patch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Final, cast

import msgspec

from pentad.kernel.errors import PentadError
from pentad.kernel.json_patch import json_patch, value_at
from pentad.kernel.names import nearest
from pentad.kernel.schema import Failure, Path, measure, pointer
from pentad.rooms.registers.definitions.formats import tidied
from pentad.rooms.registers.definitions.problems import Problem
from pentad.rooms.registers.definitions.shapes import mapping, members

Check = Callable[[Any], list[Failure]]
Operations = tuple[dict[str, Any], ...]
Places = set[tuple[Path, str, str]]

_MOST_TRIALS: Final = 50
_TRIED_VALUES: Final = 20_000
_MOST_NAMES: Final = 200
_CLOSE: Final = 0.7
_CLEARLY: Final = 0.08
_WHOLE: Final = 2**53


def with_suggestions(
    problems: Sequence[Problem], data: Any, check: Check, names: Callable[[Path], Mapping[str, Any]]
) -> list[Problem]:
    """The problems with what would mend them. `names(path)` tells the properties an object at a path may have."""
    current, places = data, _places(check(data))
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
            if (tried := _tried(operations, current, check, places)) is not None:
                current, places = tried
                better = replace(problem, nearest=guess, patch=operations)
                break
        mended.append(better)
    return mended


def _tried(operations: Operations, current: Any, check: Check, before: Places) -> tuple[Any, Places] | None:
    """The object with the patch, on top of those already handed out, so that all of them can be applied together."""
    try:
        changed = json_patch(current, operations)
    except PentadError:
        return None
    after = _places(check(changed))
    return (changed, after) if after < before else None


def _places(failures: Sequence[Failure]) -> Places:
    found: Places = set()
    for failure in failures:
        if failure.rule in ("additionalProperties", "unevaluatedProperties"):
            found.update((failure.path, failure.rule, str(name)) for name in members(failure.expected))
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
        yield from _for_unwanted(problem, data, names(problem.where[:-1]))
    else:
        received = problem.received
        for value in _values(problem, received):
            yield value, ({"op": "replace", "path": problem.path, "value": value},)
        if problem.rule in ("minimum", "maximum"):
            yield problem.expected, ()


def _values(problem: Problem, received: Any) -> Iterator[Any]:
    if problem.rule == "type":
        wanted = problem.expected
        for name in cast("list[str]", wanted) if isinstance(wanted, list) else [str(wanted)]:
            yield from converted(received, name)
    elif problem.rule == "enum":
        yield from near_values(received, cast("list[Any]", problem.expected))
    elif problem.rule == "const":
        yield problem.expected
    elif problem.rule == "format" and isinstance(received, str):
        yield from (text for text in tidied(received, str(problem.expected)) if text != received)
    elif problem.rule == "pattern" and isinstance(received, str) and received.strip() != received:
        yield received.strip()


def converted(value: Any, wanted: str) -> Iterator[Any]:
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
        options = members(facts.get("enum"))
        value = facts.get("default", facts.get("const", options[0] if len(options) == 1 else None))
        if value is not None:
            yield value, ({"op": "add", "path": problem.path, "value": value},)


def _for_unwanted(problem: Problem, data: Any, known: Mapping[str, Any]) -> Iterator[tuple[Any, Operations]]:
    name = str(problem.where[-1])
    owner = _at(data, problem.where[:-1])
    given = mapping(owner)
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
