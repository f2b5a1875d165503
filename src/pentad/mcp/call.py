"""What a tool, resource or prompt is given besides its arguments: who calls, on what wire, and the way to talk back."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Generic, Literal, NoReturn, Protocol, TypeVar, cast

from pydantic import BaseModel

from pentad.kernel.principal import Principal
from pentad.kernel.trace import request_mark
from pentad.mcp.asking import Elicit, Elicited, ListRoots, Question, Root, Sample, Sampled
from pentad.mcp.messages import RequestId, RequestMeta, notification
from pentad.mcp.revisions import Revision
from pentad.mcp.supervision import Deadline
from pentad.mcp.tasks import CAPABILITY, Deferred, TaskState

S = TypeVar("S")
M = TypeVar("M", bound=BaseModel)

LogLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
_LONGEST_CLIENT_NAME = 200
NO_HEADERS: Mapping[bytes, bytes] = MappingProxyType({})
LOG_LEVELS: tuple[str, ...] = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class Peer(Protocol):
    """The client's end of one request, as its transport and era see it."""

    principal: Principal
    revision: Revision
    transport: str
    trace: str | None
    headers: Mapping[bytes, bytes]

    @property
    def session_id(self) -> str | None: ...

    def supports(self, capability: str) -> bool:
        """Whether the client declared this capability (`sampling`, `elicitation`, `roots`, ...)."""
        ...

    def client_info(self) -> Mapping[str, Any]:
        """How the client introduces itself (`name`, `version`); empty when it does not."""
        ...

    def wants_log(self, level: str) -> bool:
        """Whether the client asked for log messages of this level."""
        ...

    async def send(self, message: bytes) -> None:
        """Send a message that belongs to this request; the first one turns the answer into a stream."""
        ...

    def remembered(self) -> dict[str, Any]:
        """What the call kept in its state in an earlier round; empty in the first, and in the legacy era."""
        ...

    async def ask(self, questions: Mapping[str, Question], state: dict[str, Any]) -> dict[str, Any]:
        """Put questions to the client and return the answers, read and checked."""
        ...

    async def close_stream(self) -> None:
        """End the current stream early; the client resumes where the era allows it, otherwise nothing happens."""
        ...

    def waiting(self) -> None:
        """The request's handler suspended for the first time: whoever may cancel it should be able to, from now on."""
        ...


class Call(Generic[S]):
    """One request on its way through a room. `service` is what the room's `open` returned."""

    __slots__ = ("deadline", "meta", "peer", "request_id", "service", "state")

    def __init__(
        self, service: S, peer: Peer, request_id: RequestId, meta: RequestMeta, deadline: Deadline | None = None
    ) -> None:
        self.service = service
        self.peer = peer
        self.request_id = request_id
        self.meta = meta
        self.deadline = deadline
        self.state: dict[str, Any] = peer.remembered()
        """Plain JSON that survives the round trips of a modern call with questions (sealed, at most a few KiB)."""

    @property
    def principal(self) -> Principal:
        return self.peer.principal

    @property
    def revision(self) -> Revision:
        return self.peer.revision

    @property
    def trace(self) -> str | None:
        """The caller's `traceparent`, to be passed on with what this call sends out."""
        carried = self.meta.traceparent
        return carried if isinstance(carried, str) else self.peer.trace

    def justify(self, reason: str) -> None:
        """Put the caller's reason for this call into the audit trail."""
        if (mark := request_mark.get()) is not None:
            request_mark.set(mark._replace(reason=reason))

    def header(self, name: str) -> str | None:
        """A header of the request this call came with, where the transport has headers."""
        value = self.peer.headers.get(name.lower().encode("ascii"))
        return None if value is None else value.decode("latin-1")

    @property
    def client_name(self) -> str | None:
        """What the calling program says it is; nobody has checked it."""
        name = self.peer.client_info().get("name")
        return name[:_LONGEST_CLIENT_NAME] if isinstance(name, str) and name else None

    def client_supports(self, capability: str) -> bool:
        return self.peer.supports(capability)

    @property
    def can_defer(self) -> bool:
        """Whether the client takes a task in place of the answer: its request says so, in a revision that has that."""
        return self.revision.tasks_extension and self.peer.supports(CAPABILITY)

    def defer(self, task: TaskState) -> NoReturn:
        """End the call with a task, which is kept already; only for a client that takes one."""
        if not self.can_defer:
            raise RuntimeError("The client did not declare that it takes tasks.")
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
        """Tell the client what is going on, if it wants to hear this level."""
        if not self.peer.wants_log(level):
            return
        params: dict[str, Any] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        await self.peer.send(notification("notifications/message", params))

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Put several questions at once; the keys name them and must be the same on every run."""
        if self.deadline is None:
            return await self.peer.ask(questions, self.state)
        self.deadline.hold()
        try:
            return await self.peer.ask(questions, self.state)
        finally:
            self.deadline.resume()

    async def elicit(
        self, key: str, message: str, answer: type[M], schema: Mapping[str, Any] | None = None
    ) -> Elicited[M]:
        """Ask the person one question."""
        answers = await self.ask({key: Elicit(message, answer, schema)})
        return cast("Elicited[M]", answers[key])

    async def sample(self, key: str, question: Sample) -> Sampled:
        """Ask the client's model once."""
        answers = await self.ask({key: question})
        return cast("Sampled", answers[key])

    async def roots(self, key: str = "roots") -> list[Root]:
        """Ask where the client works."""
        answers = await self.ask({key: ListRoots()})
        return cast("list[Root]", answers[key])
