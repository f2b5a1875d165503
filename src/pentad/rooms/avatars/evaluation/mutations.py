"""How many errors the checks catch, by kind of error, and how many true statements they accept."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from pentad.rooms.avatars.avatar_snapshot import AvatarSnapshot
from pentad.rooms.avatars.calibration.fit import sampled
from pentad.rooms.avatars.evaluation.perturbations import Kind, Perturbation, paraphrases, perturbations, shortened
from pentad.rooms.avatars.evaluation.score_card import Line, share
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.verification.drafts import Draft, Statement
from pentad.rooms.avatars.verification.evidence import Sentence, numbered
from pentad.rooms.avatars.verification.quotes import quotes_in
from pentad.rooms.avatars.verification.verify import Checked, Verifier
from pentad.rooms.avatars.verification.wording import find_run, normal_words

if TYPE_CHECKING:
    from pentad.rooms.avatars.verification.sentence_similarity import SentenceSimilarity

_SPOILT: Final = 60
_BESIDE: Final = 4
_FEWEST_WORDS: Final = 6
GOALS: Final[dict[Kind, float]] = {
    "number": 0.99, "quote": 1.0, "citation": 0.98, "name": 0.95, "swap": 0.8, "clause": 0.9, "negation": 0.99,
}  # fmt: skip
_SHOWN: Final[dict[Kind, str]] = {
    "number": "changed number caught", "quote": "altered quote caught",
    "citation": "wrong citation caught", "name": "false name caught", "swap": "exchanged names caught",
    "clause": "invented clause caught", "negation": "negation caught",
}  # fmt: skip


async def mutation_lines(
    avatar: AvatarSnapshot,
    passages: Sequence[Passage],
    similarity: "SentenceSimilarity",
    step: Callable[[int, int], None],
) -> list[Line]:
    """Correct statements must pass, perturbed ones must not."""
    chosen = sampled([passage.content for passage in passages], _SPOILT)
    held = [passage for passage in passages if passage.content in chosen]
    caught: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    for done, passage in enumerate(held):
        evidence = numbered([passage, *(one for one in islice(held, done + 1, done + 1 + _BESIDE))])
        verifier = Verifier(evidence, avatar.persona.name, similarity, avatar.calibration.thresholds)
        words = sorted({word for each in evidence for word in each.words if word.isalpha() and len(word) > 2})
        own = [each for each in evidence if each.passage.id == passage.id and len(each.words) >= _FEWEST_WORDS]
        for sentence in own[:2]:
            tried["true"] += 1
            caught["true"] += (await _checked(verifier, f"\u201c{sentence.text}\u201d", sentence)).passes
            for kind, texts in (("shortened", shortened(sentence)), ("paraphrased", paraphrases(sentence))):
                for text in texts:
                    tried[kind] += 1
                    caught[kind] += (await _checked(verifier, text, sentence)).verdict != "unsupported"
            for one in perturbations(sentence, evidence, words):
                tried[one.kind] += 1
                caught[one.kind] += _is_caught(one, await _checked(verifier, one.text, one.cites))
        step(done + 1, len(held))
    true = (("true", "correct quote passes", 0.98), ("shortened", "shortened sentence accepted", 0.9),
            ("paraphrased", "simple paraphrase accepted", 0.9))  # fmt: skip
    lines = [share(f"mutation.{kind}", name, caught[kind], tried[kind], goal) for kind, name, goal in true]
    lines += [share(f"mutation.{kind}", _SHOWN[kind], caught[kind], tried[kind], goal) for kind, goal in GOALS.items()]
    return [line for line in lines if line.of]


async def _checked(verifier: Verifier, text: str, cites: Sentence) -> Checked:
    (found,) = await verifier.check(Draft((Statement(text, (cites.name,)),)))
    return found


def _is_caught(one: Perturbation, checked: Checked) -> bool:
    """Whether the error would not be said: dropped, replaced by the source, repaired, or cited correctly."""
    if not checked.passes:
        return True
    if one.kind == "citation":
        return one.cites not in checked.sentences
    spans = [normal_words(span) for span in quotes_in(checked.text)]
    if not all(any(find_run(span, each.words) is not None for each in checked.sentences) for span in spans):
        return False
    return normal_words(checked.text) != normal_words(one.text)
