"""Scores an avatar on its own corpus: retrieval, answers, abstention, calibration, and whether the checks catch errors.

Needs no labels: it makes questions from the corpus, takes others from other fields and avatars, and alters correct
statements. It also asks the author's own questions. Foreign questions come from fields that the calibration was not
fitted on. The same corpus gives the same score card.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from pentad.rooms.avatars.answers.answer import Answer
from pentad.rooms.avatars.answers.answer_pipeline import AnswerPipeline
from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot, WithoutDocument, sentences_of
from pentad.rooms.avatars.calibration.fit import (
    MOST_EXAMPLES,
    is_held_out,
    keyword_question,
    off_topic_questions,
    passage_documents,
    sample_sentences,
)
from pentad.rooms.avatars.evaluation.author_questions import AuthorQuestion, ask_all, question_lines
from pentad.rooms.avatars.evaluation.mutations import mutation_lines
from pentad.rooms.avatars.evaluation.score_card import Group, ScoreCard, calibration, mean, separation, share
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.search.abstention import decide
from pentad.rooms.avatars.search.retrieval import retrieve
from pentad.rooms.avatars.verification.normalization import find_run, normal_words

if TYPE_CHECKING:
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity


Step = Callable[[Group, int, int], None]

_OWN: Final = 400
_ASKED: Final = 80
_FOREIGN: Final = 120
_LEFT_OUT: Final = 40
_PASSAGES: Final = 10
_SALT: Final = "evaluation"
_SILENT: Final = ("none", "low")


@dataclass(frozen=True, slots=True)
class _MadeQuestion:
    """A question made from a sentence, and the document the sentence is in."""

    sentence: str
    question: str
    document: int


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The probability that the corpus covers a question, and whether the avatar would answer it."""

    probability: float
    answers: bool


@dataclass(frozen=True)
class _Evaluation:
    """One evaluation under way."""

    avatar: AvatarSnapshot
    similarity: "SentenceSimilarity"
    step: Step
    card: ScoreCard

    async def retrieval(self, made: Sequence[_MadeQuestion]) -> list[_Coverage]:
        """Whether a question made from a sentence finds the passage with that sentence."""
        ranks: list[float] = []
        tried: list[_Coverage] = []
        for done, one in enumerate(made, start=1):
            found = await retrieve(self.avatar, one.question, _PASSAGES, self.similarity)
            places = [at for at, each in enumerate(found.passages, start=1) if one.sentence in each.passage.content]
            ranks.append(1 / places[0] if places else 0.0)
            tried.append(_Coverage(found.probability, decide(one.question, found, self.avatar.persona).answers))
            self.step("retrieval", done, len(made))
        five = sum(rank >= 1 / 5 for rank in ranks)
        self.card.lines += [
            share("retrieval.first", "right passage ranked first", sum(rank == 1 for rank in ranks), len(ranks)),
            share("retrieval.five", "right passage among the first five", five, len(ranks), 0.8),
            mean("retrieval.mrr", "mean reciprocal rank", ranks),
        ]
        return tried

    async def answers(self, made: Sequence[_MadeQuestion]) -> list[tuple[float, bool]]:
        """Whether the quotes contain the sentence that a question was made from."""
        pipeline = AnswerPipeline(self.avatar, self.similarity)
        said: list[tuple[Answer, int]] = []
        for done, one in enumerate(made, start=1):
            answer = await pipeline.answer(one.question)
            said.append((answer, _place_of(one.sentence, answer)))
            self.step("answer", done, len(made))
        given = [(answer, place) for answer, place in said if not answer.abstained]
        high = [place for answer, place in given if answer.confidence == "high"]
        count = len(given)
        self.card.lines += [
            share("answer.first_quote", "right sentence quoted first", sum(place == 1 for _, place in given), count),
            share("answer.any_quote", "right sentence quoted", sum(place > 0 for _, place in given), count, 0.7),
            share("answer.high", "answered with high confidence", len(high), count),
            share("answer.high_right", "high confidence, right sentence", sum(place > 0 for place in high), len(high)),
        ]
        return [(answer.confidence_score, place > 0) for answer, place in given]

    async def off_topic(self, others: Sequence[AvatarSnapshot]) -> list[_Coverage]:
        """Questions the corpus cannot answer. A field is left out if most of its questions look covered."""
        by_field = {name: listed for name, listed in off_topic_questions().items() if is_held_out(name)}
        most = max(1, _FOREIGN // len(by_field))
        fields = {name: sample_sentences(listed, most) for name, listed in by_field.items()}
        for other in others:
            texts = [text for text in sentences_of(await other.some_passages(_OWN)) if is_held_out(text)]
            made = (keyword_question(text, _SALT) for text in sample_sentences(texts, 20))
            fields[f"avatar {other.id}"] = [question for question in made if question is not None]
        tried: list[_Coverage] = []
        for done, (name, listed) in enumerate(fields.items(), start=1):
            found = [await self._coverage(question) for question in listed]
            if sum(one.answers for one in found) * 2 > len(found):
                self.card.notes.append(f"Left out, because the corpus may cover this field: {name}.")
            else:
                tried += found
            self.step("abstention", done, len(fields))
        return tried

    async def _coverage(self, question: str) -> _Coverage:
        found = await retrieve(self.avatar, question, _PASSAGES, self.similarity)
        return _Coverage(found.probability, decide(question, found, self.avatar.persona).answers)

    def abstention(self, covered: Sequence[_Coverage], off_topic: Sequence[_Coverage]) -> None:
        answered = sum(one.answers for one in covered)
        silent = sum(not one.answers for one in off_topic)
        yes, no = [one.probability for one in covered], [one.probability for one in off_topic]
        self.card.lines.append(
            share("abstention.own", "question from the corpus answered", answered, len(covered), 0.6)
        )
        if off_topic:
            self.card.lines += [
                share("abstention.foreign", "off-topic question declined", silent, len(off_topic), 0.95),
                separation("abstention.auroc", "separates own from off-topic (AUROC)", yes, no, 0.95),
            ]

    async def author_questions(self, questions: Sequence[AuthorQuestion], off_topic: Sequence[_Coverage]) -> None:
        """Whether the author's answerable questions are told from off-topic ones, as those made from sentences are."""
        yes = [(await self._coverage(one.question)).probability for one in questions if one.answers]
        if yes and off_topic:
            no = [one.probability for one in off_topic]
            name = "separates answerable from off-topic (AUROC)"
            self.card.lines.append(separation("questions.auroc", name, yes, no, 0.95))

    async def near_misses(self, made: Sequence[_MadeQuestion]) -> None:
        """Near misses: questions asked of the corpus without the document they were made from.

        Other documents may answer, so there is no goal.
        """
        documents = await passage_documents(self.avatar)
        usable = [one for one in made if documents.can_leave_out(one.document)][:_LEFT_OUT]
        silent = 0
        for one in usable:
            corpus = WithoutDocument(self.avatar, documents.without(one.document))
            silent += (await AnswerPipeline(corpus, self.similarity).answer(one.question)).confidence in _SILENT
        if usable:
            name = "source removed: declined or unsure"
            self.card.lines.append(share("abstention.left_out", name, silent, len(usable)))


async def evaluate(
    avatar: AvatarSnapshot,
    others: Sequence[AvatarSnapshot],
    similarity: "SentenceSimilarity",
    step: Step | None = None,
    questions: Sequence[AuthorQuestion] = (),
) -> ScoreCard:
    """Score one avatar."""
    step = step or _ignore_progress
    passages = await avatar.some_passages(_OWN)
    retrieval = (await avatar.search(avatar.persona.name, 1)).retrieval
    card = ScoreCard(avatar.id, retrieval, avatar.avatar.generation)
    made = _make_questions(passages)
    run = _Evaluation(avatar, similarity, step, card)
    off_topic: list[_Coverage] = []
    if made:
        covered = await run.retrieval(made)
        answered = await run.answers(made)
        off_topic = await run.off_topic(others)
        run.abstention(covered, off_topic)
        await run.near_misses(made)
        tried = [*((one.probability, True) for one in covered), *((one.probability, False) for one in off_topic)]
        card.lines += [
            calibration("calibration.coverage", "error of coverage probability (ECE)", tried),
            calibration("calibration.answers", "error of answer confidence (ECE)", answered),
        ]
        card.lines += await mutation_lines(avatar, passages, similarity, partial(step, "mutation"))
    else:
        card.notes.append("The corpus is too small to make questions from it.")
    if questions:
        pipeline = AnswerPipeline(avatar, similarity)
        card.lines += question_lines(await ask_all(questions, pipeline.answer, partial(step, "questions")))
        await run.author_questions(questions, off_topic)
    return card


def _ignore_progress(group: Group, done: int, total: int) -> None:
    """Ignores progress."""


def _make_questions(passages: Sequence[Passage]) -> list[_MadeQuestion]:
    """Questions made from sentences, starting with those the calibration was not fitted on."""
    documents = {text: one.document for one in passages for text in sentences_of([one])}
    ranked = sample_sentences(list(documents), len(documents))
    ranked = [*ranked[MOST_EXAMPLES:], *ranked[:MOST_EXAMPLES]]
    made = ((text, keyword_question(text, _SALT)) for text in ranked)
    return [_MadeQuestion(text, asked, documents[text]) for text, asked in made if asked is not None][:_ASKED]


def _place_of(sentence: str, answer: Answer) -> int:
    """The number of the quote that has the sentence; 0 if none has."""
    words = normal_words(sentence)
    held = (one.n for one in answer.citations if find_run(words, normal_words(one.quote)) is not None)
    return next(held, 0)
