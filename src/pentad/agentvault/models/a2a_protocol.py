"""Messages, tasks and events as the AgentVault profile writes them.

Unknown members are ignored, wire names are camel case, and every field may also be set by its Python name. An artifact
has either content or a URL; one that a peer sent is accepted as it is (`RECEIVED`).
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationInfo, model_validator

RECEIVED: Final = {"received": True}
"""The validation context for objects that a peer sent."""

_NAMED: Final = ConfigDict(populate_by_name=True)
_FROZEN: Final = ConfigDict(populate_by_name=True, frozen=True)


class TaskState(StrEnum):
    """The states of a task."""

    SUBMITTED = "SUBMITTED"
    WORKING = "WORKING"
    INPUT_REQUIRED = "INPUT_REQUIRED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


class TextPart(BaseModel):
    """A text."""

    model_config = _FROZEN

    type: Literal["text"] = "text"
    content: str


class FilePart(BaseModel):
    """A file at an http(s) URL."""

    model_config = _FROZEN

    type: Literal["file"] = "file"
    url: HttpUrl
    media_type: str | None = Field(default=None, alias="mediaType")
    filename: str | None = None


class DataPart(BaseModel):
    """A JSON object."""

    model_config = _FROZEN

    type: Literal["data"] = "data"
    content: dict[str, Any]
    media_type: str = Field(default="application/json", alias="mediaType")


Part = TextPart | FilePart | DataPart


class Artifact(BaseModel):
    """Something an agent made: its content, or its URL."""

    model_config = _NAMED

    id: str
    type: str
    content: Any | None = None
    url: HttpUrl | None = None
    media_type: str | None = Field(default=None, alias="mediaType")
    metadata: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_content(self, info: ValidationInfo) -> "Artifact":
        if info.context is not RECEIVED and (self.content is None) == (self.url is None):
            raise ValueError("an artifact has either content or a url")
        return self


class Message(BaseModel):
    """A message of one side."""

    model_config = _FROZEN

    role: Literal["user", "assistant", "system", "tool"]
    parts: list[Part] = Field(min_length=1)
    metadata: dict[str, Any] | None = None


class Task(BaseModel):
    """A task as it is now."""

    model_config = _NAMED

    id: str
    state: TaskState
    created_at: datetime = Field(alias="createdAt")
    updated_at: datetime = Field(alias="updatedAt")
    messages: list[Message] = []
    artifacts: list[Artifact] = []
    metadata: dict[str, Any] | None = None


class TaskSendParams(BaseModel):
    """`tasks/send`; without an id it starts a task."""

    id: str | None = None
    message: Message


class TaskSendResult(BaseModel):
    """The id of the task the message went to."""

    id: str


class TaskGetParams(BaseModel):
    """`tasks/get`."""

    id: str


GetTaskResult = Task


class TaskCancelParams(BaseModel):
    """`tasks/cancel`."""

    id: str


class TaskCancelResult(BaseModel):
    """Whether the task was cancelled, and why not."""

    success: bool = True
    message: str | None = None


class TaskStatusUpdateEvent(BaseModel):
    """A task has a new state."""

    model_config = _NAMED

    task_id: str = Field(alias="taskId")
    state: TaskState
    timestamp: datetime
    message: str | None = None


class TaskMessageEvent(BaseModel):
    """A new message."""

    model_config = _NAMED

    task_id: str = Field(alias="taskId")
    message: Message
    timestamp: datetime


class TaskArtifactUpdateEvent(BaseModel):
    """An artifact is new or changed."""

    model_config = _NAMED

    task_id: str = Field(alias="taskId")
    artifact: Artifact
    timestamp: datetime


A2AEvent = TaskStatusUpdateEvent | TaskMessageEvent | TaskArtifactUpdateEvent
