"""The agent of the benchmark on the official A2A library, as its documentation builds one.

Run as a script by the interpreter of its own environment: `a2a_server.py PORT memory` or `a2a_server.py PORT FILE`, a
SQLite file. Asked with "stream N" it works, gives out N chunks of one artifact and completes; anything else is said
back as what completes the task. Nothing of Pentad is imported.
"""

import sys

import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import DatabaseTaskStore, InMemoryTaskStore, TaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, Part
from sqlalchemy.ext.asyncio import create_async_engine
from starlette.applications import Starlette


class Agent(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        text = context.get_user_input()
        if text.startswith("stream "):
            count = int(text.removeprefix("stream "))
            await updater.start_work()
            for number in range(count):
                await updater.add_artifact(
                    [Part(text=f"chunk {number} ")],
                    "output",
                    "output",
                    append=number > 0,
                    last_chunk=number == count - 1,
                )
            await updater.complete()
        else:
            await updater.complete(new_text_message(text, context_id=task.context_id, task_id=task.id))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


def application(port: int, store: TaskStore) -> Starlette:
    card = AgentCard(
        name="bench",
        description="Says back what it was told.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"http://localhost:{port}/a2a", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=store, agent_card=card)
    return Starlette(routes=[*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/a2a")])


def main() -> None:
    port, place = int(sys.argv[1]), sys.argv[2]
    store = (
        InMemoryTaskStore()
        if place == "memory"
        else DatabaseTaskStore(create_async_engine(f"sqlite+aiosqlite:///{place}"))
    )
    uvicorn.run(
        application(port, store),
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="error",
        access_log=False,
    )


if __name__ == "__main__":
    main()
