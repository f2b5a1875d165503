"""An agent that waits: for an answer, or until a test lets it go on through a named pipe."""

import asyncio
from pathlib import Path

from pentad.rooms.agents.hosting.turn import Turn


async def patient(turn: Turn) -> str:
    """Asks, or reads the pipe it is told."""
    if turn.text == "ask":
        return (await turn.ask("Which one?")).text
    await turn.working("Reading.")
    return await asyncio.to_thread(Path(turn.text).read_text, "ascii")
