"""Context limits, which the server enforces and the card announces."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pentad.kernel.default_limits import KIB

REF_SCHEMES: Final = (
    *("openregister", "directory", "avatar", "metrics", "agents", "context", "a2a-artifact", "cid", "oasf"),
    *("https", "http"),
)
"""The URI schemes that a server with all of Pentad's rooms follows. `ContextIntake.limits` has those of the open
rooms."""
LONGEST_NAME: Final = 128
NAME_PATTERN: Final = "^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$"
LONGEST_REF: Final = 4 * KIB


@dataclass(frozen=True, slots=True)
class ContextLimits:
    """Defaults for messages that are stored. Larger contents go into the store and are sent as references."""

    items: int = 64
    total_bytes: int = 256 * KIB
    item_bytes: int = 64 * KIB
    depth: int = 32
    ref_schemes: tuple[str, ...] = REF_SCHEMES

    def params(self) -> dict[str, Any]:
        """The limits as parameters of the extension on a card."""
        return {
            "maxItems": self.items,
            "maxBytes": self.total_bytes,
            "maxItemBytes": self.item_bytes,
            "maxDepth": self.depth,
            "namePattern": NAME_PATTERN,
            "refSchemes": list(self.ref_schemes),
        }

    def narrowed(self, params: Mapping[str, Any]) -> "ContextLimits":
        """The smaller of both sides' value for each limit. Invalid values on a card are ignored."""
        schemes = params.get("refSchemes")
        known = self.ref_schemes
        if isinstance(schemes, list | tuple):
            theirs = {str(scheme).lower() for scheme in schemes}  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]  foreign JSON
            known = tuple(scheme for scheme in known if scheme in theirs)
        return replace(
            self,
            items=_smaller(self.items, params.get("maxItems")),
            total_bytes=_smaller(self.total_bytes, params.get("maxBytes")),
            item_bytes=_smaller(self.item_bytes, params.get("maxItemBytes")),
            depth=_smaller(self.depth, params.get("maxDepth")),
            ref_schemes=known,
        )


DEFAULT_LIMITS: Final = ContextLimits()


def _smaller(ours: int, theirs: Any) -> int:
    if isinstance(theirs, bool) or not isinstance(theirs, int | float) or not theirs >= 0:
        return ours
    return int(min(ours, theirs))
