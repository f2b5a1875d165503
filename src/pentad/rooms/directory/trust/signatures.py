"""Signatures of records: making, encoding and verifying them.

The signed payload is the text of a record's CID, which is the record's hash, so a signature is valid for that record
alone. Signatures do not reliably name their key, so each is tried with every matching key, the hinted one first. The
number of attempts is bounded, so that a thousand signatures and a thousand keys do not cause a million attempts.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from pentad.kernel.errors import InvalidInput, PentadError
from pentad.rooms.directory.models import PUBLIC_KEY, SIGNATURE, SignatureVerdict, Signer
from pentad.rooms.directory.trust.ed25519ph import verify_prehashed
from pentad.rooms.directory.trust.keys import PrivateKey, PublicKey, read_public_key
from pentad.rooms.directory.trust.store import Statement, not_trusted, reason_of

KEY_HINT: Final = "public-key-sha256"
"""The annotation of a signature that names the key to try first. It is only a hint."""

_LONGEST_SIGNATURE: Final = 2_048
_ALGORITHMS: Final = {
    "Ed25519": "ED25519",
    "ECDSA-P256": "ECDSA_P256_SHA256",
    "ECDSA-P384": "ECDSA_P384_SHA256",
    "ECDSA-P521": "ECDSA_P521_SHA256",
    "RSA": "RSA_PKCS1V15_SHA256",
}
_ED25519: Final = re.compile(r"ED25519(?P<prehashed>_?PH)?")
_ECDSA: Final = re.compile(r"ECDSA(?:_P_?(?P<curve>256|384|521))?(?:_SHA_?(?P<hash>256|384|512))?")
_RSA: Final = re.compile(r"RSA(?:_(?P<padding>PKCS1V15|PSS))?(?:_\d{4,5})?(?:_SHA_?(?P<hash>256|384|512))?")
_HASHES: Final[dict[str, type[hashes.SHA256 | hashes.SHA384 | hashes.SHA512]]] = {
    "256": hashes.SHA256,
    "384": hashes.SHA384,
    "512": hashes.SHA512,
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The message `agntcy.dir.sign.v1.Signature`; `signature` is base64."""

    signature: str
    algorithm: str = ""
    signed_at: str = ""
    certificate: str = ""
    content_type: str = ""
    content_bundle: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])

    def to_json(self) -> dict[str, Any]:
        """The JSON of the message, without empty fields."""
        parts = {
            "annotations": dict(self.annotations),
            "signedAt": self.signed_at,
            "algorithm": self.algorithm,
            "signature": self.signature,
            "certificate": self.certificate,
            "contentType": self.content_type,
            "contentBundle": self.content_bundle,
        }
        return {key: value for key, value in parts.items() if value}


class Scheme(NamedTuple):
    """How a signature was made; empty fields are unknown."""

    family: str = ""
    curve: str = ""
    hash: str = "256"
    variant: str = ""


def sign(key: PrivateKey, cid: str, signed_at: str) -> Signature:
    """Sign a record. Ed25519 signatures are pure, the only form of `cryptography`."""
    payload = cid.encode()
    match key.signer:
        case ed25519.Ed25519PrivateKey():
            made = key.signer.sign(payload)
        case ec.EllipticCurvePrivateKey():
            made = key.signer.sign(payload, ec.ECDSA(hashes.SHA256()))
        case rsa.RSAPrivateKey():
            made = key.signer.sign(payload, padding.PKCS1v15(), hashes.SHA256())
    return Signature(
        base64.b64encode(made).decode(),
        _ALGORITHMS[key.public.algorithm],
        signed_at,
        annotations={KEY_HINT: key.public.fingerprint},
    )


def read_signature(data: Mapping[str, Any]) -> Signature:
    """The signature in a referrer's JSON, in either spelling of the field names. Fields of a wrong type are empty."""

    def text(*names: str) -> str:
        return next((value for name in names if isinstance(value := data.get(name), str)), "")

    given: Any = data.get("annotations")
    annotations = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return Signature(
        text("signature"),
        text("algorithm"),
        text("signedAt", "signed_at"),
        text("certificate"),
        text("contentType", "content_type"),
        text("contentBundle", "content_bundle"),
        {key: value for key, value in annotations.items() if isinstance(value, str)},
    )


def scheme_of(algorithm: str) -> Scheme:
    """The scheme of an algorithm's name; InvalidInput if it is unknown. Without a name the key decides."""
    name = re.sub(r"[-. /]", "_", algorithm[:100].upper()).removeprefix("PKIX_")
    if not name:
        return Scheme()
    if found := _ED25519.fullmatch(name):
        return Scheme("Ed25519", variant="PH" if found["prehashed"] else "")
    if found := _ECDSA.fullmatch(name):
        return Scheme("ECDSA", found["curve"] or "", found["hash"] or "256")
    if found := _RSA.fullmatch(name):
        return Scheme("RSA", hash=found["hash"] or "256", variant=found["padding"] or "")
    raise InvalidInput(f"The signature has the unknown algorithm {algorithm[:100]!r}.")


def signature_bytes(signature: Signature) -> bytes:
    """The decoded signature; InvalidInput if there is none that can be checked."""
    if not signature.signature:
        if signature.content_bundle or signature.certificate:
            raise InvalidInput("The signature was made without a key (sigstore), which is not checked here.")
        raise InvalidInput("The signature is empty.")
    if len(signature.signature) > _LONGEST_SIGNATURE:
        raise InvalidInput("The signature is longer than any can be.")
    try:
        return base64.b64decode(signature.signature.strip(), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput("The signature is not base64.") from None


def key_fits(scheme: Scheme, key: PublicKey) -> bool:
    """Whether a key can have made a signature of this scheme."""
    family, _, curve = key.algorithm.partition("-P")
    return scheme.family in ("", family) and scheme.curve in ("", curve)


def verify_signature(key: PublicKey, scheme: Scheme, made: bytes, cid: str) -> bool:
    """Whether `made` is this key's signature of the record."""
    payload = cid.encode()
    hashed = _HASHES[scheme.hash]()
    try:
        match key.verifier:
            case ed25519.Ed25519PublicKey():
                return _ed25519_holds(key.verifier, scheme, made, payload)
            case ec.EllipticCurvePublicKey():
                key.verifier.verify(made, payload, ec.ECDSA(hashed))
            case rsa.RSAPublicKey() if scheme.variant == "PSS":
                key.verifier.verify(made, payload, padding.PSS(padding.MGF1(hashed), padding.PSS.AUTO), hashed)
            case rsa.RSAPublicKey():
                key.verifier.verify(made, payload, padding.PKCS1v15(), hashed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _ed25519_holds(key: ed25519.Ed25519PublicKey, scheme: Scheme, made: bytes, payload: bytes) -> bool:
    """Try pure Ed25519 unless the scheme says prehashed, then prehashed: many such signatures do not say so."""
    if scheme.variant != "PH":
        try:
            key.verify(made, payload)
        except InvalidSignature:
            pass
        else:
            return True
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return verify_prehashed(raw, made, payload)


MOST_ATTEMPTS: Final = 500
_MOST_PROBLEMS: Final = 10
_NO_KEY: Final = "no public key found to check the signature with"
_FAILED: Final = "failed to verify signature: none of the keys made it for this record"
_GIVEN_UP: Final = f"failed to verify signature: {MOST_ATTEMPTS} pairs of signature and key were tried"
_TOO_LARGE: Final = "a signature or key is too large to be one"


class _Attempts:
    """The remaining attempts."""

    def __init__(self) -> None:
        self.left = MOST_ATTEMPTS

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


def check_signatures(cid: str, statements: Sequence[Statement], only: PublicKey | None = None) -> SignatureVerdict:
    """The verdict on the signatures of a record; with `only`, on that key's."""
    signatures = [one for one in statements if one.type == SIGNATURE]
    if not signatures:
        return not_trusted("no signatures found")
    problems: list[str] = []
    keys = [only] if only is not None else list(_keys(statements, problems))
    attempts = _Attempts()
    signed: dict[str, PublicKey] = {}
    for signature in signatures:
        try:
            key = _signed_by(cid, signature.data, keys, attempts)
        except PentadError as error:
            problems.append(reason_of(error))
        else:
            if isinstance(key, PublicKey):
                signed.setdefault(key.fingerprint, key)
            else:
                problems.append(key)
    listed = tuple(dict.fromkeys(problems))[:_MOST_PROBLEMS]
    if signed:
        signers = tuple(Signer(key.pem, f"key:{key.algorithm}") for key in signed.values())
        return SignatureVerdict(True, "trusted", signers, listed)
    return not_trusted(listed[0], listed)


def signature_by(cid: str, statements: Sequence[Statement], key: PublicKey) -> Signature | None:
    """This key's earlier signature of the record, if the key is attached too."""
    if key not in _keys(statements, []):
        return None
    attempts = _Attempts()
    for statement in statements:
        if statement.type != SIGNATURE or statement.data is None:
            continue
        try:
            if isinstance(_signed_by(cid, statement.data, [key], attempts), PublicKey):
                return read_signature(statement.data)
        except PentadError:
            continue
    return None


def _keys(statements: Iterable[Statement], problems: list[str]) -> Iterator[PublicKey]:
    """The keys attached to the record, without duplicates."""
    seen: set[str] = set()
    for statement in statements:
        if statement.type != PUBLIC_KEY:
            continue
        text: Any = statement.data.get("key") if statement.data is not None else None
        try:
            key = read_public_key(text if isinstance(text, str) else "")
        except PentadError as error:
            problems.append(_TOO_LARGE if statement.data is None else reason_of(error))
            continue
        if key.fingerprint not in seen:
            seen.add(key.fingerprint)
            yield key


def _signed_by(
    cid: str, data: dict[str, Any] | None, keys: Sequence[PublicKey], attempts: _Attempts
) -> PublicKey | str:  # fmt: skip
    """The key that made the signature, or why none did."""
    if data is None:
        return _TOO_LARGE
    signature = read_signature(data)
    scheme, made = scheme_of(signature.algorithm), signature_bytes(signature)
    if not keys:
        return _NO_KEY
    hint = signature.annotations.get(KEY_HINT)
    for key in sorted(keys, key=lambda key: key.fingerprint != hint):
        if not key_fits(scheme, key):
            continue
        if not attempts.spend():
            return _GIVEN_UP
        if verify_signature(key, scheme, made, cid):
            return key
    return _FAILED
