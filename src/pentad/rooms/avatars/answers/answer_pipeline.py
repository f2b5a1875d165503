"""How an avatar answers: plan, retrieve, answer or abstain, draft, verify, render.

The modes differ only in who drafts. Every statement is checked, and quotes are cut from the source. Prompts to a
language model must be the same whenever the same call is repeated: a client's model is asked by repeating the call.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pentad.documents.document import CLEAR_SCAN
from pentad.kernel.counts import counted as counted_as
from pentad.kernel.errors import InvalidInput, Unavailable
from pentad.rooms.avatars.answers.answer import (
    Answer,
    CitationList,
    Grounding,
    Mode,
    Statement,
    nearest_sentences,
    render_statements,
)
from pentad.rooms.avatars.answers.answer_relevance import answer_signs
from pentad.rooms.avatars.answers.confidence import Grounds, abstention_confidence, confidence
from pentad.rooms.avatars.answers.drafting.drafter import (
    Drafter,
    grounded_prompt,
    repair_prompt,
    translated_question,
    translation_prompt,
)
from pentad.rooms.avatars.answers.drafting.extractive import best_quotes, ranked_sentences
from pentad.rooms.avatars.answers.question_kinds import kind_of
from pentad.rooms.avatars.persona import closest, quoted, searched_for, silent
from pentad.rooms.avatars.persona import small_talk as talk
from pentad.rooms.avatars.search.abstention import Decision, Reason, decide
from pentad.rooms.avatars.search.conversation import (
    RewrittenQuery,
    SmallTalk,
    Turn,
    rewrite_query,
    should_speak,
    small_talk,
)
from pentad.rooms.avatars.search.retrieval import Corpus, Retrieved, Scored, VerifiedPassages, retrieve, verify_passages
from pentad.rooms.avatars.verification.drafts import from_reply
from pentad.rooms.avatars.verification.evidence import Sentence, consecutive_runs, number_sentences
from pentad.rooms.avatars.verification.normalization import normal_words
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.rooms.avatars.verification.verifier import Checked, Judge, Verifier

PASSAGES: Final = 8
_OWN_WORDS: Final = 2
_SAMPLES: Final = 3
_NAMED_TITLES: Final = 3
_COMMON: Final = 4
"""If this many of the passages found have all the words of a question, the words are not evidence of an answer."""

Router = Callable[[str], Awaitable[str | None]]
OnProgress = Callable[[str], Awaitable[None]]
"""Receives short progress messages, which never include unchecked text of an answer."""


async def _ignore_progress(_text: str) -> None:
    """Ignores progress."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A question with its search query, what was found, and the decision whether to answer."""

    question: str
    turns: Sequence[Turn]
    search: RewrittenQuery
    found: Retrieved
    given: VerifiedPassages | None
    decision: Decision


@dataclass(frozen=True, slots=True)
class Draft:
    """What the avatar will say. Every statement has been checked."""

    statements: list[Statement]
    citations: CitationList
    sentences: list[Sentence]
    grounding: Grounding
    mode: Mode
    answer: Sequence[Sequence[Sentence]]
    """The quotes that must contain the answer, as runs of sentences."""
    lead: float | None = 1.0
    """How much more probable the first quote's passage is than the next one; None if another passage is first."""
    cosine: float | None = None
    """How close the first quote is to the question in meaning."""


@dataclass(frozen=True)
class AnswerPipeline:
    """Answers for one avatar. `mode` says who drafts if there is a `drafter`; `router` finds another avatar to ask.

    `translator` is a model that translates a question if it is in another language than the corpus.
    `on_progress` receives progress messages.
    """

    corpus: Corpus
    similarity: SentenceSimilarity
    drafter: Drafter | None = None
    mode: Mode = "extractive"
    judge: Judge | None = None
    router: Router | None = None
    translator: Drafter | None = None
    on_progress: OnProgress = _ignore_progress

    async def answer(self, question: str, turns: Sequence[Turn] = (), passages: Sequence[Any] = ()) -> Answer:
        """Answer a question, or say why there is no answer."""
        if (kind := small_talk(question)) is not None and not passages:
            return self._small_talk(question, kind)
        await self.on_progress("Searching the corpus")
        plan = await self.plan(question, turns, passages)
        translated = await self._translated(plan)
        if translated is None:
            return await self._answered(plan)
        answer = await self._answered(await self.plan(translated, (), passages))
        return replace(answer, translated=translated, response=f"{searched_for(translated)} {answer.response}")

    async def _translated(self, plan: Plan) -> str | None:
        """The question in the language of the corpus, if it is in another one and a model can translate it."""
        if plan.decision.reason != "language" or self.translator is None:
            return None
        await self.on_progress("Translating the question")
        samples = [sentence.text for sentence in number_sentences(one.passage for one in plan.found.passages[:1])][
            :_SAMPLES
        ]
        persona = self.corpus.persona
        prompt = translation_prompt(plan.question, plan.turns, samples or [persona.description])
        try:
            return translated_question(await self.translator.say("translate", prompt))
        except Unavailable:
            return None

    async def _answered(self, plan: Plan) -> Answer:
        if plan.given is not None and not plan.given.passages:
            return await self._abstain(plan, "unverified")
        if plan.decision.reason is not None:
            return await self._abstain(plan, plan.decision.reason)
        await self.on_progress(_reading(plan.decision.passages))
        draft = await self._draft_answer(plan)
        if draft is None:
            return await self._abstain(plan, "corpus_miss")
        if not draft.statements:
            return await self._abstain(plan, "unverified")
        return self._answer(plan, draft)

    def _small_talk(self, question: str, kind: SmallTalk) -> Answer:
        """A reply that is not from the corpus: to a greeting, to thanks, or who the avatar is."""
        persona = self.corpus.persona
        unsure = abstention_confidence(0.0)
        return Answer(
            response=talk(persona, kind),
            citations=(),
            confidence=unsure.level,
            confidence_score=unsure.number,
            abstained=True,
            mode="extractive",
            ai_label=persona.label,
            retrieval="none",
            reason="small_talk",
            query=question,
        )

    async def plan(self, question: str, turns: Sequence[Turn] = (), passages: Sequence[Any] = ()) -> Plan:
        """Rewrite the question, search the corpus, and decide whether to answer."""
        search = rewrite_query(question, turns)
        given = await verify_passages(self.corpus, passages) if passages else None
        allowed = None if given is None or not given.passages else [passage.id for passage in given.passages]
        found = await retrieve(self.corpus, search.query, PASSAGES, self.similarity, allowed)
        if search.carried and len(search.own) >= _OWN_WORDS:
            alone = await retrieve(self.corpus, question, PASSAGES, self.similarity, allowed)
            found = Retrieved(found.query, found.passages, min(found.probability, alone.probability), found.ranking)
        return Plan(question, turns, search, found, given, decide(question, found, self.corpus.persona))

    async def _draft_answer(self, plan: Plan) -> Draft | None:
        """A checked draft; quotes if there is no model or nothing of its draft passed. None if the model abstained."""
        if self.drafter is None:
            return await self._quotes(plan, Grounding())
        try:
            draft = await self._draft_with_model(plan, self.drafter)
        except (InvalidInput, Unavailable) as error:
            return await self._quotes(plan, Grounding(fell_back=error.message))
        if draft is not None and not draft.statements:
            return await self._quotes(plan, _fallback_grounding(draft.grounding))
        return draft

    async def _quotes(self, plan: Plan, grounding: Grounding) -> Draft:
        """The best sentences, quoted."""
        persona, citations = self.corpus.persona, CitationList()
        found = plan.decision.passages
        weights = plan.search.weights(plan.found.ranking.idf)
        quotes = await best_quotes(plan.search.query, found, weights, self.similarity, persona.name)
        said: list[Statement] = []
        for run in quotes:
            number = citations.cite(run)
            said.append(Statement(quoted(persona, run, number, first=not said), (number,), "quoted"))
        sentences = [sentence for run in quotes for sentence in run]
        counted = _with(grounding, drafted=grounding.drafted or len(said), quoted=len(said), given=plan.given)
        lead = _lead(plan.found.passages, quotes[0][-1]) if quotes else None
        cosine = await self._cosine(plan.search.query, " ".join(one.text for one in quotes[0])) if quotes else None
        answer = _run_of(quotes[:1], sentences)
        return Draft(said, citations, sentences, counted, "extractive", answer, lead, cosine)

    async def _cosine(self, question: str, quote: str) -> float | None:
        await self.similarity.embed([question, quote])
        return self.similarity.cosine(question, quote)

    async def _draft_with_model(self, plan: Plan, drafter: Drafter) -> Draft | None:
        """A model's draft: checked, repaired once, failing statements dropped. None if the model found no answer."""
        persona = self.corpus.persona
        evidence = number_sentences(scored.passage for scored in plan.decision.passages)
        prompt = grounded_prompt(persona, plan.question, evidence, plan.turns)
        first = from_reply(await drafter.say("draft", prompt))
        if first.abstain:
            return None
        verifier = Verifier(evidence, persona.name, self.similarity, self.corpus.calibration.thresholds, self.judge)
        await self.on_progress(f"Checking {counted_as(len(first.statements), 'statement')} against the sources")
        checked = await verifier.check(first)
        failed = [each for each in checked if each.verdict == "unsupported"]
        repaired: list[Checked] = []
        if failed:
            await self.on_progress(f"Repairing {counted_as(len(failed), 'statement')} that the sources do not support")
            try:
                again = from_reply(await drafter.say("repair", repair_prompt(prompt, failed)))
                repaired = [each for each in await verifier.check(again) if each.verdict != "unsupported"]
            except (InvalidInput, Unavailable):
                pass  # they are left out
            checked = [*(each for each in checked if each.verdict != "unsupported"), *repaired]
        said, citations, sentences = render_statements(persona, checked)
        left_out = tuple(each.given for each in failed if not any(_is_repair(other, each) for other in repaired))
        grounding = replace(_counted(len(first.statements), checked, failed), left_out=left_out)
        counted = _with(grounding, given=plan.given)
        return Draft(said, citations, sentences, counted, self.mode, consecutive_runs(sentences))

    def grounds(self, plan: Plan, draft: Draft) -> Grounds:
        """The evidence for an answer."""
        idf = plan.found.ranking.idf
        return Grounds(
            probability=plan.decision.probability,
            signs=answer_signs(plan.question, draft.answer, idf, self.corpus.persona.name),
            quoted=sum(said.verdict == "quoted" for said in draft.statements) / len(draft.statements),
            common=self._is_common(plan, idf) or any(one.instructs for run in draft.answer for one in run),
            read=draft.mode != "extractive",
            legible=all((one.recognition or 1.0) >= CLEAR_SCAN for one in draft.citations.all()),
            lead=draft.lead,
            cosine=draft.cosine,
        )

    def _is_common(self, plan: Plan, idf: Mapping[str, float]) -> bool:
        """Whether so many passages have all the question's words that this is no evidence."""
        if kind_of(plan.question) not in (None, "definition", "yes_no"):
            return False
        held = [number_sentences([scored.passage]) for scored in plan.found.passages]
        showing = [one for one in held if answer_signs(plan.question, [one], idf, self.corpus.persona.name).complete]
        return len(showing) >= _COMMON

    def _answer(self, plan: Plan, draft: Draft) -> Answer:
        sure = confidence(self.grounds(plan, draft), self.corpus.calibration.answers)
        lead = closest(self.corpus.persona) if sure.level == "low" and draft.mode == "extractive" else ""
        text = " ".join(part for part in (lead, *(said.text for said in draft.statements)) if part)
        return Answer(
            response=text,
            citations=draft.citations.all(),
            confidence=sure.level,
            confidence_score=sure.number,
            evidence=sure.evidence,
            abstained=False,
            mode=draft.mode,
            ai_label=self.corpus.persona.label,
            retrieval=plan.found.retrieval,
            statements=draft.statements,
            grounding=draft.grounding,
            query=plan.search.query,
            should_speak=self._should_speak(plan, [sentence.text for sentence in draft.sentences]),
        )

    async def _abstain(self, plan: Plan, reason: Reason) -> Answer:
        """Say that there is no answer and why, and offer the nearest sources. Never guess."""
        persona = self.corpus.persona
        unsure = abstention_confidence(plan.decision.probability)
        ranked = await ranked_sentences(plan.search.query, plan.found.passages, plan.found.ranking.idf, self.similarity)
        known = {hit.id for hit in plan.found.ranking.hits if hit.terms} if reason != "out_of_scope" else set[int]()
        near = [scored for scored in plan.found.passages if scored.passage.id in known]
        nearest = nearest_sentences(near, [each.sentence for each in ranked])
        return Answer(
            response=silent(persona, reason),
            citations=(),
            confidence=unsure.level,
            confidence_score=unsure.number,
            evidence=unsure.evidence,
            abstained=True,
            mode="extractive" if self.drafter is None else self.mode,
            ai_label=persona.label,
            retrieval=plan.found.retrieval,
            reason=reason,
            suggestion=_suggestion(persona.expertise, near),
            redirect=None if self.router is None else await self.router(plan.question),
            nearest=nearest,
            grounding=_with(Grounding(), given=plan.given),
            query=plan.search.query,
            should_speak=self._should_speak(plan, []),
        )

    def _should_speak(self, plan: Plan, quotes: Sequence[str]) -> float | None:
        if not plan.turns:
            return None
        probability = plan.decision.probability if plan.decision.answers else 0.0
        return should_speak(self.corpus.persona.name, probability, plan.turns, quotes, plan.question)


def _lead(passages: Sequence[Scored], sentence: Sentence) -> float | None:
    first, *others = passages
    if first.passage.id != sentence.passage.id:
        return None
    return first.raw_score - max((one.raw_score for one in others), default=0.0)


def _run_of(quotes: Sequence[Sequence[Sentence]], sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """The first quote with the quoted sentences right before and after it."""
    first = {sentence.place for quote in quotes for sentence in quote}
    together = consecutive_runs(sorted(sentences, key=lambda sentence: sentence.place))
    return [run for run in together if first & {sentence.place for sentence in run}]


def _counted(drafted: int, checked: Sequence[Checked], failed: Sequence[Checked]) -> Grounding:
    kept = [each for each in checked if each.verdict != "unsupported"]
    return Grounding(
        drafted=drafted,
        quoted=sum(each.verdict == "quoted" for each in kept),
        supported=sum(each.verdict == "supported" for each in kept),
        requoted=sum(each.verdict == "unsure" for each in kept),
        corrected=sum(each.repaired for each in kept),
        dropped=max(0, drafted - len(kept)),
        problems=tuple(dict.fromkeys(problem for each in failed for problem in each.problems)),
    )


def _is_repair(statement: Checked, failed: Checked) -> bool:
    """Whether a statement says what a failed one meant to: most of its words are in it."""
    mine, others = set(normal_words(statement.given)), set(normal_words(failed.given))
    return len(mine & others) * 2 >= min(len(mine), len(others))


def _fallback_grounding(grounding: Grounding) -> Grounding:
    return Grounding(
        drafted=grounding.drafted,
        dropped=grounding.dropped,
        left_out=grounding.left_out,
        problems=grounding.problems,
        fell_back="The corpus supports no statement of the draft.",
    )


def _with(
    grounding: Grounding,
    *,
    drafted: int | None = None,
    quoted: int | None = None,
    given: VerifiedPassages | None = None,
) -> Grounding:
    return replace(
        grounding,
        drafted=grounding.drafted if drafted is None else drafted,
        quoted=grounding.quoted if quoted is None else quoted,
        unverified_passages=() if given is None else given.unverified,
    )


def _reading(passages: Sequence[Scored]) -> str:
    """The passages that the answer is made from."""
    titles = list(dict.fromkeys(one.passage.source for one in passages))
    more = " and others" if len(titles) > _NAMED_TITLES else ""
    return f"Reading {counted_as(len(passages), 'passage')} of {_listed(titles[:_NAMED_TITLES])}{more}"


def _suggestion(expertise: Sequence[str], passages: Sequence[Scored]) -> str | None:
    """Where to look or what to ask instead: titles and fields, no claims."""
    titles = list(dict.fromkeys(scored.passage.source for scored in passages))[:3]
    if titles:
        return f"The nearest source{'s are' if len(titles) > 1 else ' is'} {_listed(titles)}."
    return f"Ask about {_listed(list(expertise)[:4])}." if expertise else None


def _listed(items: Sequence[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
