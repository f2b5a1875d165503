"""The tools of the Tasks extension that the newest suite calls by name."""

from pydantic import BaseModel, Field

from pentad.mcp.arguments import Arguments
from pentad.mcp.call import Call
from pentad.mcp.client_requests import Elicit
from pentad.mcp.content import Text
from pentad.mcp.declarations import Tool, ToolResult, tool
from tests.conformance.service import Fixtures
from tests.conformance.timed_tasks import TimedTask


class Person(Arguments):
    name: str = Field(description="Whom to greet.")


class Computation(Arguments):
    seconds: float = Field(default=0, ge=0, le=3600, description="How long it takes.")
    label: str = Field(default="", description="Comes back with the result.")


class File(Arguments):
    filename: str = Field(default="a file", description="What to delete.")


class Approval(BaseModel, extra="ignore"):
    confirm: bool


class UserName(BaseModel):
    name: str


@tool("greet", read_only=True)
async def greet(arguments: Person) -> str:
    """Greets at once; never a task."""
    return f"Hello, {arguments.name}!"


@tool("slow_compute", read_only=True, task="optional")
async def slow_compute(arguments: Computation, call: Call[Fixtures]) -> str:
    """Computes for some seconds as a task, and at once for clients without tasks."""
    result = f"Computed {arguments.label}."
    if call.can_defer:
        call.defer(call.service.tasks.start(TimedTask("slow_compute", lambda _: result, seconds=arguments.seconds)))
    return result


@tool("failing_job", read_only=True, task="required")
async def failing_job(call: Call[Fixtures]) -> ToolResult:
    """Reports a failure in the result of its task."""
    failure = ToolResult([Text(text="The job failed, as it always does.")], is_error=True)
    call.defer(call.service.tasks.start(TimedTask("failing_job", lambda _: failure, seconds=0.5)))


@tool("protocol_error_job", read_only=True, task="required")
async def protocol_error_job(call: Call[Fixtures]) -> str:
    """Breaks while its task runs."""
    broken = RuntimeError("canary-4712: the text of this exception must never reach a client")
    call.defer(call.service.tasks.start(TimedTask("protocol_error_job", lambda _: "", seconds=0.5, error=broken)))


@tool("confirm_delete", read_only=True, task="required")
async def confirm_delete(arguments: File, call: Call[Fixtures]) -> str:
    """Asks for a confirmation while its task runs."""
    questions = {"confirm": Elicit(f"Delete {arguments.filename}?", Approval)}
    task = TimedTask("confirm_delete", lambda answers: f"{answers['confirm'].action}ed", questions=questions)
    call.defer(call.service.tasks.start(task))


@tool("multi_input", read_only=True, task="required")
async def multi_input(call: Call[Fixtures]) -> str:
    """Asks two questions at once while its task runs."""
    questions = {key: Elicit(f"The {key} question?", Approval) for key in ("first", "second")}
    task = TimedTask("multi_input", lambda answers: f"{len(answers)} answers", questions=questions)
    call.defer(call.service.tasks.start(task))


@tool("test_tool_with_task", read_only=True, task="required")
async def tool_with_task(call: Call[Fixtures]) -> str:
    """Asks for a name first, then goes on as a task."""
    given = await call.elicit("user_name", "What is your name?", UserName)
    name = given.content.name if given.content else "nobody"
    call.defer(call.service.tasks.start(TimedTask("test_tool_with_task", lambda _: f"Done for {name}.")))


TASK_TOOLS: tuple[Tool, ...] = (
    greet,
    slow_compute,
    failing_job,
    protocol_error_job,
    confirm_delete,
    multi_input,
    tool_with_task,
)
