"""Material for the caller's own model: the caller drafts an answer and has it checked by `verify_response`.

Sentence names depend on the passages they were numbered from, so the passages are part of the material and come back
with the draft.
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
    """A prompt, its named sentences, and the numbers of their passages, in order."""

    prompt: Prompt
    evidence: Sequence[Sentence]
    passages: tuple[int, ...]

    def as_text(self) -> str:
        """The material as one text, for an MCP prompt."""
        return (
            f"{self.prompt.system}\n\n{self.prompt.question}\n\nThen pass your JSON to `verify_response` with"
            f" `passages` {list(self.passages)}, and say only what comes back."
        )

    def listed(self) -> list[dict[str, str]]:
        """The sentences by name, with their sources."""
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
