"""Signs agent cards: a JWS over the card's canonical JSON (RFC 8785), with keys that all processes of a store share.

A card is one document for three kinds of readers, and some keep only the members they know. So it is signed twice: as a
whole, and reduced to what a reader of A2A 1.0 keeps. Signatures are deterministic (RFC 6979), so every process serves
the same bytes and ETag.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from pentad.kernel.errors import Misconfigured
from pentad.kernel.jcs import canonical

if TYPE_CHECKING:
    from joserfc.jwk import ECKey

_SIZE: Final = 32
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

_INTERFACE: Final = {"url": None, "protocolBinding": None, "tenant": None, "protocolVersion": None}
_SCHEME: Final = {"description": None, "location": None, "name": None, "scheme": None, "bearerFormat": None}
_SKILL: Final = dict.fromkeys(("id", "name", "description", "tags", "examples", "inputModes", "outputModes"))
_EXTENSION: Final = dict.fromkeys(("uri", "description", "required", "params"))
_V10: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("name", "description", "version", "documentationUrl", "iconUrl")),
    **dict.fromkeys(("defaultInputModes", "defaultOutputModes")),
    "supportedInterfaces": [_INTERFACE],
    "provider": {"url": None, "organization": None},
    "capabilities": {
        **dict.fromkeys(("streaming", "pushNotifications", "extendedAgentCard")),
        "extensions": [_EXTENSION],
    },
    "securitySchemes": {"*": {"apiKeySecurityScheme": _SCHEME, "httpAuthSecurityScheme": _SCHEME}},
    "securityRequirements": [{"schemes": {"*": {"list": None}}}],
    "skills": [_SKILL],
}
"""The members of a card that A2A 1.0 knows. None is any value, a list describes its elements, `*` is any name."""


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
        return ECKey.import_key({**self._public, "d": _b64(_bytes(number)), "kid": self.kid})

    def signed(self, card: Mapping[str, Any], keys_url: str) -> dict[str, Any]:
        """The card with its signatures."""
        bare = {name: value for name, value in card.items() if name != "signatures"}
        known = _known_members(bare, _V10)
        return {**bare, "signatures": [self._signature(bare, keys_url), self._signature(known, keys_url)]}

    def detached(self, payload: bytes, keys_url: str) -> str:
        """A detached JWS over any bytes (RFC 7515, appendix F)."""
        return "..".join(self._jws(payload, keys_url))

    def _signature(self, payload: Any, keys_url: str) -> dict[str, str]:
        protected, signature = self._jws(canonical(payload), keys_url)
        return {"protected": protected, "signature": signature}

    def _jws(self, payload: bytes, keys_url: str) -> tuple[str, str]:
        header = {"alg": "ES256", "typ": "JOSE", "kid": self.kid, "jku": keys_url}
        protected = _b64(msgspec.json.encode(header))
        der = self._key.sign(
            f"{protected}.{_b64(payload)}".encode(), ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        )
        r, s = decode_dss_signature(der)
        return protected, _b64(_bytes(r) + _bytes(s))


def _known_members(value: Any, shape: Any) -> Any:
    """The members of a value that a shape names; None if nothing is left."""
    if shape is None:
        return _without_empty(value)
    if isinstance(shape, list):
        inner = cast("list[Any]", shape)[0]
        found = [known for one in value if (known := _known_members(one, inner)) is not None]
        return found or None
    names: dict[str, Any] = shape
    every = names.get("*", False)
    shapes = {
        name: every if every is not False else names[name] for name in value if every is not False or name in names
    }
    return {
        name: known for name, inner in shapes.items() if (known := _known_members(value[name], inner)) is not None
    } or None


def _without_empty(value: Any) -> Any:
    """A value without empty members, as protocol buffers readers see it."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: full for name, one in members.items() if (full := _without_empty(one)) is not None} or None
    if isinstance(value, list):
        elements = cast("list[Any]", value)
        return [full for one in elements if (full := _without_empty(one)) is not None] or None
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
    return {"crv": "P-256", "kty": "EC", "x": _b64(_bytes(point.x)), "y": _b64(_bytes(point.y))}


def _kid(public: Mapping[str, str]) -> str:
    return _b64(hashlib.sha256(canonical(public)).digest())


def _bytes(number: int) -> bytes:
    return number.to_bytes(_SIZE, "big")


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
