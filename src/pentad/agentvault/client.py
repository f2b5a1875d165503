"""The client of the AgentVault profile: send an agent tasks, continue, follow and cancel them.

Unlike AgentVault's client, it reports failures: an invalid context raises (`on_invalid="drop"` sends the task without
it), an unknown task raises, `terminate_task` returns whether the task was cancelled. Secrets in a context are masked
before it is sent (`redact=False` sends them), and `last_report` has the places.

Requests and responses are limited in size and depth. A response must match its request: version and id are checked.
"""

import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, Self, TypeVar, cast

from pydantic import BaseModel, ValidationError

from pentad.agentvault.channel import MAX_BYTES, MAX_DEPTH, MAX_KEYS, Channel, NotAStream
from pentad.agentvault.credentials import Credentials, Scheme
from pentad.agentvault.exceptions import (
    A2AConnectionError,
    A2AError,
    A2AMessageError,
    A2ARemoteAgentError,
    A2ATimeoutError,
)
from pentad.agentvault.mcp_utils import KEY, MCPContext, checked_context, format_mcp_context, reason
from pentad.agentvault.models.a2a_protocol import (
    RECEIVED,
    A2AEvent,
    Message,
    Task,
    TaskArtifactUpdateEvent,
    TaskCancelResult,
    TaskMessageEvent,
    TaskSendResult,
    TaskStatusUpdateEvent,
)
from pentad.agentvault.models.agent_card import AgentCard
from pentad.kernel.errors import DeadlineExceeded, InvalidInput, LimitExceeded, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.json import check_bounds
from pentad.kernel.secrets.documents import Masked, scrub_json
from pentad.net.event_stream import ServerEvent
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy

if TYPE_CHECKING:
    from pentad.agentvault.key_manager import KeyManager
    from pentad.kernel.ports import Fetcher


OnInvalid = Literal["raise", "drop"]
_EVENTS: Final[Mapping[str, type[A2AEvent]]] = {
    "task_status": TaskStatusUpdateEvent,
    "task_message": TaskMessageEvent,
    "message": TaskMessageEvent,
    "task_artifact": TaskArtifactUpdateEvent,
}
_SHOWN: Final = 200
_TOO_LARGE_STATUS: Final = 413
_TOO_LARGE: Final = (
    "The message is too large for the agent, and this client has no server the agent could fetch the rest from: keep"
    " large items of the context where the agent can read them, and send a `ref` to each."
)
M = TypeVar("M", bound=BaseModel)
_log: Final = logging.getLogger(__name__)


class AgentVaultClient:
    """Talks to agents by their cards.

    Without an `http_client`, it opens its own connections and trusts the URLs of cards, because the caller chose them.
    With one (a Pentad fetcher), the client's policy decides.
    """

    def __init__(
        self,
        http_client: "Fetcher | None" = None,
        default_timeout: float = 30.0,
        *,
        on_invalid: OnInvalid = "raise",
        redact: bool = True,
    ) -> None:
        self.last_report: list[Masked] = []
        """What was masked in the last outgoing context: the places and detectors."""
        self._own: HttpFetcher | None = None
        if http_client is None:
            http_client = self._own = HttpFetcher(FetchPolicy(timeout=default_timeout))
        self._fetcher = http_client
        self._seconds = default_timeout
        self._on_invalid: OnInvalid = on_invalid
        self._redact = redact
        self._credentials = Credentials(http_client, trusted=self._own is not None)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections this client opened."""
        if self._own is not None:
            await self._own.close()

    async def initiate_task(
        self,
        agent_card: AgentCard,
        initial_message: Message,
        key_manager: "KeyManager",
        mcp_context: dict[str, Any] | MCPContext | None = None,
        webhook_url: str | None = None,
    ) -> str:
        """Start a task; returns its id."""
        params: dict[str, Any] = {"message": self._message_json(initial_message, mcp_context)}
        if webhook_url is not None:
            params["webhookUrl"] = webhook_url
        answer = await self._call(agent_card, key_manager, "req-init-", "tasks/send", params)
        return _as(TaskSendResult, answer).id

    async def send_message(
        self,
        agent_card: AgentCard,
        task_id: str,
        message: Message,
        key_manager: "KeyManager",
        mcp_context: dict[str, Any] | MCPContext | None = None,
    ) -> bool:
        """Send a message to a task; returns True when the agent has accepted it."""
        params = {"id": _task_id(task_id), "message": self._message_json(message, mcp_context)}
        answer = await self._call(agent_card, key_manager, "req-send-", "tasks/send", params)
        if (taken := _as(TaskSendResult, answer).id) != task_id:
            raise A2AMessageError(f"The message to task {task_id!r} was taken for task {taken!r}.")
        return True

    async def get_task_status(
        self,
        agent_card: AgentCard,
        task_id: str,
        key_manager: "KeyManager",
        mcp_context: dict[str, Any] | MCPContext | None = None,
    ) -> Task:
        """The current state of a task."""
        params = self._task_params(task_id, mcp_context)
        return _as(Task, await self._call(agent_card, key_manager, "req-get-", "tasks/get", params))

    async def terminate_task(
        self,
        agent_card: AgentCard,
        task_id: str,
        key_manager: "KeyManager",
        mcp_context: dict[str, Any] | MCPContext | None = None,
    ) -> bool:
        """Cancel a task; returns whether it was cancelled."""
        params = self._task_params(task_id, mcp_context)
        answer = await self._call(agent_card, key_manager, "req-cancel-", "tasks/cancel", params)
        return _as(TaskCancelResult, answer).success

    async def receive_messages(
        self,
        agent_card: AgentCard,
        task_id: str,
        key_manager: "KeyManager",
        mcp_context: dict[str, Any] | MCPContext | None = None,
    ) -> AsyncGenerator[A2AEvent]:
        """The events of a task, until the agent ends the stream."""
        request = Request("req-sub-", "tasks/sendSubscribe", self._task_params(task_id, mcp_context))
        url, channel = str(agent_card.url), self._channel(agent_card, key_manager)
        stream = channel.stream(
            "POST", url, {"Cache-Control": "no-store"}, request.body, keep_unfinished=True
        )  # fmt: skip
        try:
            async with aclosing(stream) as received:
                async for event in received:
                    if isinstance(event, NotAStream):  # usually an error
                        result(url, event.status, event.body, request.id)
                        raise A2AMessageError(f"{url} answered a subscription with something that is not a stream.")
                    if (read := _event(url, event)) is not None:
                        yield read
        except PentadError as error:
            raise failure(error) from error

    async def _call(
        self, card: AgentCard, keys: "KeyManager", prefix: str, method: str, params: Mapping[str, Any]
    ) -> Any:
        request, url = Request(prefix, method, params), str(card.url)
        try:
            answer = await self._channel(card, keys).fetch("POST", url, {}, request.body)
        except PentadError as error:
            raise failure(error) from error
        return result(url, answer.status, answer.body, request.id)

    def _channel(self, card: AgentCard, keys: "KeyManager") -> Channel:
        schemes = [
            Scheme(
                kind=one.scheme,
                service=one.service_identifier or card.human_readable_id,
                token_url=None if one.token_url is None else str(one.token_url),
                scopes=tuple(one.scopes or ()),
            )
            for one in card.auth_schemes
        ]
        return Channel(
            self._fetcher, card.human_readable_id, schemes, keys, self._credentials,
            trusted=self._own is not None, seconds=self._seconds, idle=self._seconds,
        )  # fmt: skip

    def _message_json(self, message: Message, context: dict[str, Any] | MCPContext | None) -> dict[str, Any]:
        try:
            body = message.model_dump(mode="json", by_alias=True, exclude_none=True)
        except (ValueError, RecursionError) as error:
            raise A2AMessageError(f"The message cannot be written as JSON: {reason(error)}") from error
        return self._with_context(body, context)

    def _task_params(self, task_id: str, context: dict[str, Any] | MCPContext | None) -> dict[str, Any]:
        """The params of a request about a task, with a context in its metadata."""
        return self._with_context({"id": _task_id(task_id)}, context)

    def _with_context(self, body: dict[str, Any], context: dict[str, Any] | MCPContext | None) -> dict[str, Any]:
        if isinstance(context, MCPContext):
            context = context.model_dump(by_alias=True, exclude_unset=True)
        if context and (sent := self._formatted(context)) is not None:
            body["metadata"] = {**body.get("metadata", {}), KEY: sent}
        self.last_report = []
        if self._redact and (metadata := body.get("metadata")) and KEY in metadata:
            metadata[KEY] = self._masked(metadata[KEY])
        return body

    def _masked(self, context: Any) -> Any:
        """The context without secrets, and without a seal that no longer matches."""
        try:
            clean, self.last_report = scrub_json(context)
        except LimitExceeded as error:
            raise A2AMessageError(f"The message is not sent: {error.message}") from None
        if self.last_report:
            places = ", ".join(f"{one.path} ({one.what})" for one in self.last_report)
            _log.warning("Secrets in the MCP context are masked before it is sent: %s", places)
            sealed = cast("dict[str, Any]", clean) if isinstance(clean, dict) else {}
            if sealed.pop("integrity", None) is not None:
                _log.warning("The seal of the MCP context is not sent: it does not match the masked context.")
        return cast("Any", clean)

    def _formatted(self, context: dict[str, Any]) -> dict[str, Any] | None:
        try:
            return checked_context(context)
        except ValueError as error:
            if self._on_invalid == "raise":
                raise A2AMessageError(f"The MCP context is not valid, so nothing is sent: {error}") from error
            _log.warning("The MCP context is not sent as it is: %s", error)
        return format_mcp_context(context)


def _task_id(value: str) -> str:
    if not isinstance(value, str) or not value:  # pyright: ignore[reportUnnecessaryIsInstance]  callers pass anything
        raise ValueError("A task id is a text that is not empty.")
    return value


def _as(model: type[M], answer: Any) -> M:
    try:
        return model.model_validate(answer, context=RECEIVED)
    except ValidationError as error:
        raise A2AMessageError(f"The agent's answer is not a {model.__name__}: {reason(error)}") from error


def _event(url: str, event: ServerEvent) -> A2AEvent | None:
    """Decode an event. Unknown or invalid ones are logged and skipped (None), because valid ones may follow."""
    try:
        data = parse(url, event.data)
    except A2AMessageError:
        data = event.data if event.name == "error" else None
    if event.name == "error":
        _raise_stream_error(data)
    model = _EVENTS.get(event.name)
    if model is None or data is None:
        _log.warning("An event %.40r of an agent is not known or not JSON; it is skipped.", event.name)
        return None
    try:
        return model.model_validate(data, context=RECEIVED)
    except ValidationError as error:
        _log.warning("An event %.40r of an agent is not valid (%s); it is skipped.", event.name, reason(error))
        return None


def _raise_stream_error(data: Any) -> None:
    members: dict[str, Any] = cast("dict[str, Any]", data) if isinstance(data, dict) else {"message": data}
    code, message = members.get("code"), members.get("message")
    raise A2ARemoteAgentError(
        message if isinstance(message, str) else "The agent ended the stream with an error.",
        status_code=code if isinstance(code, int) else None,
        response_body=cast("Any", data),
    )


class Request:
    """A JSON-RPC request with a unique id."""

    def __init__(self, prefix: str, method: str, params: Mapping[str, Any]) -> None:
        self.id = f"{prefix}{uuid7()}"
        envelope = {"jsonrpc": "2.0", "method": method, "params": params, "id": self.id}
        try:
            self.body = json.dumps(envelope, ensure_ascii=False, allow_nan=False).encode()
            if len(self.body) > MAX_BYTES:
                raise LimitExceeded(f"it is larger than {MAX_BYTES} bytes")
            check_bounds(self.body, depth=MAX_DEPTH, keys=MAX_KEYS)
        except LimitExceeded as error:
            raise A2AMessageError(f"The message is not sent: {error.message}") from None
        except (TypeError, ValueError, RecursionError) as error:
            raise A2AMessageError(f"The message cannot be written as JSON: {error}") from error


def result(url: str, status: int, body: bytes, request_id: str) -> Any:
    """The result in a JSON-RPC response."""
    if not 200 <= status < 300:
        text = body.decode("utf-8", "replace")
        advice = f" {_TOO_LARGE}" if status == _TOO_LARGE_STATUS else ""
        raise A2ARemoteAgentError(
            f"{url} answered with HTTP {status}: {text[:_SHOWN]}{advice}", status_code=status, response_body=text
        )
    answer = parse(url, body)
    if not isinstance(answer, dict):
        raise A2AMessageError(f"{url} answered with JSON that is not an object.")
    members = cast("dict[str, Any]", answer)
    failed = members.get("error") is not None
    if not failed and "result" not in members:
        raise A2AMessageError(f"{url} answered with neither a result nor an error.")
    if members.get("jsonrpc") != "2.0":
        raise A2AMessageError(f"{url} did not answer in JSON-RPC 2.0.")
    if members.get("id") != request_id and not (failed and members.get("id") is None):
        raise A2AMessageError(f"{url} answered a different request: the id does not match.")
    if failed:
        _raise_rpc_error(url, members["error"])
    return members["result"]


def parse(url: str, text: bytes | str) -> Any:
    """JSON from a peer, within limits."""
    body = text if isinstance(text, bytes) else text.encode()
    try:
        check_bounds(body, depth=MAX_DEPTH, keys=MAX_KEYS)
        return json.loads(body)
    except LimitExceeded as error:
        raise A2AMessageError(f"The answer of {url} exceeds the limits: {error.message}") from None
    except (ValueError, RecursionError) as error:
        raise A2AMessageError(f"{url} answered with something that is not JSON.") from error


def failure(error: PentadError) -> A2AError:
    """Convert a fetcher's error to one of this library."""
    if isinstance(error, DeadlineExceeded):
        return A2ATimeoutError(error.sentence())
    if isinstance(error, InvalidInput):
        return A2AMessageError(error.sentence())
    return A2AConnectionError(error.sentence())


def _raise_rpc_error(url: str, error: Any) -> NoReturn:
    if not isinstance(error, dict):
        raise A2AMessageError(f"{url} answered with an error that is not an object.")
    members = cast("dict[str, Any]", error)
    code, message = members.get("code"), members.get("message")
    raise A2ARemoteAgentError(
        message if isinstance(message, str) else "The agent gave no reason.",
        status_code=code if isinstance(code, int) else None,
        response_body=members.get("data"),
    )
