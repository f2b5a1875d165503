"""The way out: a context is checked, cleaned and held to what the receiver's card says before it is sent.

An invalid context raises. Who would rather send the task without it says `on_invalid="drop"` and is told what was
dropped.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

from pentad.kernel.cleaning import Masked
from pentad.rooms.agents.context.checks import checked
from pentad.rooms.agents.context.extension import URI, carried
from pentad.rooms.agents.context.findings import Issue, Level, refusal
from pentad.rooms.agents.context.integrity import sealed
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.redaction import Policy, redacted

if TYPE_CHECKING:
    from pentad.rooms.agents.context.integrity import Key


class Prepared(Struct, frozen=True):
    """What is sent (None: nothing), and all that was found, masked or dropped on the way."""

    context: dict[str, Any] | None
    extended: bool
    """Whether the receiver knows the extension, so that it goes under its URI too."""
    issues: list[Issue]
    masked: list[Masked]
    dropped: bool = False

    def metadata(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The message's metadata with the context in it."""
        if self.context is None:
            return dict(given or {})
        return carried(given, self.context, extended=self.extended)

    @property
    def extensions(self) -> list[str]:
        """The extensions to ask the receiver for."""
        return [URI] if self.extended and self.context is not None else []


def prepared(
    context: Any,
    card_params: Mapping[str, Any] | None = None,
    on_invalid: Literal["raise", "drop"] = "raise",
    *,
    level: Level = "standard",
    limits: ContextLimits = DEFAULT_LIMITS,
    policy: Policy | None = None,
    target: str = "agent",
    key: "Key | None" = None,
    seal: bool = False,
) -> Prepared:
    """A context as it may go to `target`. `card_params` is what its card says of the extension, None if nothing."""
    extended = card_params is not None
    agreed = limits.narrowed(card_params or {})
    shaped, issues = checked(context, level, agreed)
    if shaped is None or not issues.valid:
        if on_invalid == "raise":
            raise refusal(issues.errors)
        return Prepared(None, extended, issues.found, [], dropped=True)
    clean = redacted(cast("dict[str, Any]", shaped.get("items", {})), target, policy or Policy())
    sent: dict[str, Any] = {"items": clean.items}
    if "turn" in shaped:
        sent["turn"] = shaped["turn"]
    if seal or key is not None:
        sent["integrity"] = sealed(clean.items, key, _algorithm(key))
    return Prepared(sent, extended, issues.found, clean.report)


def _algorithm(key: Any) -> str:
    """The algorithm a key is for."""
    by_curve = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
    kind = getattr(key, "key_type", "OKP")
    return by_curve.get(getattr(key, "curve_name", ""), {"RSA": "PS256", "oct": "HS256"}.get(kind, "Ed25519"))
