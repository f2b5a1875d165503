"""The tools that put questions to the client: the same functions serve both eras.

On the legacy wire a question is a request in the other direction; on the modern one the call ends with `input_required`
and comes back with the answers.
"""

from typing import Literal

from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.client_requests import Elicit, Elicited, ListRoots, Question, Sample
from pentad.mcp.content import Message
from pentad.mcp.declarations import Tool, tool
from tests.conformance.schemas import ENUM_VARIANTS
from tests.conformance.service import Fixtures


class PromptText(Arguments):
    prompt: str = Field(description="What to ask the client's model.")


class MessageText(Arguments):
    message: str = Field(description="What to ask the person.")


class Account(BaseModel):
    username: str = Field(description="The user's name.")
    email: str = Field(description="The user's address.")


class Defaults(BaseModel):
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


class Choices(BaseModel, extra="allow"):
    """Whatever was chosen; the form's own schema says what may be."""


class Name(BaseModel):
    name: str


class Confirmation(BaseModel):
    ok: bool


class Colour(BaseModel):
    color: str


def _said(answer: Elicited[BaseModel]) -> str:
    content = answer.content.model_dump_json() if answer.content else "{}"
    return f"Elicitation completed: action={answer.action}, content={content}"


def _capital(most: int = 100) -> Sample:
    return Sample([Message.user("What is the capital of France?")], max_tokens=most)


@tool("test_sampling", read_only=True)
async def sampling(arguments: PromptText, call: Call[Fixtures]) -> str:
    """Asks the client's model."""
    answer = await call.sample("answer", Sample([Message.user(arguments.prompt)], max_tokens=100))
    return f"LLM response: {answer.text}"


@tool("test_elicitation", read_only=True)
async def elicitation(arguments: MessageText, call: Call[Fixtures]) -> str:
    """Asks the person for a name and an address."""
    return _said(await call.elicit("account", arguments.message, Account))


@tool("test_elicitation_sep1034_defaults", read_only=True)
async def elicitation_defaults(call: Call[Fixtures]) -> str:
    """Asks with a default for every kind of field."""
    return _said(await call.elicit("defaults", "Please review the defaults.", Defaults))


@tool("test_elicitation_sep1330_enums", read_only=True)
async def elicitation_enums(call: Call[Fixtures]) -> str:
    """Asks with every kind of choice."""
    return _said(await call.elicit("choices", "Please choose.", Choices, ENUM_VARIANTS))


@tool("test_missing_capability", read_only=True)
async def missing_capability(call: Call[Fixtures]) -> str:
    """Needs a client that lends its model."""
    answer = await call.sample("probe", Sample([Message.user("Are you there?")], max_tokens=10))
    return f"LLM response: {answer.text}"


@tool("test_streaming_elicitation", read_only=True)
async def streaming_elicitation(call: Call[Fixtures]) -> str:
    """Reports progress, then asks for a confirmation."""
    await call.progress(50, 100)
    return _said(await call.elicit("confirm", "Go on?", Confirmation))


@tool("test_input_required_result_elicitation", read_only=True)
async def required_elicitation(call: Call[Fixtures]) -> str:
    """Needs the user's name."""
    answer = await call.elicit("user_name", "What is your name?", Name)
    return f"Hello, {answer.content.name}!" if answer.content else f"No name: {answer.action}."


@tool("test_input_required_result_sampling", read_only=True)
async def required_sampling(call: Call[Fixtures]) -> str:
    """Needs an answer of the client's model."""
    return f"The model said: {(await call.sample('capital_question', _capital())).text}"


@tool("test_input_required_result_list_roots", read_only=True)
async def required_roots(call: Call[Fixtures]) -> str:
    """Needs to know where the client works."""
    return "Roots: " + ", ".join(root.uri for root in await call.roots("client_roots"))


@tool("test_input_required_result_request_state", read_only=True)
async def required_state(call: Call[Fixtures]) -> str:
    """Needs a confirmation and remembers that it asked."""
    remembered = call.state.get("asked") is True or not call.revision.modern
    call.state["asked"] = True
    await call.elicit("confirm", "Please confirm.", Confirmation)
    return "state-ok" if remembered else "state-lost"


@tool("test_input_required_result_multiple_inputs", read_only=True)
async def required_multiple(call: Call[Fixtures]) -> str:
    """Needs the person, the model and the roots at once."""
    call.state["asked"] = ["user_name", "greeting", "client_roots"]
    answers = await call.ask(
        {
            "user_name": Elicit("What is your name?", Name),
            "greeting": Sample([Message.user("Write a short greeting.")], max_tokens=50),
            "client_roots": ListRoots(),
        }
    )
    return f"{answers['greeting'].text} {answers['user_name'].action} with {len(answers['client_roots'])} roots"


@tool("test_input_required_result_multi_round", read_only=True)
async def required_rounds(call: Call[Fixtures]) -> str:
    """Asks twice, the second time knowing the first answer."""
    name = await call.elicit("step1", "Step 1: what is your name?", Name)
    colour = await call.elicit("step2", "Step 2: which colour do you like best?", Colour)
    return f"{name.content.name if name.content else '?'} likes {colour.content.color if colour.content else '?'}"


@tool("test_input_required_result_tampered_state", read_only=True)
async def required_integrity(call: Call[Fixtures]) -> str:
    """Needs a confirmation and trusts its state only if nobody touched it."""
    call.state["asked"] = True
    return _said(await call.elicit("confirm", "Please confirm.", Confirmation))


@tool("test_input_required_result_capabilities", read_only=True)
async def required_capabilities(call: Call[Fixtures]) -> str:
    """Asks only what this client can answer."""
    questions: dict[str, Question] = {}
    if call.client_supports("sampling"):
        questions["capital_question"] = _capital()
    if call.client_supports("elicitation"):
        questions["user_name"] = Elicit("What is your name?", Name)
    answers = await call.ask(questions) if questions else {}
    return f"Answered: {', '.join(sorted(answers)) or 'nothing could be asked'}"


ASKING_TOOLS: tuple[Tool, ...] = (
    sampling,
    elicitation,
    elicitation_defaults,
    elicitation_enums,
    missing_capability,
    streaming_elicitation,
    required_elicitation,
    required_sampling,
    required_roots,
    required_state,
    required_multiple,
    required_rounds,
    required_integrity,
    required_capabilities,
)
