"""Marks for answers to judged questions."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

COLUMNS = ("first", "top 3", "MRR@10", "nDCG@10", "found", "AUROC", "silent", "lost")


@dataclass
class Answer:
    """What a search gave: names in order, the best score, and whether it owns up to having no good match."""

    names: list[str]
    best: float
    no_match: bool


@dataclass
class Marks:
    """What the questions asked so far came to.

    `silent` is the share of unanswerable questions whose answer admits that it has no good match, `lost` the share of
    answerable ones where it disowns a right first hit.
    """

    places: list[int | None] = field(default_factory=list[int | None])
    scores: list[float] = field(default_factory=list[float])
    foreign: list[float] = field(default_factory=list[float])
    lost: list[bool] = field(default_factory=list[bool])
    silent: list[bool] = field(default_factory=list[bool])

    def note(self, answers: Sequence[str], got: Answer) -> None:
        if not answers:
            self.silent.append(got.no_match)
            self.foreign.append(got.best)
            return
        self.lost.append(got.no_match and got.names[:1] != [] and got.names[0] in answers)
        self.scores.append(got.best)
        self.places.append(next((place for place, name in enumerate(got.names) if name in answers), None))

    def among_first(self, count: int) -> float:
        """The share of answerable questions with a right record among so many first ones."""
        return sum(place is not None and place < count for place in self.places) / len(self.places)

    def line(self) -> str:
        found = [place for place in self.places if place is not None]
        count = len(self.places)
        mrr = sum(1 / (place + 1) for place in found if place < 10) / count
        ndcg = sum(1 / math.log2(place + 2) for place in found if place < 10) / count
        pairs = [(one > other) + (one == other) / 2 for one in self.scores for other in self.foreign]
        auroc = fmean(pairs) if pairs else math.nan
        silent = fmean(self.silent) if self.silent else math.nan
        return (
            f"{self.among_first(1):>8.3f}{self.among_first(3):>8.3f}{mrr:>8.3f}{ndcg:>8.3f}{len(found) / count:>8.3f}"
            f"{auroc:>8.3f}{silent:>8.3f}{fmean(self.lost):>8.3f}"
        )
