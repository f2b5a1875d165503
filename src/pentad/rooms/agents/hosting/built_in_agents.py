"""The built-in agents: the echo agent and the tool proxy."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final, cast

from msgspec import UNSET
from msgspec.structs import replace

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.cid import is_cid
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.names import did_you_mean
from pentad.mcp.remote_server import RemoteServer
from pentad.platform import Platform
from pentad.rooms.agents.directory_records import find_record
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message, Part

OWN_SERVER: Final = "pentad"
PROXY: Final = "tool-proxy"
_MOST_NAMED: Final = 20
_FORM: Final = '{"target_mcp_server_id": "pentad", "tool_name": "...", "arguments": {...}}'


class Echo(BaseA2AAgent):
    """Echoes messages, for tests and to see a server work.

    A word at the start of a message makes it do more: `stream` returns the text word by word as an artifact, `ask` asks
    before it answers, `slow` waits until it is canceled or told to continue.
    """

    name: ClassVar[str] = "echo"
    title: ClassVar[str] = "Echo"
    description: ClassVar[str] = "Echoes the message."
    tags: ClassVar[Sequence[str]] = ("test",)
    oasf_skills: ClassVar[Sequence[str]] = ("dialogue_generation",)
    oasf_domains: ClassVar[Sequence[str]] = ("software_engineering",)
    restartable: ClassVar[bool] = True
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "echo",
            "name": "Echo",
            "description": "Echoes the message: at once, word by word (stream), after a question (ask) or late (slow).",
            "tags": ["test"],
            "examples": ["Hello", "stream one two three", "ask", "slow"],
        },
    )

    async def run(self, turn: Turn) -> Any:
        word, _, rest = turn.text.partition(" ")
        if word == "stream":
            for position, one in enumerate(rest.split()):
                await turn.artifact("echo", text=one + " ", append=position > 0, last=False)
            return None
        if word == "ask":
            answer = await turn.ask("What shall I say?")
            return answer.text
        if word == "slow":
            await turn.working("Waiting.")
            async for message in turn.incoming():
                return message.text
        return turn.message.parts


class ToolProxy(BaseA2AAgent):
    """Calls an MCP tool for an A2A task and returns the result as an artifact.

    A message has one data part in AgentVault's form: `{"target_mcp_server_id", "tool_name", "arguments"}`. The server
    `pentad` (the default) is this one, called with the rights of the task's caller. Other servers are those in the
    setting `mcp_servers`; anyone who may send tasks may use them, with the configured key. The CID of a record that the
    caller may read also names a server, which gets no key. If a message for one names no tool, its text goes to the
    only tool that takes a text.
    """

    name: ClassVar[str] = PROXY
    title: ClassVar[str] = "Tool proxy"
    description: ClassVar[str] = (
        "Calls the tool a data part names, on this server or another, and gives back its result."
    )
    tags: ClassVar[Sequence[str]] = ("mcp", "tools")
    oasf_skills: ClassVar[Sequence[str]] = ("tool_use_planning",)
    oasf_domains: ClassVar[Sequence[str]] = ("software_engineering",)
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "call-tool",
            "name": "Call an MCP tool",
            "description": f"Send one data part: {_FORM}.",
            "tags": ["mcp", "tools"],
        },
    )

    def __init__(self, platform: Platform, servers: Mapping[str, tuple[str, str | None]]) -> None:
        super().__init__()
        self._platform = platform
        self._servers = servers

    async def run(self, turn: Turn) -> Any:
        call = tool_call(turn.message)
        if call is None:
            turn.reject(f"There is no tool call in the message. Send one data part: {_FORM}.")
        server, tool, arguments = call
        if not tool:
            try:
                tool, arguments = await self._tool_for_text(turn, server)
            except PentadError as error:
                turn.fail(error.sentence())
        await turn.working(f"Calling {tool} on {server}.")
        try:
            result = await self._call(turn, server, tool, arguments)
        except PentadError as error:
            turn.fail(error.sentence())
        await turn.artifact("result", data=dict(result), description=f"What {tool} of {server} answered.")
        text = text_of(result)
        if result.get("isError"):
            turn.fail(text or f"{tool} failed.")
        return f"{tool} answered." if "structuredContent" in result or not text else text

    async def _call(self, turn: Turn, server: str, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if server == OWN_SERVER:
            return await self._platform.neighbours.call_tool(
                turn.caller, tool, arguments, progress=_ProgressReport(turn)
            )
        async with self._opened(turn, server) as remote:
            return await remote.request("tools/call", {"name": tool, "arguments": dict(arguments)})

    @asynccontextmanager
    async def _opened(self, turn: Turn, server: str) -> AsyncGenerator[RemoteServer]:
        """A session with another server."""
        remote = await self._server(turn, server)
        await remote.open()
        try:
            yield remote
        finally:
            await remote.close()

    async def _server(self, turn: Turn, server: str) -> RemoteServer:
        if is_cid(server):
            record = await find_record(self._platform.neighbours, turn.caller, server)
            if record is None or record.mcp_url is None:
                turn.fail(f"No record {server} has an MCP server that you may use.")
            return RemoteServer(record.mcp_url, None, self._platform.fetcher)
        if server not in self._servers:
            known = [OWN_SERVER, *self._servers]
            turn.fail(
                f"No MCP server is called {server!r}. {did_you_mean(server, known) or 'Known: ' + ', '.join(known)}."
            )
        url, key = self._servers[server]
        authorization = None if key is None else f"Bearer {key}"
        return RemoteServer(url, authorization, self._platform.fetcher, trusted=True)

    async def _tool_for_text(self, turn: Turn, server: str) -> tuple[str, Mapping[str, Any]]:
        """The only tool of another server that takes text, called with the message's text."""
        async with self._opened(turn, server) as remote:
            tools = await remote.list_all("tools/list", "tools")
        fitting = [(str(one.get("name")), argument) for one in tools if (argument := _text_argument(one))]
        if len(fitting) != 1 or not turn.text.strip():
            names = ", ".join(str(one.get("name")) for one in tools[:_MOST_NAMED])
            turn.reject(f"Name a tool of the server: {names}. Send one data part: {_FORM}.")
        tool, argument = fitting[0]
        return tool, {argument: turn.text}


def proxied(parts: Sequence[Part], server: str) -> tuple[Part, ...]:
    """The parts of a message that makes the tool proxy call that server."""
    for number, part in enumerate(parts):
        value: Any = part.data
        if isinstance(value, dict):
            data = {**cast("dict[str, Any]", value), "target_mcp_server_id": server}
            return (*parts[:number], replace(part, data=data), *parts[number + 1 :])
    return (*parts, Part(data={"target_mcp_server_id": server, "tool_name": ""}, media_type="application/json"))


def _text_argument(tool: Mapping[str, Any]) -> str | None:
    """The only required argument of a tool, if it is text."""
    schema = cast("dict[str, Any]", tool.get("inputSchema") or {})
    needed = cast("list[str]", schema.get("required") or [])
    properties = cast("dict[str, dict[str, Any]]", schema.get("properties") or {})
    return needed[0] if len(needed) == 1 and properties.get(needed[0], {}).get("type") == "string" else None


class _ProgressReport:
    """Passes the tool's progress on as status messages."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    async def __call__(self, done: float, total: float | None, message: str | None) -> None:
        share = f"{done:g}" if total is None else f"{done:g} of {total:g}"
        await self._turn.working(f"{message} ({share})" if message else share)


def tool_call(message: Message) -> tuple[str, str, Mapping[str, Any]] | None:
    """Server, tool and arguments of the first data part that names a tool."""
    for part in message.parts:
        value: Any = part.data
        if value is UNSET or not isinstance(value, dict):
            continue
        data = cast("dict[str, Any]", value)
        tool, arguments = data.get("tool_name"), data.get("arguments")
        server = data.get("target_mcp_server_id") or OWN_SERVER
        tool = "" if tool is None and is_cid(str(server)) else tool
        if (
            isinstance(tool, str)
            and isinstance(server, str)
            and (tool or is_cid(server))
            and isinstance(arguments or {}, dict)
        ):
            return server, tool, cast("dict[str, Any]", arguments or {})
    return None


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a tool's result."""
    blocks = cast("list[Any]", result.get("content") or [])
    texts = [cast("dict[str, Any]", one).get("text") for one in blocks if isinstance(one, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def servers_of(given: Mapping[str, Any]) -> dict[str, tuple[str, str | None]]:
    """The setting `mcp_servers`: an id with a URL, or with a table of `url` and `key`."""
    servers: dict[str, tuple[str, str | None]] = {}
    for name, value in given.items():
        entry = cast("dict[str, Any]", value) if isinstance(value, dict) else {"url": value}
        url, key = entry.get("url"), entry.get("key")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")) or name == OWN_SERVER:
            raise Misconfigured(
                f"rooms.agents.mcp_servers.{name} has no address of an MCP server.", hint="Give its url."
            )
        servers[name] = url, key if isinstance(key, str) else None
    return servers
