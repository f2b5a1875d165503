"""How far a long command has come: one line on a terminal's stderr that goes away at the end. Where nobody looks,
nothing is drawn and rich is not imported.
"""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

Told = Callable[[str, int, int | None], None]
"""Takes what is being done, how much of it is done, and of how much, if that is known."""


@contextmanager
def shown_progress() -> Generator[Told]:
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        line = bar.add_task("reading", total=None)
        yield lambda what, done, total: bar.update(line, description=what, completed=done, total=total)
