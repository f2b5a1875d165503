"""The tool `search`."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from pentad.administration.event_rules import EventRules
from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.declarations import ToolResult, tool
from pentad.mcp.lineage import Lineage
from pentad.mcp.tool_search import ALWAYS_LOADED, ToolSearch
from pentad.room_search.search import FEWEST_TOKENS, LIMIT, MOST, MOST_TOKENS, TOKENS, Filters, RoomSearch

_MOST_NAMES: Final = 20
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class CoreTools(ToolSearch):
    """The service of the tools that belong to no room."""

    search: RoomSearch
    lineage: Lineage
    rules: EventRules


Names = Annotated[list[str] | None, Field(max_length=_MOST_NAMES)]
Text = Annotated[str | None, Field(max_length=_LONGEST_NAME)]


class SearchRoomsArguments(Arguments):
    query: str
    kinds: Annotated[Names, Field(description="record, object, passage, agent, task, metric, tool")] = None
    rooms: Names = None
    owner: Annotated[Text, Field(description="An id such as user:ada, or me.")] = None
    since: Annotated[Text, Field(description="ISO 8601.")] = None
    until: Annotated[Text, Field(description="ISO 8601.")] = None
    limit: Annotated[int, Field(ge=1, le=MOST, description="Per kind.")] = LIMIT
    max_tokens: Annotated[int, Field(ge=FEWEST_TOKENS, le=MOST_TOKENS)] = TOKENS

    def filters(self) -> Filters:
        rooms, kinds = tuple(self.rooms or ()), tuple(self.kinds or ())
        return Filters(rooms, kinds, self.owner, self.since, self.until)


@tool(
    "search", title="Search everything", read_only=True, meta=ALWAYS_LOADED,
    rare=("rooms", "owner", "since", "until", "limit", "max_tokens"),
)  # fmt: skip
async def search(arguments: SearchRoomsArguments, call: Call[CoreTools]) -> ToolResult:
    """Search all rooms at once, by words and meaning. Returns hits by kind with resource URI, snippet and reasons."""
    found = await call.service.search.find(
        call.principal, arguments.query, arguments.filters(), limit=arguments.limit, tokens=arguments.max_tokens
    )
    return ToolResult(structured=found.as_json())
