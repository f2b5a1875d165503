"""What an ingest did, a line a file. It is what the terminal prints and what a caller gets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Status = Literal["added", "changed", "unchanged", "removed", "failed", "skipped"]
Phase = Literal["reading", "embedding", "storing", "calibrating"]
Progress = Callable[[Phase, int, int], None]
"""Called on the event loop with the phase, what is done, and how much there is."""

STATUSES: Final[tuple[Status, ...]] = ("added", "changed", "unchanged", "removed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class FileLine:
    """One file. `reason` is the kind of a failure; `note` says in one line what there is to say."""

    path: str
    status: Status
    source_id: str | None = None
    passages: int = 0
    pages: int | None = None
    reason: str | None = None
    note: str | None = None


@dataclass(slots=True)
class IngestReport:
    """The whole. `generation` is that of the avatar afterwards; `stored` is False when nothing had to be written."""

    avatar: str
    generation: int
    dry_run: bool = False
    stored: bool = False
    lines: list[FileLine] = field(default_factory=list[FileLine])
    warnings: list[str] = field(default_factory=list[str])

    def of(self, status: Status) -> list[FileLine]:
        return [line for line in self.lines if line.status == status]

    def as_json(self) -> dict[str, Any]:
        """Counts, the lines that failed, and the others by path."""
        body: dict[str, Any] = {
            "avatar": self.avatar, "generation": self.generation, "dry_run": self.dry_run, "stored": self.stored,
        }  # fmt: skip
        for status in STATUSES:
            lines = [_line(line) for line in self.of(status)]
            body[status] = lines if status in ("failed", "skipped") else len(lines)
        body["documents"] = [{**_line(line), "status": line.status} for line in self.lines]
        body["warnings"] = self.warnings
        return body


def nothing_to_tell(phase: Phase, done: int, total: int) -> None:
    """Progress nobody watches."""


def _line(line: FileLine) -> dict[str, Any]:
    fields = {
        "path": line.path, "source_id": line.source_id, "passages": line.passages or None, "pages": line.pages,
        "reason": line.reason, "note": line.note,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}
