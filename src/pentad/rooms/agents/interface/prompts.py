"""Prompts: how to delegate a task well."""

from typing import Annotated, Any, Final

from pydantic import Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declare import prompt
from pentad.rooms.agents.registry.search import CardQuery
from pentad.rooms.agents.service import Agents

_SHOWN: Final = 10


class HandOver(Arguments):
    goal: Annotated[str, Field(description="What is to be done.", max_length=4000)]
    agent: Annotated[
        str, Field(description="Who is to do it; left out, the best of those there are.", max_length=200)
    ] = ""


async def _agents(typed: str, call: Call[Any], _others: Any) -> list[str]:
    agents: Agents = call.service
    found = await agents.registry.search(CardQuery(words=typed), limit=_SHOWN)
    return [one.metadata.readable_id for one in found.cards]


@prompt("hand_over", title="Delegate a task", complete={"agent": _agents})
async def hand_over(arguments: HandOver, call: Call[Agents]) -> str:
    """Prepare a task for another agent: choose the agent, gather the context, check it, send it, follow up."""
    found = await call.service.registry.search(CardQuery(), limit=_SHOWN)
    known = "\n".join(f"- {one.metadata.readable_id}: {one.metadata.description}" for one in found.cards)
    chosen = f"Give it to the agent `{arguments.agent}`." if arguments.agent else "Choose the agent that fits best."
    return (
        f"Hand this task over to another agent: {arguments.goal}\n\n"
        f"{chosen} Some agents of this server and its registry ({found.total} in all; agents_list finds the others):\n"
        f"{known}\n\n"
        "1. Gather what the agent has to know and cannot ask for: give each piece a name under `items` of `context`,"
        " short texts and data as `content` with a `mediaType`, what is large or lives on this server as `ref`"
        " (`openregister://...`, `directory://records/...`, `avatar://...`). Leave out what it does not need, and"
        " every password, key or token.\n"
        "2. Check the context with agents_lint_context and mend what it finds.\n"
        "3. Say in one paragraph what is wanted and in what form, then call agents_send_task.\n"
        "4. If the answer has `waiting_for`, answer the agent's question with the same task_id; do not make up facts"
        " that only the user knows: ask for them.\n"
        "5. Report the result and its artifacts, and say if something was cut or failed."
    )


PROMPTS: Final = (hand_over,)
