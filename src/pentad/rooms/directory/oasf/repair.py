"""Repairs a record: applies the patches that are certain and validates again.

A repair never makes a record worse. If the patches of one round conflict, they are tried one by one, and a patch is
kept only if it leaves no more errors than before.
"""

from collections.abc import Iterable
from typing import Any, Final

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.json_patch import json_patch
from pentad.kernel.problems import Finding, Patch
from pentad.rooms.directory.oasf.findings import Report
from pentad.rooms.directory.oasf.validator import validate

_ROUNDS: Final = 4
"""One repair may lay bare the next: a renamed attribute, then its value."""

_ONE_BY_ONE: Final = 6
"""How many patches are tried by themselves in a round; a record may be large, and each try validates it."""


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
            # Places in the other patches are those before this one, so the rest waits for the next look.
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
