"""What `--agent` accepts, each with an optional `name=` before it:

echo                                a built-in agent
my.module:Agent                     a class, an instance, a function, or an object with `invoke` or `ainvoke`
https://weather.example.org         a remote agent, by the URL of its card or of its server
acme/weather                        a remote agent, by the readable id of its registered card
command: ./agent --fast             a program that speaks `command_protocol`
"""

import importlib
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.rooms.agents.hosting.hosted_agent import (
    DEFAULT_OPTIONS,
    HostedAgent,
    HostingOptions,
    deadline_of,
    fixed_isolation,
    hosted,
    url_name,
)

BUILT_IN: Final[Mapping[str, str]] = {"echo": "pentad.rooms.agents.hosting.built_in_agents:Echo"}
"""Built-in agents that need nothing from the room."""
Mount = Callable[[str, str], HostedAgent]
"""Mounts a remote agent: its name here, and the URL of its card or its readable id."""
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_NAMED: Final = re.compile(r"([^:/=]*)=(.*)", re.DOTALL)
_READABLE_ID: Final = re.compile(r"[^\s:/=]+/[^\s:=]+")
_COMMAND: Final = re.compile(r"command:(.*)", re.DOTALL)
_CARD_FILE: Final = re.compile(r"(/\.well-known)?/[^/]*\.json$")
_HINT: Final = "Write `my.module:Agent`, the URL of a card, the readable id of a registered one, or `command: ...`."


def load(spec: str, options: HostingOptions = DEFAULT_OPTIONS, mount: Mount | None = None) -> HostedAgent:
    """Load one agent. `mount` is needed for remote ones."""
    named = _NAMED.fullmatch(spec)
    name, place = (named[1], named[2].strip()) if named is not None else (None, spec.strip())
    if _URL.match(place) or _READABLE_ID.fullmatch(place):
        if mount is None:
            raise Misconfigured(f"The remote agent {place!r} cannot be hosted here.")
        return mount(url_name(name or _remote_name(place)), place)
    if (command := _COMMAND.fullmatch(place)) is not None:
        return _command_agent(name, command[1], options)
    module_name, colon, attribute = BUILT_IN.get(place, place).partition(":")
    if not colon or not attribute:
        raise Misconfigured(f"{spec!r} does not name an agent.", hint=did_you_mean(spec, BUILT_IN) or _HINT)
    found = _import_agent(module_name, attribute)
    return hosted(found, name, options, place=f"{module_name}:{attribute}")


def load_all(
    specs: Iterable[str], options: HostingOptions = DEFAULT_OPTIONS, mount: Mount | None = None
) -> dict[str, HostedAgent]:
    """Load agents by name. Duplicate names are an error."""
    agents: dict[str, HostedAgent] = {}
    for spec in specs:
        one = load(spec, options, mount)
        if one.name in agents:
            raise Misconfigured(f"Two agents are called {one.name!r}.", hint="Write `other-name=my.module:Agent`.")
        agents[one.name] = one
    return agents


def _command_agent(name: str | None, command: str, options: HostingOptions) -> HostedAgent:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Misconfigured(f"The command {command.strip()!r} cannot be read: {error}.") from error
    if not words:
        raise Misconfigured("The agent has no command.", hint="Write `command: ./agent`.")
    own = url_name(name or Path(words[0]).stem)
    fixed_isolation(own, "a command", "process", options)
    return HostedAgent(
        name=own,
        run=options.command_agent(own, words).run,
        agent=None,
        title=own,
        description=f"The command {words[0]}.",
        isolation="process",
        deadline=deadline_of(own, None, options),
    )


def _remote_name(place: str) -> str:
    """A name from the last part of a URL's path or of a readable id, otherwise from the host."""
    if not _URL.match(place):
        return place.rpartition("/")[2]
    parts = urlsplit(place)
    path = _CARD_FILE.sub("", parts.path).rstrip("/")
    return path.rpartition("/")[2] or parts.hostname or ""


def _import_agent(module_name: str, attribute: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # the `pentad` script does not have it on its path
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise Misconfigured(f"The agent's module {module_name!r} cannot be imported: {error}.") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = [name for name in dir(found) if not name.startswith("_")]
            raise Misconfigured(
                f"{module_name!r} has no {attribute!r}.", hint=did_you_mean(attribute, names) or "Check its spelling."
            )
        found = getattr(found, part)
    return found
