"""The official A2A library's models as validators: lines of JSON on stdin, each with the name of its type.

A line is `[name, value]`: "1.0 Task" is a message of version 1.0, "0.3 Task" a model of version 0.3. What a model does
not know is a fault too, except in cards and in "0.3 Superset", a task that AgentVault's readers share. Every fault is a
line on stdout.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from a2a.client.card_resolver import parse_agent_card
from a2a.compat.v0_3 import types
from a2a.types import a2a_pb2
from google.protobuf.json_format import ParseDict, ParseError
from pydantic import BaseModel, ValidationError


def unknown(given: Any, read: Any, path: str = "") -> Iterator[str]:
    """Members that a model has dropped."""
    if isinstance(given, dict) and isinstance(read, dict):
        for name, value in given.items():
            if name not in read:
                yield f"{path}/{name}"
            else:
                yield from unknown(value, read[name], f"{path}/{name}")
    elif isinstance(given, list) and isinstance(read, list):
        for number, (one, other) in enumerate(zip(given, read, strict=True)):
            yield from unknown(one, other, f"{path}/{number}")


def judged(name: str, value: Any) -> str | None:
    version, _, kind = name.partition(" ")
    try:
        if kind == "AgentCard":
            parse_agent_card(json.loads(json.dumps(value))) if version == "1.0" else types.AgentCard.model_validate(
                value
            )
        elif version == "1.0":
            ParseDict(value, getattr(a2a_pb2, kind)())
        elif kind == "Superset":
            types.Task.model_validate(value)
        else:
            model: type[BaseModel] = getattr(types, kind)
            read = model.model_validate(value).model_dump(mode="json", by_alias=True, exclude_none=True)
            if lost := list(unknown(value, read)):
                return f"{name} does not know {lost}"
    except (ParseError, ValidationError) as error:
        return f"{name}: {error}"
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        if (fault := judged(*json.loads(line))) is not None:
            sys.stdout.write(f"{fault}\n")
