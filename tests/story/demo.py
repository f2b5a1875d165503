"""The demo of all rooms, and helpers for the tests of the story."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from pentad.access.scopes import role_scopes
from pentad.app import App, open_app
from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.ids import uuid7
from pentad.kernel.principal import Principal
from pentad.rooms.agents.approvals.store import Approval
from pentad.rooms.agents.models import TERMINAL, Message, Part, Task
from pentad.rooms.agents.service import Agents
from pentad.settings.model import SearchSettings, Settings
from tests.http.browsing import PASSWORD
from tests.waiting import until

AGENT = "permit-reviewer"
PERMIT = "openregister://objects/tree-permits/tree-permit/TP-2026-014"
POOR_PERMIT = "openregister://objects/tree-permits/tree-permit/TP-2026-015"
"""It promises no young trees."""
RULE = "avatar://tree-office/passages/18"
FIGURES = "metrics://pentad/default"
ADA = Principal("jwt:ada", "ada", role_scopes("admin"))
OTTO = Principal("jwt:otto", "otto", role_scopes("admin"))


class Demo:
    """The open demo."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.admin = ADA
        self.agents: Agents = next(one.service for one in app.rooms if one.room.name == "agents")

    async def review(self, *references: str, caller: Principal = ADA) -> Task:
        """A task for the reviewer, once it rests."""
        items = {f"item-{number}": {"ref": uri} for number, uri in enumerate(references)}
        metadata: Mapping[str, Any] = {"mcp_context": {"items": items}} if items else {}
        message = Message(id=str(uuid7()), role="user", parts=(Part(text="Review it."),), metadata=dict(metadata))
        task = await self.agents.tasks.send(caller, AGENT, message, dialect="1.0")
        assert isinstance(task, Task)
        return task

    async def approval(self, task: Task) -> Approval:
        found = await self.agents.tasks.approvals.awaited(task)
        assert found is not None, text_of(task)
        return found

    async def decide(self, task: Task, *, approve: bool, reason: str = "") -> Task:
        """The task after the decision."""
        approval = await self.approval(task)
        await self.agents.tasks.approvals.decide(OTTO, approval.id, approve=approve, reason=reason)
        return await self.ended(task)

    async def ended(self, task: Task) -> Task:
        owner = Principal(task.owner, task.owner, frozenset({"*:*"}))
        return await until(lambda: self.agents.tasks.get(owner, task.id), lambda found: found.state in TERMINAL)

    async def call(self, tool: str, **arguments: Any) -> Any:
        result = await self.app.neighbours.call_tool(ADA, tool, arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    async def decisions(self) -> list[dict[str, Any]]:
        """The filed decisions, newest first."""
        found = await self.call(
            "objects", action="list", register="tree-permits", schema="decision", sort=["-@self.created"]
        )
        return found["results"]


@asynccontextmanager
async def open_demo(data: Path, clock: Clock | None = None, **settings: Any) -> AsyncGenerator[Demo]:
    """All rooms with their demo data and its user, as `pentad demo` fills them, without the embedding model."""
    chosen = Settings(data=data, search=SearchSettings(embedder="none"), **settings)
    async with open_app(chosen, clock=clock or SystemClock()) as app:
        if await app.users.verify("admin", PASSWORD) is None:
            await app.users.add("admin", PASSWORD, role="admin")
        for opened in app.rooms:
            if opened.room.demo is not None:
                await opened.room.demo(opened.service)
        yield Demo(app)


def text_of(task: Task) -> str:
    return task.status_message.text if task.status_message is not None else ""
