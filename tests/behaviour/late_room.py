"""A room whose work outlasts its calls: a kitchen where orders are tasks. It tests the core's side of the extension."""

import itertools
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from pentad.kernel.errors import Forbidden, NotFound
from pentad.kernel.principal import Principal
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.client_requests import Elicit
from pentad.mcp.declarations import ToolResult, resource, tool
from pentad.mcp.tasks import TaskState
from pentad.platform import Platform, Room


class Wish(Arguments):
    dish: str


class Taste(BaseModel):
    salt: bool


class Kitchen:
    """Orders by id, as a task book."""

    def __init__(self) -> None:
        self.orders: dict[str, TaskState] = {}
        self._numbers = itertools.count(1)

    def order(self, dish: str) -> TaskState:
        state = TaskState(f"order-{next(self._numbers)}", "working", 1.5, 2.5, message=f"{dish} is in the oven")
        self.orders[state.id] = state
        return state

    def change(self, task_id: str, **changes: Any) -> None:
        self.orders[task_id] = replace(self.orders[task_id], **changes)

    async def get(self, principal: Principal, task_id: str, can: Callable[[str], bool]) -> TaskState:
        if task_id not in self.orders:
            raise NotFound("There is no such order.")
        return self.orders[task_id]

    async def update(self, principal: Principal, task_id: str, responses: Mapping[str, Any]) -> None:
        state = await self.get(principal, task_id, lambda _: True)
        answered = {key: one.read(responses[key]) for key, one in state.questions.items() if key in responses}
        left = {key: one for key, one in state.questions.items() if key not in answered}
        self.change(task_id, questions=left, status="input_required" if left else "working")

    async def cancel(self, principal: Principal, task_id: str) -> None:
        await self.get(principal, task_id, lambda _: True)
        self.change(task_id, status="cancelled")

    def address(self, task_id: str) -> str:
        return f"kitchen://{task_id}"


@tool("cook", task="optional")
async def cook(arguments: Wish, call: Call[Kitchen]) -> str:
    """Cooks: at once, or as an order for who can wait."""
    if call.can_defer:
        call.defer(call.service.order(arguments.dish))
    return f"{arguments.dish}, warm"


@tool("roast", task="required")
async def roast(arguments: Wish, call: Call[Kitchen]) -> ToolResult:
    """Takes too long for anybody to stand and wait."""
    call.defer(call.service.order(arguments.dish))


@tool("hasty", task="optional")
async def hasty(call: Call[Kitchen]) -> str:
    """Forgets to look whether the client can wait."""
    call.defer(call.service.order("toast"))


@tool("stray")
async def stray(call: Call[Kitchen]) -> str:
    """Puts its answer off without having said that it might."""
    call.defer(call.service.order("cake"))


@resource("kitchen://menu", name="menu")
async def menu(call: Call[Kitchen]) -> str:
    """Puts off what has to be answered at once."""
    call.defer(call.service.order("menu"))


class Happening(Arguments):
    task: str
    what: str


@tool("happen")
async def happen(arguments: Happening, call: Call[Kitchen]) -> None:
    """Lets something become of an order."""
    kitchen, task = call.service, arguments.task
    if arguments.what == "ask":
        questions = {key: Elicit(f"Salt in the {key}?", Taste) for key in ("soup", "sauce")}
        kitchen.change(task, status="input_required", questions=questions)
    elif arguments.what == "burn":
        kitchen.change(task, status="completed", tool="roast", value=ToolResult(structured={"ash": 1}, is_error=True))
    elif arguments.what == "serve":
        kitchen.change(task, status="completed", tool="cook", value="soup, warm")
    elif arguments.what == "flood":
        kitchen.change(task, status="completed", tool="cook", value="x" * 10_000_000)
    else:
        kitchen.change(task, status="failed", error=Forbidden("The kitchen is closed."), message="closed")


@asynccontextmanager
async def open_kitchen(_platform: Platform) -> AsyncGenerator[Kitchen]:
    yield Kitchen()


ROOM: Room[Kitchen] = Room(
    name="kitchen",
    title="Kitchen",
    instructions="",
    open=open_kitchen,
    tools=(cook, roast, hasty, stray, happen),
    resources=(menu,),
    tasks=lambda kitchen: kitchen,
)
