"""Questions that an author wrote, each with words of its answer, or without an answer in the corpus.

    [{"question": "How many sluices were there in 1931?", "answer": "27 sluices"},
     {"question": "What is a splits register?", "answer": ["list of splits", "register ... each split"]},
     {"question": "Who paid for the steam pump?", "answer": null}]

A quote is right if it has the words of one answer in this order, possessive or not; `...` stands for anything in
between.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.kernel.errors import InvalidInput
from pentad.rooms.avatars.answers.answer import Answer
from pentad.rooms.avatars.evaluation.score_card import Line, calibration, share
from pentad.rooms.avatars.verification.normalization import normal_words

MOST_QUESTIONS: Final = 1_000
LARGEST_FILE: Final = 1_000_000
_LONGEST: Final = 2_000
_GAP: Final = "..."
_SILENT: Final = ("none", "low")


@dataclass(frozen=True, slots=True)
class AuthorQuestion:
    """A question, and what the answer may be; nothing if the corpus does not say."""

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what the avatar said."""

    question: AuthorQuestion
    answer: Answer

    @property
    def answerable(self) -> bool:
        return bool(self.question.answers)

    def right(self, most: int | None = None) -> bool:
        """Whether one of the first quotes has the answer."""
        return any(has_answer(one.quote, self.question.answers) for one in self.answer.citations[:most])


def read_questions(text: str | bytes) -> list[AuthorQuestion]:
    """The questions of a JSON file. Errors say which entry is wrong."""
    if len(text) > LARGEST_FILE:
        raise InvalidInput(f"The questions have {len(text)} characters; at most {LARGEST_FILE} are read.")
    try:
        listed: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("The questions are not JSON.", hint=_EXAMPLE) from error
    if not isinstance(listed, list) or not listed or len(cast("list[Any]", listed)) > MOST_QUESTIONS:
        raise InvalidInput(f"The questions are not a list of 1 to {MOST_QUESTIONS} entries.", hint=_EXAMPLE)
    return [_question(place, entry) for place, entry in enumerate(cast("list[Any]", listed))]


_EXAMPLE: Final = 'Write [{"question": "...", "answer": "words of the answer"}, {"question": "...", "answer": null}].'


def _question(place: int, entry: Any) -> AuthorQuestion:
    fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
    question, given = fields.get("question"), fields.get("answer", "")
    answers: Any = () if given is None else (given,) if isinstance(given, str) else given
    sound = isinstance(answers, tuple | list) and all(
        isinstance(one, str) and normal_words(one) and len(one) <= _LONGEST for one in cast("Sequence[Any]", answers)
    )
    if not isinstance(question, str) or not question.strip() or len(question) > _LONGEST or not sound:
        raise InvalidInput(f"Question {place + 1} is not a question with an answer, or null for none.", hint=_EXAMPLE)
    if given is not None and not answers:
        raise InvalidInput(f"Question {place + 1} has an empty list of answers.", hint="Write null if there is none.")
    return AuthorQuestion(question, tuple(cast("Sequence[str]", answers)))


def has_answer(quote: str, answers: Sequence[str]) -> bool:
    """Whether a quote has the words of one of the answers."""
    text = f" {_plain(quote)} "
    return any(_has(text, answer) for answer in answers)


def _has(text: str, answer: str) -> bool:
    at = 0
    for words in filter(None, map(_plain, answer.split(_GAP))):
        at = text.find(f" {words} ", at)
        if at < 0:
            return False
        at += len(words) + 1
    return True


def _plain(text: str) -> str:
    return " ".join(word.removesuffix("'s") for word in normal_words(text))


async def ask_all(
    questions: Sequence[AuthorQuestion],
    answer: Callable[[str], Awaitable[Answer]],
    step: Callable[[int, int], None] | None = None,
) -> list[Asked]:
    """Ask every question."""
    asked: list[Asked] = []
    for done, one in enumerate(questions, start=1):
        asked.append(Asked(one, await answer(one.question)))
        if step is not None:
            step(done, len(questions))
    return asked


def question_lines(asked: Sequence[Asked]) -> list[Line]:
    """The figures of an author's questions."""
    yes = [one for one in asked if one.answerable]
    no = [one for one in asked if not one.answerable]
    high = [one for one in asked if one.answer.confidence == "high"]
    given = [(one.answer.confidence_score, one.right()) for one in asked if not one.answer.abstained]
    count = len(yes)
    lines = [
        share("questions.first_quote", "answer in the first quote", sum(one.right(1) for one in yes), count, 0.45),
        share("questions.any_quote", "answer in any quote", sum(one.right() for one in yes), count, 0.7),
        share("questions.refused", "answerable question declined", sum(one.answer.abstained for one in yes), count),
        share("questions.high", "answerable with high confidence",
              sum(one.answer.confidence == "high" for one in yes), count, 0.2),
        share("questions.high_right", "high confidence and right", sum(one.right() for one in high), len(high), 0.95),
        share("questions.unanswerable", "unanswerable: declined or unsure",
              sum(one.answer.confidence in _SILENT for one in no), len(no), 0.5),
        share("questions.unanswerable_high", "unanswerable with high confidence",
              sum(one.answer.confidence == "high" for one in no), len(no), 0.025, at_most=True),
        calibration("questions.calibration", "error of answer confidence (ECE)", given),
    ]  # fmt: skip
    return [line for line in lines if line.of]
