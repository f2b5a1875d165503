"""The call a tool, resource or prompt receives: the caller, the connection, and ways to report progress and ask
questions."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Generic, Literal, NoReturn, Protocol, TypeVar, cast, get_args

from pydantic import BaseModel

from pentad.kernel.principal import Principal
from pentad.kernel.trace import position_in, request_mark
from pentad.mcp.client_requests import Elicit, Elicited, ListRoots, MissingCapability, Question, Root, Sample, Sampled
from pentad.mcp.deadlines import Deadline
from pentad.mcp.messages import RequestId, RequestMeta, notification
from pentad.mcp.revisions import Revision
from pentad.mcp.tasks import CAPABILITY, Deferred, TaskState

S = TypeVar("S")
M = TypeVar("M", bound=BaseModel)

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
LOG_LEVELS: Final[tuple[str, ...]] = get_args(LogLevel)
NO_HEADERS: Final[Mapping[bytes, bytes]] = MappingProxyType({})
HTTP: Final = "http"
STDIO: Final = "stdio"
KEEP_ALIVE_SECONDS: Final = 15.0
_LONGEST_CLIENT_NAME: Final = 200


class ResponseStream(Protocol):
    """Carries the messages of one request to the client; each transport has its own."""

    @property
    def can_send(self) -> bool:
        """Whether the client accepts messages before the result. If not, they are dropped and questions are refused."""
        ...

    async def send(self, message: bytes) -> None: ...

    async def keep_alive(self) -> None: ...

    async def close_early(self) -> None:
        """End the stream before the result, if the client can resume it."""
        ...

    def on_suspend(self) -> None:
        """Called when the handler suspends for the first time."""
        ...


@dataclass(slots=True)
class Peer:
    """The client's end of one request. Each era has its own; this one supports nothing and ignores messages."""

    principal: Principal
    revision: Revision
    transport: str
    trace: str | None
    """The caller's `traceparent`, or the id of the trace that begins with the request. None until a transport without
    headers has read the request."""
    headers: Mapping[bytes, bytes]

    @property
    def session_id(self) -> str | None:
        return None

    def supports(self, capability: str) -> bool:
        """Whether the client declared this capability (`sampling`, `elicitation`, `roots`, ...)."""
        return False

    def client_capabilities(self) -> Mapping[str, Any]:
        """Everything the client declared; empty if nothing."""
        return {}

    def client_info(self) -> Mapping[str, Any]:
        """The client's `name` and `version`; empty if it sent none."""
        return {}

    def wants_log(self, level: str) -> bool:
        """Whether the client asked for log messages of this level."""
        return False

    async def send(self, message: bytes) -> None:
        """Send a message that belongs to this request. The first one turns the response into a stream."""

    def saved_state(self) -> dict[str, Any]:
        """The call's state from an earlier round; empty in the first round, and in the legacy era."""
        return {}

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        """Ask the client; returns validated answers."""
        raise MissingCapability(next(iter(questions.values())).capability)

    async def close_stream(self) -> None:
        """End the current stream early, for the client to resume. Does nothing in eras without resumption."""

    def on_suspend(self) -> None:
        """Called when the handler suspends for the first time. From then on the client can cancel it."""


class Call(Generic[S]):
    """One request to a room. `service` is what the room's `open` yielded."""

    __slots__ = ("_path", "deadline", "meta", "peer", "request_id", "service", "state")

    def __init__(
        self,
        service: S,
        peer: Peer,
        request_id: RequestId,
        meta: RequestMeta,
        deadline: Deadline | None = None,
        path: str = "",
    ) -> None:
        self.service = service
        self.peer = peer
        self.request_id = request_id
        self.meta = meta
        self.deadline = deadline
        self._path = path
        self.state: dict[str, Any] = peer.saved_state()
        """Plain JSON that survives the rounds of a modern call with questions. Sealed; keep it to a few KiB."""

    @property
    def principal(self) -> Principal:
        return self.peer.principal

    @property
    def revision(self) -> Revision:
        return self.peer.revision

    @property
    def trace(self) -> str | None:
        """The position of the call in its trace, as `traceparent`. Outgoing requests carry it automatically."""
        return None if self.peer.trace is None else position_in(self.peer.trace)

    @property
    def endpoint(self) -> str:
        """Where the call arrived: the path of an MCP endpoint, `stdio`, or empty for calls inside the process."""
        if self.peer.transport == STDIO:
            return STDIO
        return self._path if self.peer.transport == HTTP else ""

    def justify(self, reason: str) -> None:
        """Record the caller's reason for this call in the audit trail."""
        if (mark := request_mark.get()) is not None:
            request_mark.set(mark._replace(reason=reason))

    def header(self, name: str) -> str | None:
        """A header of the HTTP request; None on other transports."""
        value = self.peer.headers.get(name.lower().encode("ascii"))
        return None if value is None else value.decode("latin-1")

    @property
    def client_name(self) -> str | None:
        """The client program's self-reported name; not verified."""
        name = self.peer.client_info().get("name")
        return name[:_LONGEST_CLIENT_NAME] if isinstance(name, str) and name else None

    def client_supports(self, capability: str) -> bool:
        return self.peer.supports(capability)

    @property
    def can_defer(self) -> bool:
        """Whether the client accepts a task instead of a result: its revision has tasks, and the request declares the
        extension."""
        return self.revision.tasks_extension and self.peer.supports(CAPABILITY)

    def defer(self, task: TaskState) -> NoReturn:
        """End the call with a task that is already stored. Check `can_defer` first."""
        if not self.can_defer:
            raise RuntimeError("The client did not declare that it accepts tasks.")
        raise Deferred(task)

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the client asked for it."""
        if (token := self.meta.progress_token) is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None and self.revision.progress_message:
            params["message"] = message
        await self.peer.send(notification("notifications/progress", params))

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it asked for this level."""
        if not self.peer.wants_log(level):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self.peer.send(notification("notifications/message", params))

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Ask several questions at once. Their keys must be the same each time the tool runs."""
        if self.deadline is None:
            return await self.peer.ask(questions, self.state)
        self.deadline.pause()
        try:
            return await self.peer.ask(questions, self.state)
        finally:
            self.deadline.resume()

    async def elicit(
        self, key: str, message: str, answer: type[M], schema: Mapping[str, Any] | None = None
    ) -> Elicited[M]:
        """Ask the user one question."""
        answers = await self.ask({key: Elicit(message, answer, schema)})
        return cast("Elicited[M]", answers[key])

    async def sample(self, key: str, question: Sample) -> Sampled:
        """Ask the client's model."""
        answers = await self.ask({key: question})
        return cast("Sampled", answers[key])

    async def roots(self, key: str = "roots") -> list[Root]:
        """Ask which folders the client works in."""
        answers = await self.ask({key: ListRoots()})
        return cast("list[Root]", answers[key])
