"""Agents that ask for approvals, and a room that assigns users to organisations."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pentad.kernel.principal import Principal
from pentad.platform import Platform, Room
from pentad.rooms.agents.hosting.turn import Turn

MEMBERS: dict[str, str] = {}


async def payer(turn: Turn) -> str:
    """Pays what an administrator approves."""
    decision = await turn.approve(turn.text, by="admin", details={"amount": 900})
    return f"{decision.outcome} by {decision.by}: {decision.reason}"


async def solo(turn: Turn) -> str:
    """Asks whoever sent the task, twice."""
    first = await turn.approve("One", by="writer", requester_may_decide=True)
    second = await turn.approve("Two", by="writer", requester_may_decide=True)
    return f"{first.outcome} {second.outcome}"


@asynccontextmanager
async def open_members(_platform: Platform) -> AsyncGenerator[dict[str, str]]:
    yield MEMBERS


def organisation_of(members: dict[str, str], principal: Principal) -> str:
    return members.get(principal.id, "default")


ROOM = Room("members", "Members", "Who belongs where.", open_members, organisation_of=organisation_of)
