"""Trying a task again: a form with the message, context and files of the first attempt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import UNSET

from pentad.kernel import pages as ui
from pentad.kernel.errors import NotFound
from pentad.kernel.json_values import as_object
from pentad.rooms.agents.context.extension import PLAIN_KEY
from pentad.rooms.agents.files import file_id_in
from pentad.rooms.agents.interface.lineage import item_reference
from pentad.rooms.agents.models import Message, Part, Task
from pentad.rooms.agents.service import Agents

_AGAIN: Final = "again"
_KEPT: Final = "kept"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The first message of a task. `uris` is context by reference, `items` context sent along. `is_whole` means that
    all of it is still stored.
    """

    task: str
    text: str
    uris: Sequence[str]
    items: Mapping[str, Any]
    files: Sequence[Part]
    data: Mapping[str, Any] | None
    is_whole: bool

    def value(self) -> dict[str, Any]:
        """The text and references, as the value of a message form."""
        return {"text": self.text, **({"context": list(self.uris)} if self.uris else {})}

    def fields(self, visit: ui.Visit) -> list[ui.Field]:
        """A check box for everything else, so that the visitor can leave it out."""
        labels = [
            *(f"Context {name}" for name in self.items),
            *(f"File {one.filename or 'without a name'}" for one in self.files),
            *(["Data"] if self.data is not None else []),
        ]
        was_sent = bool(visit.typed(_AGAIN))
        boxes = [
            ui.CheckBox(f"{_KEPT}/{number}", label, checked=not was_sent or self._keeps(visit, number))
            for number, label in enumerate(labels)
        ]
        lost = "" if self.is_whole else "The context was too large to keep and has been deleted."
        group = [ui.Group("From the earlier task", boxes, lost)] if boxes or lost else []
        return [*group, ui.Hidden(_AGAIN, self.task)]

    async def arguments(self, agents: Agents, visit: ui.Visit) -> dict[str, Any]:
        """What the visitor left checked, as arguments of the send tool."""
        kept = [self._keeps(visit, number) for number in range(len(self.items) + len(self.files) + 1)]
        of_files = kept[len(self.items) :]
        items = {name: item for (name, item), wanted in zip(self.items.items(), kept, strict=False) if wanted}
        urls = [await _url(agents, visit, part) for part, wanted in zip(self.files, of_files, strict=False) if wanted]
        return {
            **({"context": {"items": items}} if items else {}),
            **({"files": urls} if urls else {}),
            **({"data": self.data} if self.data is not None and kept[-1] else {}),
        }

    def _keeps(self, visit: ui.Visit, number: int) -> bool:
        return bool(visit.typed(f"{_KEPT}/{number}"))


def again(visit: ui.Visit, task: Task) -> list[ui.Block]:
    """A link to a form with the same message, to check and send again."""
    if _first(task) is None or not visit.principal.may("agents", "write"):
        return []
    return [ui.Links([ui.Cell("Try again", ui.Place(("cards", task.agent), {_AGAIN: task.id}))], actions=True)]


async def attempt_of(agents: Agents, visit: ui.Visit) -> Attempt | None:
    """The task the visitor wants to try again, if any."""
    task_id = visit.typed(_AGAIN) or visit.asked(_AGAIN, 200)
    if not task_id:
        return None
    task = await agents.tasks.get(visit.principal, task_id)
    if (message := _first(task)) is None:
        return None
    is_whole = True
    try:
        message = await agents.intake.with_contents(message, visit.principal)
    except NotFound:  # a large context that retention has removed
        is_whole = False
    items = as_object(as_object((message.metadata or {}).get(PLAIN_KEY)).get("items")) if is_whole else {}
    references = {name: item_reference(item) for name, item in items.items()}
    data = [as_object(one.data) for one in message.parts if one.data is not UNSET]
    return Attempt(
        task.id,
        message.text,
        [uri for uri in references.values() if uri],
        {name: item for name, item in items.items() if not references[name]},
        [one for one in message.parts if one.url is not UNSET or one.raw is not UNSET],
        next(iter(data), None) or None,
        is_whole,
    )


def _first(task: Task) -> Message | None:
    return next((one for one in task.history if one.role == "user"), None)


async def _url(agents: Agents, visit: ui.Visit, part: Part) -> str:
    """The URL of a file. A file inside its message is stored first."""
    if part.url is not UNSET:
        file_id = file_id_in(part)
        return str(part.url) if file_id is None else agents.files.url(file_id)
    content, name = part.raw_bytes or b"", part.filename or "file"
    file = await agents.files.write(visit.principal.id, content, name=name, media_type=part.media_type)
    return agents.files.url(file.id)
