"""Repairs a record: applies certain patches and validates again.

A repair never makes a record worse. If the patches of one round conflict, they are tried one by one, and a patch is
kept only if it leaves no more errors than before.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, NamedTuple

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_patch import json_patch
from pentad.kernel.problems import Finding, Patch
from pentad.rooms.directory.oasf.class_suggestions import suggest
from pentad.rooms.directory.oasf.coercion import MAPPED, RecordDraft, coerce, read_draft
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.parsing import parse_record
from pentad.rooms.directory.oasf.validator import validate
from pentad.rooms.directory.oasf.versions import EMBEDDED

_ROUNDS: Final = 4
"""One repair may reveal the next: first a renamed attribute, then its value."""

_ONE_BY_ONE: Final = 6
"""How many patches are tried one by one in a round. A record may be large, and each try validates it."""


def repair(data: dict[str, Any], report: Report) -> tuple[dict[str, Any], Patch, list[Finding]]:
    """The record with every certain fix applied, the patch, and the findings that remain.

    A record with more errors than a report lists is left as it is.
    """
    done: Patch = []
    fixed = data
    for _ in range(0 if report.more_errors else _ROUNDS):
        better, patch = _improve(fixed, report)
        if not patch:
            break
        fixed, report = better, validate(better)
        done += patch
    return fixed, done, [*report.errors, *report.warnings]


def _improve(data: dict[str, Any], report: Report) -> tuple[dict[str, Any], Patch]:
    certain = [finding for finding in (*report.errors, *report.warnings) if finding.certain and finding.patch]
    patch = _order(certain)
    better = _try(data, patch, report)
    if better is not None:
        return better, patch
    for finding in certain[:_ONE_BY_ONE]:
        better = _try(data, list(finding.patch), report)
        if better is not None:
            # The paths of the other patches predate this one, so they wait for the next round.
            return better, list(finding.patch)
    return data, []


def _try(data: dict[str, Any], patch: Patch, before: Report) -> dict[str, Any] | None:
    """The patched record, unless the patch does not fit or makes it worse."""
    if not patch:
        return None
    try:
        better = json_patch(data, patch)
    except (InvalidInput, LimitExceeded):
        return None
    return None if better == data or _badness(validate(better)) > _badness(before) else better


def _badness(report: Report) -> tuple[int, int]:
    return len(report.errors) + report.more_errors, len(report.warnings) + report.more_warnings


def _order(findings: Iterable[Finding]) -> Patch:
    """All operations, removals last and from the end, so that no index moves before it is used."""
    operations = [operation for finding in findings for operation in finding.patch]
    removals = {operation["path"]: operation for operation in operations if operation["op"] == "remove"}
    others = [operation for operation in operations if operation["op"] != "remove"]
    inside = tuple(f"{path}/" for path in removals)
    others = [operation for operation in others if not operation["path"].startswith(inside)]
    last_first = sorted(removals.values(), key=lambda operation: _sort_key(operation["path"]), reverse=True)
    return [*others, *last_first]


def _sort_key(pointer: str) -> list[tuple[int, str]]:
    return [(int(key), "") if key.isdecimal() else (-1, key) for key in pointer.split("/")]


class RepairedDraft(NamedTuple):
    """The result of repairing a draft: its report, the record, the patch, and the remaining findings."""

    version: str
    report: Report
    record: dict[str, Any]
    patch: Patch
    left: list[Finding]

    def questions(self) -> list[dict[str, Any]]:
        """Questions for the author: one for each remaining error."""
        errors = [one for one in self.left if one.code not in _ADVICE][:_MOST_QUESTIONS]
        return [_question(one, self.record, self.version) for one in errors]


async def repair_draft(text: str, validated: Callable[[dict[str, Any]], Awaitable[Report]]) -> RepairedDraft:
    """Read a draft tolerantly, bring it into the shape of its version, and apply every certain fix. The report is about
    the text as given. InvalidInput if it is not a JSON object."""
    try:
        data = parse_record(text)
        report = await validated(data)
    except InvalidInput:  # no validator can read it, so the report combines the findings about the text and the draft
        draft = read_draft(text)
        report = coerced = await validated(draft.data)
        fixed, patch, left = repair(draft.data, coerced)
        report.errors[:0] = draft.findings
    else:
        draft = coerce(data) if report.errors or report.warnings else RecordDraft(data, [], [])
        coerced = await validated(draft.data) if draft.patch else report
        fixed, patch, left = repair(draft.data, coerced)
        report.warnings += [one for one in draft.findings if one.code == MAPPED]
    version = draft.data.get("schema_version")
    return RepairedDraft(version if isinstance(version, str) else "", report, fixed, [*draft.patch, *patch], left)


_MOST_QUESTIONS: Final = 50
_ADVICE: Final = frozenset({"attribute_recommended_missing", "class_deprecated", "version_earlier", "version_later"})
_ASKED: Final = {
    "name": "What is the agent called, such as example.org/librarian?",
    "version": "Which version is this, such as v1.0.0?",
    "description": "What does the agent do?",
    "authors": "Who wrote it?",
    "created_at": "When was it created, such as 2026-03-02T09:30:00Z?",
    "skills": "Which skills does it have?",
    "domains": "Which domains is it for?",
    "locators": "Where can it be found?",
    "schema_version": "Which OASF version is it written for?",
}


def _question(found: Finding, record: dict[str, Any], version: str) -> dict[str, Any]:
    options = list(found.suggestions)
    if found.code in ("attribute_required_missing", "attribute_required_empty"):
        text = _ASKED.get(found.path, f"What is {found.path}?")
        described = record.get("description")
        if found.path == "skills" and isinstance(described, str) and version in EMBEDDED:
            options = [one.entry.name for one in suggest(described[:2000], version, "skill", limit=3)]
    elif found.code == "attribute_unknown":
        text = f"What is {found.path} meant to be? Rename it, remove it, or move it into annotations."
    elif found.code == "name_unknown":
        text = f"Which class is meant by {found.value!r}?"
        family = "domain" if found.path.startswith("domains") else "skill"
        if not options and isinstance(found.value, str) and version in EMBEDDED:
            options = [one.entry.name for one in suggest(found.value, version, family, limit=3)]
    else:
        text = f"{found.message} What should it be?"
    return {"pointer": found.pointer, "question": text, **({"options": options} if options else {})}
