"""The built-in agents: the echo agent and the tool proxy."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, cast

from msgspec import UNSET

from pentad.agentvault.server import BaseA2AAgent
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.names import did_you_mean
from pentad.mcp.remote_server import RemoteServer
from pentad.platform import Platform
from pentad.rooms.agents.hosting.turn import Turn
from pentad.rooms.agents.models import Message

OWN_SERVER: Final = "pentad"
_FORM: Final = '{"target_mcp_server_id": "pentad", "tool_name": "...", "arguments": {...}}'


class Echo(BaseA2AAgent):
    """Echoes messages, for tests and to see a server work.

    A word at the start of a message makes it do more: `stream` returns the text word by word as an artifact, `ask` asks
    before it answers, `slow` waits until it is canceled or told to continue.
    """

    name: ClassVar[str] = "echo"
    title: ClassVar[str] = "Echo"
    description: ClassVar[str] = "Says back what it hears."
    tags: ClassVar[Sequence[str]] = ("test",)
    restartable: ClassVar[bool] = True
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "echo",
            "name": "Echo",
            "description": "Says back what it hears: at once, word by word (stream), when asked (ask), or late (slow).",
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
    setting `mcp_servers`; anyone who may send tasks may use them, with the configured key.
    """

    name: ClassVar[str] = "tool-proxy"
    title: ClassVar[str] = "Tool proxy"
    description: ClassVar[str] = (
        "Calls the tool a data part names, on this server or another, and gives back its result."
    )
    tags: ClassVar[Sequence[str]] = ("mcp", "tools")
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
        if server not in self._servers:
            known = [OWN_SERVER, *self._servers]
            turn.fail(
                f"No MCP server is called {server!r}. {did_you_mean(server, known) or 'Known: ' + ', '.join(known)}."
            )
        url, key = self._servers[server]
        authorization = None if key is None else f"Bearer {key}"
        remote = RemoteServer(url, authorization, self._platform.fetcher, trusted=True)
        await remote.open()
        try:
            return await remote.request("tools/call", {"name": tool, "arguments": dict(arguments)})
        finally:
            await remote.close()


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
        if isinstance(tool, str) and tool and isinstance(server, str) and isinstance(arguments or {}, dict):
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
