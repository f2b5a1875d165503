"""Hosts objects with `ainvoke`, `invoke` or `astream`, such as those of LangChain and LangGraph. Imports neither.

The input depends on the object's schema: graphs with `messages` in their state get the message of the caller, objects
whose input has fields get the caller's data, and others its text. Texts that it streams are chunks of
one artifact; the result is the last message, or what the object returns.

A graph with a checkpointer has a thread per conversation and caller. If it interrupts itself, that is a question, and
the answer resumes it.
"""

import hashlib
import inspect
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, Final, cast

import msgspec
from msgspec import UNSET

from pentad.kernel.errors import InvalidInput
from pentad.kernel.json_values import as_object
from pentad.rooms.agents.hosting.thread_agent import AgentThreads
from pentad.rooms.agents.hosting.turn import Turn

METHODS: Final = ("ainvoke", "invoke", "astream")
_CHUNKS: Final = "output"
_INTERRUPT: Final = "__interrupt__"
_MEMORY_SAVERS: Final = ("InMemorySaver", "MemorySaver")
"""LangGraph's checkpointers for tests."""


def is_runnable(agent: Any) -> bool:
    """Whether an object can be hosted by this adapter."""
    return not inspect.isclass(agent) and any(callable(getattr(agent, method, None)) for method in METHODS)


def is_async_runnable(agent: Any) -> bool:
    """Whether such an object runs on an event loop."""
    return hasattr(agent, "ainvoke") or hasattr(agent, "astream")


def keeps_state_in_memory(agent: Any) -> bool:
    """Whether a graph keeps its conversations only in this process."""
    return type(getattr(agent, "checkpointer", None)).__name__ in _MEMORY_SAVERS


class RunnableAdapter:
    """Adapts one such object."""

    def __init__(self, agent: Any, threads: AgentThreads) -> None:
        self._agent = agent
        self._threads = threads
        self._is_graph = _takes(agent, "astream", "stream_mode")
        self._fields = _input_fields(agent)

    async def run(self, turn: Turn) -> Any:
        config = {"configurable": {"thread_id": _thread(turn)}}
        if self._is_graph:
            return await self._run_graph(turn, config)
        given = self._input(turn)
        if hasattr(self._agent, "astream"):
            return await self._stream(turn, given, config)
        return _result(await self._invoke(given, config))

    async def _invoke(self, given: Any, config: Mapping[str, Any]) -> Any:
        agent = self._agent
        if hasattr(agent, "ainvoke"):
            return await agent.ainvoke(given, **_config(agent, "ainvoke", config))
        return await self._threads.call(partial(agent.invoke, given, **_config(agent, "invoke", config)))

    async def _stream(self, turn: Turn, given: Any, config: Mapping[str, Any]) -> Any:
        """Text chunks become an artifact. Other chunks are added up, like the library does."""
        result: Any = None
        said = False
        async with aclosing(_chunks(self._agent.astream(given, **_config(self._agent, "astream", config)))) as chunks:
            async for chunk in chunks:
                if text := _text(chunk):
                    await turn.artifact(_CHUNKS, text=text, append=said, last=False)
                    said = True
                elif not isinstance(chunk, str):
                    result = _added(result, chunk)
        return None if said else _result(result)

    async def _run_graph(self, turn: Turn, config: Mapping[str, Any]) -> Any:
        given: Any = await self._resume(turn, config)
        if given is None:
            given = self._input(turn)
        state: Any = None
        said = False
        stream = self._agent.astream(given, config, stream_mode=["messages", "values"])
        async with aclosing(_chunks(stream)) as chunks:
            async for mode, chunk in chunks:
                if mode == "values":
                    state = chunk
                elif (text := _text(chunk[0])) and getattr(chunk[0], "type", "") == "AIMessageChunk":
                    await turn.artifact(_CHUNKS, text=text, append=said, last=False)
                    said = True
        question = as_object(state).get(_INTERRUPT) or await self._interrupts(config)
        return turn.ask(_question_of(question)) if question else _result(state)

    async def _resume(self, turn: Turn, config: Mapping[str, Any]) -> Any:
        """The command that answers an interrupt; None if the graph has none."""
        if not turn.history or not await self._interrupts(config):
            return None
        return sys.modules["langgraph.types"].Command(resume=_answer(turn))

    async def _interrupts(self, config: Mapping[str, Any]) -> Any:
        """The interrupts a graph with a checkpointer waits for."""
        if getattr(self._agent, "checkpointer", None) in (None, False):
            return ()
        state = await self._agent.aget_state(config)
        return getattr(state, "interrupts", ()) or tuple(
            one for task in getattr(state, "tasks", ()) for one in task.interrupts
        )

    def _input(self, turn: Turn) -> Any:
        """What the object gets: messages, fields, or the text."""
        fields, data = self._fields, _data(turn)
        if isinstance(data, dict) and not turn.text:
            return cast("dict[str, Any]", data)
        if "messages" in fields:
            return {"messages": [{"role": "user", "content": turn.text}]}
        if len(fields) == 1:
            return {fields[0]: turn.text}
        if fields:
            raise InvalidInput(
                f"The agent takes {', '.join(fields[:10])}.", hint="Send a data part with these members."
            )
        return turn.text


async def _chunks(stream: Any) -> AsyncGenerator[Any]:
    async for chunk in stream:
        yield chunk


def _thread(turn: Turn) -> str:
    """The thread id of a conversation, per caller, because callers choose conversation ids and may choose the same."""
    return hashlib.sha256(f"{turn.task.owner}\n{turn.context_id}".encode()).hexdigest()


def _answer(turn: Turn) -> Any:
    return _data(turn) if _data(turn) is not None and not turn.text else turn.text


def _data(turn: Turn) -> Any:
    return next((part.data for part in turn.message.parts if part.data is not UNSET), None)


def _takes(agent: Any, method: str, parameter: str) -> bool:
    """Whether a method has a parameter with that name."""
    with suppress(AttributeError, TypeError, ValueError):
        return parameter in inspect.signature(getattr(agent, method)).parameters
    return False


def _config(agent: Any, method: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"config": dict(config)} if _takes(agent, method, "config") else {}


def _input_fields(agent: Any) -> tuple[str, ...]:
    """The fields of the input, if the object declares that it takes an object."""
    try:
        schema = as_object(agent.get_input_jsonschema())
    except Exception:  # noqa: BLE001  foreign code: some schemas cannot be written, but the graph knows its fields
        shape = getattr(getattr(agent, "builder", None), "input_schema", None)
        return tuple(getattr(shape, "__annotations__", ()))
    return tuple(as_object(schema.get("properties"))) if schema.get("type") == "object" else ()


def _text(value: Any) -> str:
    """The text of a chunk or a message: itself, its `content`, or the texts of its blocks."""
    content: Any = value if isinstance(value, str) else getattr(value, "content", None)
    if isinstance(content, list):
        blocks = cast("list[Any]", content)
        return "".join(one if isinstance(one, str) else str(as_object(one).get("text", "")) for one in blocks)
    return str(content) if isinstance(content, str) else ""  # some libraries have their own str class


def _added(result: Any, chunk: Any) -> Any:
    if isinstance(result, dict) and isinstance(chunk, dict):
        return {**cast("dict[str, Any]", result), **cast("dict[str, Any]", chunk)}
    return chunk


def _result(value: Any) -> Any:
    """What the turn returns: the text of the last message, the `output` of a chain, or the value as JSON."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value)
        messages: Any = members.get("messages")
        if isinstance(messages, list) and messages:
            return _result(cast("list[Any]", messages)[-1])
        if "output" in members:
            return _result(members["output"])
    if value is None:
        return None
    if text := _text(value):
        return text
    return msgspec.to_builtins(_plain(value))


def _plain(value: Any) -> Any:
    """A value of the library as JSON; models use their own dump method."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast("list[Any]", value)]
    return value


def _question_of(interrupts: Any) -> Any:
    """The question of an interrupt."""
    first: Any = cast("list[Any]", interrupts)[0] if isinstance(interrupts, list | tuple) else interrupts
    return _result(getattr(first, "value", first))
