"""The trace of a task as a tree with timings: its calls, and the tasks it sent to other agents."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pentad.kernel import pages as ui
from pentad.kernel.clock import parse_iso
from pentad.rooms.agents.approvals.inbox import is_approval
from pentad.rooms.agents.models import Message
from pentad.rooms.agents.tasks.journal import APPROVAL

_STEP: Final = "\N{NO-BREAK SPACE}\N{NO-BREAK SPACE}"
_LONGEST_NAME: Final = 120
_STATES: Final = {"input-required": "waits for an answer", "auth-required": "waits for a login"}
"""Words for states whose protocol names mean little to people."""
_AWAITS_APPROVAL: Final = "waits for an approval"


def state_words(state: str, message: Message | None = None) -> str:
    """A state in words. `message` is what the agent said when the task reached it."""
    return _AWAITS_APPROVAL if is_approval(state, message) else _STATES.get(state, state)


def trace_table(task: Mapping[str, Any]) -> ui.Table:
    """The trace from `trace_json` as a table. Each row says when the step started and how long it took."""
    spans = list(_spans(task, 0))
    started = min(at for _, at, _, _, _ in spans)
    total = max([0.001, *(at - started + (seconds or 0.0) for _, at, seconds, _, _ in spans)])
    rows = [
        (
            what,
            f"{at - started:,.3f}",
            "" if seconds is None else f"{seconds:,.3f}",
            _bar(at - started, seconds, total, state),
            state,
            problem,
        )
        for what, at, seconds, state, problem in spans
    ]
    columns = (
        "Step",
        ui.Column("Start (s)", numeric=True),
        ui.Column("Took (s)", numeric=True),
        ui.Column("Timeline", short=True),
        ui.Column("State", short=True),
        "Problem",
    )
    if not any(problem for *_, problem in rows):
        return ui.Table(columns[:-1], [row[:-1] for row in rows])
    return ui.Table(columns, rows)


def has_steps(task: Mapping[str, Any]) -> bool:
    """Whether there is more to show than the task itself."""
    return bool(task.get("calls") or task.get("tasks"))


Span = tuple[ui.Text, float, float | None, ui.Cell, str]


def _spans(task: Mapping[str, Any], depth: int) -> Iterator[Span]:
    indent, state = _STEP * depth, str(task["state"])
    kind = "good" if state == "completed" else "bad" if state in ("failed", "rejected", "canceled") else "plain"
    asks = state == "input-required" and any(_asks_approval(call) for call in task.get("calls", ()))
    words = _AWAITS_APPROVAL if asks else state_words(state)
    link, shown = ui.Place(("tasks", str(task["task_id"]))), ui.Cell(words, kind=kind)
    yield ui.Cell(f"{indent}{task['agent']}", link), _time(task), float(task["seconds"]), shown, ""
    for call in task.get("calls", ()):
        if "task" in call:
            yield from _spans(call["task"], depth + 1)
            continue
        remote = f" ({call['remote_task']['task_id']})" if "remote_task" in call else ""
        name = f"{_STEP * (depth + 1)}{call['kind']} {' '.join(str(call['name']).split())[:_LONGEST_NAME]}{remote}"
        ended = "seconds" in call
        outcome = "failed" if "error" in call else "done" if ended else "running"
        told = ui.Cell(outcome, kind="bad" if outcome == "failed" else "plain")
        yield name, _time(call), float(call["seconds"]) if ended else None, told, str(call.get("error") or "")
    for one in task.get("tasks", ()):
        yield from _spans(one, depth + 1)


def _asks_approval(call: Mapping[str, Any]) -> bool:
    return call["kind"] == APPROVAL and "seconds" not in call


def _time(span: Mapping[str, Any]) -> float:
    return parse_iso(str(span["at"])).timestamp()


def _bar(start: float, seconds: float | None, total: float, state: ui.Cell) -> ui.Cell:
    end = total if seconds is None else start + seconds
    return ui.Cell("", bar=(start / total, end / total), kind="bad" if state.kind == "bad" else "")
