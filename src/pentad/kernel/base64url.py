"""Base64 in the alphabet of URLs, without padding (RFC 4648, 5), as tokens, keys, cursors and signatures use it."""

import base64


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """The bytes, with or without padding. ValueError for any character outside the alphabet."""
    if "+" in text or "/" in text:  # `validate` accepts both alphabets
        raise ValueError("not in the alphabet of base64url")
    plain = text.rstrip("=")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
