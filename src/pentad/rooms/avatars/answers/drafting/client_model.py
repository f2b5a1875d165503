"""Drafts by the client's own model, if the client offers it (MCP sampling).

Older clients are asked while the tool waits. Newer ones receive `input_required` and repeat the call with the answer;
the tool then runs again from its start, so a draft may depend only on its arguments and the corpus.
"""

from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.mcp.call import Call
from pentad.mcp.client_requests import Sample
from pentad.mcp.content import Message
from pentad.rooms.avatars.answers.drafting.drafter import Prompt

_MAX_TOKENS: Final = 1_200


class ClientDrafter:
    """Asks the caller's model."""

    def __init__(self, call: Call[Any]) -> None:
        if not call.client_supports("sampling"):
            raise InvalidInput(
                "This client offers no model of its own (the `sampling` capability).",
                hint="Use mode `prompt`, draft it yourself and pass that to `verify_response`; or mode `extractive`.",
            )
        self._call = call

    async def say(self, key: str, prompt: Prompt) -> str:
        """What the client's model said."""
        asked = Message.user(prompt.question)
        sampled = await self._call.sample(key, Sample([asked], _MAX_TOKENS, prompt.system, temperature=0.0))
        return sampled.text
