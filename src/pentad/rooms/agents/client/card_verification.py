"""Verifies card signatures: a JWS over the canonical JSON (RFC 8785), by a key we already know.

Signers do not always sign the whole card (`card_signing.signed_forms`), so only the members that a signature covers
count. The key URL in a signature is never followed: anyone who can forge a card can forge that too.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from pentad.kernel import base64url
from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.kernel.jcs import canonical
from pentad.rooms.agents.client.card_endpoints import agent_name

if TYPE_CHECKING:
    from pentad.rooms.agents.card_signing import SignedForm

ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256")
_MOST: Final = 16


class Verified(NamedTuple):
    """The id of the key that signed a card, and the signed members."""

    kid: str
    card: Mapping[str, Any]


def verify(card: Mapping[str, Any], keys: Mapping[str, Any]) -> Verified:
    """The part of the card signed by one of the keys. `keys` is a JSON Web Key Set; Forbidden if none signed it."""
    from joserfc import jws
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    try:
        known = KeySet.import_key_set(cast("Any", dict(keys)))
    except (JoseError, ValueError, TypeError, KeyError) as error:
        raise InvalidInput("These are not keys.", hint="Give a JSON Web Key Set of public keys.") from error
    found: Any = card.get("signatures")
    signatures = cast("list[Any]", found)[:_MOST] if isinstance(found, list) else []
    bare = {name: value for name, value in card.items() if name != "signatures"}
    for form in _forms(bare):
        payload = base64url.encode(form.payload)
        for one in signatures:
            entry: Mapping[str, Any] = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
            protected, signature = entry.get("protected"), entry.get("signature")
            if isinstance(protected, str) and isinstance(signature, str):
                try:
                    whole = f"{protected}.{payload}.{signature}"
                    checked = jws.deserialize_compact(whole, known, algorithms=list(ALGORITHMS))
                except (JoseError, ValueError, TypeError, KeyError):
                    continue
                return Verified(str(checked.headers().get("kid", "")), {**form.members, "signatures": signatures})
    raise Forbidden(
        f"The card of {agent_name(card)} is not signed by a key that is known.",
        hint="Get the card from its owner, or add the owner's key.",
        details={"reason": "card-signature", "signatures": len(signatures)},
    )


def _forms(card: dict[str, Any]) -> "list[SignedForm]":
    """The forms that may have been signed. Some signers leave out empty members."""
    from pentad.rooms.agents.card_signing import SignedForm, signed_forms, without_empty

    try:
        return [SignedForm(canonical(without_empty(card)), card), *signed_forms(card)]
    except PentadError:
        return []
