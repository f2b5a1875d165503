"""Resolves citation marks such as `[S3]` to the evidence of an answer."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.rooms.avatars.verification.evidence import Sentence

MARK: Final = re.compile(r"\[\s*(S?\d{1,4}(?:\s*[,;]\s*S?\d{1,4})*)\s*\]", re.IGNORECASE)
_NAME: Final = re.compile(r"S?(\d{1,4})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The cited sentences, and the names that do not exist."""

    sentences: tuple[Sentence, ...]
    unknown: tuple[str, ...]


def resolve(names: Iterable[str], evidence: Mapping[str, Sentence]) -> Resolved:
    """Look up names such as `S12`; `12` means the same."""
    found: dict[str, Sentence] = {}
    unknown: list[str] = []
    for name in names:
        match = _NAME.fullmatch(name.strip().strip("[]"))
        key = f"S{int(match[1])}" if match else name
        if (sentence := evidence.get(key)) is not None:
            found[key] = sentence
        else:
            unknown.append(name)
    return Resolved(tuple(found.values()), tuple(unknown))


def marks_in(text: str) -> list[str]:
    """The names in square brackets."""
    return [part.strip() for group in MARK.findall(text) for part in re.split(r"[,;]", group)]


def without_marks(text: str) -> str:
    """The text without marks."""
    return re.sub(r"\s+([.,;:!?])", r"\1", " ".join(MARK.sub(" ", text).split()))


def by_name(evidence: Sequence[Sentence]) -> dict[str, Sentence]:
    return {sentence.name: sentence for sentence in evidence}
