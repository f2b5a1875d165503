"""A hosted agent as the engine sees it, made from a class, an instance or a function.

A function takes the turn or, if its parameter is annotated `str`, the text. It returns the result, or is a generator of
texts, each a chunk of one artifact. Classes derive from `pentad.agentvault.server.BaseA2AAgent`. Objects with `invoke`,
`ainvoke` or `astream` are hosted as they are (`runnable_adapter.py`).

`async def` code runs on the server's event loop and `def` code in threads, or either in a separate process if the agent
or the operator says so (`isolation`).
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, get_args

from pentad.agentvault.server import BaseA2AAgent, Isolation
from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.hosting.runnable_adapter import (
    RunnableAdapter,
    is_async_runnable,
    is_runnable,
    keeps_state_in_memory,
)
from pentad.rooms.agents.hosting.thread_agent import CONCURRENCY, AgentThreads, ThreadTurn
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message

if TYPE_CHECKING:
    from pentad.rooms.agents.hosting.command_agent import CommandAgent

NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?")
_CHUNKS: Final = "output"
_VERSION: Final = "1.0.0"
NO_VARIABLES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingOptions:
    """The operator's options. Those for one agent, by its name, override the agent's own."""

    isolation: Mapping[str, Isolation] = field(default_factory=dict[str, Isolation])
    deadlines: Mapping[str, float] = field(default_factory=dict[str, float])
    deadline: float | None = None
    """For agents without their own."""
    concurrency: int = CONCURRENCY
    memory_bytes: int = 2 * 1024**3
    cpu_seconds: int = 600
    output_bytes: int = 64 * 1024**2
    line_bytes: int = 4 * 1024**2
    is_child: bool = False
    """Whether this process belongs to one agent, which then runs as its code requires."""

    def command_agent(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] = NO_VARIABLES, agent: Any = None
    ) -> "CommandAgent":
        """Runs an agent's turns as processes, within its own limits or the operator's."""
        from pentad.rooms.agents.hosting.command_agent import CommandAgent, CommandLimits

        limits = CommandLimits(
            memory_bytes=getattr(agent, "memory_bytes", None) or self.memory_bytes,
            cpu_seconds=getattr(agent, "cpu_seconds", None) or self.cpu_seconds,
            output_bytes=self.output_bytes,
            line_bytes=self.line_bytes,
        )
        return CommandAgent(name, command, limits, concurrency=self.concurrency, environment=environment)


DEFAULT_OPTIONS: Final = HostingOptions()


@dataclass(frozen=True, slots=True)
class HostedAgent:
    """A named agent. `accept` is set for agents that choose their own task ids, `cancel` for agents that are asked
    before one of their tasks is canceled.
    """

    name: str
    run: Callable[[Turn], Awaitable[Any]]
    agent: Any
    title: str = ""
    description: str = ""
    version: str = _VERSION
    skills: Sequence[Mapping[str, Any]] = ()
    tags: Sequence[str] = ()
    restartable: bool = False
    push_private: bool = False
    accept: Callable[[str | None, Message], Awaitable[str]] | None = None
    cancel: Callable[[str], Awaitable[bool]] | None = None
    methods: Mapping[str, Callable[..., Awaitable[Any]]] = field(default_factory=dict[str, Any])
    """Custom methods by their public name."""
    isolation: Isolation = "loop"
    deadline: float | None = None
    """How many seconds it may work on a message."""
    is_listed: bool = True
    """Whether lists and the directory include it."""


def hosted(
    agent: Any, name: str | None = None, options: HostingOptions = DEFAULT_OPTIONS, *, place: str | None = None
) -> HostedAgent:
    """The hosted agent for a class, an instance or a function; Misconfigured if it is none of them. `place` is where
    it was imported from, as `module:name`.
    """
    if inspect.isclass(agent):
        try:
            agent = agent()
        except TypeError as error:
            raise Misconfigured(f"The agent {agent.__name__} cannot be created: {error}.") from error
    if isinstance(agent, BaseA2AAgent):
        return _of_class(agent, name, options, place)
    if is_runnable(agent):
        return _of_runnable(agent, name, options, place)
    if callable(agent):
        return _of_function(agent, name, options, place)
    raise Misconfigured(
        f"{type(agent).__name__} is not an agent.", hint="Name a subclass of BaseA2AAgent or a function."
    )


def url_name(text: str) -> str:
    """A URL name derived from a class or function: `MyAgent` becomes `my-agent`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9.]+", "-", text).strip("-.").lower()
    if not NAME.fullmatch(words):
        raise Misconfigured(
            f"{text!r} is not a valid name for an agent.", hint="Use letters, digits, dots and hyphens."
        )
    return words


def _of_class(agent: BaseA2AAgent, name: str | None, options: HostingOptions, place: str | None) -> HostedAgent:
    kind = type(agent)
    name = url_name(name or kind.name or kind.__name__)
    threads = AgentThreads(name, options.concurrency)
    manages_tasks = kind.run is BaseA2AAgent.run
    methods = _methods(agent, threads)
    isolation = _isolation(name, agent, "loop" if manages_tasks or is_async(kind.run) else "thread", options)
    accept, cancel = None, None
    if manages_tasks:
        if kind.handle_task_send is BaseA2AAgent.handle_task_send:
            raise Misconfigured(
                f"{kind.__name__} overrides neither run nor handle_task_send.",
                hint="Give it `async def run(self, turn)`.",
            )
        from pentad.rooms.agents.hosting.agentvault_adapter import AgentVaultAdapter

        adapter = AgentVaultAdapter(agent, threads)
        run, accept, cancel = adapter.run, adapter.accept, adapter.cancel
    else:
        run = _runner(agent.run, threads)
    if isolation == "process":
        if manages_tasks or methods:
            raise Misconfigured(
                f"The agent {name!r} manages tasks or has methods, which one process for each turn cannot do.",
                hint="Give it `run` alone, or another isolation.",
            )
        run = _in_process(name, place or _place_of_class(kind), agent, options)
    return HostedAgent(
        name=name,
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
        methods=methods,
        isolation=isolation,
        deadline=deadline_of(name, kind.deadline, options),
    )


def _methods(agent: BaseA2AAgent, threads: AgentThreads) -> dict[str, Callable[..., Awaitable[Any]]]:
    from pentad.agentvault.server import METHOD

    found: dict[str, Callable[..., Awaitable[Any]]] = {}
    for _, member in inspect.getmembers(agent, inspect.ismethod):
        if (public := getattr(member, METHOD, None)) is not None:
            if public in found:
                raise Misconfigured(f"{type(agent).__name__} offers the method {public!r} twice.")
            found[public] = member if inspect.iscoroutinefunction(member) else _in_thread(member, threads)
    return found


def _in_thread(method: Callable[..., Any], threads: AgentThreads) -> Callable[..., Awaitable[Any]]:
    @wraps(method)
    async def call(*arguments: Any, **named: Any) -> Any:
        return await threads.call(partial(method, *arguments, **named))

    return call


def _of_runnable(agent: Any, name: str | None, options: HostingOptions, place: str | None) -> HostedAgent:
    own = str(getattr(agent, "name", None) or type(agent).__name__)
    name = url_name(name or own)
    isolation = _isolation(name, agent, "loop" if is_async_runnable(agent) else "thread", options)
    if isolation == "process":
        if keeps_state_in_memory(agent):
            raise Misconfigured(
                f"The agent {name!r} keeps its conversations in memory, and a process for each turn would lose them.",
                hint="Give it a checkpointer that stores them, or another isolation.",
            )
        run = _in_process(name, place, agent, options)
    else:
        run = RunnableAdapter(agent, AgentThreads(name, options.concurrency)).run
    return HostedAgent(
        name=name,
        run=run,
        agent=agent,
        title=own,
        description=str(getattr(agent, "description", None) or ""),
        isolation=isolation,
        deadline=deadline_of(name, None, options),
    )


def _of_function(
    function: Callable[..., Any], name: str | None, options: HostingOptions, place: str | None
) -> HostedAgent:
    own = getattr(function, "name", "") or getattr(function, "__name__", type(function).__name__)
    name = url_name(name or own)
    takes_text = _takes_text(function, own)
    threads = AgentThreads(name, options.concurrency)
    isolation = _isolation(name, function, "loop" if is_async(function) else "thread", options)
    if isolation == "process":
        run = _in_process(name, place or _place_of(function), function, options)
    else:
        run = _runner(function, threads, takes_text=takes_text)
    return HostedAgent(
        name=name,
        run=run,
        agent=function,
        title=getattr(function, "title", "") or own,
        description=getattr(function, "description", "") or inspect.getdoc(function) or "",
        version=str(getattr(function, "version", _VERSION)),
        skills=getattr(function, "skills", ()),
        tags=getattr(function, "tags", ()),
        restartable=bool(getattr(function, "restartable", False)),
        isolation=isolation,
        deadline=deadline_of(name, getattr(function, "deadline", None), options),
    )


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function or callable object runs on an event loop."""
    called: Any = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(called) or inspect.isasyncgenfunction(called)


def _runner(
    function: Callable[..., Any], threads: AgentThreads, *, takes_text: bool = False
) -> Callable[[Turn], Awaitable[Any]]:
    """The runner for a function's turns: on the event loop, or in a thread."""
    given: Callable[[Any], Any] = (lambda turn: function(turn.text)) if takes_text else function
    if inspect.isasyncgenfunction(function):
        return _chunked(given)
    if is_async(function):
        return given
    if inspect.isgeneratorfunction(function):
        given = _chunked_in_thread(given)
    return partial(threads.run_turn, given)


def _place_of(agent: Any) -> str | None:
    """Where another process can import a class or function; None if it cannot."""
    module, name = getattr(agent, "__module__", "__main__"), getattr(agent, "__qualname__", "<object>")
    return None if module == "__main__" or "<" in name else f"{module}:{name}"


def _place_of_class(kind: type[BaseA2AAgent]) -> str | None:
    try:
        inspect.signature(kind).bind()
    except TypeError:  # another process could not create it
        return None
    return _place_of(kind)


def _in_process(name: str, place: str | None, agent: Any, options: HostingOptions) -> Callable[[Turn], Awaitable[Any]]:
    from pentad.rooms.agents.hosting.process_agent import child_command

    if place is None:
        raise Misconfigured(
            f"The agent {name!r} cannot run in a process, which has to import it.",
            hint="Put the class, function or object at the top level of a module.",
        )
    return options.command_agent(name, *child_command(name, place), agent).run


def fixed_isolation(name: str, kind: str, runs_in: Isolation | None, options: HostingOptions) -> None:
    """Raise Misconfigured if the operator wants this kind of agent to run where it cannot."""
    chosen = options.isolation.get(name)
    if chosen is not None and chosen != runs_in:
        where = "on its own server" if runs_in is None else f"in {runs_in!r}"
        raise Misconfigured(
            f"The agent {name!r} is {kind} and runs {where}; rooms.agents.isolation says {chosen!r}.",
            hint="Leave it out of rooms.agents.isolation.",
        )


def _isolation(name: str, agent: Any, natural: Isolation, options: HostingOptions) -> Isolation:
    """Where an agent runs: set by the operator, by the agent, or determined by its code."""
    chosen: Isolation = options.isolation.get(name) or getattr(agent, "isolation", None) or natural
    if chosen not in get_args(Isolation):
        raise Misconfigured(f"The agent {name!r} cannot run in {chosen!r}.", hint="Use loop, thread or process.")
    if options.is_child:
        return natural
    if chosen not in (natural, "process"):
        way = "is asynchronous (`async def`)" if natural == "loop" else "is synchronous (`def`)"
        raise Misconfigured(
            f"The agent {name!r} {way} and cannot run in {chosen!r}.",
            hint=f"It runs in {natural!r}, or in 'process'.",
        )
    return chosen


def deadline_of(name: str, own: float | None, options: HostingOptions) -> float | None:
    """How many seconds an agent may work on a message: the operator's value for it, its own, or the default."""
    return options.deadlines.get(name) or own or options.deadline


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


def _chunked_in_thread(function: Callable[[ThreadTurn], Any]) -> Callable[[ThreadTurn], None]:
    def run(turn: ThreadTurn) -> None:
        for number, chunk in enumerate(function(turn)):
            kind = "text" if isinstance(chunk, str) else "data"
            turn.artifact(_CHUNKS, **{kind: chunk}, append=number > 0, last=False)

    return run
