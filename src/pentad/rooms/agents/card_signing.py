"""Signs agent cards: a JWS over the card's canonical JSON (RFC 8785), with keys that all processes of a store share.

A card is one document for three kinds of readers, and most drop unknown members before they verify it. So a card has
one signature per form: the whole card, its A2A 1.0 members, and its 0.3 members. Signatures are deterministic (RFC
6979), so every process serves the same bytes and ETag.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from pentad.kernel import base64url
from pentad.kernel.errors import Misconfigured
from pentad.kernel.jcs import canonical

if TYPE_CHECKING:
    from joserfc.jwk import ECKey

_SIZE: Final = 32
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_TEXTS: Final = dict.fromkeys(("name", "description", "version", "documentationUrl", "iconUrl"))
_MODES: Final = dict.fromkeys(("defaultInputModes", "defaultOutputModes"))
_PROVIDER: Final = {"url": None, "organization": None}
_EXTENSION: Final = dict.fromkeys(("uri", "description", "required", "params"))
_SKILL: Final = dict.fromkeys(("id", "name", "description", "tags", "examples", "inputModes", "outputModes"))
_V10_SCHEMES: Final = dict.fromkeys(
    (
        "apiKeySecurityScheme",
        "httpAuthSecurityScheme",
        "oauth2SecurityScheme",
        "openIdConnectSecurityScheme",
        "mtlsSecurityScheme",
    )
)
_V10_REQUIREMENTS: Final = [{"schemes": {"*": {"list": None}}}]
_V10: Final[Mapping[str, Any]] = {
    **_TEXTS,
    **_MODES,
    "supportedInterfaces": [dict.fromkeys(("url", "protocolBinding", "tenant", "protocolVersion"))],
    "provider": _PROVIDER,
    "capabilities": {
        **dict.fromkeys(("streaming", "pushNotifications", "extendedAgentCard")),
        "extensions": [_EXTENSION],
    },
    "securitySchemes": {"*": _V10_SCHEMES},
    "securityRequirements": _V10_REQUIREMENTS,
    "skills": [{**_SKILL, "securityRequirements": _V10_REQUIREMENTS}],
}
"""The members of a card that A2A 1.0 knows. None is any value, a list describes its elements, `*` is any name."""
_V03_SCHEME: Final = dict.fromkeys(
    ("description", "in", "name", "scheme", "bearerFormat", "flows", "oauth2MetadataUrl", "openIdConnectUrl")
)
_V03: Final[Mapping[str, Any]] = {
    **_TEXTS,
    **_MODES,
    **dict.fromkeys(("url", "preferredTransport", "protocolVersion", "supportsAuthenticatedExtendedCard")),
    "additionalInterfaces": [dict.fromkeys(("url", "transport"))],
    "provider": _PROVIDER,
    "capabilities": {
        **dict.fromkeys(("streaming", "pushNotifications", "stateTransitionHistory")),
        "extensions": [_EXTENSION],
    },
    "securitySchemes": {"*": {**_V03_SCHEME, "type": None}},
    "security": None,
    "skills": [{**_SKILL, "security": None}],
}
_V03_DEFAULTS: Final = {"preferredTransport": "JSONRPC", "protocolVersion": "0.3.0"}


def new_key() -> str:
    """A new private key as PEM."""
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def derived_key(secret: bytes) -> str:
    """The private key that earlier versions derived from a secret in the store."""
    number = int.from_bytes(hashlib.sha512(b"agent card signing key" + secret).digest(), "big")
    return _pem(ec.derive_private_key(number % (_ORDER - 1) + 1, ec.SECP256R1()))


def key_id(public: str) -> str:
    """The `kid` of a public key in PEM: its thumbprint (RFC 7638)."""
    return _kid(_jwk(_public_key(public)))


class CardSigner:
    """Signs with one key. Publishes it with the keys it replaced, so that older signatures can be verified."""

    def __init__(self, private: str, replaced: Sequence[str] = ()) -> None:
        key = serialization.load_pem_private_key(private.encode(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise Misconfigured("The key of agent cards is not an elliptic-curve key.", hint="Rotate it.")
        self._key = key
        self._public = _jwk(key.public_key())
        self._replaced = [_jwk(_public_key(one)) for one in replaced]
        self.kid = _kid(self._public)

    def keys(self) -> dict[str, Any]:
        """The public keys as a JSON Web Key Set, the current one first."""
        return {
            "keys": [
                {**public, "kid": _kid(public), "use": "sig", "alg": "ES256"}
                for public in (self._public, *self._replaced)
            ]
        }

    def key(self) -> "ECKey":
        """The private key, to sign something other than a card."""
        from joserfc.jwk import ECKey

        number = self._key.private_numbers().private_value
        return ECKey.import_key({**self._public, "d": base64url.encode(_bytes(number)), "kid": self.kid})

    def signed(self, card: Mapping[str, Any], keys_url: str) -> dict[str, Any]:
        """The card with its signatures."""
        bare = {name: value for name, value in card.items() if name != "signatures"}
        bare = msgspec.json.decode(msgspec.json.encode(bare))  # an agent may describe itself with tuples
        return {**bare, "signatures": [self._signature(payload, keys_url) for payload in _payloads(bare)]}

    def detached(self, payload: bytes, keys_url: str) -> str:
        """A detached JWS over any bytes (RFC 7515, appendix F)."""
        return "..".join(self._jws(payload, keys_url))

    def _signature(self, payload: bytes, keys_url: str) -> dict[str, str]:
        protected, signature = self._jws(payload, keys_url)
        return {"protected": protected, "signature": signature}

    def _jws(self, payload: bytes, keys_url: str) -> tuple[str, str]:
        header = {"alg": "ES256", "typ": "JOSE", "kid": self.kid, "jku": keys_url}
        protected = base64url.encode(msgspec.json.encode(header))
        der = self._key.sign(
            f"{protected}.{base64url.encode(payload)}".encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        )
        r, s = decode_dss_signature(der)
        return protected, base64url.encode(_bytes(r) + _bytes(s))


def v10_members(card: Mapping[str, Any]) -> dict[str, Any]:
    """The card with only the members A2A 1.0 knows."""
    return _known_members(dict(card), _V10)


class SignedForm(NamedTuple):
    """A form of a card that is signed, and the members of the card that it covers."""

    payload: bytes
    members: Mapping[str, Any]


def signed_forms(card: Mapping[str, Any]) -> list[SignedForm]:
    """The forms in which readers verify a card, the most complete first.

    The specification's form keeps empty objects; that of the official libraries leaves out everything empty. Libraries
    before 1.2 write JSON like Python, with every number as a double; the 0.3 library also leaves out defaults.
    """
    known = v10_members(card)
    full = without_empty(known)
    forms = [
        SignedForm(canonical(card), card),
        SignedForm(canonical(known), known),
        SignedForm(canonical(full), known),
        SignedForm(_python_json(_with_doubles(full)), known),
    ]
    if "url" in card:
        old = _known_members(dict(card), _V03)
        changed = {name: value for name, value in old.items() if value != _V03_DEFAULTS.get(name)}
        full = without_empty(_known_members(changed, {**_V03, "securitySchemes": {"*": _V03_SCHEME}}))
        forms += [SignedForm(canonical(full), old), SignedForm(_python_json(full), old)]
    return forms


def _payloads(card: Mapping[str, Any]) -> list[bytes]:
    """What to sign. The 1.0 library converts a 0.3 agent's card before verifying it, so a card with the members of both
    is also signed in that form.
    """
    payloads = [form.payload for form in signed_forms(card)]
    if "url" in card:
        converted = without_empty({**v10_members(card), "supportedInterfaces": _converted_interfaces(card)})
        payloads += [canonical(converted), _python_json(_with_doubles(converted))]
    return list(dict.fromkeys(payloads))


def _converted_interfaces(card: Mapping[str, Any]) -> list[dict[str, str]]:
    """The interfaces of a 0.3 card in the form of 1.0."""
    transport, version = card.get("preferredTransport", "JSONRPC"), card.get("protocolVersion", "0.3.0")
    return [
        {"url": card["url"], "protocolBinding": transport, "protocolVersion": version},
        *(
            {"url": one["url"], "protocolBinding": one["transport"], "protocolVersion": "0.3"}
            for one in card.get("additionalInterfaces", ())
        ),
    ]


def _python_json(value: Any) -> bytes:
    """JSON as Python's library writes it: numbers differ from RFC 8785, and everything is ASCII."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()


def _with_doubles(value: Any) -> Any:
    """A value with integers as doubles, as protocol buffers keep them."""
    if isinstance(value, dict):
        return {name: _with_doubles(one) for name, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_with_doubles(one) for one in cast("list[Any]", value)]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _known_members(value: Any, shape: Any) -> Any:
    """The members of a value that are in a shape."""
    if isinstance(shape, list) and isinstance(value, list):
        inner = cast("list[Any]", shape)[0]
        return [_known_members(one, inner) for one in cast("list[Any]", value)]
    if not isinstance(shape, dict) or not isinstance(value, dict):
        return value
    names, members = cast("dict[str, Any]", shape), cast("dict[str, Any]", value)
    every = "*" in names
    return {
        name: _known_members(one, names["*" if every else name])
        for name, one in members.items()
        if one is not None and (every or name in names)
    }


def without_empty(value: Any) -> Any:
    """A value without empty members and elements, at any depth; None if nothing is left."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: full for name, one in members.items() if (full := without_empty(one)) is not None} or None
    if isinstance(value, list):
        elements = cast("list[Any]", value)
        return [full for one in elements if (full := without_empty(one)) is not None] or None
    return None if value == "" else value


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


def _public_key(public: str) -> ec.EllipticCurvePublicKey:
    key = serialization.load_pem_public_key(public.encode())
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise Misconfigured("A key of agent cards is not an elliptic-curve key.", hint="Restore a backup.")
    return key


def _jwk(key: ec.EllipticCurvePublicKey) -> dict[str, str]:
    point = key.public_numbers()
    return {"crv": "P-256", "kty": "EC", "x": base64url.encode(_bytes(point.x)), "y": base64url.encode(_bytes(point.y))}


def _kid(public: Mapping[str, str]) -> str:
    return base64url.encode(hashlib.sha256(canonical(public)).digest())


def _bytes(number: int) -> bytes:
    return number.to_bytes(_SIZE, "big")
