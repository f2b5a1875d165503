"""One JSON-RPC call to an agent and the reading of its answer: HTTP through Pentad's one door, errors of this library.

An answer must be an answer to the call: version and id are checked. Sizes and depths are bounded in both directions.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from pentad.agentvault.exceptions import (
    A2AConnectionError,
    A2AError,
    A2AMessageError,
    A2ARemoteAgentError,
    A2ATimeoutError,
)
from pentad.kernel.errors import DeadlineExceeded, InvalidInput, LimitExceeded, PentadError
from pentad.kernel.ids import uuid7
from pentad.kernel.json import check_bounds
from pentad.kernel.limits import KIB, MIB
from pentad.net.event_stream import CONTENT_TYPE, ServerEvent, events

if TYPE_CHECKING:
    from pentad.kernel.ports import Fetcher

MAX_BYTES: Final = 16 * MIB
MAX_DEPTH: Final = 128
MAX_KEYS: Final = 200_000
_ERROR_BYTES: Final = 64 * KIB
_SHOWN: Final = 200
_TOO_LARGE_STATUS: Final = 413
_TOO_LARGE: Final = (
    "The message is too large for the agent, and this client has no server the agent could fetch the rest from: keep"
    " large items of the context where the agent can read them, and send a `ref` to each."
)


class Request:
    """What is to be sent: a method, its params and an id nobody else has."""

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


async def call(
    fetcher: "Fetcher", url: str, request: Request, headers: Mapping[str, str], *, seconds: float, trusted: bool
) -> Any:
    """The result of a call; an error of the agent, of the network or of the answer is raised."""
    try:
        answer = await fetcher.fetch(
            url,
            method="POST",
            headers={"Content-Type": "application/json", "Accept": "application/json", **headers},
            body=request.body,
            max_bytes=MAX_BYTES,
            timeout=seconds,
            trusted=trusted,
        )
    except PentadError as error:
        raise failure(error) from error
    return result(url, answer.status, answer.body, request.id)


async def subscribe(
    fetcher: "Fetcher", url: str, request: Request, headers: Mapping[str, str], *, seconds: float, trusted: bool
) -> AsyncGenerator[ServerEvent]:
    """The events an agent answers a call with. An answer that is no stream is read as what it is: mostly an error."""
    sent = {"Content-Type": "application/json", "Accept": CONTENT_TYPE, "Cache-Control": "no-store", **headers}
    try:
        async with fetcher.stream(
            url, method="POST", headers=sent, body=request.body, timeout=seconds, idle=seconds, trusted=trusted
        ) as answer:
            if answer.status == 200 and answer.headers.get("content-type", "").startswith(CONTENT_TYPE):
                async with aclosing(events(answer.chunks, keep_unfinished=True)) as stream:
                    async for event in stream:
                        yield event
                return
            body = await answer.beginning(_ERROR_BYTES)
    except PentadError as error:
        raise failure(error) from error
    result(url, answer.status, body, request.id)
    raise A2AMessageError(f"{url} answered a subscription with something that is not a stream.")


def result(url: str, status: int, body: bytes, request_id: str) -> Any:
    """What a JSON-RPC answer says."""
    if not 200 <= status < 300:
        text = body.decode("utf-8", "replace")
        advice = f" {_TOO_LARGE}" if status == _TOO_LARGE_STATUS else ""
        raise A2ARemoteAgentError(
            f"{url} answered with HTTP {status}: {text[:_SHOWN]}{advice}", status_code=status, response_body=text
        )
    answer = parsed(url, body)
    if not isinstance(answer, dict):
        raise A2AMessageError(f"{url} answered with JSON that is not an object.")
    members = cast("dict[str, Any]", answer)
    failed = members.get("error") is not None
    if not failed and "result" not in members:
        raise A2AMessageError(f"{url} answered with neither a result nor an error.")
    if members.get("jsonrpc") != "2.0":
        raise A2AMessageError(f"{url} did not answer in JSON-RPC 2.0.")
    if members.get("id") != request_id and not (failed and members.get("id") is None):
        raise A2AMessageError(f"{url} answered another request than the one it was sent.")
    if failed:
        _refused(url, members["error"])
    return members["result"]


def parsed(url: str, text: bytes | str) -> Any:
    """JSON from a peer, within bounds."""
    body = text if isinstance(text, bytes) else text.encode()
    try:
        check_bounds(body, depth=MAX_DEPTH, keys=MAX_KEYS)
        return json.loads(body)
    except LimitExceeded as error:
        raise A2AMessageError(f"{url} answered with too much: {error.message}") from None
    except (ValueError, RecursionError) as error:
        raise A2AMessageError(f"{url} answered with something that is not JSON.") from error


def failure(error: PentadError) -> A2AError:
    """What could not be sent or received, in the words of this library."""
    if isinstance(error, DeadlineExceeded):
        return A2ATimeoutError(error.sentence())
    if isinstance(error, InvalidInput):
        return A2AMessageError(error.sentence())
    return A2AConnectionError(error.sentence())


def _refused(url: str, error: Any) -> NoReturn:
    if not isinstance(error, dict):
        raise A2AMessageError(f"{url} answered with an error that is not an object.")
    members = cast("dict[str, Any]", error)
    code, message = members.get("code"), members.get("message")
    raise A2ARemoteAgentError(
        message if isinstance(message, str) else "The agent gave no reason.",
        status_code=code if isinstance(code, int) else None,
        response_body=members.get("data"),
    )
