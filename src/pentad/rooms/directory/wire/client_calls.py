"""Ends calls of gRPC's client early."""

import asyncio
from contextlib import suppress
from typing import Any, Final

_END_SECONDS: Final = 1.0


async def end_call(call: Any) -> None:
    """Cancel a call, unless it is over, and wait until it has ended.

    gRPC delivers the end of a call to the event loop it was made on, and fails in some other loop if that is closed.
    """
    call.cancel()
    with suppress(TimeoutError):  # a call that was cancelled before it began never ends
        async with asyncio.timeout(_END_SECONDS):
            await call.code()
