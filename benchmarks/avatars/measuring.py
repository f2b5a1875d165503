"""How well avatars answer questions a person wrote: `python -m benchmarks.avatars.measuring NAME --data FOLDER`.

NAME is a corpus of `benchmarks.avatars.corpora`, ingested into the data folder before. An answer is right if a quote
matches the pattern written with the question; for the first quote, its answer sentence has to. Prints one table.
"""

import argparse
import asyncio
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.environment import say
from pentad.app import open_app
from pentad.rooms.avatars.answers.answer import Answer
from pentad.rooms.avatars.evaluation import calibration_error
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.avatars.verification.wording import levelled
from pentad.settings.model import Settings

QUESTIONS: Final = Path(__file__).parent / "questions"
_REFUSED: Final = ("none", "low")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the pattern of its answer (None if the corpus has none), and what the avatar said."""

    question: str
    pattern: str | None
    answer: Answer

    @property
    def quotes(self) -> list[str]:
        return [levelled(citation.quote) for citation in self.answer.citations]

    def right(self, most: int | None = None) -> bool:
        """Whether one of the first quotes has the answer."""
        if self.pattern is None:
            return False
        return any(re.search(self.pattern, quote, re.IGNORECASE) for quote in self.quotes[:most])


async def ask(avatars: Avatars, name: str) -> list[Asked]:
    """Ask every question of a corpus."""
    listed = json.loads((QUESTIONS / f"{name}.json").read_text(encoding="utf-8"))
    pipeline = avatars.pipeline(await avatars.open(name))
    asked: list[tuple[str, str | None]] = [(one["question"], one["answer"]) for one in listed["answerable"]]
    asked += [(question, None) for question in listed["unanswerable"]]
    return [Asked(question, pattern, await pipeline.answer(question)) for question, pattern in asked]


def figures(asked: Sequence[Asked]) -> dict[str, tuple[int, int]]:
    """Each figure as a count and what it is out of."""
    yes = [one for one in asked if one.pattern is not None]
    no = [one for one in asked if one.pattern is None]
    high = [one for one in asked if one.answer.confidence == "high"]
    return {
        "answer in the first quote": (sum(one.right(1) for one in yes), len(yes)),
        "answer in any quote": (sum(one.right() for one in yes), len(yes)),
        "answerable refused": (sum(one.answer.abstained for one in yes), len(yes)),
        "high, of the answerable": (sum(one.answer.confidence == "high" for one in yes), len(yes)),
        "high and right": (sum(one.right() for one in high), len(high)),
        "near miss refused or low": (sum(one.answer.confidence in _REFUSED for one in no), len(no)),
        "near miss high": (sum(one.answer.confidence == "high" for one in no), len(no)),
    }


async def measure(name: str, data: Path, models: Path | None, *, verbose: bool) -> dict[str, Any]:
    settings = Settings(data=data, rooms=("avatars",), models=models)
    async with open_app(settings) as app:
        service = app.rooms[0].service
        assert isinstance(service, Avatars)
        asked = await ask(service, name)
    if verbose:
        for one in asked:
            kind = "no" if one.pattern is None else "first" if one.right(1) else "any" if one.right() else "wrong"
            say(f"{kind:6}{one.answer.confidence:7}{one.answer.confidence_score:.3f} {one.question}")
            for quote in one.quotes[:3]:
                say(f"          {quote[:220]}")
    answered = [(one.answer.confidence_score, one.right()) for one in asked if not one.answer.abstained]
    return {"figures": figures(asked), "calibration error": round(calibration_error(answered, bins=5), 3)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.avatars.measuring", description=__doc__)
    parser.add_argument("name", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    models = Path(os.environ["PENTAD_MODELS"]) if "PENTAD_MODELS" in os.environ else None
    for name in given.name:
        found = asyncio.run(measure(name, given.data, models, verbose=given.verbose))
        print(name)
        for title, (count, total) in found["figures"].items():
            print(f"  {title:28}{count:4} of {total:3}  {count / max(1, total):.2f}")
        print(f"  {'calibration error':28}{found['calibration error']}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
