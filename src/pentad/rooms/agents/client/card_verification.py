"""Verifies the signature of a card: a JWS over its canonical JSON (RFC 8785), by a key we already know.

The key URL in a signature is never followed: anyone who can forge a card can forge that too.
"""

import base64
from collections.abc import Mapping
from typing import Any, Final, cast

from pentad.kernel.errors import Forbidden, InvalidInput, PentadError
from pentad.kernel.jcs import canonical
from pentad.rooms.agents.client.card_endpoints import agent_name

ALGORITHMS: Final = ("ES256", "ES384", "ES512", "EdDSA", "PS256", "PS384", "PS512", "RS256")
_MOST: Final = 16


def verify(card: Mapping[str, Any], keys: Mapping[str, Any]) -> str:
    """The id of the key that signed a card. `keys` is a JSON Web Key Set; Forbidden if none of them did."""
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
    for payload in _payloads(bare):
        for one in signatures:
            entry: Mapping[str, Any] = cast("Mapping[str, Any]", one) if isinstance(one, Mapping) else {}
            protected, signature = entry.get("protected"), entry.get("signature")
            if isinstance(protected, str) and isinstance(signature, str):
                try:
                    whole = f"{protected}.{payload}.{signature}"
                    checked = jws.deserialize_compact(whole, known, algorithms=list(ALGORITHMS))
                except (JoseError, ValueError, TypeError, KeyError):
                    continue
                return str(checked.headers().get("kid", ""))
    raise Forbidden(
        f"The card of {agent_name(card)} is not signed by a key that is known.",
        hint="Get the card from its owner, or add the owner's key.",
        details={"reason": "card-signature", "signatures": len(signatures)},
    )


def _payloads(card: dict[str, Any]) -> list[str]:
    """What may have been signed: the card as it is, or without its empty members, as some signers do."""
    try:
        return [_b64(canonical(card)), _b64(canonical(_full(card)))]
    except PentadError:
        return []


def _full(value: Any) -> Any:
    if isinstance(value, dict):
        members = {name: _full(one) for name, one in cast("dict[str, Any]", value).items()}
        return {name: one for name, one in members.items() if one not in (None, "", {}, [])}
    if isinstance(value, list):
        return [_full(one) for one in cast("list[Any]", value)]
    return value


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
