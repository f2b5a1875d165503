"""Builds the query for a collector: resolves keys, splits lists, turns seconds into a deadline."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypedDict, Unpack

from pentad.kernel.clock import Clock
from pentad.kernel.errors import InvalidInput
from pentad.rooms.metrics.metric_keys import resolve_keys, split_list
from pentad.rooms.metrics.models import Info, Query

LONGEST_SECONDS: Final = 600.0


class QueryOptions(TypedDict, total=False):
    """Everything a caller may say about a query. Without `seconds` there is no deadline."""

    keys: str | Iterable[str]
    bg: str | None
    recursive: bool
    environments: str | Iterable[str]
    regions: str | Iterable[str]
    raw: bool
    compat: Literal["legacy"] | None
    credentials: Mapping[str, str] | None
    seconds: float | None


def build_query(info: Info, clock: Clock, **options: Unpack[QueryOptions]) -> Query:
    """The query for one collector. Anything the collector does not support is refused before a request is sent."""
    seconds = options.get("seconds")
    if seconds is not None and not 0 < seconds <= LONGEST_SECONDS:
        raise InvalidInput(f"The time for an answer is {seconds:g} s.", hint=f"Use up to {LONGEST_SECONDS:g} s.")
    _refuse_unsupported(info, options)
    keys = split_list(options.get("keys", ()))
    return Query(
        keys=resolve_keys(info, keys) if keys else None,
        bg=(options.get("bg") or "").strip() or None,
        recursive=options.get("recursive", True),
        environments=split_list(options.get("environments", ())),
        regions=split_list(options.get("regions", ())),
        raw=options.get("raw", False),
        compat=options.get("compat"),
        credentials=options.get("credentials"),
        deadline=None if seconds is None else clock.monotonic() + seconds,
        now=clock.now(),
    )


def _refuse_unsupported(info: Info, options: QueryOptions) -> None:
    """Ignoring a filter would answer another question."""
    given = {
        "bg": options.get("bg"), "environment": options.get("environments"), "region": options.get("regions"),
        "raw": options.get("raw"), "compat": options.get("compat"),
    }  # fmt: skip
    for name, value in given.items():
        if value and info.takes is not None and name not in info.takes:
            raise InvalidInput(
                f"The collector {info.id!r} does not know {name!r}, so it cannot answer by it.",
                hint=f"Leave {name} out.",
            )
