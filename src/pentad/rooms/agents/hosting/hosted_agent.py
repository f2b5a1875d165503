"""A hosted agent as the engine sees it, made from a class, an instance, a function, or the name of one.

A function takes the turn or, if its parameter is annotated `str`, the text. It returns the result, or is an async
generator of texts, each a chunk of one artifact. Classes derive from `pentad.agentvault.server.BaseA2AAgent`.
"""

import importlib
import inspect
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import Misconfigured
from pentad.kernel.names import did_you_mean
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message

NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_CHUNKS: Final = "output"
BUILT_IN: Final[Mapping[str, str]] = {"echo": "pentad.rooms.agents.hosting.built_in_agents:Echo"}
"""Built-in agents that need nothing from the room."""


@dataclass(frozen=True, slots=True)
class HostedAgent:
    """A named agent. `accept` exists only for agents that choose their own task ids."""

    name: str
    run: Callable[[Turn], Awaitable[Any]]
    agent: Any
    title: str = ""
    description: str = ""
    version: str = "1.0.0"
    skills: Sequence[Mapping[str, Any]] = ()
    tags: Sequence[str] = ()
    restartable: bool = False
    push_private: bool = False
    accept: Callable[[str | None, Message], Awaitable[str]] | None = None
    cancel: Callable[[str], Awaitable[bool]] | None = None
    methods: Mapping[str, Callable[..., Awaitable[Any]]] = field(default_factory=dict[str, Any])
    """Custom methods by their public name."""


def hosted(agent: Any, name: str | None = None) -> HostedAgent:
    """The hosted agent for a class, an instance or a function; Misconfigured if it is none of them."""
    if inspect.isclass(agent):
        try:
            agent = agent()
        except TypeError as error:
            raise Misconfigured(f"The agent {agent.__name__} cannot be created: {error}.") from error
    if isinstance(agent, BaseA2AAgent):
        return _of_class(agent, name)
    if callable(agent):
        return _of_function(agent, name)
    raise Misconfigured(
        f"{type(agent).__name__} is not an agent.", hint="Name a subclass of BaseA2AAgent or an async function."
    )


def url_name(text: str) -> str:
    """A name for URLs from the name of a class or function: `MyAgent` becomes `my-agent`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9.]+", "-", text).strip("-.").lower()
    if not NAME.fullmatch(words):
        raise Misconfigured(
            f"{text!r} is not a valid name for an agent.", hint="Use letters, digits, dots and hyphens."
        )
    return words


def _of_class(agent: BaseA2AAgent, name: str | None) -> HostedAgent:
    kind = type(agent)
    run, accept, cancel = agent.run, None, None
    if kind.run is BaseA2AAgent.run:
        if kind.handle_task_send is BaseA2AAgent.handle_task_send:
            raise Misconfigured(
                f"{kind.__name__} overrides neither run nor handle_task_send.",
                hint="Give it `async def run(self, turn)`.",
            )
        from pentad.rooms.agents.hosting.agentvault_adapter import AgentVaultAdapter

        adapter = AgentVaultAdapter(agent)
        run, accept, cancel = adapter.run, adapter.accept, adapter.cancel
    elif inspect.isasyncgenfunction(kind.run):
        run = _chunked(agent.run)
    return HostedAgent(
        name=url_name(name or kind.name or kind.__name__),
        run=run,
        agent=agent,
        title=kind.title or kind.name or kind.__name__,
        description=kind.description or inspect.getdoc(kind) or "",
        version=kind.version,
        skills=kind.skills,
        tags=kind.tags,
        restartable=kind.restartable,
        push_private=kind.push_private,
        accept=accept,
        cancel=cancel,
        methods=_methods(agent),
    )


def _methods(agent: BaseA2AAgent) -> dict[str, Callable[..., Awaitable[Any]]]:
    from pentad.agentvault.server import METHOD

    found: dict[str, Callable[..., Awaitable[Any]]] = {}
    for _, member in inspect.getmembers(agent, inspect.ismethod):
        if (public := getattr(member, METHOD, None)) is not None:
            if public in found:
                raise Misconfigured(f"{type(agent).__name__} offers the method {public!r} twice.")
            found[public] = member
    return found


def _of_function(function: Callable[..., Any], name: str | None) -> HostedAgent:
    own = getattr(function, "__name__", type(function).__name__)
    takes_text = _takes_text(function, own)
    run: Callable[[Turn], Any] = (lambda turn: function(turn.text)) if takes_text else function
    if inspect.isasyncgenfunction(function):
        run = _chunked(run)
    elif not inspect.iscoroutinefunction(function):
        raise Misconfigured(f"The agent {own!r} is not async.", hint="Write it with `async def`.")
    return HostedAgent(
        name=url_name(name or own),
        run=run,
        agent=function,
        title=own,
        description=inspect.getdoc(function) or "",
        restartable=bool(getattr(function, "restartable", False)),
    )


def _takes_text(function: Callable[..., Any], own: str) -> bool:
    parameters = [
        one
        for one in inspect.signature(function, eval_str=True).parameters.values()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if len(parameters) != 1:
        raise Misconfigured(
            f"The agent {own!r} takes {len(parameters)} arguments.", hint="It takes the turn, or the text."
        )
    return parameters[0].annotation is str


def _chunked(function: Callable[[Turn], Any]) -> Callable[[Turn], Awaitable[None]]:
    async def run(turn: Turn) -> None:
        more = False
        async for chunk in function(turn):
            if isinstance(chunk, str):
                await turn.artifact(_CHUNKS, text=chunk, append=more, last=False)
            else:
                await turn.artifact(_CHUNKS, data=chunk, append=more, last=False)
            more = True

    return run


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
    return hosted(_import_agent(module_name, attribute), name if equals else None)


def load_all(specs: Iterable[str]) -> dict[str, HostedAgent]:
    """Load agents by name. Duplicate names are an error."""
    agents: dict[str, HostedAgent] = {}
    for spec in specs:
        one = load(spec)
        if one.name in agents:
            raise Misconfigured(f"Two agents are called {one.name!r}.", hint="Write `other-name=my.module:Agent`.")
        agents[one.name] = one
    return agents


def _import_agent(module_name: str, attribute: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # `pentad` is a program: agents are imported from the current directory
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
