"""Agents that use the other rooms."""

from typing import Any

from pentad.rooms.agents.hosting.turn import Turn


async def painter(turn: Turn) -> str:
    """Makes artifacts of three kinds."""
    await turn.artifact("sketch", text="a bee")
    await turn.artifact("palette", data={"colours": ["red", "green"]})
    await turn.artifact("picture", raw="AAAA", media_type="image/png", filename="picture.png")
    return "Done."


async def reader(turn: Turn) -> Any:
    """Says what the items of its context hold."""
    assert turn.context is not None
    return {name: await turn.context.content(name) for name in turn.context["items"]}


async def reviewer(turn: Turn) -> str:
    """Reads a permit, asks an avatar, and writes the decision."""
    assert turn.context is not None
    permit = turn.context["items"]["permit"]["ref"]
    await turn.read(permit)
    question = "How much does a colony need for the winter?"
    answer = await turn.call_tool("generate_response", avatar="tomas-orlik", question=question)
    data = {"verdict": "granted", "because": answer["citations"][0]["uri"]}
    made = await turn.call_tool("objects", action="create", register="town", schema="decision", data=data)
    await turn.artifact("decision", data={"object": made["id"]})
    return "Granted."


async def cautious(turn: Turn) -> str:
    """Asks another agent, and then a person."""
    await turn.send("painter", "a bee")
    decision = await turn.approve("Hang it", by="admin", requester_may_decide=True)
    return decision.outcome
