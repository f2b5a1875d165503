"""Public and private keys in PEM: Ed25519, ECDSA and RSA.

A key's algorithm, normalized PEM and fingerprint are computed here once, so that keys are compared by content and not
by the wrapping of their lines. Importing this module loads `cryptography`.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from pentad.kernel.errors import InvalidInput, LimitExceeded

LONGEST_PEM: Final = 8_192
"""In characters. An RSA key of the largest size has about 6,400; reading a larger private key takes seconds."""
WEAKEST_RSA: Final = 2_048
LARGEST_RSA: Final = 8_192
_LARGEST_EXPONENT_BITS: Final = 64
_CURVES: Final = {"secp256r1": "ECDSA-P256", "secp384r1": "ECDSA-P384", "secp521r1": "ECDSA-P521"}
_COSIGN: Final = ("ENCRYPTED COSIGN PRIVATE KEY", "ENCRYPTED SIGSTORE PRIVATE KEY")
_FAMILIES: Final = "Use Ed25519, ECDSA (P-256, P-384, P-521) or RSA."

Verifier = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey
Signer = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key to verify signatures with; equal if the content is equal."""

    algorithm: str
    """`Ed25519`, `ECDSA-P256`, `ECDSA-P384`, `ECDSA-P521` or `RSA`."""
    pem: str
    fingerprint: str
    verifier: Verifier = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """A key to sign with, and the public one that belongs to it."""

    public: PublicKey
    signer: Signer = field(compare=False, repr=False)


def read_public_key(text: str) -> PublicKey:
    """The key in a PEM text; InvalidInput if it is unsupported or too weak."""
    pem = _pem(text, "public key")
    try:
        key: object = serialization.load_pem_public_key(pem)
    except UnsupportedAlgorithm:
        raise _unknown_family() from None
    except (ValueError, TypeError):
        raise InvalidInput("The public key cannot be read.", hint="Give it as PEM text (BEGIN PUBLIC KEY).") from None
    return public_key_of(key)


def read_private_key(text: str, password: str | bytes | None = None, *, may_be_encrypted: bool = True) -> PrivateKey:
    """The key in a PEM text, decrypted with the password if it is encrypted. Encrypted keys from callers are refused,
    because whoever made the key chose how expensive decryption is."""
    pem = _pem(text, "private key")
    if any(kind in text for kind in _COSIGN):
        raise InvalidInput(
            "The private key is in cosign's own encrypted format, which is not supported.",
            hint="Keep the key as PKCS#8 PEM, such as `openssl genpkey -algorithm ed25519 -aes256` writes it.",
        )
    if "ENCRYPTED" in text and not may_be_encrypted:
        raise InvalidInput("The private key is encrypted.", hint="Sign where the key is kept: `pentad directory sign`.")
    secret = password.encode() if isinstance(password, str) else password
    key = _opened(pem, secret or None)
    if not isinstance(key, ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise _unknown_family()
    return PrivateKey(public_key_of(key.public_key()), key)


def new_private_key() -> str:
    """The PEM text of a new Ed25519 key."""
    return (
        ed25519.Ed25519PrivateKey.generate()
        .private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        .decode()
    )  # fmt: skip


def public_key_of(key: object) -> PublicKey:
    """Wrap a public key of `cryptography`; InvalidInput if its kind or strength is not accepted."""
    match key:
        case ed25519.Ed25519PublicKey():
            algorithm = "Ed25519"
        case ec.EllipticCurvePublicKey():
            algorithm = _CURVES.get(key.curve.name, "")
        case rsa.RSAPublicKey():
            _check_rsa(key)
            algorithm = "RSA"
        case _:
            raise _unknown_family()
    if not algorithm:
        raise InvalidInput("The key is on a curve that is not supported.", hint=_FAMILIES)
    info = serialization.PublicFormat.SubjectPublicKeyInfo
    return PublicKey(
        algorithm,
        key.public_bytes(serialization.Encoding.PEM, info).decode(),
        hashlib.sha256(key.public_bytes(serialization.Encoding.DER, info)).hexdigest(),
        key,
    )


def _pem(text: str, what: str) -> bytes:
    if len(text) > LONGEST_PEM:
        raise LimitExceeded(f"The {what} has {len(text)} characters; the limit is {LONGEST_PEM}.")
    if "-----BEGIN " not in text:
        raise InvalidInput(f"The {what} is not PEM text.", hint="PEM text begins with -----BEGIN.")
    if not text.isascii():
        raise InvalidInput(f"The {what} is not PEM text.", hint="PEM text is ASCII only.")
    return text.encode()


def _opened(pem: bytes, password: bytes | None) -> object:
    try:
        try:
            return serialization.load_pem_private_key(pem, password)
        except TypeError:
            if password is None:
                raise InvalidInput("The private key is encrypted.", hint="Give its password.") from None
            return serialization.load_pem_private_key(pem, None)  # it needs none
    except UnsupportedAlgorithm:
        raise _unknown_family() from None
    except (ValueError, TypeError):
        if password is not None:
            raise InvalidInput("The private key cannot be opened.", hint="Check its password.") from None
        raise InvalidInput("The private key cannot be read.", hint="Give it as PKCS#8 PEM text.") from None


def _check_rsa(key: rsa.RSAPublicKey) -> None:
    if key.key_size < WEAKEST_RSA:
        raise InvalidInput(
            f"The RSA key has {key.key_size} bits; at least {WEAKEST_RSA} are needed.", hint="Make a stronger key."
        )
    if key.key_size > LARGEST_RSA:
        raise LimitExceeded(f"The RSA key has {key.key_size} bits; the limit is {LARGEST_RSA}.")
    if key.public_numbers().e.bit_length() > _LARGEST_EXPONENT_BITS:
        raise LimitExceeded(f"The RSA key has an exponent of more than {_LARGEST_EXPONENT_BITS} bits.")


def _unknown_family() -> InvalidInput:
    return InvalidInput("The key is of a kind that is not supported.", hint=_FAMILIES)
