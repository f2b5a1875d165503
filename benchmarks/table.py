"""Results as a table: what was measured, Pentad's figure, the rival's, their ratio, and the goal beside it.

A goal informs, it does not gate: a figure that misses one is marked and the run still succeeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on the ratio to the rival, or on Pentad's own figure."""

    side: Literal["at least", "at most"]
    bound: float
    of: Literal["ratio", "figure"] = "ratio"

    def met_by(self, value: float) -> bool:
        return value >= self.bound if self.side == "at least" else value <= self.bound


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. `ratio` is always Pentad's figure over the rival's."""

    group: str
    name: str
    unit: str
    pentad: float
    rival: float | None = None
    goal: Goal | None = None
    remark: str = ""
    against: str | None = None
    """Who the rival of this line's group is, where it is not the rival of the whole run; empty when there is none."""

    @property
    def ratio(self) -> float | None:
        return None if not self.rival else self.pentad / self.rival

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        value = self.ratio if self.goal.of == "ratio" else self.pentad
        return None if value is None else self.goal.met_by(value)

    def as_json(self) -> dict[str, Any]:
        return {
            "group": self.group,
            "name": self.name,
            "unit": self.unit,
            "pentad": round(self.pentad, 3),
            "rival": None if self.rival is None else round(self.rival, 3),
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "goal": None if self.goal is None else _shown_goal(self.goal, self.unit),
            "met": self.met,
            "remark": self.remark,
        }


def table(figures: Sequence[Figure], rival: str) -> str:
    """The whole table as text, in groups."""
    rivals = [rival if figure.against is None else figure.against for figure in figures]
    headings = [("", "unit", "Pentad", name, "ratio" if name else "", "goal" if name else "", "") for name in rivals]
    rows = [_row(figure) for figure in figures]
    widths = [max(len(row[column]) for row in (*headings, *rows)) for column in range(7)]
    lines: list[str] = []
    group = ""
    for figure, heading, cells in zip(figures, headings, rows, strict=True):
        if figure.group != group:
            group = figure.group
            lines += ["", group, _line(heading, widths)]
        lines.append(_line(cells, widths))
    return "\n".join(lines)


def _row(figure: Figure) -> tuple[str, ...]:
    return (
        f"  {figure.name}",
        figure.unit,
        _number(figure.pentad),
        "" if figure.rival is None else _number(figure.rival),
        "" if figure.ratio is None else f"{figure.ratio:.{2 if figure.ratio >= 1 else 3}f}x",
        "" if figure.goal is None else _shown_goal(figure.goal, figure.unit),
        " ".join(filter(None, ({None: "", True: "met", False: "missed"}[figure.met], figure.remark))),
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = [
        cell.rjust(width) if 2 <= column <= 4 else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(aligned).rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _shown_goal(goal: Goal, unit: str) -> str:
    sign = ">=" if goal.side == "at least" else "<="
    return f"{sign} {goal.bound:g}x" if goal.of == "ratio" else f"{sign} {goal.bound:g} {unit}"
