"""The methods of the Tasks extension: get, update and cancel a task, and notify subscribers of its changes.

They exist only if a room has tasks, and only for clients that declare the extension with the request itself.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.principal import Action
from pentad.mcp import messages
from pentad.mcp.call import Peer
from pentad.mcp.client_requests import MissingCapability
from pentad.mcp.deadlines import Deadline, run_until
from pentad.mcp.dispatcher import Answer, Dispatcher, Method, result_too_large
from pentad.mcp.messages import RequestId, TaskParams, UpdateTaskParams, encode
from pentad.mcp.registry import Bound
from pentad.mcp.results import input_requests
from pentad.mcp.rights import missing_scope
from pentad.mcp.tasks import CAPABILITY, TaskSource, TaskState
from pentad.mcp.wire_errors import as_protocol_error

if TYPE_CHECKING:
    from pentad.mcp.modern import ModernPeer

T = TypeVar("T")
_LONGEST_ID: Final = 500


class TaskMethods:
    """Serves the tasks of all rooms behind one endpoint."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._registry = dispatcher.registry
        self._limits = dispatcher.limits
        if self._registry.task_sources:
            dispatcher.add(Method("tasks/get", TaskParams, self._get, "task_id"))
            dispatcher.add(Method("tasks/update", UpdateTaskParams, self._update, "task_id"))
            dispatcher.add(Method("tasks/cancel", TaskParams, self._cancel, "task_id"))

    async def _get(self, params: TaskParams, _request_id: RequestId, peer: Peer) -> Answer:
        principal, task_id = peer.principal, params.task_id
        state = await self._run(peer, "read", task_id, lambda source: source.get(principal, task_id, peer.supports))
        return self._registry.formats[peer.revision.name].finish(self._encoded(state, peer)), "ok"

    async def _update(self, params: UpdateTaskParams, _request_id: RequestId, peer: Peer) -> Answer:
        principal, task_id, answers = peer.principal, params.task_id, params.input_responses
        await self._run(peer, "write", task_id, lambda source: source.update(principal, task_id, answers))
        return self._registry.formats[peer.revision.name].finish(b"{}"), "ok"

    async def _cancel(self, params: TaskParams, _request_id: RequestId, peer: Peer) -> Answer:
        await self._run(peer, "write", params.task_id, lambda source: source.cancel(peer.principal, params.task_id))
        return self._registry.formats[peer.revision.name].finish(b"{}"), "ok"

    async def subscribable(self, task_ids: Sequence[str], peer: "ModernPeer") -> dict[str, str]:
        """The tasks that the caller may subscribe to, by the URI of the resource that changes with them."""
        if task_ids and not peer.supports(CAPABILITY):
            raise MissingCapability(CAPABILITY)
        found: dict[str, str] = {}
        for task_id in task_ids:
            for bound in self._registry.task_sources:
                uri = bound.declared.address(task_id)
                if uri is not None and await self._visible_state(bound, task_id, peer) is not None:
                    found[uri] = task_id
        return found

    async def notification(self, task_id: str, peer: "ModernPeer", tag: Mapping[str, Any]) -> bytes | None:
        """The notification of a task's change; None if the subscriber may not see the task any more."""
        for bound in self._registry.task_sources:
            if (state := await self._visible_state(bound, task_id, peer)) is not None:
                params = _with_member(self._encoded(state, peer), b'{"_meta":%b' % encode(tag))
                return messages.notification("notifications/tasks", params)
        return None

    async def _visible_state(self, bound: Bound[TaskSource], task_id: str, peer: "ModernPeer") -> TaskState | None:
        try:
            principal = await peer.principal_now()
            if not principal.may(bound.room, "read"):
                return None
            return await bound.declared.get(principal, task_id, peer.supports)
        except PentadError as error:
            ensure_logged(error, "Notifying a subscriber of a task")
            return None

    async def _run(
        self, peer: Peer, action: Action, task_id: str, work: Callable[[TaskSource], Coroutine[Any, Any, T]]
    ) -> T:
        """The result from the room that knows the task; otherwise raises the last room's error, or NotFound."""
        if not peer.supports(CAPABILITY):
            raise MissingCapability(CAPABILITY)
        if len(task_id) > _LONGEST_ID:
            raise InvalidInput(f"A task's id has at most {_LONGEST_ID} characters.")
        refusal: PentadError = NotFound("There is no such task.")
        for bound in self._registry.task_sources:
            if not peer.principal.may(bound.room, action):
                refusal = missing_scope(peer.principal, bound.room, action)
                continue
            deadline = Deadline(self._limits.tool_seconds, peer.on_suspend)
            try:
                return await run_until(deadline, work(bound.declared), "Asking for the task")
            except NotFound as error:
                refusal = error
        raise refusal

    def _encoded(self, state: TaskState, peer: Peer) -> bytes:
        """The encoded task with the member its status requires: questions, result or error."""
        task = encode(state.as_json())
        if state.status == "input_required":
            return _with_member(task, b'{"inputRequests":%b' % encode(input_requests(state.questions)))
        if state.status == "completed":
            result_format = self._registry.formats[peer.revision.name]
            body = self._registry.tool(state.tool, peer.principal).encode(state.value, result_format, ())
            if len(body) > self._limits.result_bytes:
                body = result_format.failure(result_too_large(len(body), self._limits.result_bytes))
            return _with_member(task, b'{"result":%b' % body)
        if state.status == "failed" and state.error is not None:
            return _with_member(task, b'{"error":%b' % encode(as_protocol_error(state.error, "task").as_json()))
        return task


def _with_member(task: bytes, member: bytes) -> bytes:
    """An encoded task with one more member in front, which is encoded up to its closing brace."""
    return b"%b,%b" % (member, task[1:])
