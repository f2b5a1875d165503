"""Loads the agents an operator names: `my.module:Agent`, or a built-in one."""

import importlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent, hosted

BUILT_IN: Final[Mapping[str, str]] = {"echo": "pentad.rooms.agents.hosting.echo:Echo"}
"""Built-in agents that need nothing from the room."""


def load(spec: str) -> HostedAgent:
    """Load one agent: `echo`, `my.module:Agent`, or `name=my.module:Agent` to rename it."""
    name, equals, place = spec.partition("=")
    place = BUILT_IN.get(place if equals else spec, place if equals else spec)
    module_name, colon, attribute = place.partition(":")
    if not colon or not attribute:
        raise Misconfigured(
            f"{spec!r} does not name an agent.",
            hint=did_you_mean(spec, BUILT_IN) or "Write `my.module:Agent`.",
        )
    return hosted(_found(module_name, attribute), name if equals else None)


def load_all(specs: Iterable[str]) -> dict[str, HostedAgent]:
    """Load agents by name. Duplicate names are an error."""
    agents: dict[str, HostedAgent] = {}
    for spec in specs:
        one = load(spec)
        if one.name in agents:
            raise Misconfigured(f"Two agents are called {one.name!r}.", hint="Write `other-name=my.module:Agent`.")
        agents[one.name] = one
    return agents


def _found(module_name: str, attribute: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # `pentad` is a program; its modules are looked for where it is started
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise Misconfigured(f"The agent's module {module_name!r} cannot be imported: {error}.") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [name for name in dir(found) if not name.startswith("_")]
            raise Misconfigured(
                f"{module_name!r} has no {attribute!r}.", hint=did_you_mean(attribute, names) or "Look at its spelling."
            )
        found = getattr(found, part)
    return found
