"""What an agent is to the engine (`Hosted`), made of what people write: a class, an instance, or a function.

A function takes the turn, or (its parameter says `str`) the text; it returns what completes the task, or is an async
generator of texts, each a chunk of one artifact. The class everybody subclasses is `pentad.agentvault.server`'s.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message

Style = Literal["native", "function", "agentvault"]
NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_CHUNKS: Final = "output"


@dataclass(frozen=True, slots=True)
class Hosted:
    """An agent under its name. `accept` is there only for agents that name their own tasks."""

    name: str
    run: Callable[[Turn], Awaitable[Any]]
    style: Style
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
    """Custom methods by the name callers know."""


def hosted(agent: Any, name: str | None = None) -> Hosted:
    """The agent behind a class, an instance or a function; Misconfigured where it is none."""
    if inspect.isclass(agent):
        try:
            agent = agent()
        except TypeError as error:
            raise Misconfigured(f"The agent {agent.__name__} cannot be made: {error}.") from error
    if isinstance(agent, BaseA2AAgent):
        return _of_class(agent, name)
    if callable(agent):
        return _of_function(agent, name)
    raise Misconfigured(
        f"{type(agent).__name__} is not an agent.", hint="Name a subclass of BaseA2AAgent or an async function."
    )


def named(text: str) -> str:
    """A name for addresses made of a class's or function's: `MyAgent` is `my-agent`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9.]+", "-", text).strip("-.").lower()
    if not NAME.fullmatch(words):
        raise Misconfigured(f"{text!r} is no name for an agent.", hint="Use letters, digits, dots and hyphens.")
    return words


def _of_class(agent: BaseA2AAgent, name: str | None) -> Hosted:
    kind = type(agent)
    run, accept, cancel = agent.run, None, None
    style: Style = "native"
    if kind.run is BaseA2AAgent.run:
        if kind.handle_task_send is BaseA2AAgent.handle_task_send:
            raise Misconfigured(
                f"{kind.__name__} overrides neither run nor handle_task_send.",
                hint="Give it `async def run(self, turn)`.",
            )
        from pentad.rooms.agents.hosting.agentvault_adapter import AgentVaultStyle

        keeper, style = AgentVaultStyle(agent), "agentvault"
        run, accept, cancel = keeper.run, keeper.accept, keeper.cancel
    elif inspect.isasyncgenfunction(kind.run):
        run = _chunked(agent.run)
    return Hosted(
        name=named(name or kind.name or kind.__name__),
        run=run,
        style=style,
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


def _of_function(function: Callable[..., Any], name: str | None) -> Hosted:
    own = getattr(function, "__name__", type(function).__name__)
    takes_text = _takes_text(function, own)
    run: Callable[[Turn], Any] = (lambda turn: function(turn.text)) if takes_text else function
    if inspect.isasyncgenfunction(function):
        run = _chunked(run)
    elif not inspect.iscoroutinefunction(function):
        raise Misconfigured(f"The agent {own!r} is not async.", hint="Write it with `async def`.")
    return Hosted(
        name=named(name or own),
        run=run,
        style="function",
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
