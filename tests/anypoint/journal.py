"""Records every call to the server: order, content, number per route, and the most at once."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.anypoint.platform_request import PlatformRequest


@dataclass
class Journal:
    order: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Route and path with its query, in order of arrival."""
    calls: list[tuple[str, PlatformRequest]] = field(default_factory=list[tuple[str, PlatformRequest]])
    """The same, with headers and bodies."""
    busy: int = 0
    peak: int = 0

    def begin(self, route: str, path: str, asked: PlatformRequest) -> None:
        self.order.append((route, path))
        self.calls.append((route, asked))
        self.busy += 1
        self.peak = max(self.peak, self.busy)

    def end(self) -> None:
        self.busy -= 1

    @property
    def total(self) -> int:
        return len(self.order)

    @property
    def counts(self) -> Counter[str]:
        return Counter(route for route, _ in self.order)

    def clear(self) -> None:
        self.order.clear()
        self.calls.clear()
        self.peak = self.busy

    def as_json(self) -> dict[str, Any]:
        return {"total": self.total, "peak": self.peak, "counts": self.counts, "order": self.order}
