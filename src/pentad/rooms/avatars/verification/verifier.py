"""Checks each statement of a draft against the sentences it cites, cheapest check first. Any check can veto.

A paraphrase cannot be proved: at best it is `supported`, which means that no check found a fault. Unsure statements are
replaced by the source's own words, unsupported ones are dropped. A wrong citation is moved if the right sentence is
among the evidence.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Final, Literal, Protocol

from pentad.rooms.avatars.verification import polarity
from pentad.rooms.avatars.verification.clause_checks import clause_doubts
from pentad.rooms.avatars.verification.clauses import content_words
from pentad.rooms.avatars.verification.comparisons import comparison_changed
from pentad.rooms.avatars.verification.drafts import Draft, Statement, by_name, resolve
from pentad.rooms.avatars.verification.evidence import Sentence, follows
from pentad.rooms.avatars.verification.facts import addresses, check_facts, names_in
from pentad.rooms.avatars.verification.negation_scope import omitted_negation
from pentad.rooms.avatars.verification.normalization import normal_words
from pentad.rooms.avatars.verification.quotes import Quote, check_quote, find_quote, is_long, quotes_in
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.topic_overlap import SURE_COVERAGE, Thresholds, coverage, rarity
from pentad.rooms.avatars.verification.word_order import roles_exchanged
from pentad.search.text import terms

_VERBS: Final = (
    "writes?|wrote|has written|argues?|argued|says?|said|notes?|noted|explains?|explained|holds?|held|finds?|found"
    "|describes?|described|points? out|pointed out|states?|stated|observes?|observed|reports?|reported|claims?|claimed"
    "|suggests?|suggested|concludes?|concluded|believes?|believed|shows?|showed|emphasi[sz]e[sd]?|stresse[sd]|stress"
    "|maintains?|maintained|warns?|warned|adds?|added|remarks?|remarked|recalls?|recalled|insists?|insisted|put it"
)
_POINTING: Final = frozenset(("he", "she", "they", "him", "her", "them", "his", "their"))
_FIRST_PERSON: Final = re.compile(r"\b(?:I|me|my|mine|myself)\b")


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement without its frame, and whether the frame attributes it to the person."""

    text: str
    own: bool


class Frames:
    """Recognizes the frames around the claims of one speaker."""

    def __init__(self, speaker: str) -> None:
        words = speaker.split()
        names = sorted(
            {speaker, words[-1] if words else speaker, words[0] if words else speaker}, key=len, reverse=True
        )
        who = "|".join(re.escape(name) for name in names if len(name) > 2) or re.escape(speaker)
        person = rf"(?:I|{who})"
        self._opening = re.compile(
            rf"^(?:(?:as|in|according to|for)\s+(?P<lead>[^,:]{{0,120}}?),?\s+)?{person}\s+"
            rf"(?:also\s+|once\s+|later\s+)?(?:{_VERBS})\b(?:\s+that\b|\s*[:,])?\s*",
            re.IGNORECASE,
        )
        self._according = re.compile(
            rf"^(?:according to|as|for|in the words of)\s+{person}(?:\s+(?:{_VERBS}))?\s*[,:]\s*", re.IGNORECASE
        )
        self._closing = re.compile(
            rf",\s*(?:as\s+)?{person}\s+(?:{_VERBS})\s*\.?$|,\s*according to {person}\s*\.?$", re.IGNORECASE
        )

    def claim(self, text: str, titles: Iterable[str]) -> Claim:
        """The claim inside a statement that cites these sources."""
        for title in titles:
            if len(title.split()) > 1:
                text = re.sub(rf"[\"\u201c]?{re.escape(title)}[\"\u201d]?(?:\s*\([^()]{{0,40}}\))?", "it", text)
        core = self._according.sub("", text, count=1)
        opening = self._opening.match(core)
        if opening is not None and not _states_facts(opening["lead"] or ""):
            core = core[opening.end() :]
        core = self._closing.sub("", core, count=1)
        framed = core != text
        core = core.strip()
        own = framed or _FIRST_PERSON.search(core) is not None
        return Claim(core[:1].upper() + core[1:] if core else text, own)


def _states_facts(lead: str) -> bool:
    """Whether the words before `the person wrote that` claim something themselves, such as a name."""
    return any(name.certain for name in names_in(lead))


Verdict = Literal["quoted", "supported", "unsure", "unsupported"]

_CLEARLY_BETTER: Final = 0.2
_USEFUL: Final = 0.05
_SAME_THING: Final = 0.75
"""At this cosine or above, different words may still mean the same."""


class Judge(Protocol):
    """A model that says whether sentences support a statement; None if it cannot tell."""

    async def supports(self, statement: str, sentences: Sequence[str]) -> bool | None: ...


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked statement. `text` is what may be said, repaired if necessary; empty if nothing may."""

    given: str
    text: str
    verdict: Verdict
    sentences: tuple[Sentence, ...] = ()
    problems: tuple[str, ...] = ()
    quotes: tuple[Quote, ...] = ()
    corrected: bool = False
    """The citation was moved to the sentence with the words or facts."""
    contradicts: bool = False
    """A doubt is that the source says the opposite, or is by somebody else: no judge can settle that."""

    @property
    def passes(self) -> bool:
        return self.verdict in ("quoted", "supported")

    @property
    def repaired(self) -> bool:
        return self.corrected or any(quote.match == "repaired" for quote in self.quotes)


class Verifier:
    """Checks statements against the evidence of one answer."""

    def __init__(
        self,
        evidence: Sequence[Sentence],
        speaker: str,
        similarity: SentenceSimilarity,
        thresholds: Thresholds | None = None,
        judge: Judge | None = None,
    ) -> None:
        self.evidence = evidence
        self._similarity = similarity
        self._thresholds = thresholds or Thresholds()
        self._judge = judge
        self._named = by_name(evidence)
        self._rarity = rarity(terms(sentence.text) for sentence in evidence)
        self._frames = Frames(speaker)

    async def check(self, draft: Draft) -> list[Checked]:
        """Check every statement, in order."""
        texts = [statement.text for statement in draft.statements]
        await self._similarity.embed([*texts, *(sentence.text for sentence in self.evidence)] if texts else ())
        found: list[Checked] = []
        for statement in draft.statements:
            found.append(await self._settled(statement))
            await asyncio.sleep(0)  # a long draft must not keep other callers waiting
        return found

    async def _settled(self, statement: Statement) -> Checked:
        found = resolve(statement.support, self._named)
        checked = self._against(statement.text, found.sentences)
        unknown = tuple(f"citation {name!r} does not exist" for name in found.unknown)
        checked = replace(checked, problems=(*unknown, *checked.problems))
        if (other := self._elsewhere(statement.text, checked)) is not None:
            checked = replace(other, problems=(*checked.problems, "the citation was corrected"), corrected=True)
        if checked.verdict == "unsure" and not checked.contradicts and self._judge is not None:
            says = await self._judge.supports(checked.given, [sentence.text for sentence in checked.sentences])
            if says is not None:
                return replace(checked, verdict="supported" if says else "unsupported")
        return checked

    def _elsewhere(self, text: str, checked: Checked) -> Checked | None:
        """The statement with its citation moved, if another sentence of the evidence fits clearly better."""
        if checked.verdict == "quoted":
            return None
        claim = self._frames.claim(text, self._titles(self.evidence))
        mine = self._coverage(claim.text, checked.sentences) if checked.sentences else -1.0
        rivals = sorted(
            ((self._coverage(claim.text, (sentence,)), -sentence.number, sentence) for sentence in self.evidence),
            key=lambda rival: rival[:2],
            reverse=True,
        )[:3]
        spans = [span for span in quotes_in(text) if is_long(span)]
        if spans and (holder := find_quote(normal_words(spans[0]), self.evidence)) is not None:
            rivals.insert(0, (2.0, 0, holder))
        for share, _, sentence in rivals:
            if sentence in checked.sentences or (checked.passes and share < mine + _CLEARLY_BETTER):
                continue
            other = self._against(text, (sentence,))
            if other.passes or (not checked.sentences and other.verdict == "unsure"):
                return other
        return None

    def _against(self, text: str, cited: tuple[Sentence, ...]) -> Checked:
        """Check a statement against these sentences."""
        if not cited:
            return Checked(text, "", "unsupported", problems=("nothing is cited",))
        claim = self._frames.claim(text, self._titles(cited))
        if (sentence := find_quote(normal_words(claim.text), cited)) is not None and len(sentence.words) > 2:
            return self._spoken(self._in_context(Checked(text, text, "quoted", (sentence,)), (claim.text,)), claim)
        checked = self._quotes(text, cited)
        if checked.verdict == "unsupported":
            return checked
        bare = self._frames.claim(checked.text, self._titles(cited)).text
        if checked.quotes and not _claims_beside_quotes(bare):
            places = tuple(dict.fromkeys(quote.sentence for quote in checked.quotes if quote.sentence is not None))
            checked = replace(checked, verdict="quoted", sentences=places)
            return self._spoken(self._in_context(checked, [quote.given for quote in checked.quotes]), claim)
        return self._spoken(self._paraphrase(replace(checked, sentences=cited), bare), claim)

    def _quotes(self, text: str, cited: Sequence[Sentence]) -> Checked:
        """Check the quotations and replace them by the source's text."""
        found: list[Quote] = []
        for span in quotes_in(text):
            if not is_long(span):
                if normal_words(span) and find_quote(normal_words(span), cited) is None:
                    return Checked(text, "", "unsupported", tuple(cited), (f"not in the source: {span!r}",))
                continue
            for quote in check_quote(span, cited):
                found.append(quote)
                if quote.match == "false":
                    problem = f"altered quote {quote.given!r}: {quote.why}"
                    return Checked(text, "", "unsupported", tuple(cited), (problem,), tuple(found))
                if quote.true_text is not None:
                    text = text.replace(quote.given, quote.true_text)
        return Checked(text, text, "supported", tuple(cited), (), tuple(found))

    def _paraphrase(self, checked: Checked, claim: str) -> Checked:
        """Check numbers, names, polarity and topic of the text outside quotations."""
        cited = checked.sentences
        texts = [sentence.text for sentence in cited]
        facts = check_facts(claim, texts, self._titles(cited))
        vetoes = [f"number {each!r} is not in the cited sentences" for each in facts.numbers]
        vetoes += [f"address {each!r} is not in the cited sentences" for each in addresses(claim, texts)]
        before = self._before(cited) if facts.names else ()
        earlier = check_facts(claim, [sentence.text for sentence in (*before, *cited)], self._titles(cited))
        vetoes += [f"name {each!r} is not in the cited sentences" for each in earlier.names]
        share = self._coverage(claim, cited)
        cosine = self._cosine(checked.given, cited)
        near = cosine is None or cosine >= self._thresholds.cosine
        other = share < self._thresholds.coverage and (cosine is None or cosine < _SAME_THING)
        if other or (not near and share < SURE_COVERAGE):
            vetoes.append("it is about something else than the cited sentences")
        if vetoes:
            return replace(checked, text="", verdict="unsupported", problems=(*checked.problems, *vetoes))
        doubts = [f"{each!r} is not in the cited sentences" for each in facts.doubtful]
        against = self._opposed(claim, cited)
        doubts += [*against, *self._doubts(claim, cited, share)]
        if not near:
            doubts.append("it may be about something else than the cited sentences")
        kept = self._needed(claim, cited)
        if facts.names:
            doubts += [f"{each!r} is only in the sentence before" for each in facts.names]
            kept = (*before, *kept)
        if doubts:
            return replace(
                checked, verdict="unsure", sentences=kept, problems=(*checked.problems, *doubts),
                contradicts=bool(against),
            )  # fmt: skip
        return replace(checked, verdict="supported", sentences=kept)

    def _opposed(self, claim: str, cited: Sequence[Sentence]) -> list[str]:
        """Signs that the source says the opposite."""
        words, source = normal_words(claim), self._best(claim, cited).words
        against = polarity.find_opposites(words, source)
        if against is None and polarity.differ_in_negation(words, source):
            against = "one of them is negated"
        return [] if against is None else [f"the meaning may differ: {against}"]

    def _doubts(self, claim: str, cited: Sequence[Sentence], share: float) -> list[str]:
        best = self._best(claim, cited).text
        doubts = ["who does what may differ"] if roles_exchanged(claim, best) else []
        if comparison_changed(claim, best):
            doubts.append("the comparison may differ")
        if share < SURE_COVERAGE:
            doubts.append("not all of it is in the cited sentences")
        return [*doubts, *clause_doubts(claim, cited, self._rarity)]

    def _best(self, claim: str, cited: Sequence[Sentence]) -> Sentence:
        return max(cited, key=lambda sentence: (self._coverage(claim, (sentence,)), -sentence.number))

    @staticmethod
    def _in_context(checked: Checked, spans: Sequence[str]) -> Checked:
        """A quotation that cuts off the `not` of its sentence, before or after it, reverses the meaning."""
        for span, sentence in product(spans, checked.sentences):
            if (side := omitted_negation(span, sentence.text)) is not None:
                problem = f"a negation {side} these words was left out"
                return replace(checked, verdict="unsure", problems=(*checked.problems, problem), contradicts=True)
        return checked

    def _spoken(self, checked: Checked, claim: Claim) -> Checked:
        """The words of others must not be attributed to the person."""
        if claim.own and checked.passes and any(sentence.passage.role == "about" for sentence in checked.sentences):
            problem = "the source is about the person, not by the person"
            return replace(checked, verdict="unsure", problems=(*checked.problems, problem), contradicts=True)
        return checked

    def _before(self, cited: Sequence[Sentence]) -> tuple[Sentence, ...]:
        """The sentences before cited ones that say `he`, `she` or `they`: they may say who that is."""
        return tuple(
            before
            for before, sentence in pairwise(self.evidence)
            if sentence in cited
            and before not in cited
            and follows(sentence, before)
            and _POINTING & set(sentence.words)
        )

    def _needed(self, claim: str, cited: tuple[Sentence, ...]) -> tuple[Sentence, ...]:
        """The cited sentences that each support a part of the claim."""
        kept: list[Sentence] = []
        left = list(cited)
        reached = 0.0
        while left:
            gains = [(self._coverage(claim, (*kept, each)), -each.number, each) for each in left]
            share, _, best = max(gains, key=lambda gain: gain[:2])
            if kept and share < reached + _USEFUL and not _brings_fact(claim, kept, best):
                break
            kept.append(best)
            left.remove(best)
            reached = share
        return tuple(each for each in cited if each in kept)

    def _coverage(self, claim: str, cited: Sequence[Sentence]) -> float:
        return coverage(claim, (sentence.text for sentence in cited), self._rarity)

    def _cosine(self, text: str, cited: Sequence[Sentence]) -> float | None:
        found = [self._similarity.cosine(text, sentence.text) for sentence in cited]
        known = [cosine for cosine in found if cosine is not None]
        return max(known) if known else None

    @staticmethod
    def _titles(cited: Sequence[Sentence]) -> list[str]:
        return list(dict.fromkeys(sentence.passage.source for sentence in cited))


def _claims_beside_quotes(text: str) -> bool:
    """Whether there is a claim outside the quotation marks, apart from a frame."""
    for span in quotes_in(text):
        text = text.replace(span, " ")
    return len(content_words(normal_words(text))) > 1


def _brings_fact(claim: str, kept: Sequence[Sentence], more: Sentence) -> bool:
    before = check_facts(claim, [sentence.text for sentence in kept])
    after = check_facts(claim, [*(sentence.text for sentence in kept), more.text])
    return len(after.numbers) + len(after.names) < len(before.numbers) + len(before.names)
