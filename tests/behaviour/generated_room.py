"""A room that generates tools: `print_<name>` for every name in a profile, `secret` for administrators only."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from pydantic import Field

from pentad.kernel.ports import Database
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.changes import list_changed
from pentad.mcp.declarations import Tool, tool
from pentad.mcp.generated_tools import Generated
from pentad.platform import Platform, Room


class Text(Arguments):
    text: str = Field(description="What to print.")


@dataclass(eq=False)
class Press:
    database: Database
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    asked: int = 0
    """How often tools were generated."""


def make(name: str) -> Tool:
    async def run(arguments: Text, call: Call[Press]) -> str:
        return f"{name}: {arguments.text}"

    return tool(f"print_{name}", description=f"Prints on {name}.", action="write", destructive=False)(run)


async def generate(press: Press, principal: Principal, names: Sequence[str]) -> Generated:
    press.asked += 1
    known = [name for name in names if name != "secret" or principal.may("press", "admin")]
    for name in known:
        press.tools.setdefault(name, make(name))
    return Generated([press.tools[name] for name in known], dict.fromkeys(set(names) - set(known), "Not yours."))


@tool("renew", destructive=False)
async def renew(call: Call[Press]) -> str:
    """Makes all tools anew."""
    call.service.tools.clear()
    await call.service.database.write(lambda tx: list_changed(tx, "generated_tools", "press"))
    return "renewed"


@tool("print_taken", read_only=True)
async def print_taken() -> str:
    """A declared tool with a name that a generated one would have."""
    return "declared"


@asynccontextmanager
async def open_press(platform: Platform) -> AsyncGenerator[Press]:
    yield Press(platform.database)


ROOM: Room[Press] = Room(
    name="press",
    title="Press",
    instructions="",
    open=open_press,
    tools=[renew, print_taken],
    generated_tools=generate,
)
