"""What is asked, read once: keys against the catalogue, lists however they were written, time as a deadline."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.engine.keys import joined, resolved
from pentad.rooms.metrics.model import Info, Wanted

LONGEST_SECONDS: Final = 600.0


def asked(
    info: Info,
    clock: Clock,
    *,
    keys: str | Iterable[str] | None = None,
    bg: str | None = None,
    recursive: bool = True,
    environments: str | Iterable[str] = (),
    regions: str | Iterable[str] = (),
    raw: bool = False,
    compat: Literal["legacy"] | None = None,
    credentials: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> Wanted:
    """The question. Keys that mean nothing are refused here, before anything is fetched."""
    if seconds is not None and not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(
            f"The time for an answer is {seconds:g} s.", hint=f"0 to {LONGEST_SECONDS:g} s may be given."
        )
    given = joined(keys) if keys is not None else ()
    return Wanted(
        keys=resolved(info, given) if given else None,
        bg=(bg or "").strip() or None,
        recursive=recursive,
        environments=joined(environments),
        regions=joined(regions),
        raw=raw,
        compat=compat,
        credentials=credentials,
        deadline=None if seconds is None else clock.monotonic() + seconds,
        now=clock.now(),
    )
