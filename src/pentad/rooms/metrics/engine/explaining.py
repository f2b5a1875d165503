"""Where a number comes from: its formula, the facts it was made of, when they were fetched, and what is missing."""

from collections.abc import Sequence
from typing import Any, Final

from pentad.kernel.clock import iso
from pentad.rooms.metrics.engine.answering import Answer
from pentad.rooms.metrics.model import Metric, Sample

MOST_FACTS: Final = 50
MOST_VALUES: Final = 50


def explained(answer: Answer, keys: Sequence[str]) -> list[dict[str, Any]]:
    """One explanation for each metric of the catalogue that is named."""
    wanted = set(keys)
    by_key: dict[str, list[Sample]] = {}
    for sample in answer.snapshot.samples:
        by_key.setdefault(sample.key, []).append(sample)
    return [
        _explained(answer, metric, by_key.get(metric.key, []))
        for metric in answer.info.catalogue
        if metric.key in wanted
    ]


def _explained(answer: Answer, metric: Metric, samples: Sequence[Sample]) -> dict[str, Any]:
    facts = answer.facts
    used = [fact for fact in facts if fact.name in metric.facts]
    said: dict[str, Any] = {
        "key": metric.key,
        "description": metric.description,
        "kind": metric.kind,
        "unit": metric.unit,
        "formula": metric.formula or "as the source gives it",
        "values": [_value(sample) for sample in samples[:MOST_VALUES]],
        "facts": [
            {
                "fact": fact.text(),
                "fetched": iso(facts.at(fact)),
                "age_seconds": round(max(0.0, facts.now - facts.at(fact)), 3),
                "source": "cache" if facts.was_cached(fact) else "live",
                **({"problem": problem.message, "kind": problem.kind} if (problem := facts.problem(fact)) else {}),
            }
            for fact in used[:MOST_FACTS]
        ],
        "missing": [
            {"call": problem.call, "scope": problem.scope, "kind": problem.kind, "message": problem.message}
            for problem in answer.snapshot.problems
            if metric.key in problem.affects
        ],
        "skipped": [
            {"fact": fact.text(), "why": why} for fact, why in answer.skipped.items() if fact.name in metric.facts
        ],
    }
    if len(used) > MOST_FACTS:
        said["more_facts"] = len(used) - MOST_FACTS
    if metric.warn is not None or metric.alarm is not None:
        said["thresholds"] = {"warn": metric.warn, "alarm": metric.alarm, "better": metric.better}
    return said


def _value(sample: Sample) -> dict[str, Any]:
    return {
        "value": sample.value,
        "state": sample.state,
        "as_of": iso(sample.as_of),
        "source": "cache" if sample.cached else "live",
        **({"labels": dict(sample.labels)} if sample.labels else {}),
    }
