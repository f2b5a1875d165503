"""Which foreign tokens to trust: the settings of one issuer, checked when they are read.

Plain data without a crypto library behind it, so that reading settings stays cheap.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import Role

ASYMMETRIC: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
)  # fmt: skip
SYMMETRIC: Final = ("HS256", "HS384", "HS512")
_OFFERED: Final = frozenset({*ASYMMETRIC, *SYMMETRIC, "EdDSA"})
_SHORTEST_SECRET: Final = 32
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """One issuer, the audiences that mean this server, and exactly one place its keys come from."""

    issuer: str
    audiences: tuple[str, ...]
    jwks_url: str | None = None
    jwks_file: Path | None = None
    secret: bytes | None = field(default=None, repr=False)
    algorithms: tuple[str, ...] = ASYMMETRIC
    leeway: int = 30
    roles_claim: str = "roles"
    """The claim that lists roles; dots go into objects, as in `realm_access.roles`."""
    roles: Mapping[str, Role] = field(
        default_factory=lambda: {"reader": "reader", "writer": "writer", "admin": "admin"}
    )
    """What the issuer calls a role -> the role it is here."""

    def __post_init__(self) -> None:
        if not self.issuer or not self.audiences or not all(self.audiences):
            raise Misconfigured(
                "A token issuer needs its name and at least one audience.", hint="Set both, or neither."
            )
        if sum(source is not None for source in (self.jwks_url, self.jwks_file, self.secret)) != 1:
            raise Misconfigured(
                "A token issuer needs one source of keys.", hint="Set a JWKS URL, a JWKS file or a shared secret."
            )
        self._check_algorithms()
        if self.jwks_url is not None and not _is_safe_url(self.jwks_url):
            raise Misconfigured("The JWKS URL must be https.", hint="Plain http is accepted for this machine only.")
        if not 0 <= self.leeway <= 300:
            raise Misconfigured("The leeway for token times is 0 to 300 seconds.", hint="30 suits most clocks.")

    def _check_algorithms(self) -> None:
        if unknown := [name for name in self.algorithms if name not in _OFFERED]:
            raise Misconfigured(
                f"Token algorithm {unknown[0]!r} is not offered.", hint=f"Choose from {', '.join(sorted(_OFFERED))}."
            )
        shared = [name for name in self.algorithms if name in SYMMETRIC]
        if self.secret is None:
            if shared or not self.algorithms:
                raise Misconfigured(
                    "Published keys need asymmetric token algorithms.", hint="Name some, and none that begins with HS."
                )
        elif len(shared) != len(self.algorithms):
            raise Misconfigured("A shared secret fits HS algorithms only.", hint="Set algorithms to HS256.")
        elif len(self.secret) < _SHORTEST_SECRET:
            raise Misconfigured(
                "The shared token secret is too short.", hint=f"Use at least {_SHORTEST_SECRET} random bytes."
            )


def _is_safe_url(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
