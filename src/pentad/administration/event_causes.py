"""What led to an event: the traces in which its task or its call was started."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pentad.kernel.events import Event
from pentad.kernel.ports import Rows
from pentad.kernel.trace import OriginOf, SpansOf

_TASKS: Final = "agents://tasks/"
_RECENT_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class EventCauses:
    """Asks the rooms about tasks and traces (`Room.origin`, `Room.spans`)."""

    of_task: Sequence[OriginOf]
    of_trace: Sequence[SpansOf]

    def origins(self, rows: Rows, event: Event) -> Iterator[str]:
        """Positions as `traceparent`: where the topmost task of the event was started, the event's own position in its
        trace, and the one reached by following the trace back through tasks and their calls."""
        if task := event.cause or (event.subject if event.subject.startswith(_TASKS) else ""):
            yield from (found for origin in self.of_task if (found := origin(rows, task)))
        if not event.trace:
            return
        yield event.trace
        trace_id, span, since = event.trace[3:35], event.trace[36:52], event.at - _RECENT_SECONDS
        spans = [one for read in self.of_trace for one in read(rows, trace_id, [event.principal], since)]
        above = {one.span_id: one.parent_span_id for one in spans}
        for _ in above:  # at most this many steps, in case they form a circle
            if span not in above:
                break
            span = above[span]
        yield f"00-{trace_id}-{span}-01"
