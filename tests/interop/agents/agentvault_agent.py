"""An agent on AgentVault's server library, for Pentad's clients: `agentvault_agent.py PORT`.

"wait" works until it is canceled, "ask" asks for a city first, anything else is echoed with its context.
The card is at `/agent-card.json`, the agent at `/a2a/`. Nothing of Pentad is imported.
"""

import asyncio
import logging
import sys
import uuid
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any

import uvicorn
from agentvault.models import (
    A2AEvent,
    Artifact,
    DataPart,
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskMessageEvent,
    TaskState,
    TaskStatusUpdateEvent,
    TextPart,
)
from agentvault_server_sdk import BaseA2AAgent, create_a2a_router
from agentvault_server_sdk.exceptions import AgentServerError, TaskNotFoundError
from agentvault_server_sdk.fastapi_integration import (
    agent_server_error_handler,
    task_not_found_handler,
    validation_exception_handler,
)
from agentvault_server_sdk.mcp_utils import get_mcp_context
from agentvault_server_sdk.state import InMemoryTaskStore
from fastapi import FastAPI
from pydantic import ValidationError

OVER = {TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED}


class Agent(BaseA2AAgent):
    def __init__(self, store: InMemoryTaskStore) -> None:
        super().__init__()
        self.store = store
        self.tasks: dict[str, Task] = {}
        self.told: dict[str, list[A2AEvent]] = {}
        self.news = asyncio.Condition()

    async def tell(self, task: Task, *events: A2AEvent) -> None:
        async with self.news:
            for event in events:
                self.told[task.id].append(event)
                if isinstance(event, TaskStatusUpdateEvent):
                    task.state = event.state
                elif isinstance(event, TaskMessageEvent):
                    task.messages.append(event.message)
                else:
                    task.artifacts.append(event.artifact)
            self.news.notify_all()

    async def handle_task_send(self, task_id: str | None, message: Message) -> str:
        if task_id is None:
            task_id, now = str(uuid.uuid4()), datetime.now(UTC)
            await self.store.create_task(task_id)
            self.told[task_id] = []
            self.tasks[task_id] = Task(
                id=task_id, state=TaskState.SUBMITTED, createdAt=now, updatedAt=now, messages=[], artifacts=[]
            )
        task = self.known(task_id)
        asked_before = task.state is TaskState.INPUT_REQUIRED
        task.messages.append(message)
        await self.tell(task, self.status(task, TaskState.WORKING))
        text = next(part.content for part in message.parts if isinstance(part, TextPart))
        if text == "ask" and not asked_before:
            await self.tell(task, self.status(task, TaskState.INPUT_REQUIRED, "Which city?"))
        elif text != "wait":
            await self.answer(task, text, get_mcp_context(message))
        return task_id

    async def answer(self, task: Task, text: str, context: dict[str, Any] | None) -> None:
        parts = [TextPart(content=f"You said: {text}"), DataPart(content={"context": context})]
        now = datetime.now(UTC)
        await self.tell(
            task,
            TaskMessageEvent(task_id=task.id, message=Message(role="assistant", parts=parts), timestamp=now),
            TaskArtifactUpdateEvent(
                task_id=task.id, artifact=Artifact(id="a1", type="text", content=text), timestamp=now
            ),
            self.status(task, TaskState.COMPLETED),
        )

    def status(self, task: Task, state: TaskState, message: str | None = None) -> TaskStatusUpdateEvent:
        return TaskStatusUpdateEvent(task_id=task.id, state=state, timestamp=datetime.now(UTC), message=message)

    def known(self, task_id: str) -> Task:
        if task_id not in self.tasks:
            raise TaskNotFoundError(task_id)
        return self.tasks[task_id]

    async def handle_task_get(self, task_id: str) -> Task:
        return self.known(task_id)

    async def handle_task_cancel(self, task_id: str) -> bool:
        task = self.known(task_id)
        if task.state in OVER:
            return False
        await self.tell(task, self.status(task, TaskState.CANCELED))
        return True

    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[A2AEvent, None]:
        told, seen = self.told[task_id], 0
        while True:
            async with self.news:
                while len(told) == seen:
                    await self.news.wait()
            for event in told[seen:]:
                seen += 1
                yield event
                if isinstance(event, TaskStatusUpdateEvent) and event.state in OVER:
                    return


def card(port: int) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0", "humanReadableId": "acme/echo", "agentVersion": "1.0.0", "name": "Echo",
        "description": "Says it again.", "url": f"http://localhost:{port}/a2a/", "provider": {"name": "Acme"},
        "capabilities": {"a2aVersion": "1.0"}, "authSchemes": [{"scheme": "none"}],
    }  # fmt: skip


async def main(port: int) -> None:
    store = InMemoryTaskStore()
    app = FastAPI()
    app.include_router(create_a2a_router(Agent(store), prefix="/a2a", task_store=store))
    app.add_exception_handler(TaskNotFoundError, task_not_found_handler)
    app.add_exception_handler(AgentServerError, agent_server_error_handler)
    app.add_exception_handler(ValidationError, validation_exception_handler)
    app.add_api_route("/agent-card.json", lambda: card(port))
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", lifespan="off"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await serving


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(main(int(sys.argv[1])))
