"""The limits an operator may set."""

import pytest

from pentad.kernel.errors import Misconfigured
from pentad.rooms.agents.settings import AgentsSettings
from tests.room_settings import room_settings


def test_settings_are_read_on_top_of_the_defaults() -> None:
    given = {"agent": ["echo"], "open_tasks": "7", "orphan_seconds": 2}
    assert room_settings("agents", **given) == AgentsSettings(agent=("echo",), open_tasks=7, orphan_seconds=2.0)
    assert room_settings("agents") == AgentsSettings()


@pytest.mark.parametrize("wrong", [{"tasks": "many"}, {"task_bytes": 0}, {"orphan_seconds": -1}, {"tasks": None}])
def test_a_limit_that_is_no_amount_is_refused_by_name(wrong: dict[str, object]) -> None:
    with pytest.raises(Misconfigured, match=f"rooms.agents.{next(iter(wrong))}"):
        room_settings("agents", **wrong)
