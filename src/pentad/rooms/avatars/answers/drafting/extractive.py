"""Answers made of the corpus' own sentences, without a language model.

The best sentence comes first, alone: it is the answer. Then come others that score well and say something else, and the
sentence after the best one, which often says what the best one announces. Every word was written by the source; only
relevance can be wrong.

Headings are not quoted: they often repeat the words of a question without answering it. PDF does not mark headings, so
they are recognized by their form; other formats keep them apart.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from pentad.rooms.avatars.answers.answer_relevance import answer_signs
from pentad.rooms.avatars.answers.question_kinds import has_kind, kind_of
from pentad.rooms.avatars.search.retrieval import Scored
from pentad.rooms.avatars.verification.evidence import Sentence, consecutive_runs, number_sentences
from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity
from pentad.search.scoring import WordScorer, word_lists
from pentad.search.searchable import SearchField
from pentad.search.text import query_terms, terms

FROM_PASSAGES: Final = 3
MOST_SENTENCES: Final = 4
_PASSAGE_SHARE: Final = 0.6
_DIVERSITY: Final = 0.3
_FEWEST_WORDS: Final = 4
_MOST_EMBEDDED: Final = 32
_PRONOUNS: Final = frozenset(
    ("he", "she", "it", "they", "this", "these", "that", "those", "his", "her", "its", "their")
)
_GAP: Final = 2
"""The most characters between two consecutive sentences; an empty line is two."""
_WORTH_READING: Final = 3
"""The sentences of an answer, if its passage is long enough."""
_HEADING_LESS: Final = 1.5
"""The penalty of what looks like a heading: it repeats the words of a question and rarely says more."""
_KIND_MORE: Final = 0.8
"""The bonus of a sentence with something of the kind that is asked for."""
_WORTH_ADDING: Final = 0.4
"""How close to the best score a further sentence must be; 0 is the mean of all."""
_FEW_WORDS: Final = 12
_MOST_IN_A_ROW: Final = 2
"""A chapter's and a section's heading; more short lines in a row are a list."""
_STOPS: Final = ".!?\u2026"
_CLOSING: Final = "\"')]\u201d\u2019"
_OTHERWISE: Final = frozenset("|:")
"""Signs of a row of a table and of a definition."""
_NUMBERED: Final = re.compile(r"(?:part|book|chapter|section|appendix) \w+: ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sentence with its score."""

    sentence: Sentence
    score: float
    words: frozenset[str]


async def best_quotes(
    question: str,
    passages: Sequence[Scored],
    idf: Mapping[str, float],
    similarity: SentenceSimilarity,
    speaker: str = "",
    most: int = MOST_SENTENCES,
) -> list[list[Sentence]]:
    """What to quote, best first, as runs of consecutive sentences; nothing only if there are no passages.

    The first is the sentence with the answer: the best one of a run that shows everything the question asks for, or
    else the best of all.
    """
    ranked = await ranked_sentences(question, passages, idf, similarity)
    every = without_headings(number_sentences(scored.passage for scored in passages[:FROM_PASSAGES]))
    chosen = [each.sentence for each in _diverse(ranked, similarity, most)]
    if not chosen:
        return []
    for first in _starting_sentences(chosen, passages):
        chosen += _continuation(first, chosen, every)
    chosen += _antecedents(chosen, every)
    ranks = {each.sentence.place: rank for rank, each in enumerate(ranked)}
    together = consecutive_runs(sorted(chosen, key=lambda sentence: sentence.place))
    showing = [run for run in together if answer_signs(question, [run], idf, speaker).complete]
    plain = [[one for one in group if not one.instructs] for group in (_flat(showing), chosen)]
    best = min(plain[0] or plain[1] or chosen, key=lambda one: ranks.get(one.place, len(ranks)))
    answer = [*_antecedents([best], every), best]
    said = {sentence.place for sentence in answer}
    others = consecutive_runs(sorted((one for one in chosen if one.place not in said), key=lambda one: one.place))
    last = len(ranks)
    others.sort(key=lambda run: (_has_instructions(run), min(ranks.get(sentence.place, last) for sentence in run)))
    return [answer, *others]


def _flat(quotes: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    return [sentence for quote in quotes for sentence in quote]


def _has_instructions(quote: Sequence[Sentence]) -> bool:
    """Whether a quote has instructions to a language model: it comes after all others."""
    return any(sentence.instructs for sentence in quote)


async def ranked_sentences(
    question: str, passages: Sequence[Scored], idf: Mapping[str, float], similarity: SentenceSimilarity
) -> list[Chosen]:
    """The sentences of the first passages, ranked by z(BM25) + z(cosine) + 0.6 times the score of their passage.

    A sentence with something of the kind that is asked for (a number, a name) is preferred. Headings above a text are
    left out.
    """
    leading, kind = passages[:FROM_PASSAGES], kind_of(question)
    sentences = without_headings(number_sentences(scored.passage for scored in leading))
    sentences = [each for each in sentences if len(each.words) >= _FEWEST_WORDS] or sentences
    lexical = _word_scores(query_terms(question), sentences, idf)
    raw = {scored.passage.id: scored.raw_score for scored in leading}
    cosines = await _cosines(question, sentences, lexical, similarity)
    ranked = [
        Chosen(
            sentence,
            words
            + meaning
            + _PASSAGE_SHARE * raw[sentence.passage.id]
            - (_HEADING_LESS if looks_like_heading(sentence) else 0.0)
            + (_KIND_MORE if kind is not None and has_kind(question, kind, [sentence.text]) else 0.0),
            frozenset(terms(sentence.text)),
        )
        for sentence, words, meaning in zip(sentences, _z_scores(lexical), _z_scores(cosines), strict=True)
    ]
    return sorted(ranked, key=lambda each: (-round(each.score, 6), each.sentence.number))


async def _cosines(
    question: str, sentences: Sequence[Sentence], lexical: Sequence[float], similarity: SentenceSimilarity
) -> list[float]:
    """The cosine of each sentence with the question. If there are many, only those sharing most words are embedded."""
    order = sorted(range(len(sentences)), key=lambda place: (-lexical[place], place))
    near = set(order[:_MOST_EMBEDDED])
    await similarity.embed([question, *(sentences[place].text for place in sorted(near))])
    found = [similarity.cosine(question, sentence.text) if place in near else None
             for place, sentence in enumerate(sentences)]  # fmt: skip
    known = [cosine for cosine in found if cosine is not None]
    lowest = min(known, default=0.0)
    return [lowest if cosine is None else cosine for cosine in found]


def _word_scores(asked: Sequence[str], sentences: Sequence[Sentence], idf: Mapping[str, float]) -> list[float]:
    """BM25 of sentences, with what the whole collection knows of each word's weight."""
    texts = [word_lists({"": terms(sentence.text)}) for sentence in sentences]
    lengths = [text.length for each in texts for text in each.values()]
    usual = SearchField(usual_length=max(1.0, sum(lengths) / max(1, len(lengths))))
    scorer = WordScorer({"": usual}, {term: idf.get(term, 1.0) for term in asked})
    return [scorer.match(each).score for each in texts]


def _z_scores(values: Sequence[float]) -> list[float]:
    """Each value as its distance from the mean in standard deviations."""
    if not values:
        return []
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread > 1e-9 else 0.0 for value in values]


def _diverse(ranked: Sequence[Chosen], similarity: SentenceSimilarity, most: int) -> list[Chosen]:
    """The best sentence, then others that are nearly as good and say something different."""
    if not ranked:
        return []
    chosen = [ranked[0]]
    floor = _WORTH_ADDING * ranked[0].score
    left = [each for each in ranked[1:] if each.score >= floor and each.score > 0]
    while left and len(chosen) < most:
        worth = [
            (
                (1 - _DIVERSITY) * each.score / max(ranked[0].score, 1e-9)
                - _DIVERSITY * _redundancy(each, chosen, similarity),
                -each.sentence.number,
                each,
            )
            for each in left
        ]  # fmt: skip
        value, _, best = max(worth, key=lambda entry: entry[:2])
        if value <= 0:
            break
        chosen.append(best)
        left.remove(best)
    return chosen


def _starting_sentences(chosen: Sequence[Sentence], passages: Sequence[Scored]) -> list[Sentence]:
    """The sentences to continue from: the best one, and the best of the top passage."""
    of_the_first = [sentence for sentence in chosen if sentence.passage.id == passages[0].passage.id]
    return list(dict.fromkeys((*chosen[:1], *of_the_first[:1])))


def _continuation(first: Sentence, chosen: Sequence[Sentence], all_of_them: Sequence[Sentence]) -> list[Sentence]:
    """The sentences after this one, skipping those already chosen: one, or more if the answer is short.

    Reasons, lists and figures usually follow the sentence that announces them, so one is always added.
    """
    by_start = {sentence.place[:2]: sentence for sentence in all_of_them}
    there = {sentence.place for sentence in chosen}
    added: list[Sentence] = []
    following = _next_sentence(first, by_start)
    while following is not None and (not added or len(chosen) + len(added) < _WORTH_READING):
        if following.place not in there:
            added.append(following)
        following = _next_sentence(following, by_start)
    return added


def _next_sentence(sentence: Sentence, by_start: Mapping[tuple[int, int], Sentence]) -> Sentence | None:
    """The next sentence, in any passage."""
    document, _, end = sentence.place
    return next((found for gap in range(_GAP + 1) if (found := by_start.get((document, end + gap)))), None)


def _antecedents(chosen: Sequence[Sentence], all_of_them: Sequence[Sentence]) -> list[Sentence]:
    """The sentences before those that begin with a pronoun: they say who `she` is. Headings and captions do not."""
    by_number = {sentence.number: sentence for sentence in all_of_them}
    there = {sentence.place for sentence in chosen}
    before = [by_number.get(sentence.number - 1) for sentence in chosen if sentence.words[0] in _PRONOUNS]
    return [
        sentence
        for sentence in dict.fromkeys(before)
        if sentence is not None
        and sentence.place not in there
        and sentence.stops
        and by_number[sentence.number + 1].passage.id == sentence.passage.id
    ]


def _redundancy(one: Chosen, chosen: Sequence[Chosen], similarity: SentenceSimilarity) -> float:
    """How much of a sentence the chosen ones already say."""
    return max(_alike(one, other, similarity) for other in chosen)


def _alike(one: Chosen, other: Chosen, similarity: SentenceSimilarity) -> float:
    cosine = similarity.cosine(one.sentence.text, other.sentence.text)
    if cosine is not None:
        return cosine
    either = one.words | other.words
    return len(one.words & other.words) / len(either) if either else 0.0


def looks_like_heading(sentence: Sentence) -> bool:
    """Whether it has only a few words and no full stop. Entries of a list look like this, too."""
    return len(sentence.words) < _FEW_WORDS and sentence.text[-1:].isalnum()


def without_headings(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences without headings; all of them if there is nothing else."""
    headings = {
        heading.place
        for _, passage in groupby(sentences, key=lambda sentence: sentence.passage.id)
        for heading in _headings(list(passage))
    }
    return [sentence for sentence in sentences if sentence.place not in headings] or list(sentences)


def _headings(passage: Sequence[Sentence]) -> Iterator[Sentence]:
    """One or two short lines by themselves, at the start of the passage or after a full stop."""
    end_before = "."
    for short, group in groupby(passage, key=_stands_alone):
        lines = list(group)
        if short and len(lines) <= _MOST_IN_A_ROW and end_before in _STOPS:
            yield from lines
        end_before = lines[-1].text.rstrip(_CLOSING)[-1:]


def _stands_alone(sentence: Sentence) -> bool:
    """Whether it is a paragraph that looks like a heading, in a document that marks none."""
    passage, text = sentence.passage, sentence.text
    bare = _NUMBERED.sub("", text, count=1)
    if passage.section is not None or not looks_like_heading(sentence) or _OTHERWISE & set(bare):
        return False
    before, after = passage.content[: sentence.start], passage.content[sentence.end :]
    alone = (not before.strip() or before.endswith("\n\n")) and (not after.strip() or after.startswith("\n\n"))
    return alone and (text[0].isupper() or text[0].isdigit())
