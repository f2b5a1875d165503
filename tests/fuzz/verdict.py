"""What may come back from a spoiled request: a well-formed JSON-RPC answer, or a status the documents name."""

import json
from dataclasses import dataclass
from typing import Any, Final

REFUSALS: Final = {400, 403, 404, 405, 406, 413, 415, 421}
"""What a client may be told about its own mistake. There is no mistake of a client that makes a 5xx."""


@dataclass(frozen=True)
class Reply:
    """What came back; `ended` is False when the stream was left while it was still open."""

    status: int
    headers: dict[str, str]
    body: bytes
    ended: bool


def complaint(reply: Reply) -> str | None:
    """What is wrong with a reply, or None."""
    if reply.status in (202, 204):
        return f"{reply.status} with a body" if reply.body else None
    if reply.status != 200 and reply.status not in REFUSALS:
        return f"status {reply.status} is not one of those documented"
    if b"Traceback" in reply.body:
        return "a traceback in the answer"
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        return _complaint_about_stream(reply)
    if not reply.body:
        return None if reply.status == 405 else f"{reply.status} without a word"
    try:
        said = json.loads(reply.body)
    except ValueError:
        return "the body is no JSON"
    return complaint_about_message(said, refused=reply.status != 200)


def _complaint_about_stream(reply: Reply) -> str | None:
    for line in reply.body.decode("utf-8").split("\n"):
        said = line.removeprefix("data: ") if line.startswith("data: ") else ""
        if said.strip() and (why := complaint_about_message(json.loads(said), refused=False)):
            return why
    return None


def complaint_about_message(said: Any, *, refused: bool) -> str | None:
    """What is wrong with one message (or a batch of them)."""
    if isinstance(said, list):
        batch: list[Any] = said
        return next((why for one in batch if (why := complaint_about_message(one, refused=refused))), None)
    if not isinstance(said, dict):
        return "neither an object nor a batch"
    message: dict[str, Any] = said
    if "jsonrpc" not in message and refused:
        return _complaint_about_refusal(message)
    if message.get("jsonrpc") != "2.0":
        return "no JSON-RPC version"
    if "method" in message:
        return None if isinstance(message["method"], str) else "a method that is no text"
    if "id" not in message or isinstance(message["id"], bool | float | list | dict):
        return "an answer whose id is none"
    if "error" in message:
        error = message["error"]
        known = isinstance(error.get("code"), int) and isinstance(error.get("message"), str) and error["code"] != -32603
        return None if known and "result" not in message else f"error {error!r}"
    return None if isinstance(message.get("result"), dict) else "neither result nor error"


def _complaint_about_refusal(message: dict[str, Any]) -> str | None:
    """The one shape of errors outside JSON-RPC."""
    error: Any = message.get("error")
    fine = isinstance(error, dict) and isinstance(error.get("code"), str) and isinstance(error.get("message"), str)
    return None if fine else "a refusal without code and message"
