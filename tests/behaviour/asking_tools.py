"""The lab's tools that call back: each asks the user, the client's model or the client itself."""

from typing import Any, Final

from pydantic import BaseModel

from pentad.mcp.call import Call
from pentad.mcp.client_requests import Elicit, ElicitUrl, ListRoots, Sample
from pentad.mcp.content import Message
from pentad.mcp.declarations import tool


class Person(BaseModel):
    name: str


class Color(BaseModel):
    color: str


@tool("ask_person", read_only=True)
async def ask_person(call: Call[Any]) -> str:
    """Asks the person for a name."""
    said = await call.elicit("person", "Who are you?", Person)
    return f"Hello {said.content.name}" if said.content else said.action


@tool("ask_model", read_only=True)
async def ask_model(call: Call[Any]) -> str:
    """Asks the client's model."""
    said = await call.sample(
        "model", Sample([Message.user("Say something.")], max_tokens=20, system_prompt="Be short.")
    )
    return f"It said {said.text}"


@tool("ask_roots", read_only=True)
async def ask_roots(call: Call[Any]) -> str:
    """Asks where the client works."""
    return ", ".join(root.uri for root in await call.roots())


@tool("ask_all", read_only=True)
async def ask_all(call: Call[Any]) -> str:
    """Asks three things at once."""
    said = await call.ask(
        {
            "person": Elicit("Who are you?", Person),
            "model": Sample([Message.user("Say something.")], max_tokens=20),
            "roots": ListRoots(),
        }
    )
    return f"{said['person'].content.name} {said['model'].text} {len(said['roots'])}"


@tool("ask_twice", read_only=True)
async def ask_twice(call: Call[Any]) -> str:
    """Asks a second question that depends on the first, and remembers how often it was run."""
    first = await call.elicit("person", "Who are you?", Person)
    name = first.content.name if first.content else "nobody"
    call.state["greeted"] = name
    second = await call.elicit("color", f"Which color, {name}?", Color)
    return f"{call.state['greeted']} likes {second.content.color if second.content else 'nothing'}"


@tool("ask_login", read_only=True)
async def ask_login(call: Call[Any]) -> str:
    """Asks the person to open a page."""
    said = await call.ask({"login": ElicitUrl("Please log in.", "https://login.example/", "login-1")})
    return said["login"].action


ASKING: Final = (ask_person, ask_model, ask_roots, ask_all, ask_twice, ask_login)
