"""Drafts by the client's own model, where the client offers it.

One call for both wires: older clients are asked while the tool waits, newer ones end the call with `input_required` and
repeat it with the answer. The tool then runs again from its start, so a draft may depend on nothing but its arguments
and the corpus.
"""

from typing import Any, Final

from pentad.kernel.errors import InvalidInput
from pentad.mcp.asking import Sample
from pentad.mcp.call import Call
from pentad.mcp.content import Message
from pentad.rooms.avatars.answers.drafting.drafter import Prompt

_MAX_TOKENS: Final = 1_200


class ClientDrafter:
    """Asks the model of whoever is calling."""

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
