"""What may be bound to a statement, so that both dialects accept and refuse the same values.

Left to themselves they differ: SQLite keeps an embedded NUL and turns NaN into NULL, PostgreSQL refuses the one and
keeps the other. Only the portable subset passes. This is on the way of every statement: keep it short.
"""

from collections.abc import Sequence

from pentad.kernel.errors import InvalidInput, LimitExceeded
from pentad.kernel.ports import Value

_LOWEST = -(2**63)
_HIGHEST = 2**63 - 1
SIGNAL_BYTES = 7_000
CHANNEL_BYTES = 200


def checked(params: Sequence[Value]) -> Sequence[Value]:
    """The same parameters, or InvalidInput for one that cannot be stored alike in both dialects."""
    for value in params:
        if value is None:
            continue
        if isinstance(value, str):
            if "\0" in value:
                raise InvalidInput("A text holds a NUL character.", hint="Remove U+0000 from it; it cannot be stored.")
        elif type(value) is not float and isinstance(value, int):
            if not _LOWEST <= value <= _HIGHEST:
                raise InvalidInput("A number does not fit into 64 bits.", hint="Store it as text.")
        elif isinstance(value, float) and value != value:  # only NaN differs from itself
            raise InvalidInput("NaN is not a number that can be stored.", hint="Leave the value out instead.")
    return params


def checked_signal(channel: str, payload: str) -> None:
    """LimitExceeded or InvalidInput for a signal that one of the dialects could not carry."""
    if not channel or "\n" in channel or len(channel.encode()) > CHANNEL_BYTES:
        raise InvalidInput("A signal's channel is 1 to 200 bytes on one line.")
    if len(payload.encode()) > SIGNAL_BYTES:
        raise LimitExceeded(
            f"A signal's payload is at most {SIGNAL_BYTES} bytes.", hint="Send the id of what changed, not its content."
        )
    checked((channel, payload))
