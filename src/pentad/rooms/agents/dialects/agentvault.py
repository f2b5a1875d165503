"""The AgentVault profile: upper-case states, `content` for texts and data, files only by address, events by name.

What it has no word for is told in what it has: a rejected task failed, one that wants a login wants input, a file's
bytes are behind an address this server serves, data that is no object is wrapped in one.
"""

from collections.abc import Callable
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct

from pentad.kernel.clock import iso
from pentad.kernel.ids import uuid7_text
from pentad.rooms.agents.dialects.errors import Violation
from pentad.rooms.agents.dialects.reading import typed, wrong
from pentad.rooms.agents.tasks.model import (
    Artifact,
    ArtifactEvent,
    Event,
    Json,
    Message,
    MessageEvent,
    Part,
    PushConfig,
    Task,
)
from pentad.rooms.agents.tasks.states import State

STATE_NAMES: Final[dict[State, str]] = {
    "submitted": "SUBMITTED",
    "working": "WORKING",
    "input-required": "INPUT_REQUIRED",
    "auth-required": "INPUT_REQUIRED",
    "completed": "COMPLETED",
    "failed": "FAILED",
    "canceled": "CANCELED",
    "rejected": "FAILED",
}
APPEND_KEY: Final = "append"
LAST_KEY: Final = "lastChunk"
CHUNK_KEYS: Final = frozenset({APPEND_KEY, LAST_KEY})
ROLE_KEY: Final = "av_role"
"""Where a message keeps the role this profile gave it, which the others have no word for."""
_AGENT_ROLES: Final = frozenset({"assistant", "system", "tool"})
_JSON_TYPE: Final = "application/json"
_HTTP: Final = frozenset({"http", "https"})

FileUrl = Callable[[str, str, int], str]
"""The address of a part's bytes: by task, by the message or artifact it is in, by its place there."""
Text = str | None


class PartIn(Struct, rename="camel"):
    """A part as it comes; without `type` its shape tells."""

    type: Text = None
    content: Any = UNSET
    url: Text = None
    media_type: Text = None
    filename: Text = None


class MessageIn(Struct):
    """A message as it comes: without an id, without a context."""

    role: str
    parts: list[PartIn]
    metadata: Json | None = None


class SendIn(Struct, rename="camel"):
    """tasks/send."""

    message: MessageIn
    id: Text = None
    webhook_url: Text = None


class TaskIn(Struct):
    """tasks/sendSubscribe."""

    id: str
    metadata: Json | None = None


SEND: Final = msgspec.json.Decoder(SendIn)
TASK: Final = msgspec.json.Decoder(TaskIn)
_MESSAGE: Final = msgspec.json.Decoder(MessageIn)


def read_message(raw: bytes) -> Message:
    """One message alone."""
    return message_of(typed(_MESSAGE, raw, "message"), "")


def message_of(wire: MessageIn, at: str = "message.") -> Message:
    """The canonical message, with an id of our own."""
    problems: list[Violation] = []
    metadata = wire.metadata
    if wire.role in _AGENT_ROLES:
        metadata = {**(metadata or {}), ROLE_KEY: wire.role}
    elif wire.role != "user":
        problems.append(Violation(f"{at}role", "One of user, assistant, system and tool."))
    if not wire.parts:
        problems.append(Violation(f"{at}parts", "A message has at least one part."))
    parts = [_part_of(part, f"{at}parts[{number}]", problems) for number, part in enumerate(wire.parts)]
    if problems:
        raise wrong(problems)
    role = "user" if wire.role == "user" else "agent"
    return Message(id=uuid7_text(), role=role, parts=tuple(parts), metadata=metadata)


def _part_of(wire: PartIn, at: str, problems: list[Violation]) -> Part:
    content: Any = wire.content
    kind = wire.type or _kind_of(content, wire.url)
    if kind == "text" and isinstance(content, str):
        return Part(text=content, media_type=wire.media_type)
    if kind == "data" and isinstance(content, dict):
        return Part(data=content, media_type=wire.media_type or _JSON_TYPE)
    if kind == "file" and wire.url is not None and _is_http(wire.url):
        return Part(url=wire.url, filename=wire.filename, media_type=wire.media_type)
    wanted = {"text": "a text as its content", "data": "an object as its content", "file": "an http(s) url"}.get(kind)
    problems.append(Violation(at, f"A {kind} part has {wanted}." if wanted else "A part is text, file or data."))
    return Part(text="")


def _kind_of(content: Any, url: str | None) -> str:
    if isinstance(content, str):
        return "text"
    return "data" if content is not UNSET else "file" if url is not None else "unknown"


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in _HTTP and bool(parts.hostname)


def push_of(url: str) -> PushConfig:
    """A webhook gets the events of this profile."""
    if not _is_http(url):
        raise wrong([Violation("webhookUrl", "An http(s) address.")])
    return PushConfig(url=url, dialect="agentvault")


class Writer:
    """Writes the profile; it needs to know where bytes of files are served."""

    def __init__(self, file_url: FileUrl) -> None:
        self._file_url = file_url

    def part(self, value: Part, task_id: str, holder: str, number: int) -> Json:
        if value.text is not UNSET:
            return {"type": "text", "content": value.text}
        if value.data is not UNSET:
            return {"type": "data", "content": as_object(value.data), "mediaType": value.media_type or _JSON_TYPE}
        url = value.url if value.url is not UNSET else self._file_url(task_id, holder, number)
        return {"type": "file", "url": url, "mediaType": value.media_type, "filename": value.filename}

    def message(self, value: Message, task_id: str) -> Json:
        parts = [self.part(part, task_id, value.id, number) for number, part in enumerate(value.parts)]
        metadata = value.metadata
        role = "user" if value.role == "user" else "assistant"
        if metadata is not None and ROLE_KEY in metadata:
            role = str(metadata[ROLE_KEY])
            metadata = {name: one for name, one in metadata.items() if name != ROLE_KEY} or None
        return {"role": role, "parts": parts, "metadata": metadata}

    def artifact(self, value: Artifact, task_id: str) -> Json:
        """What the first part says; texts that came in chunks are one text."""
        body: Json = {"id": value.id, "type": "text", "content": None, "url": None, "mediaType": None}
        if value.parts:
            first = value.parts[0]
            shown = self.part(first, task_id, value.id, 0)
            body["type"], body["url"] = shown["type"], shown.get("url")
            body["content"] = shown.get("content") if first.data is UNSET else first.data
            body["mediaType"] = first.media_type or shown.get("mediaType")
            if all(part.text is not UNSET for part in value.parts):
                body["content"] = "".join([str(part.text) for part in value.parts])
        named = {"name": value.name, "description": value.description}
        body["metadata"] = {
            **{key: one for key, one in named.items() if one is not None},
            **(value.metadata or {}),
        } or None
        return body

    def task(self, value: Task) -> Json:
        return {
            "id": value.id,
            "state": STATE_NAMES[value.state],
            "createdAt": iso(value.created_at),
            "updatedAt": iso(value.updated_at),
            "messages": [self.message(one, value.id) for one in value.history],
            "artifacts": [self.artifact(one, value.id) for one in value.artifacts],
            "metadata": value.metadata,
        }

    def events(self, value: Event, task_id: str) -> list[tuple[str, Json]]:
        """The named events that tell of one entry of the log; a status with a message is two, message first."""
        body, at = value.body, iso(value.at)
        if isinstance(body, ArtifactEvent):
            artifact = self.artifact(body.artifact, task_id)
            if body.append or not body.last:  # the profile has no word for chunks; it has metadata
                chunk = {APPEND_KEY: body.append, LAST_KEY: body.last}
                artifact["metadata"] = {**(artifact["metadata"] or {}), **chunk}
            return [("task_artifact", {"taskId": task_id, "artifact": artifact, "timestamp": at})]
        if isinstance(body, MessageEvent):
            return [] if body.message.role == "user" else [self._said(body.message, task_id, at)]
        status = {"taskId": task_id, "state": STATE_NAMES[body.state], "timestamp": at, "message": None}
        if body.message is None:
            return [("task_status", status)]
        status["message"] = body.message.text or None
        return [self._said(body.message, task_id, at), ("task_status", status)]

    def _said(self, message: Message, task_id: str, at: str) -> tuple[str, Json]:
        body = {"taskId": task_id, "message": self.message(message, task_id), "timestamp": at}
        return ("task_message", body)


def as_object(data: Any) -> Json:
    """Data as an object: what is none is wrapped."""
    return cast("Json", data) if isinstance(data, dict) else {"value": data}
