"""The states of a task and which may follow which.

A terminal state never changes: nothing in this package writes one over, and the SQL that appends events refuses to. An
interrupted state waits for the caller; the runner has nothing to do until the next turn.
"""

from typing import Final, Literal, get_args

State = Literal[
    "submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled", "rejected"
]

STATES: Final[tuple[State, ...]] = get_args(State)
TERMINAL: Final = frozenset[State]({"completed", "failed", "canceled", "rejected"})
INTERRUPTED: Final = frozenset[State]({"input-required", "auth-required"})
RESTING: Final = TERMINAL | INTERRUPTED
"""Where a caller that waits is answered: nothing happens any more without somebody else's doing."""


def may_follow(before: State, after: State) -> bool:
    """Whether a task in the one state may be put into the other; repeating a state that is not terminal is allowed."""
    if before in TERMINAL:
        return False
    return after != "submitted" or before == "submitted"
