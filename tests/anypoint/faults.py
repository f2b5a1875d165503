"""Planned faults of the fake platform: what fails, where, and how often. The plan may change while the server runs."""

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "status", "slow", "reset", "invalid-json", "html", "wrong-types", "truncated", "duplicates", "total-changes",
    "expired", "ends-early",
]  # fmt: skip


@dataclass
class Fault:
    """A fault on one route (`*` is every route)."""

    route: str
    kind: Kind = "status"
    status: int = 500
    times: int | None = None
    """How often; None is always."""
    where: str = ""
    """Only for requests with this text in their path, query or scope headers."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    """The delay of a slow answer, or the seconds until the time in the rate-limit header."""

    def fits(self, route: str, text: str) -> bool:
        return self.route in (route, "*") and self.where in text and (self.times is None or self.times > 0)


class Faults:
    """The current plan."""

    def __init__(self, plan: list[Fault] | None = None) -> None:
        self.plan = plan or []

    def take(self, route: str, text: str) -> Fault | None:
        """The first fault that matches this request; it is counted."""
        for fault in self.plan:
            if fault.fits(route, text):
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None

    def set(self, entries: list[dict[str, Any]]) -> None:
        self.plan = [Fault(**entry) for entry in entries]
