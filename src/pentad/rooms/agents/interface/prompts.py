"""Prompts: how to delegate a task well."""

from typing import Annotated, Any, Final

from pydantic import Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import prompt
from pentad.rooms.agents.registry.store import CardQuery
from pentad.rooms.agents.service import Agents

_SHOWN: Final = 10


class HandOver(Arguments):
    goal: Annotated[str, Field(description="What the agent should do.", max_length=4000)]
    agent: Annotated[str, Field(description="The agent; by default the best match.", max_length=200)] = ""


async def _agents(typed: str, call: Call[Any], _others: Any) -> list[str]:
    agents: Agents = call.service
    found = await agents.registry.search(CardQuery(phrase=typed), limit=_SHOWN)
    return [one.metadata.readable_id for one in found.cards]


@prompt("hand_over", title="Delegate a task", complete={"agent": _agents})
async def hand_over(arguments: HandOver, call: Call[Agents]) -> str:
    """Prepare a task for another agent: choose the agent, gather the context, check it, send it, follow up."""
    found = await call.service.registry.search(CardQuery(), limit=_SHOWN)
    known = "\n".join(f"- {one.metadata.readable_id}: {one.metadata.description}" for one in found.cards)
    chosen = f"Send it to the agent `{arguments.agent}`." if arguments.agent else "Choose the agent that fits best."
    return (
        f"Delegate this task to another agent: {arguments.goal}\n\n"
        f"{chosen} Some agents of this server and its registry ({found.total} in all; agents_list finds the others):\n"
        f"{known}\n\n"
        "1. Gather what the agent needs to know and cannot ask for. Give each piece a name under `items` of `context`:"
        " short texts and data as `content` with a `mediaType`, large data and resources of this server as `ref`"
        " (`openregister://...`, `directory://records/...`, `avatar://...`). Leave out what it does not need, and"
        " all passwords, keys and tokens.\n"
        "2. Check the context with agents_lint_context and fix what it finds.\n"
        "3. Describe in one paragraph what you want and in what form, then call agents_send_task.\n"
        "4. If the result has `waiting_for`, answer the agent's question with the same task_id. Do not invent facts"
        " that only the user knows: ask for them.\n"
        "5. Report the result and its artifacts, and mention anything that was cut or failed."
    )


PROMPTS: Final = (hand_over,)
