"""An agent offered by another room: its tasks are tool calls, with the caller's rights."""

from collections.abc import Sequence
from typing import Any, Final, cast

from pentad.kernel.errors import PentadError
from pentad.listings.listing import Listing
from pentad.listings.offered_agents import OfferedAgent
from pentad.rooms.agents.hosting.hosted_agent import HostedAgent
from pentad.rooms.agents.hosting.turn import Turn

ANSWER: Final = "answer"
"""The artifact with the whole result of the tool, such as an answer with its citations."""
_EARLIER: Final = 10
"""How many earlier messages of the conversation the tool gets."""


class ToolAgent:
    """The agent behind an offer."""

    input_modes: Sequence[str] = ("text/plain",)
    output_modes: Sequence[str] = ("text/plain", "application/json")

    def __init__(self, offer: OfferedAgent) -> None:
        self.offer = offer

    @property
    def listing(self) -> Listing:
        return self.offer.listing

    def hosted(self, deadline: float | None) -> HostedAgent:
        """The agent as the engine sees it."""
        offer = self.offer
        return HostedAgent(
            name=offer.name,
            run=self.run,
            agent=self,
            title=offer.title,
            description=offer.description,
            version=offer.version,
            skills=offer.skills,
            tags=offer.tags,
            restartable=True,
            deadline=deadline,
        )

    async def run(self, turn: Turn) -> Any:
        offer = self.offer
        if not turn.text.strip():
            turn.reject("Ask in words: the message has no text.")
        arguments: dict[str, Any] = {**offer.arguments, offer.question: turn.text}
        if offer.conversation is not None and (said := await turn.conversation.messages(_EARLIER)):
            arguments[offer.conversation] = [{"role": one.role, "content": one.text} for one in said if one.text]
        try:
            result = await turn.call_tool(offer.tool, **arguments)
        except PentadError as error:
            turn.fail(error.sentence())
        if not isinstance(result, dict):
            return str(result)
        answer = cast("dict[str, Any]", result)
        await turn.artifact(ANSWER, data=answer, description=f"The whole answer of {offer.title}, with its sources.")
        return str(answer.get(offer.answer) or "")
