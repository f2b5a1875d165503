"""What became of an import: how many rows, what they did, and what is wrong with those that did nothing."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from pentad.kernel.errors import PentadError
from pentad.rooms.registers.transfer.rows import Problem

MOST_SHOWN: Final = 200
"""Problems a report lists; beyond them it only counts."""

Mode = Literal["all or nothing", "partial", "dry run"]


@dataclass(slots=True)
class Tally:
    """What some rows did in one transaction."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    problems: list[Problem] = field(default_factory=list[Problem])

    def count(self, row: int, status: str, error: PentadError | None) -> None:
        if error is not None:
            self.fail(problems_of(row, error))
        elif status == "created":
            self.created += 1
        elif status == "updated":
            self.updated += 1
        else:
            self.unchanged += 1

    def fail(self, problems: list[Problem]) -> None:
        """A row that cannot be imported."""
        self.failed += 1
        self.problems.extend(problems[: MOST_SHOWN - len(self.problems)])

    def failures(self) -> "Tally":
        """Only what went wrong: the rest was taken back."""
        return Tally(failed=self.failed, problems=self.problems)

    def add(self, other: "Tally") -> None:
        self.created += other.created
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.failed += other.failed
        self.problems.extend(other.problems[: MOST_SHOWN - len(self.problems)])


@dataclass(slots=True)
class ImportReport(Tally):
    """`written` says whether anything was stored; otherwise the counts are what would have happened."""

    mode: Mode = "all or nothing"
    rows: int = 0
    written: bool = False

    @property
    def ok(self) -> bool:
        return not self.failed

    @property
    def done(self) -> int:
        return self.created + self.updated + self.unchanged + self.failed

    def wire(self) -> dict[str, Any]:
        return {
            "mode": self.mode, "rows": self.rows, "created": self.created, "updated": self.updated,
            "unchanged": self.unchanged, "failed": self.failed, "written": self.written,
            "problems": [problem.wire() for problem in self.problems],
        }  # fmt: skip


def problems_of(row: int, error: PentadError) -> list[Problem]:
    """An error of the service as problems of a row, one for each property it names."""
    found = error.details.get("problems")
    named = cast("list[Any]", found) if isinstance(found, list) else []
    problems = [_problem(row, cast("dict[str, Any]", one)) for one in named if isinstance(one, dict)]
    return problems or [Problem(row, "", error.message)]


def _problem(row: int, found: dict[str, Any]) -> Problem:
    pointer = str(found.get("path", "")).strip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    return Problem(row, pointer, str(found.get("message", "This value is not valid.")))
