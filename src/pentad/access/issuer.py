"""The settings of a trusted token issuer, checked when they are read.

Plain data that imports no crypto library, so that reading settings stays cheap.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pentad.access.scopes import ROLE_ACTIONS, is_role, is_scope, role_scopes
from pentad.kernel.errors import Misconfigured

ASYMMETRIC: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519",
)  # fmt: skip
SYMMETRIC: Final = ("HS256", "HS384", "HS512")
OWN_ROLES: Final[Mapping[str, str]] = {role: role for role in ROLE_ACTIONS}
"""The role mapping of an issuer that uses Pentad's own role names."""
_OFFERED: Final = frozenset({*ASYMMETRIC, *SYMMETRIC, "EdDSA"})
_SHORTEST_SECRET: Final = 32
_PRIVATE_SUFFIXES: Final = (".localhost", ".local", ".internal", ".svc", ".svc.cluster.local", ".home.arpa")
"""Host name endings that no public server can have."""


@dataclass(frozen=True, slots=True)
class TrustedIssuer:
    """A trusted issuer, the audiences that name this server, and one source of keys.

    Without a JWKS URL, a JWKS file or a secret, the keys are found by OpenID Connect discovery.
    """

    issuer: str
    audiences: tuple[str, ...]
    jwks_url: str | None = None
    jwks_file: Path | None = None
    secret: bytes | None = field(default=None, repr=False)
    algorithms: tuple[str, ...] = ASYMMETRIC
    leeway: int = 30
    roles_claim: str = "roles"
    """The claim that lists roles; dots descend into objects, as in `realm_access.roles`."""
    roles: Mapping[str, str] = field(default_factory=lambda: OWN_ROLES)
    """The issuer's name of a role -> Pentad's role or scopes. Roles that are not listed grant nothing."""
    scopes: Mapping[str, str] | None = None
    """The issuer's name of a scope -> Pentad's role or scopes. None accepts Pentad's own scope names only."""
    place: str = "jwt"
    """The settings table, for error messages."""

    def __post_init__(self) -> None:
        if not self.issuer or not self.audiences or not all(self.audiences):
            raise Misconfigured(
                f"The token issuer in {self.place} needs its name and at least one audience.",
                hint=f"Set {self.place}.issuer and {self.place}.audience, or neither.",
            )
        if sum(source is not None for source in (self.jwks_url, self.jwks_file, self.secret)) > 1:
            raise Misconfigured(
                f"The token issuer in {self.place} has several sources of keys.",
                hint="Set only one of jwks_url, jwks_file and secret. With none, keys are found by discovery.",
            )
        self._check_algorithms()
        self._check_addresses()
        for name in ("roles", "scopes"):
            self._check_grants(name, getattr(self, name) or {})
        if not 0 <= self.leeway <= 300:
            raise Misconfigured("The leeway for token times must be 0 to 300 seconds.", hint="30 suits most clocks.")

    @property
    def is_discovered(self) -> bool:
        """Whether the keys are found by discovery."""
        return self.jwks_url is None and self.jwks_file is None and self.secret is None

    @property
    def keys_setting(self) -> str:
        """The setting to check if the keys are wrong."""
        name = "secret" if self.secret is not None else "jwks_url" if self.jwks_file is None else "jwks_file"
        return f"{self.place}.{name}"

    def granted(self, roles: Iterable[str], scopes: Iterable[str]) -> frozenset[str]:
        """Pentad's scopes for the issuer's role and scope names."""
        words = [word for name in roles for word in self.roles.get(name, "").split()]
        if self.scopes is None:
            words += [scope for scope in scopes if is_scope(scope)]
        else:
            words += [word for name in scopes for word in self.scopes.get(name, "").split()]
        found: set[str] = set()
        for word in words:
            found |= role_scopes(word) if is_role(word) else {word}
        return frozenset(found)

    def _check_addresses(self) -> None:
        if self.jwks_url is not None and not is_safe_url(self.jwks_url):
            raise Misconfigured(
                f"{self.place}.jwks_url must be https.",
                hint="Plain http is accepted for this machine and for private addresses and names only.",
            )
        if self.is_discovered and not is_safe_url(self.issuer):
            raise Misconfigured(
                f"The token issuer in {self.place} has no source of keys, and its name is not an https URL"
                " to discover them at.",
                hint="Set jwks_url, jwks_file or secret.",
            )

    def _check_grants(self, name: str, grants: Mapping[str, str]) -> None:
        for theirs, ours in grants.items():
            unknown = [word for word in ours.split() if not is_role(word) and not is_scope(word)]
            if unknown or not ours.split():
                raise Misconfigured(
                    f"{self.place}.{name} maps {theirs[:80]!r} to {ours[:80]!r}, which is neither a role nor scopes.",
                    hint="Write reader, writer, admin, or scopes such as 'directory:read metrics:read'.",
                )

    def _check_algorithms(self) -> None:
        if unknown := [name for name in self.algorithms if name not in _OFFERED]:
            raise Misconfigured(
                f"Token algorithm {unknown[0]!r} is not offered.", hint=f"Choose from {', '.join(sorted(_OFFERED))}."
            )
        shared = [name for name in self.algorithms if name in SYMMETRIC]
        if self.secret is None:
            if shared or not self.algorithms:
                raise Misconfigured(
                    "Public keys need asymmetric token algorithms.",
                    hint="Name at least one, and none that begins with HS.",
                )
        elif len(shared) != len(self.algorithms):
            raise Misconfigured("A shared secret works only with HS algorithms.", hint="Set algorithms to HS256.")
        elif len(self.secret) < _SHORTEST_SECRET:
            raise Misconfigured(
                "The shared token secret is too short.", hint=f"Use at least {_SHORTEST_SECRET} random bytes."
            )


def is_safe_url(url: str) -> bool:
    """Whether keys read from there can be trusted: https, or plain http inside a private network."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if not host or parts.username is not None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_private(host))


def _is_private(host: str) -> bool:
    """Whether a host is this machine, a private address, or a name that only a private network knows."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host.rstrip(".") or host.rstrip(".").endswith(_PRIVATE_SUFFIXES)
