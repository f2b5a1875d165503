"""The prompts the conformance suites ask for."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.content import Contents, Embedded, Image, Message
from pentad.mcp.declarations import Prompt, prompt
from tests.conformance.samples import PNG
from tests.conformance.service import Fixtures


class TwoArguments(Arguments):
    arg1: str = Field(description="The first argument.")
    arg2: str = Field(description="The second argument.")


class Where(Arguments):
    resource_uri: str = Field(alias="resourceUri", description="Which resource to carry.")


class Context(BaseModel):
    context: str


async def _first_values(typed: str, call: Call[Fixtures], others: object) -> list[str]:
    return [known for known in ("paris", "park", "party") if known.startswith(typed)]


@prompt("test_simple_prompt")
async def simple_prompt() -> str:
    """One message."""
    return "This is a simple prompt for testing."


@prompt("test_prompt_with_arguments", complete={"arg1": _first_values})
async def prompt_with_arguments(arguments: TwoArguments) -> str:
    """One message with both arguments in it."""
    return f"Prompt with arguments: arg1='{arguments.arg1}', arg2='{arguments.arg2}'"


@prompt("test_prompt_with_embedded_resource")
async def prompt_with_embedded_resource(arguments: Where) -> Sequence[Message]:
    """A resource and a message about it."""
    carried = Contents.of(arguments.resource_uri, "Embedded resource content for testing.")
    return [
        Message(role="user", content=Embedded(resource=carried)),
        Message.user("Please process the embedded resource above."),
    ]


@prompt("test_prompt_with_image")
async def prompt_with_image() -> Sequence[Message]:
    """A picture and a message about it."""
    return [
        Message(role="user", content=Image.of(PNG, "image/png")),
        Message.user("Please analyze the image above."),
    ]


@prompt("test_input_required_result_prompt")
async def input_required_prompt(call: Call[Fixtures]) -> str:
    """A message that needs a word of context from the person first."""
    answer = await call.elicit("user_context", "What is the context?", Context)
    return f"Please help with: {answer.content.context if answer.content else 'nothing in particular'}"


PROMPTS: tuple[Prompt, ...] = (
    simple_prompt,
    prompt_with_arguments,
    prompt_with_embedded_resource,
    prompt_with_image,
    input_required_prompt,
)
