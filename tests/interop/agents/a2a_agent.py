"""An agent on the official A2A library, for Pentad's client: `a2a_agent.py PORT`.

"wait" works until it is canceled, "ask" asks for a city first, "stream" sends three chunks; anything else is echoed
with its metadata. Four cards: JSON-RPC and HTTP+JSON of version 1.0, HTTP+JSON alone below
`/only-rest`, JSON-RPC of version 0.3 alone below `/old`, and below `/signed` one of both versions that the library has
signed, with the key at `/jwks.json`. Nothing of Pentad is imported.
"""

import asyncio
import json
import logging
import sys

import uvicorn
from a2a.helpers.proto_helpers import new_data_part, new_message, new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Part, Role
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


class Agent(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task = context.current_task
        asked_before = task is not None
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        text = context.get_user_input()
        await updater.start_work()
        if text == "wait":
            await asyncio.Event().wait()
        elif text == "ask" and not asked_before:
            await updater.requires_input(self.said(task, "Which city?"))
        elif text == "stream":
            for number in range(3):
                await updater.add_artifact(
                    [Part(text=f"line {number}\n")], "poem", "poem", append=number > 0, last_chunk=number == 2
                )
            await updater.complete(self.said(task, "There it is."))
        else:
            parts = [Part(text=f"You said: {text}"), new_data_part(MessageToDict(context.message.metadata))]
            await updater.complete(
                new_message(parts, context_id=task.context_id, task_id=task.id, role=Role.ROLE_AGENT)
            )

    def said(self, task, text):
        return new_text_message(text, context_id=task.context_id, task_id=task.id)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def card(port: int, *interfaces: tuple[str, str, str]) -> AgentCard:
    return AgentCard(
        name="Echo",
        description="Says it again.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"http://localhost:{port}{path}", protocol_binding=binding, protocol_version=version)
            for path, binding, version in interfaces
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="Says it again.", tags=["echo"])],
    )


def signed(card: AgentCard) -> tuple[AgentCard, dict]:
    """A card that says how to log in, signed; and the public key."""
    schemes = {
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Api-Key"}},
        "login": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://login.example.org"}},
    }
    ParseDict({"securitySchemes": schemes, "securityRequirements": [{"schemes": {"key": {}}}]}, card)
    card.capabilities.extended_agent_card = False
    private = ec.generate_private_key(ec.SECP256R1())
    public = json.loads(ECAlgorithm.to_jwk(private.public_key()))
    header = {"alg": "ES256", "kid": "k1", "jku": "https://keys.example.org/jwks.json", "typ": "JOSE"}
    key = PyJWK({**json.loads(ECAlgorithm.to_jwk(private)), "alg": "ES256"})
    create_agent_card_signer(key, header)(card)
    return card, {**public, "kid": "k1"}


async def main(port: int) -> None:
    new = card(port, ("/a2a", "JSONRPC", "1.0"), ("/rest", "HTTP+JSON", "1.0"))
    rest = card(port, ("/rest", "HTTP+JSON", "1.0"))
    old = card(port, ("/a2a", "JSONRPC", "0.3"))
    both, key = signed(card(port, ("/a2a", "JSONRPC", "1.0"), ("/a2a", "JSONRPC", "0.3")))
    handler = DefaultRequestHandler(agent_executor=Agent(), task_store=InMemoryTaskStore(), agent_card=new)
    app = Starlette(
        routes=[
            *create_agent_card_routes(new),
            *create_agent_card_routes(rest, card_url="/only-rest/.well-known/agent-card.json"),
            *create_agent_card_routes(old, card_url="/old/.well-known/agent-card.json"),
            *create_agent_card_routes(both, card_url="/signed/.well-known/agent-card.json"),
            Route("/jwks.json", lambda _request: JSONResponse({"keys": [key]})),
            *create_jsonrpc_routes(handler, "/a2a", enable_v0_3_compat=True),
            *create_rest_routes(handler, path_prefix="/rest"),
        ]
    )
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
