"""Keys of every kind for tests, as PEM texts and as JWKs, and an Ed25519ph signer after RFC 8032."""

import base64
import functools
import hashlib
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa, x25519

_PRIVATE = {
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "ECDSA-P256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ECDSA-P384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ECDSA-P521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "weak RSA": lambda: rsa.generate_private_key(65537, 1024),
    "secp256k1": lambda: ec.generate_private_key(ec.SECP256K1()),
    "X25519": x25519.X25519PrivateKey.generate,
    "DSA": lambda: dsa.generate_private_key(2048),
}
GOOD = ("Ed25519", "ECDSA-P256", "ECDSA-P384", "ECDSA-P521", "RSA")
BAD = ("weak RSA", "secp256k1", "X25519", "DSA")


def key(kind: str, number: int = 0) -> Any:
    """A private key of a kind; another `number` is another key."""
    return _made(kind, number)


@functools.cache
def _made(kind: str, number: int) -> Any:
    return _PRIVATE[kind]()


def private_pem(kind: str, number: int = 0, password: bytes | None = None) -> str:
    protection = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    return key(kind, number).private_bytes(serialization.Encoding.PEM, form, protection).decode()


def public_pem(kind: str, number: int = 0) -> str:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key(kind, number).public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def huge_rsa_pem(bits: int) -> str:
    """A public RSA key of a size nobody generates in a test."""
    numbers = rsa.RSAPublicNumbers(65537, (1 << bits - 1) + 1)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return numbers.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def jwk(kind: str, number: int = 0, **more: Any) -> dict[str, Any]:
    public = key(kind, number).public_key()
    match public:
        case ed25519.Ed25519PublicKey():
            return {"kty": "OKP", "crv": "Ed25519", "x": _text(public.public_bytes_raw())} | more
        case ec.EllipticCurvePublicKey():
            numbers, size = public.public_numbers(), (public.key_size + 7) // 8
            point = {"x": _text(numbers.x.to_bytes(size, "big")), "y": _text(numbers.y.to_bytes(size, "big"))}
            return {"kty": "EC", "crv": f"P-{public.key_size}"} | point | more
        case _:
            numbers = public.public_numbers()
            size = (public.key_size + 7) // 8
            return {"kty": "RSA", "n": _text(numbers.n.to_bytes(size, "big")), "e": "AQAB"} | more


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def prehashed_signature(secret: bytes, message: bytes) -> bytes:
    """Ed25519ph by the book. The library multiplies the base point: a public key is a scalar times it."""
    order = 2**252 + 27742317777372353535851937790883648493
    domain = b"SigEd25519 no Ed25519 collisions\x01\x00"
    hashed = hashlib.sha512(secret).digest()
    scalar = _clamped(hashed[:32])
    public = ed25519.Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    digest = hashlib.sha512(message).digest()
    nonce_key = hashlib.sha512(domain + hashed[32:] + digest).digest()[:32]
    nonce = _clamped(hashlib.sha512(nonce_key).digest()[:32])
    point = ed25519.Ed25519PrivateKey.from_private_bytes(nonce_key).public_key().public_bytes_raw()
    challenge = int.from_bytes(hashlib.sha512(domain + point + public + digest).digest(), "little")
    return point + ((nonce + challenge * scalar) % order).to_bytes(32, "little")


def _clamped(half: bytes) -> int:
    number = int.from_bytes(half, "little")
    return number & ~7 & (1 << 254) - 1 | 1 << 254
