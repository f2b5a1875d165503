"""The clock of a server's connections: clients are late only by time in which the server could serve them."""

from dataclasses import dataclass, field
from math import inf

import pytest

from pentad.kernel.default_limits import Limits
from pentad.net.connection_guard import TICKS_PER_SECOND, ConnectionGuard


@dataclass
class Held:
    deadline: float
    write_deadline: float = inf
    late: list[str] = field(default_factory=list[str])

    def request_overdue(self) -> None:
        self.late.append("request")

    def response_unread(self) -> None:
        self.late.append("response")


@pytest.mark.requirement("net:standstill")
def test_time_in_which_the_server_stood_still_does_not_count() -> None:
    guard = ConnectionGuard(Limits(), 1_000.0)
    sender, reader = Held(guard.now + 10.0), Held(inf, guard.now + 30.0)
    now = 5_000.0  # the machine slept
    for _ in range(9 * TICKS_PER_SECOND):
        guard.tick(now, [sender, reader])
        now += 1 / TICKS_PER_SECOND
    assert (sender.late, reader.late) == ([], [])
    for _ in range(40 * TICKS_PER_SECOND):
        guard.tick(now, [sender, reader])
        now += 1 / TICKS_PER_SECOND
    assert (sender.late[:1], reader.late[:1]) == (["request"], ["response"])
