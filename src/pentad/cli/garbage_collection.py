"""When Python searches for garbage. Most objects made at the start live until the end, so searching them is wasted."""

import gc
from typing import Final

_STARTING: Final = (300_000, 50, 50)
_SERVING: Final = (20_000, 20, 50)
"""One request may create ten thousand objects that live until its end."""


def collect_rarely() -> None:
    """For the start of a process."""
    gc.set_threshold(*_STARTING)


def collect_new_objects() -> None:
    """For a server that is ready: search only what requests create."""
    gc.set_threshold(*_SERVING)
    gc.freeze()


def collect_no_more() -> None:
    """For the end of a process, which otherwise searches all objects once more."""
    gc.freeze()
