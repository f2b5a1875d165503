"""A clock that stands still until a test moves it."""

from dataclasses import dataclass


@dataclass
class TurnedClock:
    """Wall time and monotonic time, both moved manually."""

    time: float = 1_800_000_000.0
    ran: float = 1000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.ran

    def pass_seconds(self, seconds: float) -> None:
        self.time += seconds
        self.ran += seconds
