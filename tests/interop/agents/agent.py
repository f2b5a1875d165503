"""The agent that foreign clients talk to: the first word of a message selects what it does."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pentad.agentvault.server import BaseA2AAgent, a2a_method
from pentad.rooms.agents.context.integrity import items_hash
from pentad.rooms.agents.hosting.turn import Turn

TEXT = "made here"
RAW = "bWFkZSBoZXJl"
LINK = "https://example.com/made.txt"
DATA = {"exact": 9_007_199_254_740_991, "list": [1, 2.5, None, True]}


class Agent(BaseA2AAgent):
    """Does what the first word says."""

    name: ClassVar[str] = "proof"

    async def run(self, turn: Turn) -> Any:
        word = turn.text.partition(" ")[0]
        act = getattr(self, f"on_{word}", None)
        return await act(turn) if act is not None else f"You said: {turn.text}"

    async def on_wait(self, turn: Turn) -> None:
        await turn.working("I wait.")
        await turn.canceled.wait()

    async def on_ask(self, turn: Turn) -> str:
        answer = await turn.ask("Which city?")
        return f"You said: {answer.text}"

    async def on_stream(self, turn: Turn) -> str:
        await turn.working("I begin.")
        for number in range(3):
            await turn.artifact("poem", text=f"line {number}\n", append=number > 0, last=number == 2)
        return "There it is."

    async def on_parts(self, turn: Turn) -> None:
        await turn.artifact("text", text=TEXT)
        await turn.artifact("bytes", raw=RAW, filename="made.txt", media_type="text/plain")
        await turn.artifact("link", url=LINK, filename="made.txt", media_type="text/plain")
        await turn.artifact("data", data=DATA)

    async def on_reject(self, turn: Turn) -> None:
        turn.reject("Not this.")

    async def on_reply(self, turn: Turn) -> Any:
        return turn.reply("No task for that.")

    async def on_context(self, turn: Turn) -> dict[str, Any]:
        """The hash of the context as received, and what every item leads to."""
        context = turn.context
        contents = {name: await context.content(name) for name in context["items"]}
        return {"hash": items_hash(context["items"]), "contents": contents}


class Dressed(Agent):
    """Fills in everything a card can say, also what readers write differently: ü, 🌊, defaults, numbers."""

    name: ClassVar[str] = "dressed"
    title: ClassVar[str] = "Dreß 🌊"
    version: ClassVar[str] = "1.0"
    tags: ClassVar[Sequence[str]] = ("meer", "ü")
    input_modes: ClassVar[Sequence[str]] = ("text/plain", "image/*")
    skills: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"id": "a", "name": "", "description": "", "examples": [], "inputModes": ["text/plain"], "outputModes": None},
        {"id": "b", "tags": ["x"], "examples": ["über", ""], "security": [{"oauth": ["read"]}, {"apiKey": []}]},
        {"id": "c", "securityRequirements": [{"schemes": {"oauth": {"list": ["write"]}}}], "beyond": {"deep": [1]}},
    )
    extensions: ClassVar[Sequence[Mapping[str, Any]]] = (
        {"uri": "urn:test:plain", "description": "", "required": False, "params": {}},
        {
            "uri": "urn:test:params",
            "description": "Nötig.",
            "required": True,
            "params": {
                "n": 42,
                "half": 0.5,
                "tiny": 1e-7,
                "far": 1e21,
                "no": False,
                "none": None,
                "": "",
                "ü": [[], 0, (), (1,)],
            },
        },
    )

    @a2a_method("dressed/undo")
    async def undo(self) -> bool:
        return True
