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
    """The question. What means nothing to the collector is refused here, before anything is fetched."""
    if seconds is not None and not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(
            f"The time for an answer is {seconds:g} s.", hint=f"0 to {LONGEST_SECONDS:g} s may be given."
        )
    given = joined(keys) if keys is not None else ()
    scope = {"bg": bg, "environment": environments, "region": regions, "raw": raw, "compat": compat}
    refuse_what_it_does_not_take(info, [name for name, value in scope.items() if value])
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


def refuse_what_it_does_not_take(info: Info, given: Iterable[str]) -> None:
    """An argument that is passed over would give the answer to another question."""
    for name in given:
        if info.takes is not None and name not in info.takes:
            raise InvalidInput(
                f"The collector {info.id!r} does not know {name!r}, so it cannot answer by it.",
                hint=f"Leave {name} out.",
            )
