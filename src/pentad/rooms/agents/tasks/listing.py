"""Tasks page by page, of one owner or (for an operator) of all: the last changed first, with a cursor to go on."""

import base64
import binascii
from dataclasses import dataclass
from typing import Final

from pentad.kernel.errors import InvalidInput
from pentad.kernel.ports import Rows, Value
from pentad.rooms.agents.tasks.log import HEAD_COLUMNS, Head, head_from
from pentad.rooms.agents.tasks.states import STATES

MOST: Final = 100


@dataclass(frozen=True, slots=True)
class Listing:
    """Which tasks are wanted."""

    owner: str | None
    """None lists the tasks of everybody; only the operator's view asks for that."""
    context_id: str | None
    state: str | None
    agent: str | None
    since: float | None
    page_size: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Found:
    heads: list[Head]
    total: int
    next: str | None


def list_heads(rows: Rows, wanted: Listing) -> Found:
    """One page, how many there are in all, and where the next page begins."""
    if not 1 <= wanted.page_size <= MOST:
        raise InvalidInput(f"A page has 1 to {MOST} tasks.", details={"reason": "page-size"})
    where, params = _conditions(wanted)
    total = int(rows.value(f"SELECT count(*) FROM agent_tasks WHERE {where}", *params))  # noqa: S608  own words
    if wanted.cursor is not None:
        at, task_id = _read_cursor(wanted.cursor)
        where += " AND (updated_at, id) < (?, ?)"
        params += [at, task_id]
    found = rows.all(
        f"SELECT {HEAD_COLUMNS} FROM agent_tasks WHERE {where} ORDER BY updated_at DESC, id DESC LIMIT ?",  # noqa: S608  own words
        *params, wanted.page_size + 1,
    )  # fmt: skip
    heads = [head_from(row) for row in found[: wanted.page_size]]
    more = len(found) > wanted.page_size
    return Found(heads, total, _cursor(heads[-1]) if more else None)


def _conditions(wanted: Listing) -> tuple[str, list[Value]]:
    where, params = "1 = 1", list[Value]()
    if wanted.state is not None:
        if wanted.state not in STATES:
            raise InvalidInput(
                f"{wanted.state!r} is no state of a task.", hint=f"States are {', '.join(STATES)}.",
                details={"reason": "no-such-state"},
            )  # fmt: skip
        where += " AND state = ?"
        params.append(wanted.state)
    for column, value in (("owner", wanted.owner), ("context", wanted.context_id), ("agent", wanted.agent)):
        if value is not None:
            where += f" AND {column} = ?"
            params.append(value)
    if wanted.since is not None:
        where += " AND updated_at > ?"
        params.append(wanted.since)
    return where, params


def _cursor(last: Head) -> str:
    return base64.urlsafe_b64encode(f"{last.updated_at!r} {last.id}".encode()).decode().rstrip("=")


def _read_cursor(text: str) -> tuple[float, str]:
    try:
        at, _, task_id = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode().partition(" ")
        return float(at), task_id
    except (ValueError, binascii.Error):
        raise InvalidInput(
            "The cursor is not one of ours.", hint="Give back the one of the page before, as it is.",
            details={"reason": "bad-cursor"},
        ) from None  # fmt: skip
