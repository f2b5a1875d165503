"""The limits an operator may set."""

import pytest

from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.settings import TaskLimits, task_limits


def test_settings_are_read_on_top_of_the_defaults() -> None:
    assert task_limits({"agents": ["echo"], "open_tasks": "7", "orphan_seconds": 2}) == TaskLimits(
        open_tasks=7, orphan_seconds=2.0
    )
    assert task_limits({}) == TaskLimits()


@pytest.mark.parametrize("wrong", [{"tasks": "many"}, {"task_bytes": 0}, {"orphan_seconds": -1}, {"tasks": None}])
def test_a_limit_that_is_no_amount_is_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(Misconfigured, match=f"rooms.agents.{next(iter(wrong))}"):
        task_limits(wrong)
