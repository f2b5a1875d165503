"""Everything an operator can set, as one typed value that knows where each part of it came from.

The fields are documented here, where they are declared; `catalogue.py` lists them flat and
`sources.py` fills them in layers: defaults < file < environment < flags. Nothing here is read at import time,
and nothing here opens a file but through those layers.
"""

import ipaddress
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

from pentad.kernel.errors import Misconfigured
from pentad.kernel.limits import Limits
from pentad.net.forwarded import TrustedProxies
from pentad.net.policy import FetchPolicy

if TYPE_CHECKING:
    from pentad.access.issuer import TrustedIssuer
    from pentad.access.secret_box import SecretBox
    from pentad.search.remote import RemoteModel

T = TypeVar("T")

NO_TABLE: Final[Mapping[str, Any]] = MappingProxyType({})
"""The default of a setting that is a table."""
DATABASE_SCHEMES: Final = ("sqlite", "postgresql", "postgres")
MOST_PORTS: Final = 65_535
PUBLIC_PAGES: Final = ("metrics", "openapi", "llms", "readiness")
"""Pages about the server itself that an operator may open to everybody."""


def setting(
    default: T,
    about: str,
    *,
    secret: bool = False,
    variables: tuple[str, ...] = (),
    core: str | None = None,
    demo: T | None = None,
) -> T:
    """A documented field; a secret one is left out of the repr and masked wherever it is shown.

    For rooms: `variables` are those of the system the room stands in for, the first that is set counts. `core` is a
    setting of the core that wins if it is set. `demo` is the default in `pentad demo`.
    """
    optional = {"core": core, "demo": demo}
    given = {name: value for name, value in optional.items() if value is not None}
    metadata = {**documented(about, secret=secret), "variables": variables, **given}
    if default is NO_TABLE:  # a mapping cannot be the default of a dataclass field
        return field(default_factory=dict[str, Any], repr=not secret, metadata=metadata)  # pyright: ignore[reportReturnType]
    return field(default=default, repr=not secret, metadata=metadata)


def documented(about: str, *, secret: bool = False) -> dict[str, Any]:
    """What a field carries besides its value."""
    return {"about": about, "secret": secret}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSettings:
    """The base of what a room declares: a dataclass of `setting(...)` fields. By itself, no settings at all."""

    extra: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """Values the room does not declare but `accepts`."""

    @staticmethod
    def accepts(name: str) -> bool:
        """Whether a name that is not declared belongs to a plug-in of the room. By default the room has none."""
        del name
        return False


def user_data_folder(environ: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """Where this system keeps a program's data for one user."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if system == "darwin":
        return home / "Library" / "Application Support" / "pentad"
    if system == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "pentad"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "pentad"


def _mapping(about: str) -> Mapping[str, tuple[str, ...]]:
    return field(default_factory=dict[str, tuple[str, ...]], metadata=documented(about))


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """One foreign issuer whose JSON Web Tokens are accepted. Without a source of keys, the issuer is asked for one."""

    issuer: str | None = setting(None, "The `iss` of tokens to accept; without it no token is.")
    audience: tuple[str, ...] = setting((), "The `aud` values that mean this server; others are refused.")
    algorithms: tuple[str, ...] = setting((), "Accepted signatures; by default every asymmetric one (RS, PS, ES, Ed).")
    jwks_url: str | None = setting(
        None, "Where the issuer publishes its keys; fetched even if private. By default the issuer is asked (OIDC)."
    )
    jwks_file: Path | None = field(
        default=None, metadata=documented("A file with the issuer's keys, instead of the URL.")
    )
    secret: str | None = setting(None, "A shared secret for HS256 and its kin, instead of published keys.", secret=True)
    leeway: int = setting(30, "Seconds a token's times may be off.")
    roles_claim: str = setting("roles", "The claim that lists roles; dots go into objects.")
    roles: Mapping[str, tuple[str, ...]] = _mapping(
        "What the issuer calls a role = the role or scopes it is here; others grant nothing. By default Pentad's own."
    )
    scopes: Mapping[str, tuple[str, ...]] = _mapping(
        "What the issuer calls a scope = the role or scopes it is here; others grant nothing. By default Pentad's own."
    )

    def __str__(self) -> str:
        return self.issuer or ""

    def trusted(self, place: str) -> "TrustedIssuer":
        """The issuer, checked; `place` is where its settings are."""
        from pentad.access.issuer import ASYMMETRIC, OWN_ROLES, TrustedIssuer

        roles = {theirs: " ".join(ours) for theirs, ours in self.roles.items()}
        scopes = {theirs: " ".join(ours) for theirs, ours in self.scopes.items()}
        return TrustedIssuer(
            issuer=self.issuer or "",
            audiences=self.audience,
            jwks_url=self.jwks_url,
            jwks_file=self.jwks_file,
            secret=None if self.secret is None else self.secret.encode(),
            algorithms=self.algorithms or (ASYMMETRIC if self.secret is None else ("HS256",)),
            leeway=self.leeway,
            roles_claim=self.roles_claim,
            roles=roles or OWN_ROLES,
            scopes=scopes or None,
            place=place,
        )


@dataclass(frozen=True, slots=True)
class TokenSettings(IssuerSettings):
    """The foreign issuers whose JSON Web Tokens are accepted: one written right here, and those of `issuers`."""

    issuers: tuple[IssuerSettings, ...] = setting((), "Further issuers, each a table with the settings of `jwt`.")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """How the server speaks to its operator, always on stderr."""

    level: Literal["debug", "info", "warning", "error", "critical"] = setting("info", "The least severe level shown.")
    format: Literal["auto", "json", "console"] = setting("auto", "auto is console on a terminal and json elsewhere.")


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The trail of calls."""

    days: int = setting(90, "Days the trail of calls is kept, 1 or more.")


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Where the vectors of the shared search come from."""

    embedder: Literal["auto", "minilm", "remote", "none"] = setting(
        "auto", "auto is the endpoint if one is set, else the model of `pentad models pull`, else none: words alone."
    )
    remote_url: str | None = setting(None, "An OpenAI-compatible endpoint for embeddings, such as https://host/v1.")
    remote_model: str = setting("text-embedding-3-small", "The model to ask the endpoint for.")
    remote_dimensions: int = setting(1536, "The dimensions of its vectors; others are refused.")
    remote_shorten: bool = setting(False, "Whether to ask the endpoint to cut its vectors to that many dimensions.")
    remote_key: str | None = setting(None, "The endpoint's key, sent as a bearer token.", secret=True)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: the layer, and the file, variable or flag in it."""

    layer: Literal["default", "file", "environment", "flag"]
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.layer} {self.detail}".rstrip()


DEFAULT: Final = Origin("default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process."""

    host: str = setting("127.0.0.1", "The address to listen on.")
    port: int = setting(8700, "The HTTP port; 0 picks a free one.")
    grpc_port: int = setting(8888, "The port of the directory's gRPC service; 0 switches it off.")
    data: Path = field(default=Path(), metadata=documented("The folder that holds everything Pentad keeps."))
    database: str | None = setting(
        None, "A postgresql:// URL; without it a SQLite file in the data folder.", secret=True
    )
    secret_key: str | None = setting(
        None, "Encrypts the keys and secrets in the store; 32 random characters or more.", secret=True
    )
    secret_key_previous: tuple[str, ...] = setting(
        (), "Keys that secrets in the store may still be encrypted with; a start encrypts them anew.", secret=True
    )
    auth: Literal["required", "none"] = setting("required", "none trusts every caller; refused beyond this machine.")
    workers: int = setting(1, "Processes that serve; more than one suits PostgreSQL and several cores.")
    rooms: tuple[str, ...] = setting(
        (), "Rooms to open, by name or as my.module:ROOM; empty opens every installed one."
    )
    agent: tuple[str, ...] = setting((), "Agents to host, each as my.module:Agent.")
    public_url: str | None = setting(None, "The address clients use, when a proxy stands in front.")
    allowed_hosts: tuple[str, ...] = setting((), "Further Host names to answer to; this machine's names always count.")
    allowed_origins: tuple[str, ...] = setting(
        (), "Web origins besides the server's own that browsers may call from, each as scheme://host:port."
    )
    forwarded_allow_ips: tuple[str, ...] = setting(
        (), "Proxies whose word on a client's address and scheme is believed: addresses or networks."
    )
    forwarded_header: Literal["x-forwarded-for", "forwarded"] = setting(
        "x-forwarded-for", "The header in which these proxies name the client."
    )
    public_pages: tuple[str, ...] = setting(
        ("auto",),
        "What needs no login: metrics, openapi, llms, readiness (the details of /readyz), or none;"
        " auto is all of them while only this machine can reach the server, and none otherwise.",
    )
    models: Path | None = field(
        default=None,
        metadata=documented("The folder of models; by default `models` in the data folder, then in the user's own."),
    )
    limits: Limits = field(default_factory=Limits)
    jwt: TokenSettings = field(default_factory=TokenSettings)
    fetch: FetchPolicy = field(default_factory=FetchPolicy)
    log: LogSettings = field(default_factory=LogSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    search: SearchSettings = field(default_factory=SearchSettings)

    file: Path | None = None
    """The configuration file that was read, if any."""
    room_tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]], repr=False)
    """The tables `[rooms.<name>]` as they were found; `pentad.settings.rooms` reads them for a room."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The variables as they were found; rooms have some of their own."""
    demo: bool = False
    """Whether this is `pentad demo`."""
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin], repr=False)
    warnings: tuple[str, ...] = ()

    def origin(self, path: str) -> Origin:
        """Where the value of a setting such as `limits.body_bytes` came from."""
        return self.origins.get(path, DEFAULT)

    def model_folders(self) -> tuple[Path, ...]:
        """Where models are looked for; a pull writes to the first."""
        if self.models is not None:
            return (self.models,)
        return tuple(dict.fromkeys((self.data / "models", user_data_folder() / "models")))

    def remote_embedder(self) -> "RemoteModel | None":
        """The endpoint vectors come from; None when none is set."""
        if self.search.remote_url is None:
            return None
        from pentad.search.remote import RemoteModel

        return RemoteModel(
            url=self.search.remote_url,
            model=self.search.remote_model,
            dimensions=self.search.remote_dimensions,
            key=self.search.remote_key,
            shortened=self.search.remote_shorten,
        )

    def trusted_issuers(self) -> "tuple[TrustedIssuer, ...]":
        """The issuers whose tokens are accepted, checked."""
        own = [self.jwt.trusted("jwt")] if self.jwt.issuer is not None else []
        return (*own, *(one.trusted(f"jwt.issuers[{number}]") for number, one in enumerate(self.jwt.issuers)))

    def secret_box(self) -> "SecretBox":
        """Encrypts what the store keeps secret, as these settings want it."""
        from pentad.access.secret_box import SecretBox

        return SecretBox(self.secret_key, self.secret_key_previous)

    def proxies(self) -> TrustedProxies:
        """The proxies in front whose word counts."""
        return TrustedProxies(self.forwarded_allow_ips, self.forwarded_header)

    def is_public(self, page: str) -> bool:
        """Whether one of `PUBLIC_PAGES` needs no login."""
        if "auto" in self.public_pages:
            named = self.public_url is None or is_loopback(urlsplit(self.public_url).hostname or "")
            return named and is_loopback(self.host) and not self.forwarded_allow_ips
        return page in self.public_pages

    def url(self, path: str = "/") -> str:
        """An address of this server as a client would write it."""
        if self.public_url is not None:
            return self.public_url.rstrip("/") + path
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}{path}"


def checked(settings: Settings) -> Settings:
    """The same settings, once their values are known to make sense together."""
    for name in ("port", "grpc_port"):
        if not 0 <= getattr(settings, name) <= MOST_PORTS:
            raise Misconfigured(f"{name} is {getattr(settings, name)}.", hint=f"A port is 0 to {MOST_PORTS}.")
    if settings.workers < 1:
        raise Misconfigured(f"workers is {settings.workers}.", hint="At least one process has to serve.")
    if settings.audit.days < 1:
        raise Misconfigured(f"audit.days is {settings.audit.days}.", hint="The trail is kept for at least a day.")
    if settings.auth == "none" and not is_loopback(settings.host):
        raise Misconfigured(
            f"--auth none is refused on {settings.host!r}: anybody who reaches that address could do anything.",
            hint="Bind 127.0.0.1, or leave --auth at required.",
        )
    if settings.database is not None:
        _check_database(settings.database)
    if settings.public_url is not None and not _is_web_url(settings.public_url):
        raise Misconfigured("public_url is not an http or https address.", hint="Write https://pentad.example.com.")
    _check_edge(settings)
    if settings.search.remote_url is not None and not _is_web_url(settings.search.remote_url):
        raise Misconfigured(
            "search.remote_url is not an http or https address.", hint="Write https://api.example.com/v1."
        )
    if settings.search.remote_dimensions < 1:
        raise Misconfigured("search.remote_dimensions is 0.", hint="Write what the model gives, such as 1536.")
    names = [issuer.issuer for issuer in settings.trusted_issuers()]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise Misconfigured(f"The token issuer {repeated!r} is set twice.", hint="Keep one of the two tables.")
    settings.secret_box()
    return settings


def _check_edge(settings: Settings) -> None:
    """The settings of who may come in, and from where."""
    settings.proxies()
    for page in settings.public_pages:
        if page not in (*PUBLIC_PAGES, "auto", "none"):
            raise Misconfigured(
                f"public_pages has {page[:80]!r}.", hint=f"It may have {', '.join(PUBLIC_PAGES)}, auto or none."
            )
    for origin in settings.allowed_origins:
        if not _is_web_url(origin) or urlsplit(origin)[2:] not in (("", "", ""), ("/", "", "")):
            raise Misconfigured(
                f"allowed_origins has {origin[:80]!r}, which is no origin.",
                hint="Write scheme, host and port as a browser sends them: http://localhost:6274.",
            )


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_database(url: str) -> None:
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in DATABASE_SCHEMES:
        raise Misconfigured(
            "database is not an address of a store Pentad knows.",
            hint="Write postgresql://user:password@host/name, or leave it out for SQLite in the data folder.",
        )


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
