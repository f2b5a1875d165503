"""Material for a model that is not ours: whoever calls drafts the answer and has it checked by `verify_response`.

The names of the sentences hold only together with the passages they were numbered from, so these are part of the
material and are handed back with the draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pentad.rooms.avatars.answers.drafting.drafter import MOST_EVIDENCE, Prompt, grounded_prompt
from pentad.rooms.avatars.models import Passage
from pentad.rooms.avatars.persona import Persona, place
from pentad.rooms.avatars.search.conversation import Turn
from pentad.rooms.avatars.verification.evidence import Sentence, numbered


@dataclass(frozen=True, slots=True)
class Material:
    """A prompt, the sentences it names, and the numbers of the passages they are from, in order."""

    prompt: Prompt
    evidence: Sequence[Sentence]
    passages: tuple[int, ...]

    def as_text(self) -> str:
        """All of it as one text, for a prompt of the protocol."""
        return (
            f"{self.prompt.system}\n\n{self.prompt.question}\n\nThen pass your JSON to `verify_response` with"
            f" `passages` {list(self.passages)}, and say only what comes back."
        )

    def listed(self) -> list[dict[str, str]]:
        """The sentences by name, with their places."""
        return [
            {
                "name": sentence.name,
                "text": sentence.text,
                "from": place(sentence.passage, sentence.start, sentence.end),
            }
            for sentence in self.evidence
        ]


def material(persona: Persona, question: str, passages: Sequence[Passage], turns: Sequence[Turn] = ()) -> Material:
    """What a caller's own model needs to draft a grounded answer."""
    evidence = numbered(passages)[:MOST_EVIDENCE]
    return Material(
        grounded_prompt(persona, question, evidence, turns), evidence, tuple(passage.id for passage in passages)
    )
