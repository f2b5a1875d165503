"""Where the original's numbers differ from the right ones, and why: both are made of the same facts, and compared."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pentad.rooms.metrics.engine.keys import Match, flat
from pentad.rooms.metrics.model import Difference, Labels

REASONS: Final = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"messagesDelivered$", "The original adds up a misspelt name, so nothing is ever delivered."),
        (r"\.byRegion\.", "The original shows the first environment of each type only."),
        (r"^mqMetrics\.", "The original reads the first 20 destinations of a region only."),
        (r"\.networking\.", "The original does not fetch the usage for this collector: nothing is used, all is left."),
        (r"apisWith(out)?Security$", "The original counts policies here, not API instances."),
        (r"\.reuse\.", "The original does not fetch the APIs for this collector, so nothing is managed."),
        (r"\.cloudhub2\.|\.rtf\.applications\.", "The original counts CloudHub 2.0 as Runtime Fabric."),
        (r"\.rtf\.", "The original reads a place that is not in its tree, so there is no value."),
        (r"^apiManagerMetrics\.apis\.", "The original does not answer this collector."),
    )
)
FAILED: Final = "A call failed: the original loses the whole group for that, and fills it with zeros."
NO_ENVIRONMENTS: Final = "The original collects nothing of a group without environments, and fills it with zeros."
_NO_VALUE: Final = "There is no value; the original makes it a zero."
_PASSED_OVER: Final = frozenset({"date", "errors", "notImplemented", "rtf"})


def differences(
    right: Mapping[str, Any], legacy: Mapping[str, Any], labels: Labels, lost: str | None = None
) -> Iterator[Difference]:
    """Of one group's entry, as it is and as the original gives it; `lost` is why the original has nothing of it."""
    theirs = {(match.path, match.labels): match.value for match in _figures(legacy)}
    for match in _figures(right):
        told = theirs.get((match.path, match.labels))
        if told != match.value:
            found = tuple(sorted({*labels, *match.labels}))
            yield Difference(
                key=match.path,
                labels=found,
                right=match.value,
                legacy=told,
                why=lost or (_NO_VALUE if match.value is None else _why(match.path)),
            )


def _figures(entry: Mapping[str, Any]) -> list[Match]:
    return flat({name: value for name, value in entry.items() if name not in _PASSED_OVER and name != "states"})


def _why(path: str) -> str:
    return next((why for pattern, why in REASONS if pattern.search(path)), "The original has no such figure.")
