"""How long a run measures: the same for every part, chosen on the command line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Rounds for each server, and the seconds of a round."""

    rounds: int
    seconds: int
