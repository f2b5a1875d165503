"""The tool `event_rules`, and what a new rule looks like on every wire."""

from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from pentad.administration.event_rules import EventRules, TaskAction, WebhookAction
from pentad.events.feed import NOW, EventFilter
from pentad.kernel.errors import InvalidInput
from pentad.mcp.arguments import ActionTable, Arguments
from pentad.mcp.call import Call
from pentad.mcp.compact_schema import without_properties
from pentad.mcp.declarations import ToolResult, input_schema_of, tool

Text = Annotated[str, Field(max_length=1_000)]
_TAKES: Final = ActionTable.of("", list="", add="rule", get="id", remove="id", resume="id")


class TaskTarget(BaseModel):
    """The task to send. The event goes along as data."""

    model_config = ConfigDict(extra="forbid")
    agent: Text = Field(min_length=1, description="The name of an agent, or the URL of its card.")
    text: Text = Field(min_length=1, description="What the agent is asked to do with the event.")


class WebhookTarget(BaseModel):
    """The receiver of the event, by a signed POST (Standard Webhooks)."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    url: Text
    secret: Text = Field(default="", description="Signs deliveries. Without one, it is made and answered once.")


class NewRule(BaseModel):
    """What to do when something happens: give either `task` or `webhook`."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)
    name: Text = Field(min_length=1)
    room: list[Text] = Field(default=[], max_length=20)
    kind: list[Text] = Field(default=[], max_length=50, description="Such as object.created, or object.*")
    subject: Text = Field(default="", description="A URI, or its beginning with *.")
    task: TaskTarget | None = None
    webhook: WebhookTarget | None = None
    cursor: Text = Field(default=NOW, description="Events after this cursor; by default those from now on.")

    def wanted(self) -> EventFilter:
        return EventFilter(frozenset(self.room), tuple(self.kind), self.subject)

    def action(self) -> TaskAction | WebhookAction:
        if self.task is not None and self.webhook is None:
            return TaskAction(self.task.agent, self.task.text)
        if self.webhook is not None and self.task is None:
            return WebhookAction(self.webhook.url, self.webhook.secret)
        raise InvalidInput("A rule has either a task or a webhook.", details={"field": "task"})


class HasRules(Protocol):
    """The service of the tool."""

    @property
    def rules(self) -> EventRules: ...


class EventRulesArguments(Arguments):
    action: Literal["list", "add", "get", "remove", "resume"]
    id: Annotated[str | None, Field(max_length=100)] = None
    rule: NewRule | None = None


def _read_schema() -> dict[str, Any]:
    """The tool's arguments on a read-only endpoint."""
    schema = without_properties(input_schema_of(EventRulesArguments), ("rule",))
    return {**schema, "properties": {**schema["properties"], "action": {"type": "string", "enum": ["list", "get"]}}}


@tool(
    "event_rules", title="Rules for events", action="read", destructive=True, open_world=True, listed="room",
    read_schema=_read_schema(),
)  # fmt: skip
async def event_rules(arguments: EventRulesArguments, call: Call[HasRules]) -> ToolResult:
    """Rules: when something happens in a room, send a task to an agent or call a webhook.

    list shows your rules, add makes one, resume enables one again that failed too often. The resource pentad://events
    has what happened, with kinds and subjects.
    """
    return ToolResult(structured=await _answer(arguments, call))


async def _answer(given: EventRulesArguments, call: Call[HasRules]) -> dict[str, Any]:
    _TAKES.refuse_unread(given, given.action)
    rules, caller = call.service.rules, call.principal
    if given.action == "list":
        return {"rules": await rules.list(caller)}
    if given.action == "add":
        if given.rule is None:
            raise InvalidInput("add needs a rule.", hint='Such as {"name": ..., "kind": [...], "task": {...}}.')
        return await rules.add(caller, given.rule.name, given.rule.wanted(), given.rule.action(), given.rule.cursor)
    if given.id is None:
        raise InvalidInput(f"{given.action} needs the id of a rule.", hint="action=list shows them.")
    if given.action == "get":
        return await rules.get(caller, given.id)
    if given.action == "resume":
        return await rules.resume(caller, given.id)
    await rules.remove(caller, given.id)
    return {"removed": given.id}
