"""The log of answers: who asked, and which passages each answer used. An answer has a URI until it expires.

Only the caller who asked may read it. The event `avatar.answered` goes to the same caller, without text.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from pentad.events import outbox
from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput, NotFound, PentadError
from pentad.kernel.ids import opaque_id
from pentad.kernel.incidents import log_failure
from pentad.kernel.ports import Database, Row, Rows, Transaction
from pentad.kernel.principal import Principal
from pentad.kernel.provenance import made_by
from pentad.kernel.trace import request_mark, trace_id_of

_URI: Final = re.compile(r"avatar://([^/?#]+)/answers/([^/?#]+)")
_DAY: Final = 86_400.0
_AT_ONCE: Final = 1_000
_SELECT: Final = (
    "SELECT a.id, v.id, a.at, a.trace, a.made_by, a.owner, a.body FROM avatar_answers a"
    " JOIN avatars v ON v.number = a.avatar WHERE a.id = ? AND v.id = ? AND a.owner = ?"
)


class Cited(msgspec.Struct, frozen=True):
    """A passage that an answer rests on, as it was then."""

    uri: str
    source: str
    quote: str
    sha256: str
    """Of the source's file."""


class AnswerRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer, as it was given."""

    question: str
    response: str
    mode: str
    """What drafted it: extractive, endpoint or client."""
    generation: int
    """Of the corpus."""
    confidence: str
    evidence: float = 0.0
    """The confidence as a number, without what feedback made of it."""
    query: str = ""
    """What was searched for: the question, on its own and in the language of the corpus."""
    abstained: bool = False
    model: str | None = None
    """The language model that drafted it, if the server asked one."""
    citations: Sequence[Cited] = ()


class StoredAnswer(msgspec.Struct, frozen=True):
    id: str
    avatar: str
    at: float
    trace: str
    made_by: str
    """The task that asked, if one did."""
    owner: str
    answer: AnswerRecord

    @property
    def uri(self) -> str:
        return answer_uri(self.avatar, self.id)


def answer_uri(avatar_id: str, answer_id: str) -> str:
    return f"avatar://{avatar_id}/answers/{answer_id}"


def read_answer_uri(uri: str) -> tuple[str, str]:
    """The ids of the avatar and of the answer."""
    if (found := _URI.fullmatch(uri)) is None:
        raise InvalidInput(
            f"{uri[:80]!r} is not the URI of an answer.", hint="Use the `uri` of an answer you received."
        )
    return found[1], found[2]


class AnswerLog:
    """The answers of all avatars of a store. With `keep_days` 0 none is kept."""

    def __init__(self, database: Database, clock: Clock, keep_days: int) -> None:
        self._database = database
        self._clock = clock
        self.keep_days = keep_days

    async def keep(self, asked_by: Principal, avatar: tuple[int, str], answer: AnswerRecord) -> str | None:
        """Store an answer of the avatar with that number and id. Returns its URI; None if it is not kept."""
        if not self.keep_days:
            return None
        number, avatar_id = avatar
        answer_id, now = opaque_id(size=12), self._clock.now()
        mark = request_mark.get()
        trace = "" if mark is None or not mark.trace else trace_id_of(mark.trace)
        uri, body, maker = answer_uri(avatar_id, answer_id), msgspec.json.encode(answer).decode(), made_by.get() or ""

        def work(tx: Transaction) -> None:
            tx.run(
                "INSERT INTO avatar_answers (id, avatar, owner, at, trace, made_by, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
                answer_id, number, asked_by.id, now, trace, maker, body,
            )  # fmt: skip
            data = {"avatar": avatar_id, "confidence": answer.confidence, "abstained": answer.abstained}
            outbox.emit(
                tx, "avatars", "avatar.answered", [uri], audience=asked_by.id, at=now, principal=asked_by.id, data=data
            )

        try:
            await self._database.write(work)
        except PentadError as error:  # the answer is valid all the same
            log_failure(error, "Logging an answer")
            return None
        return uri

    async def find(self, reader: Principal, avatar_id: str, answer_id: str) -> StoredAnswer:
        """An answer the reader received; NotFound for those of others."""

        def work(rows: Rows) -> Row | None:
            return rows.one(_SELECT, answer_id, avatar_id, reader.id)

        if (row := await self._database.read(work)) is None:
            raise NotFound(
                f"You have no answer {answer_id[:40]!r} of {avatar_id[:60]!r}.",
                hint=f"Answers are kept for {self.keep_days} days, for the caller who asked.",
            )
        found, avatar, at, trace, maker, owner, body = row
        return StoredAnswer(found, avatar, at, trace, maker, owner, msgspec.json.decode(body, type=AnswerRecord))

    async def remove_old(self) -> int:
        """Delete what is older than the retention; returns how many."""
        before = self._clock.now() - self.keep_days * _DAY
        sql = "DELETE FROM avatar_answers WHERE id IN (SELECT id FROM avatar_answers WHERE at < ? ORDER BY at LIMIT ?)"
        removed = 0
        while (some := await self._database.write(lambda tx: tx.run(sql, before, _AT_ONCE))) > 0:
            removed += some
        return removed
