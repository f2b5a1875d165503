"""Incoming contexts: validates the context of a message, or rejects the message with reasons.

Nothing is dropped silently. Secrets are masked before anything else sees them, including the store.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.context.checks import checked
from pentad.rooms.agents.context.extension import sent_context
from pentad.rooms.agents.context.findings import Issue, Level, refusal
from pentad.rooms.agents.context.integrity import check_seal, items_hash
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.redaction import STORAGE_POLICY, STORE, Policy, redacted

if TYPE_CHECKING:
    from pentad.rooms.agents.context.integrity import Key

NO_KEYS: Final[tuple[Any, ...]] = ()


@dataclass(frozen=True)
class Context:
    """A validated context: its items, warnings, and what was masked."""

    items: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    turn: Mapping[str, Any] | None = None
    """How this context changes that of earlier turns: `mode`, `remove`, `base`."""
    warnings: tuple[Issue, ...] = ()
    masked: tuple[Masked, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical form."""
        return items_hash(self.items)

    def as_json(self) -> dict[str, Any]:
        """As `mcp_context`."""
        return {"items": self.items}


def accepted(
    metadata: Any,
    level: Level = "standard",
    limits: ContextLimits = DEFAULT_LIMITS,
    policy: Policy = STORAGE_POLICY,
    *,
    now: float | None = None,
    keys: "Sequence[Key]" = NO_KEYS,
    target: str = STORE,
) -> Context | None:
    """The context in a message's metadata; None if there is none.

    InvalidInput with `details["problems"]`, each with path, rule and message; Conflict if the seal does not match;
    Forbidden if the policy denies it.
    """
    sent = sent_context(metadata)
    if sent is None:
        return None
    key, value = sent
    shaped, issues = checked(value, level, limits, now=now)
    if shaped is None or not issues.valid:
        raise refusal(issues.errors, ("metadata", key))
    items = cast("dict[str, dict[str, Any]]", shaped.get("items", {}))
    given = cast("Mapping[str, Any]", value)
    if "integrity" in given or keys:
        # The lenient level leaves out members its sender has sealed.
        check_seal(given.get("items", {}) if level == "lenient" else items, given.get("integrity", {}), keys)
    clean = redacted(items, target, policy)
    warnings = tuple([issue for issue in issues.found if issue.severity == "warning"])
    turn = given.get("turn")
    said = cast("Mapping[str, Any]", turn) if turn is not None and isinstance(turn, Mapping) else None
    return Context(clean.items, said, warnings, tuple(clean.report))
