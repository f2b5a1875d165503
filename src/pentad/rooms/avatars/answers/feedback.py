"""Ratings of answers by the readers who received them: helpful or not, and better words from the corpus.

A rating changes nothing by itself. The avatar's author sees it with its question and accepts or rejects it. The
calibration uses accepted ratings only.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.rooms.avatars.answers.answer_log import StoredAnswer
from pentad.rooms.avatars.calibration.model import Rated

State = Literal["new", "accepted", "rejected"]

LONGEST_CORRECTION: Final = 2_000
MOST_WAITING: Final = 10_000
"""Feedback of one avatar that nobody has reviewed yet."""
MOST_LISTED: Final = 500
_MOST_USED: Final = 1_000
_SELECT: Final = "SELECT f.answer, f.at, f.state, f.body FROM avatar_feedback f"
_SAVE: Final = (
    "INSERT INTO avatar_feedback (answer, avatar, owner, at, state, body) VALUES (?, ?, ?, ?, 'new', ?)"
    " ON CONFLICT (answer) DO UPDATE SET at = excluded.at, state = 'new', body = excluded.body"
    " WHERE avatar_feedback.body <> excluded.body"
)


class Rating(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reader said of an answer, and what the answer was."""

    helpful: bool
    question: str
    response: str
    confidence: str
    evidence: float
    """The confidence without what earlier feedback made of it."""
    query: str = ""
    """What was searched for."""
    abstained: bool = False
    correction: str | None = None
    """Words that answer the question, as they are in the corpus."""


class Feedback(msgspec.Struct, frozen=True):
    """A rating, by the id of its answer."""

    answer: str
    at: float
    state: State
    rating: Rating


class FeedbackLog:
    """The feedback on all avatars of a store."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def rate(self, number: int, found: StoredAnswer, *, helpful: bool, correction: str | None) -> Feedback:
        """Keep a reader's rating of an answer of the avatar with that number. A different rating replaces it; the same
        rating again changes nothing, not even the author's decision."""
        answer, now = found.answer, self._clock.now()
        rating = Rating(
            helpful=helpful,
            question=answer.question,
            response=answer.response,
            confidence=answer.confidence,
            evidence=answer.evidence,
            query=answer.query,
            abstained=answer.abstained,
            correction=correction,
        )
        body = msgspec.json.encode(rating).decode()

        def work(tx: Transaction) -> Feedback:
            waiting = tx.value("SELECT COUNT(*) FROM avatar_feedback WHERE avatar = ? AND state = 'new'", number)
            if waiting >= MOST_WAITING:
                hint = "Ask the author to review them."
                raise LimitExceeded(f"{MOST_WAITING} ratings wait for the author.", hint=hint)
            tx.run(_SAVE, found.id, number, found.owner, now, body)
            (row,) = tx.all(f"{_SELECT} WHERE f.answer = ?", found.id)
            return _read(row)

        return await self._database.write(work)

    async def list(self, number: int, state: State = "new") -> Sequence[Feedback]:
        """The ratings of an avatar in this state, the oldest first."""
        sql = f"{_SELECT} WHERE f.avatar = ? AND f.state = ? ORDER BY f.at, f.answer LIMIT ?"
        return [_read(row) for row in await self._database.read(lambda rows: rows.all(sql, number, state, MOST_LISTED))]

    async def review(self, number: int, decisions: Mapping[str, State]) -> None:
        """Accept or reject ratings, by the ids of their answers. An unknown id is an error, and nothing is changed."""
        if len(decisions) > MOST_LISTED:
            raise InvalidInput(f"{len(decisions)} ratings were named; at most {MOST_LISTED} are reviewed at once.")

        def work(tx: Transaction) -> None:
            for answer, state in decisions.items():
                sql = "UPDATE avatar_feedback SET state = ? WHERE answer = ? AND avatar = ?"
                if not tx.run(sql, state, answer, number):
                    known = "`pentad avatars feedback` lists the ids."
                    raise NotFound(f"There is no rating of the answer {answer[:40]!r}.", hint=known)

        await self._database.write(work)


def accepted(rows: Rows, number: int) -> list[Rated]:
    """The accepted ratings of an avatar, as the calibration uses them; the newest ones if there are very many."""
    sql = f"{_SELECT} WHERE f.avatar = ? AND f.state = 'accepted' ORDER BY f.at DESC, f.answer LIMIT ?"
    found = [_read(row).rating for row in rows.all(sql, number, _MOST_USED)]
    return [Rated(one.query or one.question, one.evidence, one.helpful, one.abstained, one.correction) for one in found]


def _read(row: Row) -> Feedback:
    answer, at, state, body = row
    return Feedback(answer, at, state, msgspec.json.decode(body, type=Rating))
