"""Asks a battery and marks the answers, and holds every answer, right or wrong, against the documents."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pentad.rooms.avatars import store
from pentad.rooms.avatars.answers.answer import Answer, Citation
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.persona import closest
from pentad.rooms.avatars.search.conversation import Turn
from pentad.rooms.avatars.service import Avatars
from pentad.rooms.avatars.verification.normalization import normalized
from tests.rooms.avatars.acceptance.asking import Battery, Covered

_QUOTE = re.compile("\u201c([^\u201d]*)\u201d")
_MARKS = re.compile("[\"'\u201c\u201d]")


@dataclass
class Mark:
    """How one group of questions went: of how many, and what went wrong with which."""

    asked: int = 0
    wrong: list[str] = field(default_factory=list[str])

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / self.asked

    def note(self, right: bool, question: str, answer: Answer) -> None:
        self.asked += 1
        if not right:
            said = answer.reason if answer.abstained else answer.response
            self.wrong.append(f"{question} -> {answer.confidence_score} {said}")


@dataclass
class Examiner:
    """One avatar, asked as a caller would ask it."""

    avatars: Avatars
    avatar: AvatarSnapshot
    unsupported: list[str] = field(default_factory=list[str])

    async def ask(self, question: str, before: Sequence[str] = ()) -> Answer:
        """The answer, after a conversation with the answers there were to what was asked before."""
        turns: list[Turn] = []
        for earlier in before:
            said = await self.avatars.pipeline(self.avatar).answer(earlier, turns)
            turns += [Turn("user", earlier), Turn("assistant", said.response)]
        answer = await self.avatars.pipeline(self.avatar).answer(question, turns)
        self.unsupported += [f"{question}: {each}" for each in await self._unsupported(answer)]
        return answer

    async def covered(self, battery: Battery) -> Mark:
        mark = Mark()
        for each in battery.covered:
            answer = await self.ask(each.question)
            mark.note(holds(answer, each), each.question, answer)
        return mark

    async def elsewhere(self, questions: Sequence[str]) -> Mark:
        mark = Mark()
        for question in questions:
            answer = await self.ask(question)
            silent = answer.abstained and answer.reason in ("corpus_miss", "out_of_scope")
            mark.note(silent, question, answer)
        return mark

    async def afterwards(self, battery: Battery) -> Mark:
        mark = Mark()
        for question in battery.afterwards:
            answer = await self.ask(question)
            mark.note(answer.reason == "after_period", question, answer)
        return mark

    async def traps(self, battery: Battery) -> Mark:
        mark = Mark()
        for each in battery.traps:
            answer = await self.ask(each.question)
            mark.note(each.never.lower() not in answer.response.lower(), each.question, answer)
        return mark

    async def follow_ups(self, battery: Battery) -> Mark:
        mark = Mark()
        for each in battery.follow_ups:
            answer = await self.ask(each.then.question, each.before)
            mark.note(holds(answer, each.then), each.then.question, answer)
        return mark

    async def _unsupported(self, answer: Answer) -> list[str]:
        """What of an answer is not in the documents, word for word, at the place it names."""
        texts = {
            source.source_id: await self.avatars.database.read(lambda rows, id_=source.id: store.text_of(rows, id_))
            or ""
            for source in await self.avatar.sources()
        }
        hashes = {source.source_id: source.sha256 for source in await self.avatar.sources()}
        found = [
            f"not at its place: {one.quote}"
            for one in answer.citations
            if texts[one.source_id][one.char_start : one.char_end] != one.quote or hashes[one.source_id] != one.sha256
        ]
        by_number = {one.n: one for one in answer.citations}
        for said in answer.statements:
            if said.verdict != "quoted" or not said.citations:
                found.append(f"not quoted: {said.text}")
            found += _beyond(said.text, [by_number[number] for number in said.citations])
        spoken = " ".join(said.text for said in answer.statements)
        lead = answer.response.removesuffix(spoken).strip()
        if not answer.abstained and lead not in ("", closest(self.avatar.persona)):
            found.append(f"said besides: {lead}")
        return found


def holds(answer: Answer, wanted: Covered) -> bool:
    """Whether a quote of the right source, on the right page, has the fact."""
    return any(
        one.source_id == wanted.source
        and wanted.fact.lower() in normalized(one.quote).lower()
        and _on(one, wanted.page)
        for one in answer.citations
    )


def _on(citation: Citation, page: int | None) -> bool:
    if page is None:
        return citation.page is None
    first, last = citation.page, citation.page_end
    return isinstance(first, int) and isinstance(last, int) and first <= page <= last


def _beyond(text: str, citations: Sequence[Citation]) -> list[str]:
    """What a statement has in quotation marks that it does not cite."""
    cited = [_bare(one.quote) for one in citations]
    return [f"quoted otherwise: {quote}" for quote in _QUOTE.findall(text) if _bare(quote) not in cited]


def _bare(text: str) -> str:
    return " ".join(_MARKS.sub("", normalized(text)).split())
