"""What the batteries are made of: questions, and what counts as a right answer to each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Covered:
    """A question the corpus answers: the words a quote must hold, the source it must be of, and the printed page."""

    question: str
    fact: str
    source: str
    page: int | None = None


@dataclass(frozen=True)
class FollowUp:
    """A question that means something only after others were asked."""

    before: tuple[str, ...]
    then: Covered


@dataclass(frozen=True)
class Trap:
    """A question made to lead astray: what must appear nowhere in the answer."""

    question: str
    never: str


@dataclass(frozen=True)
class Battery:
    """All questions to one avatar. `nearby` are those the corpus has the words for, but no answer."""

    avatar: str
    covered: tuple[Covered, ...]
    elsewhere: tuple[str, ...]
    nearby: tuple[str, ...]
    afterwards: tuple[str, ...]
    traps: tuple[Trap, ...]
    follow_ups: tuple[FollowUp, ...]

    @property
    def size(self) -> int:
        return sum(map(len, (self.covered, self.elsewhere, self.nearby, self.afterwards, self.traps, self.follow_ups)))
