"""A clock the tests turn by hand."""


class TurnedClock:
    """Wall and monotonic time that move only when told to."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.wall = now
        self.steady = 1000.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def advance(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds
