"""The way out: a context is checked, cleaned and held to what the receiver's card says before it is sent.

An invalid context raises. Who would rather send the task without it says `on_invalid="drop"` and is told what was
dropped. What is too large for the receiver is lent to it where there is a lender: the item has an address, the hash and
the size in place of the content.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from msgspec import Struct

from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.context.checks import checked
from pentad.rooms.agents.context.context_store import LARGEST_CONTENT, Kept, spilling
from pentad.rooms.agents.context.extension import URI, carried
from pentad.rooms.agents.context.findings import Issue, Issues, Level, refusal
from pentad.rooms.agents.context.integrity import SHA256, check_seal, sealed
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.redaction import Policy, redacted

if TYPE_CHECKING:
    from pentad.rooms.agents.context.integrity import Key


_SIZES: Final = frozenset({"item-too-large", "too-large"})
_NO_PLACE: Final = (
    "Set public_url, the address others reach this server by: then the agent fetches there what is too large to travel."
    " Or keep it elsewhere and send a `ref`."
)
_NOT_FOLLOWED: Final = "The agent follows no references by {}: keep the content where it does, and send a `ref`."


class Lender(Protocol):
    """Lends contents to the receiver."""

    @property
    def scheme(self) -> str | None:
        """How its addresses begin; None for one that has no place to lend from."""
        ...

    def address(self, kept: Kept) -> str:
        """Where the receiver will find a content."""
        ...


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
    lender: Lender | None = None,
) -> Prepared:
    """A context as it may go to `target`. `card_params` is what its card says of the extension, None if nothing."""
    extended = card_params is not None
    agreed = limits.narrowed(card_params or {})
    shaped, issues = checked(context, level, agreed)
    lending = lender if any(issue.code in _SIZES for issue in issues.errors) else None
    if lending is not None and lending.scheme in agreed.ref_schemes:
        shaped, issues = checked(context, level, _wide(agreed))
    if shaped is None or not issues.valid:
        return _refused(issues, on_invalid, extended, lending)
    items, seal_given = cast("dict[str, Any]", shaped.get("items", {})), shaped.get("integrity")
    if seal_given is not None:
        check_seal(items, seal_given)
    clean = redacted(items, target, policy or Policy())
    sent: dict[str, Any] = {"items": clean.items}
    if "turn" in shaped:
        sent["turn"] = shaped["turn"]
    if lending is not None:
        sent["items"] = _lent(clean.items, agreed, lending)
        _, left = checked(sent, level, agreed)
        if not left.valid:
            return _refused(left, on_invalid, extended, None)
    if seal or key is not None:
        sent["integrity"] = sealed(sent["items"], key, _algorithm(key))
    elif seal_given is not None and sent["items"] == items:  # or what was sealed is not what is sent
        sent["integrity"] = seal_given
    return Prepared(sent, extended, issues.found, clean.report)


def _wide(agreed: ContextLimits) -> ContextLimits:
    """What a context may be at most of which the large contents are lent."""
    return replace(agreed, item_bytes=LARGEST_CONTENT, total_bytes=2 * LARGEST_CONTENT)


def _lent(items: Mapping[str, Any], agreed: ContextLimits, lender: Lender) -> dict[str, Any]:
    """The items with what is too large at addresses of the lender's; secrets are out of them already."""
    made, bodies, names = spilling(items, agreed)
    for name in names:
        sha256 = made[name]["metadata"][SHA256]
        made[name] = {**made[name], "ref": lender.address(Kept(sha256, *bodies[sha256]))}
    return made


def _refused(issues: Issues, on_invalid: Literal["raise", "drop"], extended: bool, unable: Lender | None) -> Prepared:
    """No context, or the refusal; of what is only too large for a lender that is unable with what would help."""
    if on_invalid == "drop":
        return Prepared(None, extended, issues.found, [], dropped=True)
    refused = refusal(issues.errors)
    if unable is not None and all(issue.code in _SIZES for issue in issues.errors):
        refused.hint = _NO_PLACE if unable.scheme is None else _NOT_FOLLOWED.format(unable.scheme)
    raise refused


def _algorithm(key: Any) -> str:
    """The algorithm a key is for."""
    by_curve = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
    kind = getattr(key, "key_type", "OKP")
    return by_curve.get(getattr(key, "curve_name", ""), {"RSA": "PS256", "oct": "HS256"}.get(kind, "Ed25519"))
