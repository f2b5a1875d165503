"""The methods of the Tasks extension: look at a task, answer what it asks, cancel it, hear of its changes.

They are there only where a room keeps tasks, and only for a client that declares the extension with the request itself.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.incidents import ensure_logged
from pentad.kernel.principal import Action
from pentad.mcp import messages
from pentad.mcp.asking import MissingCapability
from pentad.mcp.call import Peer
from pentad.mcp.dispatcher import Answer, Dispatcher, Method, in_time, too_large
from pentad.mcp.messages import RequestId, TaskParams, UpdateTaskParams, encode
from pentad.mcp.peers import ModernPeer
from pentad.mcp.results import asked_json
from pentad.mcp.rights import lacks
from pentad.mcp.supervision import Deadline
from pentad.mcp.tasks import CAPABILITY, TaskBook, TaskState
from pentad.mcp.wire_errors import as_protocol_error

T = TypeVar("T")
_LONGEST_ID = 500


class TaskMethods:
    """Answers for the tasks of all rooms behind one endpoint."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._registry = dispatcher.registry
        self._limits = dispatcher.limits
        if self._registry.books:
            dispatcher.add(Method("tasks/get", TaskParams, self._get, "task_id"))
            dispatcher.add(Method("tasks/update", UpdateTaskParams, self._update, "task_id"))
            dispatcher.add(Method("tasks/cancel", TaskParams, self._cancel, "task_id"))

    async def _get(self, params: TaskParams, _request_id: RequestId, peer: Peer) -> Answer:
        state = await self._asked(peer, "read", params.task_id, _getting(peer, params.task_id))
        return self._registry.shapes[peer.revision.name].finish(self._detailed(state, peer)), "ok"

    async def _update(self, params: UpdateTaskParams, _request_id: RequestId, peer: Peer) -> Answer:
        def work(book: TaskBook) -> Coroutine[Any, Any, None]:
            return book.update(peer.principal, params.task_id, params.input_responses)

        await self._asked(peer, "write", params.task_id, work)
        return self._registry.shapes[peer.revision.name].finish(b"{}"), "ok"

    async def _cancel(self, params: TaskParams, _request_id: RequestId, peer: Peer) -> Answer:
        def work(book: TaskBook) -> Coroutine[Any, Any, None]:
            return book.cancel(peer.principal, params.task_id)

        await self._asked(peer, "write", params.task_id, work)
        return self._registry.shapes[peer.revision.name].finish(b"{}"), "ok"

    async def followed(self, task_ids: Sequence[str], peer: ModernPeer) -> dict[str, str]:
        """Of these tasks those the caller may follow, by the address whose changes are theirs."""
        if task_ids and not peer.supports(CAPABILITY):
            raise MissingCapability(CAPABILITY)
        found: dict[str, str] = {}
        for task_id in task_ids:
            for bound in self._registry.books:
                address = bound.book.address(task_id)
                if address is not None and await self._seen(bound.book, bound.room, task_id, peer) is not None:
                    found[address] = task_id
        return found

    async def news(self, task_id: str, peer: ModernPeer, tag: Mapping[str, Any]) -> bytes | None:
        """What a follower is told after a change; None for one who may not see the task any more."""
        for bound in self._registry.books:
            if (state := await self._seen(bound.book, bound.room, task_id, peer)) is not None:
                shown = self._detailed(state, peer)
                return messages.notification("notifications/tasks", _joined(shown, b'{"_meta":%b' % encode(tag)))
        return None

    async def _seen(self, book: TaskBook, room: str, task_id: str, peer: ModernPeer) -> TaskState | None:
        try:
            principal = await peer.principal_now()
            return await book.get(principal, task_id, peer.supports) if principal.may(room, "read") else None
        except PentadError as error:
            ensure_logged(error, "Telling a follower of a task")
            return None

    async def _asked(
        self, peer: Peer, action: Action, task_id: str, work: Callable[[TaskBook], Coroutine[Any, Any, T]]
    ) -> T:
        """What the room says that knows the task; its refusal, or that there is no such task."""
        if not peer.supports(CAPABILITY):
            raise MissingCapability(CAPABILITY)
        if len(task_id) > _LONGEST_ID:
            raise InvalidInput(f"A task's id has at most {_LONGEST_ID} characters.")
        refused: PentadError = NotFound("There is no such task.")
        for bound in self._registry.books:
            if not peer.principal.may(bound.room, action):
                refused = lacks(peer.principal, bound.room, action)
                continue
            deadline = Deadline(self._limits.tool_seconds, peer.waiting)
            try:
                return await in_time(work(bound.book), deadline, "Asking for the task")
            except NotFound as error:
                refused = error
        raise refused

    def _detailed(self, state: TaskState, peer: Peer) -> bytes:
        """The task with what its status brings: questions, the result, or the error."""
        shown = encode(state.as_json())
        if state.status == "input_required":
            return _joined(shown, b'{"inputRequests":%b' % encode(asked_json(state.questions)))
        if state.status == "completed":
            shape = self._registry.shapes[peer.revision.name]
            body = self._registry.tool(state.tool, peer.principal).encode(state.value, shape, ())
            if len(body) > self._limits.result_bytes:
                body = shape.failure(too_large(len(body), self._limits.result_bytes))
            return _joined(shown, b'{"result":%b' % body)
        if state.status == "failed" and state.error is not None:
            return _joined(shown, b'{"error":%b' % encode(as_protocol_error(state.error, "task").as_json()))
        return shown


def _getting(peer: Peer, task_id: str) -> Callable[[TaskBook], Coroutine[Any, Any, TaskState]]:
    return lambda book: book.get(peer.principal, task_id, peer.supports)


def _joined(task: bytes, opening: bytes) -> bytes:
    """An encoded task with one more member, which is encoded already."""
    return b"%b,%b" % (opening, task[1:])
