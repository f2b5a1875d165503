"""Agents the tests of the room's surface host."""

import hashlib
from typing import Any

from pentad.agentvault.server import BaseA2AAgent
from pentad.rooms.agents.context.integrity import content_bytes
from pentad.rooms.agents.hosting.turn import Turn


class Reader(BaseA2AAgent):
    """Says what the items of its context hold."""

    name = "reader"
    description = "Reads what it is given."
    tags = ("reading",)

    async def run(self, turn: Turn) -> Any:
        if turn.context is None:
            return "no context"
        return {name: await turn.context.content(name) for name in turn.context["items"]}


async def painter(turn: Turn) -> str:
    """Makes three artifacts."""
    await turn.say("I begin.")
    await turn.artifact("sketch", text="x" * 900)
    await turn.artifact("palette", data={"colours": ["red", "green"]})
    await turn.artifact("picture", raw="AAAA", media_type="image/png", filename="picture.png")
    return "Done."


async def collector(turn: Turn) -> str:
    """Waits until it is paid."""
    return f"paid: {(await turn.wait_for('paid')).text}"


class Weigher(BaseA2AAgent):
    """Says of every item its reference, if it has one, and the hash and size of what it holds."""

    name = "weigher"
    description = "Weighs what it is given."

    async def run(self, turn: Turn) -> Any:
        assert turn.context is not None
        told: dict[str, Any] = {}
        for name, item in turn.context["items"].items():
            body = content_bytes(await turn.context.content(name))
            told[name] = {"ref": item.get("ref"), "sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
        return told


class Copier(BaseA2AAgent):
    """Gives back the files it gets, doubled, as files."""

    name = "copier"
    description = "Copies files."

    async def run(self, turn: Turn) -> Any:
        told: list[dict[str, Any]] = []
        for file in turn.files:
            digest, size = hashlib.sha256(), 0
            async for chunk in file.chunks():
                digest.update(chunk)
                size += len(chunk)
            async with file.path() as path:
                assert path.stat().st_size == size == len(await file.read())
                await turn.artifact(f"copy of {file.name}", file=path, filename=file.name, media_type=file.media_type)
            told.append({"name": file.name, "type": file.media_type, "size": size, "sha256": digest.hexdigest()})
        return {"files": told}


async def boss(turn: Turn) -> str:
    """Sends everything to the echo."""
    return (await turn.send("echo", turn.text)).text
