"""Questions a tool can ask the client during a call: elicitation, sampling and roots.

One API for both eras. On the legacy wire a question is a request to the client, and the tool waits for the response. On
the modern wire the call ends with `input_required`, the client repeats it with the answers, and the tool runs again
from the start. So ask before changing anything.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from pentad.kernel.errors import InvalidInput
from pentad.mcp.content import Message

M = TypeVar("M", bound=BaseModel)


class BadAnswer(InvalidInput):
    """The client's answer does not fit the question."""


class Elicited(Struct, Generic[M], frozen=True):
    """The user's answer. It has `content` if and only if the action is `accept`."""

    action: Literal["accept", "decline", "cancel"]
    content: M | None


class Sampled(Struct, frozen=True):
    """The answer of the client's model."""

    role: str
    content: Any
    model: str
    stop_reason: str | None

    @property
    def text(self) -> str:
        """All text of the answer, joined."""
        content: Any = self.content
        blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
        texts = [cast("dict[str, Any]", block).get("text") for block in blocks if isinstance(block, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))


class Root(Struct, frozen=True):
    """A folder or other location the client works in."""

    uri: str
    name: str | None


class Elicit(Struct, Generic[M], frozen=True):
    """Ask the user to fill in a flat form. `schema` overrides the one made from the model."""

    message: str
    answer: type[M]
    schema: Mapping[str, Any] | None = None

    capability = "elicitation"
    method = "elicitation/create"

    def params(self) -> dict[str, Any]:
        return {"message": self.message, "requestedSchema": self.schema or form_schema(self.answer)}

    def read(self, result: Any) -> Elicited[M]:
        fields, action = _elicitation_result(result)
        if action != "accept":
            return Elicited(action, None)
        try:
            return Elicited("accept", self.answer.model_validate(fields.get("content") or {}))
        except ValidationError as error:
            raise BadAnswer(f"The form's answer does not fit: {error.errors()[0]['msg']}.") from None


class ElicitUrl(Struct, frozen=True):
    """Ask the user to open a URL, for input that must not pass through the client: a login, a payment."""

    message: str
    url: str
    elicitation_id: str

    capability = "elicitation.url"
    method = "elicitation/create"

    def params(self) -> dict[str, Any]:
        return {"mode": "url", "message": self.message, "url": self.url, "elicitationId": self.elicitation_id}

    def read(self, result: Any) -> Elicited[BaseModel]:
        return Elicited(_elicitation_result(result)[1], None)


class Sample(Struct, frozen=True):
    """Ask the client's model."""

    messages: Sequence[Message]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] = ()

    capability = "sampling"
    method = "sampling/createMessage"

    def params(self) -> dict[str, Any]:
        body: dict[str, Any] = {"messages": list(self.messages), "maxTokens": self.max_tokens}
        if self.system_prompt is not None:
            body["systemPrompt"] = self.system_prompt
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.stop_sequences:
            body["stopSequences"] = list(self.stop_sequences)
        return body

    def read(self, result: Any) -> Sampled:
        fields = _object(result, "a sampling result")
        if "content" not in fields:
            raise BadAnswer("The sampling result has no content.")
        model, stop = fields.get("model"), fields.get("stopReason")
        return Sampled(
            role=str(fields.get("role", "assistant")),
            content=fields["content"],
            model=model if isinstance(model, str) else "",
            stop_reason=stop if isinstance(stop, str) else None,
        )


class ListRoots(Struct, frozen=True):
    """Ask which folders the client works in."""

    capability = "roots"
    method = "roots/list"

    def params(self) -> dict[str, Any]:
        return {}

    def read(self, result: Any) -> list[Root]:
        roots = _object(result, "a roots result").get("roots")
        if not isinstance(roots, list):
            raise BadAnswer("The roots result has no list of roots.")
        found: list[Root] = []
        for entry in cast("list[Any]", roots):
            fields = _object(entry, "a root")
            if not isinstance(uri := fields.get("uri"), str):
                raise BadAnswer("A root has no uri.")
            name = fields.get("name")
            found.append(Root(uri, name if isinstance(name, str) else None))
        return found


Question = Elicit[Any] | ElicitUrl | Sample | ListRoots


class InputRequired(Exception):
    """Ends a modern call with the open questions. Not an error: the client repeats the call with the answers."""

    def __init__(self, questions: Mapping[str, Question], state: str) -> None:
        super().__init__("input required")
        self.questions = questions
        self.state = state


class MissingCapability(Exception):
    """The client did not declare that it can answer this kind of question."""

    def __init__(self, capability: str) -> None:
        super().__init__(f"This needs a client with the {capability!r} capability, which yours did not declare.")
        self.capability = capability

    def required(self) -> dict[str, Any]:
        """The error's data, as the protocol defines it."""
        required: dict[str, Any] = {}
        for part in reversed(self.capability.split(".", 1)):
            required = {part: required}
        return {"requiredCapabilities": required}


def is_declared(capability: str, capabilities: Mapping[str, Any]) -> bool:
    """Whether the client declared a capability, or a part of one (`elicitation.url`).

    `elicitation` alone means forms. A client that lists the parts of its capability has to list `form`.
    """
    name, _, part = capability.partition(".")
    entry = capabilities.get(name)
    if not isinstance(entry, dict):
        return entry is not None and not part
    parts = cast("dict[str, Any]", entry)
    if name == "elicitation" and not part:
        return "form" in parts or "url" not in parts
    return not part or parts.get(part) is not None


def form_schema(model: type[BaseModel]) -> dict[str, Any]:
    """A model's JSON Schema, reduced to the flat form that clients can show."""
    schema = model.model_json_schema()
    properties = {name: _flat(prop) for name, prop in schema.get("properties", {}).items()}
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _flat(prop: dict[str, Any]) -> dict[str, Any]:
    options = [option for option in prop.get("anyOf", []) if option.get("type") != "null"]
    return {**{key: value for key, value in prop.items() if key != "anyOf"}, **options[0]} if options else prop


def _elicitation_result(result: Any) -> tuple[dict[str, Any], Literal["accept", "decline", "cancel"]]:
    fields = _object(result, "an elicitation result")
    action = fields.get("action")
    if action not in ("accept", "decline", "cancel"):
        raise BadAnswer(f"The action of an elicitation result must be accept, decline or cancel, not {action!r}.")
    return fields, action


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadAnswer(f"Expected {what} as an object, received {type(value).__name__}.")
    return cast("dict[str, Any]", value)
