"""The arguments of the tools: the original's, those of its second document under their own names, and Pentad's.

The listed schemas begin with the original's. A server for one avatar lists exactly these; descriptions mention the
further arguments it accepts.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import Arguments
from pentad.rooms.avatars.models import Role
from pentad.rooms.avatars.search.conversation import Turn
from pentad.rooms.avatars.store import Filters

DEFAULT_LIMIT: Final = 5
MOST_PASSAGES: Final = 100
DEFAULT_THRESHOLD: Final = 0.7
_MOST_TURNS: Final = 50

WantedMode = Literal["auto", "extractive", "endpoint", "client", "prompt"]
Limit = Annotated[int | None, Field(ge=1, le=MOST_PASSAGES)]


class TurnGiven(BaseModel):
    """A turn of the conversation so far."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: str = ""
    content: str = ""


Conversation = list[TurnGiven] | str | None


class QueryCorpus(Arguments):
    query: str
    limit: Limit = None
    threshold: float = DEFAULT_THRESHOLD
    max_results: Limit = None
    context: Conversation = None
    roles: list[Role] | None = None
    year_from: int | None = None
    year_to: int | None = None
    sources: list[str] | None = None

    @property
    def most(self) -> int:
        return self.limit or self.max_results or DEFAULT_LIMIT

    @property
    def least(self) -> float:
        """The threshold, clamped to 0 to 1."""
        return min(max(self.threshold, 0.0), 1.0)

    @property
    def filters(self) -> Filters:
        return Filters(
            roles=None if self.roles is None else tuple(self.roles),
            year_from=self.year_from,
            year_to=self.year_to,
            source_ids=None if self.sources is None else tuple(self.sources),
        )

    @property
    def turns(self) -> list[Turn]:
        return turns_of(self.context)


class GenerateResponse(Arguments):
    context: Conversation = None
    question: str
    passages: list[Any] | None = None
    mode: WantedMode = "auto"
    conversation_context: Conversation = None
    conversation: Conversation = None
    session_metadata: dict[str, Any] | None = None

    @property
    def turns(self) -> list[Turn]:
        """The conversation, under any of its names. The session's topic counts as its first turn."""
        topic = (self.session_metadata or {}).get("topic")
        begun = [Turn("topic", topic)] if isinstance(topic, str) and topic.strip() else []
        said = next((one for one in (self.context, self.conversation_context, self.conversation) if one), None)
        return [*begun, *turns_of(said)]


class VerifyResponse(Arguments):
    draft: Annotated[
        str | dict[str, Any],
        Field(description='Text with marks such as [S1] or quotes, or {"statements": [{"text", "support": ["S1"]}]}.'),
    ]
    passages: Annotated[
        list[Any] | None,
        Field(
            description="What it is based on, in the order of the material: numbers or whole passages. Default: the"
            " corpus is searched."
        ),
    ] = None


class VerifyCitation(Arguments):
    quote: Annotated[str, Field(min_length=1, max_length=20_000, description="Quoted words.")]
    source: Annotated[str | None, Field(description="Its title.")] = None
    source_id: str | None = None
    page: int | str | None = None
    char_start: Annotated[int | None, Field(ge=0)] = None
    char_end: Annotated[int | None, Field(ge=0)] = None
    sha256: Annotated[str | None, Field(description="Of the source's file.")] = None


class AskPanel(Arguments):
    question: str
    avatars: Annotated[list[str] | None, Field(description="Ids; default: all.")] = None
    context: Annotated[Conversation, Field(description="Conversation history for context")] = None


class ListAvatars(Arguments):
    question: Annotated[
        str | None, Field(description="Rank them by how likely each can answer it.", max_length=8_000)
    ] = None


QUERY_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "The search query to find relevant passages"},
        "limit": {"type": "integer", "default": DEFAULT_LIMIT, "description": "Maximum number of passages to return"},
        "threshold": {
            "type": "number",
            "default": DEFAULT_THRESHOLD,
            "description": "Minimum similarity score (0-1)",
        },
    },
    "required": ["query"],
}
RESPONSE_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "context": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"role": {"type": "string"}, "content": {"type": "string"}},
            },
            "description": "Conversation history for context",
        },
        "question": {"type": "string", "description": "The current question or topic to respond to"},
        "passages": {"type": "array", "description": "Retrieved passages to ground the response"},
    },
    "required": ["question"],
}
INFO_SCHEMA: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


class RateAnswer(Arguments):
    answer: Annotated[str, Field(description="The `uri` of the answer.")]
    helpful: bool
    correction: Annotated[str | None, Field(description="Words of the corpus that answer the question.")] = None


AVATAR: Final[Mapping[str, Any]] = {
    "avatar": {"type": "string", "description": "Avatar id; needed if there are several."}
}
QUERY_MORE: Final[Mapping[str, Any]] = {
    "roles": {
        "type": "array",
        "items": {"enum": ["by", "about"]},
        "description": "Sources by or about the person.",
    },
    "year_from": {"type": "integer"},
    "year_to": {"type": "integer"},
    "sources": {"type": "array", "items": {"type": "string"}, "description": "Source ids."},
}
RESPONSE_MORE: Final[Mapping[str, Any]] = {
    "mode": {
        "enum": ["auto", "extractive", "endpoint", "client", "prompt"],
        "default": "auto",
        "description": "Who drafts: nobody, sentences are quoted (extractive); the server's model (endpoint); your"
        " model, asked by the server (client) or by you (prompt).",
    }
}


def extended(schema: Mapping[str, Any], *more: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with additional properties."""
    properties = {name: value for part in (schema["properties"], *more) for name, value in part.items()}
    return {**schema, "properties": properties}


def turns_of(said: Conversation) -> list[Turn]:
    """A conversation, given as turns or as text. Only the last turns of a long one count."""
    if said is None:
        return []
    if isinstance(said, str):
        return [Turn("context", said)] if said.strip() else []
    return [Turn(turn.role, turn.content) for turn in said[-_MOST_TURNS:] if turn.content.strip()]


def asked(text: str, what: str) -> str:
    """The text, unless it is blank."""
    if not text.strip():
        raise InvalidInput(f"The {what} is empty.", hint="A few words are enough.")
    return text


def listed(names: Sequence[str] | None, most: int) -> Sequence[str] | None:
    """The avatars the caller named, within the limit."""
    if names is not None and not names:
        raise InvalidInput("`avatars` is empty.", hint="Leave it out to ask all avatars.")
    if names is not None and len(names) > most:
        raise InvalidInput(f"{len(names)} avatars were named; the limit is {most}.")
    return names
