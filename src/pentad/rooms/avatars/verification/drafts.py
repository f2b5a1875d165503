"""Parses drafts into statements, from JSON with sentence names or from text with marks."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pentad.documents.sentences import sentences
from pentad.kernel.errors import InvalidInput, PentadError
from pentad.kernel.json import check_bounds
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


MOST_STATEMENTS: Final = 60
LONGEST_DRAFT: Final = 40_000
_LATE_MARKS: Final = re.compile(rf"(?<![.!?])([.!?]++[\"'\u201d\u2019)]*+)\s*+((?:{MARK.pattern}\s*)+)", re.IGNORECASE)
_FENCE: Final = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_DOUBLE: Final = re.compile(r"[\"\u201c\u201d\u201e\u00ab\u00bb]")
_BULLET: Final = re.compile(r"(?m)^\s*(?:[-*\u2022]|\d{1,2}[.)])\s+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a draft, and the names of the sentences it cites."""

    text: str
    support: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """The statements; `abstain` if the drafter found no answer."""

    statements: tuple[Statement, ...]
    abstain: bool = False


def from_text(text: str) -> Draft:
    """Parse text with marks such as `[S3]`; a mark after the full stop belongs to the sentence before it."""
    if len(text) > LONGEST_DRAFT:
        raise InvalidInput(
            f"The draft has {len(text)} characters; at most {LONGEST_DRAFT} are checked at a time.",
            hint="Check it in parts.",
        )
    text = _LATE_MARKS.sub(lambda match: f" {match[2].strip()}{match[1]} ", _BULLET.sub("", text))
    pieces = _whole_quotes([text[start:end] for start, end in sentences(text)])
    return Draft(tuple(_statement(piece, ()) for piece in pieces[:MOST_STATEMENTS] if without_marks(piece)))


def from_reply(reply: str) -> Draft:
    """Parse a model's reply: `{statements: [{text, support}], abstain}`, or text with marks such as `[S3]`.

    InvalidInput if it has another form.
    """
    if "{" not in reply and marks_in(reply):
        return from_text(reply)
    return from_json(json_in(reply))


def json_in(reply: str) -> Any:
    """The JSON object in a model's reply; InvalidInput if there is none."""
    fenced = _FENCE.search(reply)
    body = fenced[1] if fenced else reply[reply.find("{") : reply.rfind("}") + 1]
    try:
        check_bounds(body.encode(), depth=8, keys=2_000)
        return json.loads(body)
    except (ValueError, PentadError):
        raise InvalidInput("The reply is not the JSON that was asked for.") from None


def from_json(given: Any) -> Draft:
    """The draft in parsed JSON."""
    fields = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    listed = fields.get("statements")
    if not isinstance(listed, list) and not fields.get("abstain"):
        raise InvalidInput("A draft has a list of statements.", hint='{"statements": [{"text", "support": ["S1"]}]}')
    found: list[Statement] = []
    for entry in cast("list[Any]", listed or [])[:MOST_STATEMENTS]:
        item = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        text, support = item.get("text"), item.get("support")
        if isinstance(text, str) and without_marks(text):
            names = cast("list[Any]", support) if isinstance(support, list) else [support]
            found.append(_statement(text[:LONGEST_DRAFT], [name for name in names if isinstance(name, str)]))
    return Draft(tuple(found), abstain=bool(fields.get("abstain")) and not found)


def _statement(text: str, support: Sequence[str]) -> Statement:
    return Statement(without_marks(text), tuple(dict.fromkeys((*support, *marks_in(text)))))


def _whole_quotes(pieces: Sequence[str]) -> list[str]:
    """Sentences, joined if a quotation spans several."""
    joined: list[str] = []
    is_open = False
    for piece in pieces:
        if is_open and len(joined[-1]) + len(piece) < 4_000:
            joined[-1] += f" {piece}"
        else:
            joined.append(piece)
        is_open = len(_DOUBLE.findall(joined[-1])) % 2 == 1
    return joined
