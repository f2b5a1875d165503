"""Outgoing contexts: validated, redacted, and held to the limits of the receiver's card before they are sent.

Content that is too large for the receiver is offered through a temporary link, if there is a provider: the item has a
URL, a hash and a size in place of the content.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from msgspec import Struct

from pentad.kernel.errors import InvalidInput
from pentad.kernel.secrets.documents import Masked
from pentad.rooms.agents.context.context_store import MAX_CONTENT_BYTES, StoredContent, plan_storage
from pentad.rooms.agents.context.extension import URI, metadata_with
from pentad.rooms.agents.context.findings import Issue, Issues, refusal
from pentad.rooms.agents.context.integrity import SHA256, check_seal, seal_items
from pentad.rooms.agents.context.limits import DEFAULT_LIMITS, ContextLimits
from pentad.rooms.agents.context.redaction import DEFAULT_POLICY, Policy, redact_items
from pentad.rooms.agents.context.validation import validate

if TYPE_CHECKING:
    from pentad.rooms.agents.context.integrity import Key


_SIZES: Final = frozenset({"item-too-large", "too-large"})
_NO_PUBLIC_URL: Final = (
    "Set public_url, so that the agent can fetch large content from this server,"
    " or store the content somewhere else and send a `ref`."
)
_NOT_FOLLOWED: Final = "The agent follows no references by {}: store the content where it does, and send a `ref`."


class LinkProvider(Protocol):
    """Creates temporary links for the receiver."""

    @property
    def scheme(self) -> str | None:
        """The scheme of its URLs; None if it cannot create any."""
        ...

    def address(self, content: StoredContent) -> str:
        """The URL of a content."""
        ...


class OutgoingContext(Struct, frozen=True):
    """The context to send, and everything that was found or masked."""

    context: dict[str, Any]
    extended: bool
    """Whether the receiver supports the extension, so that the context goes under its URI too."""
    issues: list[Issue]
    masked: list[Masked]

    def metadata(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The message's metadata with the context in it."""
        return metadata_with(given, self.context, extended=self.extended)

    @property
    def extensions(self) -> list[str]:
        """The extensions to ask the receiver for."""
        return [URI] if self.extended else []


def prepare_context(
    context: Any,
    card_params: Mapping[str, Any] | None = None,
    *,
    policy: Policy = DEFAULT_POLICY,
    target: str = "agent",
    key: "Key | None" = None,
    links: LinkProvider | None = None,
) -> OutgoingContext:
    """Prepare a context for `target`. `card_params` are the extension's parameters on its card, if any."""
    extended = card_params is not None
    agreed = DEFAULT_LIMITS.narrowed(card_params or {})
    shaped, issues = validate(context, "standard", agreed)
    used_links = links if any(issue.code in _SIZES for issue in issues.errors) else None
    if used_links is not None and used_links.scheme in agreed.ref_schemes:
        wide = replace(agreed, item_bytes=MAX_CONTENT_BYTES, total_bytes=2 * MAX_CONTENT_BYTES)
        shaped, issues = validate(context, "standard", wide)  # large contents become temporary links
    if shaped is None or not issues.valid:
        raise _refusal(issues, used_links)
    items, seal_given = cast("dict[str, Any]", shaped.get("items", {})), shaped.get("integrity")
    if seal_given is not None:
        check_seal(items, seal_given)
    clean = redact_items(items, target, policy)
    sent: dict[str, Any] = {"items": clean.items}
    if "turn" in shaped:
        sent["turn"] = shaped["turn"]
    if used_links is not None:
        sent["items"] = _with_links(clean.items, agreed, used_links)
        _, left = validate(sent, "standard", agreed)
        if not left.valid:
            raise _refusal(left, None)
    if key is not None:
        sent["integrity"] = seal_items(sent["items"], key, _algorithm(key))
    elif seal_given is not None and sent["items"] == items:  # otherwise the seal would not match what is sent
        sent["integrity"] = seal_given
    return OutgoingContext(sent, extended, issues.found, clean.report)


def _with_links(items: Mapping[str, Any], agreed: ContextLimits, links: LinkProvider) -> dict[str, Any]:
    """The items with temporary links in place of large contents. Secrets are already masked."""
    made, bodies, names = plan_storage(items, agreed)
    for name in names:
        sha256 = made[name]["metadata"][SHA256]
        made[name] = {**made[name], "ref": links.address(StoredContent(sha256, *bodies[sha256]))}
    return made


def _refusal(issues: Issues, links: LinkProvider | None) -> InvalidInput:
    """The error. If a temporary link would have helped, its hint says what is missing."""
    refused = refusal(issues.errors)
    if links is not None and all(issue.code in _SIZES for issue in issues.errors):
        refused.hint = _NO_PUBLIC_URL if links.scheme is None else _NOT_FOLLOWED.format(links.scheme)
    return refused


def _algorithm(key: Any) -> str:
    """The algorithm of a key."""
    by_curve = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}
    kind = getattr(key, "key_type", "OKP")
    return by_curve.get(getattr(key, "curve_name", ""), {"RSA": "PS256", "oct": "HS256"}.get(kind, "Ed25519"))
