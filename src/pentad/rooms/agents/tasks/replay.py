"""Replays of turns: an agent that runs again must again emit what the log already has."""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from pentad.rooms.agents.approvals.inbox import is_about_approval
from pentad.rooms.agents.models import DEADLINE_KEY, ArtifactEvent, Body, Event, MessageEvent
from pentad.rooms.agents.store import encode_body
from pentad.rooms.agents.tasks.journal import CodeChanged
from pentad.rooms.agents.tasks.run_events import WORKING

CATCH_UP_SECONDS: Final = 1.0
"""How long a new durable call waits for concurrent parts of the agent to catch up."""
_LONGEST_EXCERPT: Final = 200


class Replay:
    """The events earlier runs of a turn emitted and this one has not emitted yet."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._left = deque(_comparable(one.body) for one in events if _is_said(one.body))
        self._matched = asyncio.Event()

    @property
    def is_behind(self) -> bool:
        return bool(self._left)

    def has(self, body: Body) -> bool:
        """Whether an earlier run emitted this. CodeChanged if it emitted something else."""
        if not self._left:
            return False
        said = _comparable(body)
        if said not in self._left:
            raise CodeChanged(f"it now says {_excerpt(said)} instead of {_excerpt(self._left[0])}.")
        self._left.remove(said)
        if not self._left:
            self._matched.set()
        return True

    async def caught_up(self) -> None:
        """Wait until everything in the log has been emitted again, before anything new happens. CodeChanged if that
        fails.
        """
        if self._left:
            with suppress(TimeoutError):
                async with asyncio.timeout(CATCH_UP_SECONDS):
                    await self._matched.wait()
        self.check_finished()

    def check_finished(self) -> None:
        """CodeChanged if something was not emitted again."""
        if self._left:
            raise CodeChanged(f"it no longer says {_excerpt(self._left[0])}.")


def _is_said(body: Body) -> bool:
    """Whether the agent emitted this. Bare states come from the engine when an agent pauses, others from the inbox and
    deadlines.
    """
    if isinstance(body, MessageEvent):
        return body.message.role == "agent"
    if is_about_approval(body) or DEADLINE_KEY in (body.metadata or {}):
        return False
    return body != WORKING


def _comparable(body: Body) -> bytes:
    """An event without its message ids, which depend on what was said before."""
    if not isinstance(body, ArtifactEvent) and body.message is not None:
        body = replace(body, message=replace(body.message, id=""))
    return encode_body(body).json


def _excerpt(said: bytes) -> str:
    text = said.decode()
    return text if len(text) <= _LONGEST_EXCERPT else f"{text[:_LONGEST_EXCERPT]}..."
