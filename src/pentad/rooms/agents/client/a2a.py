"""A2A 0.3 and 1.0 over JSON-RPC, and 1.0 over HTTP+JSON: one set of operations, three ways to ask for them."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast
from urllib.parse import quote, urlencode

import msgspec

from pentad.net.event_stream import ServerEvent
from pentad.rooms.agents.client.a2a_wire import Reader, Update
from pentad.rooms.agents.client.line import Line
from pentad.rooms.agents.client.peers import Interface
from pentad.rooms.agents.client.refusals import not_understood, rpc_refusal, unsupported
from pentad.rooms.agents.client.speaking import Heard, Listing, Sending
from pentad.rooms.agents.dialects import v03, v10
from pentad.rooms.agents.dialects.errors import Fault
from pentad.rooms.agents.tasks.model import Dialect, Event, Json, Message, PushConfig, Task, TaskPage

T = TypeVar("T")


class Operation(NamedTuple):
    """One operation in the words of each binding: 1.0's method, 0.3's, and HTTP's verb and path."""

    v10: str
    v03: str
    verb: str
    path: str


_PUSH: Final = "/tasks/{taskId}/pushNotificationConfigs"
_SEND: Final = Operation("SendMessage", "message/send", "POST", "/message:send")
_STREAM: Final = Operation("SendStreamingMessage", "message/stream", "POST", "/message:stream")
_GET: Final = Operation("GetTask", "tasks/get", "GET", "/tasks/{id}")
_LIST: Final = Operation("ListTasks", "", "GET", "/tasks")
_CANCEL: Final = Operation("CancelTask", "tasks/cancel", "POST", "/tasks/{id}:cancel")
_SUBSCRIBE: Final = Operation("SubscribeToTask", "tasks/resubscribe", "GET", "/tasks/{id}:subscribe")
_CARD: Final = Operation("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard", "GET", "/extendedAgentCard")
_SET_PUSH: Final = Operation("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set", "POST", _PUSH)
_LIST_PUSH: Final = Operation("ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list", "GET", _PUSH)
_GET_PUSH: Final = Operation(
    "GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get", "GET", f"{_PUSH}/{{id}}"
)
_DELETE_PUSH: Final = Operation(
    "DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete", "DELETE", f"{_PUSH}/{{id}}"
)


class Asking(Protocol):
    """A binding: how an operation and its parameters become a request."""

    async def ask(self, operation: Operation, params: Json, headers: Mapping[str, str]) -> bytes: ...

    def stream(
        self, operation: Operation, params: Json, headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[ServerEvent, bytes]]: ...


class JsonRpc:
    """Everything is a POST to one address."""

    def __init__(self, line: Line, interface: Interface) -> None:
        self._line = line
        self._url = interface.url
        self._dialect: Dialect = interface.dialect

    def _method(self, operation: Operation) -> str:
        method = operation.v10 if self._dialect == "1.0" else operation.v03
        if not method:
            raise unsupported(self._line.peer, f"{operation.v10} in A2A {self._dialect}")
        return method

    async def ask(self, operation: Operation, params: Json, headers: Mapping[str, str]) -> bytes:
        return await self._line.rpc(self._url, self._method(operation), params, self._dialect, headers)

    async def stream(
        self, operation: Operation, params: Json, headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[ServerEvent, bytes]]:
        stream = self._line.rpc_stream(self._url, self._method(operation), params, self._dialect, headers)
        async with aclosing(stream) as found:
            async for event in found:
                yield event, self._line.read_rpc(event, self._dialect)


class HttpJson:
    """The operation is in the verb and the path, its parameters in path, query and body."""

    def __init__(self, line: Line, interface: Interface) -> None:
        self._line = line
        tenant = f"/{quote(interface.tenant, safe='')}" if interface.tenant else ""
        self._base = interface.url.rstrip("/") + tenant

    async def ask(self, operation: Operation, params: Json, headers: Mapping[str, str]) -> bytes:
        url, body = self._address(operation, params)
        return await self._line.request(operation.verb, url, headers, body)

    async def stream(
        self, operation: Operation, params: Json, headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[ServerEvent, bytes]]:
        url, body = self._address(operation, params)
        encoded = None if body is None else msgspec.json.encode(body)
        async with aclosing(self._line.stream(operation.verb, url, headers, encoded)) as found:
            async for event in found:
                if not isinstance(event, ServerEvent):
                    raise not_understood(self._line.peer, "not a stream")
                data = self._line.bounded(event.data.encode())
                if event.name == "error":
                    raise rpc_refusal(self._line.peer, _loose(data).get("error", _loose(data)), "1.0")
                yield event, data

    def _address(self, operation: Operation, params: Json) -> tuple[str, Json | None]:
        named = {name for name in ("id", "taskId") if f"{{{name}}}" in operation.path}
        path = operation.path.format(**{name: quote(str(params[name]), safe="") for name in named})
        rest = {name: value for name, value in params.items() if name not in named and name != "tenant"}
        if operation.verb == "POST":
            return self._base + path, rest
        query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()}
        return f"{self._base}{path}{'?' if query else ''}{urlencode(query)}", None


class A2aSpeaker:
    """Speaks A2A with one agent."""

    only_acknowledges = False

    def __init__(self, line: Line, interface: Interface, extensions: tuple[str, ...] = ()) -> None:
        self.dialect: Dialect = interface.dialect
        self._peer = line.peer
        self._is_v10 = interface.dialect == "1.0"
        self._reader = Reader(line.peer, interface.dialect)
        self._binding: Asking = (HttpJson if interface.binding == "HTTP+JSON" else JsonRpc)(line, interface)
        self._common: Json = {"tenant": interface.tenant} if interface.tenant and self._is_v10 else {}
        self._headers = {"A2A-Version": interface.dialect}
        if extensions:
            self._headers["A2A-Extensions"] = ", ".join(extensions)

    async def send(self, message: Message, how: Sending) -> Task | Message:
        raw = await self._ask(_SEND, self._sent(message, how))
        answer = self._read(self._reader.answer, raw)
        if isinstance(answer, Update):
            raise not_understood(self._peer, "an update where a task was expected")
        return answer

    async def stream(self, message: Message, how: Sending) -> AsyncGenerator[Heard]:
        async with aclosing(self._heard(_STREAM, self._sent(message, how), "")) as found:
            async for one in found:
                yield one

    async def subscribe(self, task_id: str, last_id: str) -> AsyncGenerator[Heard]:
        async with aclosing(self._heard(_SUBSCRIBE, {"id": task_id}, last_id)) as found:
            async for one in found:
                yield one

    async def get(self, task_id: str, history_length: int | None) -> Task:
        params: Json = {"id": task_id}
        if history_length is not None:
            params["historyLength"] = history_length
        return self._read(self._reader.task, await self._ask(_GET, params))

    async def listed(self, wanted: Listing) -> TaskPage:
        params: Json = {
            "contextId": wanted.context_id,
            "status": None if wanted.state is None else v10.STATE_NAMES[wanted.state],
            "statusTimestampAfter": wanted.since,
            "pageSize": wanted.page_size,
            "pageToken": wanted.cursor,
            "historyLength": wanted.history_length,
            "includeArtifacts": wanted.artifacts or None,
        }
        given = {name: value for name, value in params.items() if value is not None}
        return self._read(self._reader.page, await self._ask(_LIST, given))

    async def cancel(self, task_id: str) -> Task:
        return self._read(self._reader.task, await self._ask(_CANCEL, {"id": task_id}))

    async def set_push(self, task_id: str, config: PushConfig) -> PushConfig:
        params = v10.push(config, task_id) if self._is_v10 else v03.push(config, task_id)
        held = params if self._is_v10 else params["pushNotificationConfig"]
        if not held["id"]:
            del held["id"]
        return self._read(self._reader.push, await self._ask(_SET_PUSH, params))

    async def get_push(self, task_id: str, config_id: str) -> PushConfig:
        return self._read(self._reader.push, await self._ask(_GET_PUSH, self._config(task_id, config_id)))

    async def list_push(self, task_id: str) -> list[PushConfig]:
        params = {"taskId": task_id} if self._is_v10 else {"id": task_id}
        return self._read(self._reader.pushes, await self._ask(_LIST_PUSH, params))

    async def delete_push(self, task_id: str, config_id: str) -> None:
        await self._ask(_DELETE_PUSH, self._config(task_id, config_id))

    async def extended_card(self) -> dict[str, Any]:
        return self._read(msgspec.json.Decoder(dict[str, Any]).decode, await self._ask(_CARD, {}))

    def _config(self, task_id: str, config_id: str) -> Json:
        if self._is_v10:
            return {"taskId": task_id, "id": config_id}
        return {"id": task_id, "pushNotificationConfigId": config_id}

    def _sent(self, message: Message, how: Sending) -> Json:
        written = (v10.message if self._is_v10 else v03.message)(message, None, None)
        configuration: Json = {"returnImmediately": not how.wait} if self._is_v10 else {"blocking": how.wait}
        if how.history_length is not None:
            configuration["historyLength"] = how.history_length
        if how.output_modes:
            configuration["acceptedOutputModes"] = how.output_modes
        if how.push is not None:
            if self._is_v10:
                push = {key: value for key, value in v10.push(how.push, "").items() if value != ""}
                configuration["taskPushNotificationConfig"] = push
            else:
                push = v03.push(how.push, "")["pushNotificationConfig"]
                configuration["pushNotificationConfig"] = {key: value for key, value in push.items() if value != ""}
        body: Json = {"message": written, "configuration": configuration}
        if how.metadata:
            body["metadata"] = how.metadata
        return body

    async def _ask(self, operation: Operation, params: Json) -> bytes:
        return await self._binding.ask(operation, {**params, **self._common}, self._headers)

    async def _heard(self, operation: Operation, params: Json, last_id: str) -> AsyncGenerator[Heard]:
        headers = {**self._headers, "Last-Event-ID": last_id} if last_id else self._headers
        stream = self._binding.stream(operation, {**params, **self._common}, headers)
        count = 0
        async with aclosing(stream) as found:
            async for event, raw in found:
                answer = self._read(self._reader.answer, raw)
                count += 1
                number = int(event.id) if event.id.isdecimal() else count
                yield _numbered(answer, number, event.id)

    def _read(self, read: Callable[[bytes], T], raw: bytes) -> T:
        try:
            return read(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, Fault) as error:
            raise not_understood(self._peer, str(error)) from None


def _numbered(answer: Task | Message | Update, number: int, last_id: str) -> Heard:
    if isinstance(answer, Update):
        return Heard(Event(number, answer.at, answer.body), answer.task_id, last_id)
    if isinstance(answer, Task):
        if last_id:
            answer.seq = number
        return Heard(answer, answer.id, last_id)
    return Heard(answer, answer.task_id or "", last_id)


def _loose(raw: bytes) -> dict[str, Any]:
    try:
        found: Any = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
