"""The result of an ingest, one line per file, for the terminal and for callers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Status = Literal["added", "changed", "unchanged", "removed", "failed", "skipped"]
Phase = Literal["reading", "embedding", "storing", "calibrating"]
Progress = Callable[[Phase, int, int], None]
"""Called on the event loop with the phase, the number done, and the total."""

STATUSES: Final[tuple[Status, ...]] = ("added", "changed", "unchanged", "removed", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class FileLine:
    """One file. `reason` is the kind of failure; `note` is a one-line remark."""

    path: str
    status: Status
    source_id: str | None = None
    passages: int = 0
    pages: int | None = None
    reason: str | None = None
    note: str | None = None


@dataclass(slots=True)
class IngestReport:
    """The whole report. `generation` is the avatar's after the ingest; `stored` is False if nothing changed.

    `resumed` counts documents that an interrupted ingest had already read.
    """

    avatar: str
    generation: int
    dry_run: bool = False
    stored: bool = False
    lines: list[FileLine] = field(default_factory=list[FileLine])
    warnings: list[str] = field(default_factory=list[str])
    resumed: int = 0

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "IngestReport":
        """The report that `as_json` wrote."""
        lines = [FileLine(**line) for line in body["documents"]]
        return cls(
            body["avatar"], body["generation"], body["dry_run"], body["stored"], lines, body["warnings"],
            body.get("resumed", 0),
        )  # fmt: skip

    def of(self, status: Status) -> list[FileLine]:
        return [line for line in self.lines if line.status == status]

    def as_json(self) -> dict[str, Any]:
        """Counts, failed and skipped files in full, and all documents."""
        body: dict[str, Any] = {
            "avatar": self.avatar, "generation": self.generation, "dry_run": self.dry_run, "stored": self.stored,
        }  # fmt: skip
        for status in STATUSES:
            lines = [_line(line) for line in self.of(status)]
            body[status] = lines if status in ("failed", "skipped") else len(lines)
        body["documents"] = [{**_line(line), "status": line.status} for line in self.lines]
        body["warnings"] = self.warnings
        if self.resumed:
            body["resumed"] = self.resumed
        return body


def ignore_progress(phase: Phase, done: int, total: int) -> None:
    """Ignores progress."""


def _line(line: FileLine) -> dict[str, Any]:
    fields = {
        "path": line.path, "source_id": line.source_id, "passages": line.passages or None, "pages": line.pages,
        "reason": line.reason, "note": line.note,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}
