"""Verification of Ed25519ph (RFC 8032), which other directories sign with and `cryptography` does not offer.

It handles only public values, so it need not run in constant time. Pentad signs with pure Ed25519, which those
directories accept.
"""

import hashlib
from typing import Final

_P: Final = 2**255 - 19
_ORDER: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE: Final = pow(2, (_P - 1) // 4, _P)
_DOMAIN: Final = b"SigEd25519 no Ed25519 collisions\x01\x00"

Point = tuple[int, int, int, int]
"""X, Y, Z and T: x = X/Z, y = Y/Z, x*y = T/Z."""

_NEUTRAL: Final[Point] = (0, 1, 1, 0)
_BASE_X: Final = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE_Y: Final = 4 * pow(5, -1, _P) % _P
_BASE: Final[Point] = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def verify_prehashed(public: bytes, signature: bytes, message: bytes) -> bool:
    """Whether this is the Ed25519ph signature of the message, with no context."""
    digest = hashlib.sha512(message).digest()
    return verify_equation(public, signature, _DOMAIN, digest)


def verify_equation(public: bytes, signature: bytes, before: bytes, after: bytes) -> bool:
    """Whether S*B = R + k*A, where k is the hash of `before`, R, A and `after`."""
    if len(public) != 32 or len(signature) != 64:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    key = _decoded(public)
    if scalar >= _ORDER or key is None:
        return False
    hashed = hashlib.sha512(before + signature[:32] + public + after).digest()
    challenge = int.from_bytes(hashed, "little") % _ORDER
    x, y, z, t = key
    return _encoded(_sum_of(scalar, _BASE, challenge, (_P - x, y, z, _P - t))) == signature[:32]


def _sum_of(a: int, p: Point, b: int, q: Point) -> Point:
    """a*p + b*q in one pass."""
    both = _added(p, q)
    total = _NEUTRAL
    for bit in range(max(a.bit_length(), b.bit_length()) - 1, -1, -1):
        total = _added(total, total)
        match a >> bit & 1, b >> bit & 1:
            case 1, 1:
                total = _added(total, both)
            case 1, 0:
                total = _added(total, p)
            case 0, 1:
                total = _added(total, q)
            case _:
                pass
    return total


def _added(p: Point, q: Point) -> Point:
    x1, y1, z1, t1 = p
    x2, y2, z2, t2 = q
    a = (y1 - x1) * (y2 - x2) % _P
    b = (y1 + x1) * (y2 + x2) % _P
    c = 2 * t1 * t2 * _D % _P
    d = 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _encoded(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, _P)
    return (y * inverse % _P | (x * inverse % _P & 1) << 255).to_bytes(32, "little")


def _decoded(text: bytes) -> Point | None:
    number = int.from_bytes(text, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    x = _P - x if x & 1 != sign else x
    return x, y, 1, x * y % _P
