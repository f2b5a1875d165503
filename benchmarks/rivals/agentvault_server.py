"""The thinnest agent on AgentVault's server library: it names the task and keeps it in the library's store.

Run as a script by the interpreter of its own environment: `agentvault_server.py PORT`. Nothing is run, said or kept on
disk. Nothing of Pentad is imported.
"""

import sys
import uuid
from collections.abc import AsyncGenerator
from datetime import UTC, datetime

import uvicorn
from agentvault.models import A2AEvent, Message, Task, TaskState
from agentvault_server_sdk import BaseA2AAgent, create_a2a_router
from agentvault_server_sdk.state import InMemoryTaskStore
from fastapi import FastAPI


class Agent(BaseA2AAgent):
    def __init__(self, store: InMemoryTaskStore) -> None:
        super().__init__()
        self.store = store

    async def handle_task_send(self, task_id: str | None, message: Message) -> str:
        task_id = task_id or str(uuid.uuid4())
        await self.store.create_task(task_id)
        return task_id

    async def handle_task_get(self, task_id: str) -> Task:
        now = datetime.now(UTC)
        return Task(id=task_id, state=TaskState.COMPLETED, createdAt=now, updatedAt=now, messages=[], artifacts=[])

    async def handle_task_cancel(self, task_id: str) -> bool:
        return False

    async def handle_subscribe_request(self, task_id: str) -> AsyncGenerator[A2AEvent, None]:
        return
        yield


def main() -> None:
    store = InMemoryTaskStore()
    app = FastAPI()
    app.include_router(create_a2a_router(Agent(store), prefix="/a2a", task_store=store))
    uvicorn.run(app, port=int(sys.argv[1]), loop="uvloop", http="httptools", log_level="error", access_log=False)


if __name__ == "__main__":
    main()
