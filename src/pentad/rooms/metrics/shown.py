"""Answers as the tools show them: the figures as JSON text, as the original does, and all of it as data.

The first block of text is the figures alone. What a reader has to know beside them (what is missing and why, what was
left out) is a second block, which is there only when there is something to say.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from pentad.kernel.clock import iso
from pentad.mcp.content import Content, Text
from pentad.mcp.declare import ToolResult
from pentad.rooms.metrics.engine.answering import Answer, DryRun
from pentad.rooms.metrics.model import Coverage, Difference, Info, Metric, Problem

MOST_PROBLEMS: Final = 50
MOST_DIFFERENCES: Final = 200
_TOLD: Final = 5

ANSWER: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "collector": {"type": "string"},
        "asOf": {"type": "string", "description": "When the figures were made."},
        "ageSeconds": {"type": "number", "description": "How old the oldest fact is."},
        "source": {"enum": ["live", "cache", "mixed"]},
        "calls": {"type": "integer", "description": "Requests this answer took."},
        "coverage": {"type": "object"},
        "problems": {"type": "array"},
        "differences": {"type": "array", "description": "Where the original's figures differ from the right ones."},
        "notes": {"type": "array", "items": {"type": "string"}},
        "metrics": {"description": "The figures; a list of business groups where the collector knows groups."},
        "rows": {"type": "array"},
        "value": {},
        "answers": {"type": "array"},
        "plan": {"type": "object"},
    },
}


def answered(answer: Answer, figures: Mapping[str, Any], notes: Sequence[str] = ()) -> ToolResult:
    """One collector's answer; `figures` is what of it is shown, by name, its first member as text."""
    structured = about(answer, notes) | dict(figures)
    blocks_shown = blocks(next(iter(figures.values())), said(answer, notes))
    return ToolResult(content=blocks_shown, structured=structured, is_error=is_refused(answer))


def is_refused(answer: Answer) -> bool:
    """Whether there is nothing at all, and only because it is not allowed: a login that is wrong, or of no use here."""
    problems = answer.snapshot.problems
    return not answer.snapshot.coverage.ok and bool(problems) and all(one.kind == "permission" for one in problems)


def blocks(figures: Any, notes: Sequence[str]) -> list[Content]:
    """Figures as JSON, then what is to be said of them."""
    found: list[Content] = [Text(text=as_text(figures))]
    if notes:
        found.append(Text(text="\n".join(notes)))
    return found


def about(answer: Answer, notes: Sequence[str] = ()) -> dict[str, Any]:
    """How an answer came about."""
    snapshot = answer.snapshot
    told: dict[str, Any] = {
        "collector": snapshot.collector,
        "asOf": iso(snapshot.as_of),
        "ageSeconds": round(max(0.0, answer.age), 3),
        "source": answer.source,
        "calls": answer.calls,
        "coverage": coverage_shown(snapshot.coverage),
        "problems": [problem_shown(problem) for problem in snapshot.problems[:MOST_PROBLEMS]],
    }
    if snapshot.differences:
        told["differences"] = [difference_shown(difference) for difference in snapshot.differences[:MOST_DIFFERENCES]]
    if notes:
        told["notes"] = list(notes)
    return told


def said(answer: Answer, notes: Sequence[str] = ()) -> list[str]:
    """What a reader has to know beside the figures."""
    told = list(notes)
    coverage, problems = answer.snapshot.coverage, answer.snapshot.problems
    if answer.is_partial:
        told.append(
            f"Partial: {coverage.ok} of {coverage.planned} facts are there, {coverage.failed} failed,"
            f" {coverage.skipped} were skipped. What they would give has no value here; that is not zero."
        )
    told += [f"- {problem.scope or 'all'}: {problem.message} ({problem.call})" for problem in problems[:_TOLD]]
    if len(problems) > _TOLD:
        told.append(f"- and {len(problems) - _TOLD} more in `problems`.")
    return told


def coverage_shown(coverage: Coverage) -> dict[str, int]:
    """How much of what was planned is there."""
    return msgspec.to_builtins(coverage)


def problem_shown(problem: Problem) -> dict[str, Any]:
    """A problem without what it does not say."""
    told: dict[str, Any] = msgspec.to_builtins(problem)
    return {name: value for name, value in told.items() if value not in (None, [], ())}


def difference_shown(difference: Difference) -> dict[str, Any]:
    """Where the original gives another number, and why."""
    return {**msgspec.to_builtins(difference), "labels": dict(difference.labels)}


def plan_shown(plan: DryRun) -> dict[str, Any]:
    """What an answer would take."""
    return {
        "collector": plan.collector,
        "facts": plan.facts,
        "known": plan.known,
        "toFetch": plan.to_fetch,
        "calls": plan.calls,
        "callsMade": plan.calls_made,
        "roundTrips": plan.rounds_at_limit,
        **({"later": plan.later} if plan.later else {}),
    }


def collector_shown(info: Info) -> dict[str, Any]:
    """A collector in a few words."""
    told: dict[str, Any] = {"id": info.id, "title": info.title, "description": info.description, "ready": info.ready}
    return told if info.ready else told | {"missing": info.missing}


def metric_shown(collector: str, metric: Metric) -> dict[str, Any]:
    """An entry of a catalogue."""
    told: dict[str, Any] = msgspec.to_builtins(metric)
    return {"collector": collector, **told}


def as_text(value: Any) -> str:
    """JSON."""
    return msgspec.json.encode(value).decode()
