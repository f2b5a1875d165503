"""Puts ids of existing things into schemathesis's requests. Runs in the environment of schemathesis.

Random ids find nothing, so most requests would end at 404. One in four keeps its generated ids.
"""

import json
import os
import zlib
from typing import Any

import schemathesis

KNOWN: dict[str, dict[str, list[Any]]] = json.loads(os.environ["KNOWN_IDS"])
"""Values of path parameters by the first part of the path, and under "" those that mean the same everywhere. Requests
that change a register or schema use other ones, under `PUT registers` and so on."""
KEPT_OF = 4


UNKNOWN = "x-schemathesis-unknown-property"


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    for given in (case.headers, case.query):
        if given and UNKNOWN in given:  # no request is wrong because of a header or parameter that nothing reads
            del given[UNKNOWN]
    if case.meta is not None and case.meta.phase.name.value == "stateful":
        return
    text = json.dumps([case.path, case.path_parameters, case.query, str(case.body)], default=str)
    number = zlib.crc32(text.encode())
    if number % KEPT_OF == 0:
        return
    area = case.path.removeprefix("/api/").partition("/")[0]
    known = {**KNOWN[""], **KNOWN.get(area, {}), **KNOWN.get(f"{case.method} {area}", {})}
    chosen = {name: values[number % len(values)] for name, values in known.items()}
    if _is_valid(case, "path"):
        for name in case.path_parameters or {}:
            case.path_parameters[name] = str(chosen.get(name, case.path_parameters[name]))
    if isinstance(case.body, dict) and _is_valid(case, "body"):
        for name in ("register", "schema"):
            if name in case.body:
                case.body[name] = chosen[name]


@schemathesis.hook
def filter_query(_context: Any, query: Any) -> bool:
    """An empty parameter counts as absent, so `_limit=` is not a wrong number."""
    return not any(_is_sent_empty(value) for value in (query or {}).values())


def _is_sent_empty(value: Any) -> bool:
    """Whether a value leaves nothing after the `=`: objects are sent as their keys, so `{"": 0}` becomes `_limit=`."""
    return not any(value) if isinstance(value, dict | list) else value == ""


def _is_valid(case: Any, place: str) -> bool:
    """Whether a part of a request was generated to fit the document; parts generated not to fit are left alone."""
    facts = {} if case.meta is None else {where.value: one for where, one in case.meta.components.items()}
    return place not in facts or facts[place].mode.is_positive
