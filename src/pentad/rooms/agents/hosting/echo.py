"""The echo agent, for tests and to see a server work.

A word at the start of a message makes it do more: `stream` returns the text word by word as an artifact, `ask` asks
before it answers, `slow` waits until it is canceled or told to continue.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.hosting.turn import Turn


class Echo(BaseA2AAgent):
    """Echoes messages."""

    name: ClassVar[str] = "echo"
    title: ClassVar[str] = "Echo"
    description: ClassVar[str] = "Says back what it hears."
    tags: ClassVar[Sequence[str]] = ("test",)
    restartable: ClassVar[bool] = True
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {
            "id": "echo",
            "name": "Echo",
            "description": "Says back what it hears: at once, word by word (stream), when asked (ask), or late (slow).",
            "tags": ["test"],
            "examples": ["Hello", "stream one two three", "ask", "slow"],
        },
    )

    async def run(self, turn: Turn) -> Any:
        word, _, rest = turn.text.partition(" ")
        if word == "stream":
            for position, one in enumerate(rest.split()):
                await turn.artifact("echo", text=one + " ", append=position > 0, last=False)
            return None
        if word == "ask":
            answer = await turn.ask("What shall I say?")
            return answer.text
        if word == "slow":
            await turn.working("Waiting.")
            async for message in turn.incoming():
                return message.text
        return turn.message.parts
