"""The core's settings, as one typed value that records where each part came from.

Fields are documented where they are declared. `catalogue.py` lists them flat, and `sources.py` fills them in layers:
defaults < file < environment < flags.
"""

import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeVar
from urllib.parse import urlsplit

from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured
from pentad.mcp.profiles import BUILT_IN, Profile
from pentad.net.fetch_policy import FetchPolicy
from pentad.net.forwarded import TrustedProxies

if TYPE_CHECKING:
    from pentad.access.issuer import TrustedIssuer
    from pentad.access.oauth.grants import Lifetimes
    from pentad.access.secret_box import SecretBox
    from pentad.access.user_identities import IdentityProvider
    from pentad.search.remote_embedder import RemoteModel

T = TypeVar("T")

NO_TABLE: Final[Mapping[str, Any]] = MappingProxyType({})
"""The default of a setting that is a table."""
DATABASE_SCHEMES: Final = ("sqlite", "postgresql", "postgres")
MOST_PORTS: Final = 65_535
MOST_DAYS: Final = 36_500
_PROFILE_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
PUBLIC_PAGES: Final = ("metrics", "openapi", "llms", "readiness")
"""Pages about the server that an operator may make public."""


def setting(
    default: T,
    about: str,
    *,
    secret: bool = False,
    variables: tuple[str, ...] = (),
    core: str | None = None,
    demo: T | None = None,
) -> T:
    """A documented field.

    A secret one is omitted from the repr and masked wherever it is displayed. For rooms: `variables` are variables of
    the system that the room replaces; the first one set counts. `core` names a core setting that takes precedence.
    `demo` is the default in `pentad demo`.
    """
    optional = {"core": core, "demo": demo}
    given = {name: value for name, value in optional.items() if value is not None}
    metadata = {**documented(about, secret=secret), "variables": variables, **given}
    if default is NO_TABLE:  # a mapping cannot be the default of a dataclass field
        return field(default_factory=dict[str, Any], repr=not secret, metadata=metadata)  # pyright: ignore[reportReturnType]  a field stands for its value
    return field(default=default, repr=not secret, metadata=metadata)


def documented(about: str, *, secret: bool = False) -> dict[str, Any]:
    """The metadata of a settings field."""
    return {"about": about, "secret": secret}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomSettings:
    """The base of a room's settings: declare a dataclass of `setting(...)` fields."""

    removed: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Removed settings, each with a sentence on its replacement. If set, they are ignored with a warning."""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """Values that the room does not declare but `accepts`."""

    @staticmethod
    def accepts(name: str) -> bool:
        """Whether an undeclared name belongs to a plug-in of the room. False by default."""
        del name
        return False


def user_data_folder(environ: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """The system's folder for a program's per-user data."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if system == "darwin":
        return home / "Library" / "Application Support" / "pentad"
    if system == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "pentad"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "pentad"


def user_config_folder(environ: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """The system's folder for a program's per-user configuration."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if system == "darwin":
        return home / "Library" / "Application Support" / "pentad"
    if system == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "pentad"
    return Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "pentad"


def _mapping(about: str) -> Mapping[str, tuple[str, ...]]:
    return field(default_factory=dict[str, tuple[str, ...]], metadata=documented(about))


@dataclass(frozen=True, slots=True)
class IssuerSettings:
    """An issuer whose JSON Web Tokens are accepted. Without a source of keys, they are found by discovery."""

    issuer: str | None = setting(None, "The `iss` of tokens to accept; without it, no token is accepted.")
    audience: tuple[str, ...] = setting((), "The `aud` values that name this server; others are refused.")
    algorithms: tuple[str, ...] = setting(
        (), "Accepted signature algorithms; by default all asymmetric ones (RS, PS, ES, Ed)."
    )
    jwks_url: str | None = setting(
        None, "The URL of the issuer's keys; fetched even if private. By default found by discovery (OIDC)."
    )
    jwks_file: Path | None = field(
        default=None, metadata=documented("A file with the issuer's keys, instead of the URL.")
    )
    secret: str | None = setting(None, "A shared secret for HS256, HS384 and HS512, instead of keys.", secret=True)
    leeway: int = setting(30, "Seconds of clock difference to allow for a token's times.")
    roles_claim: str = setting("roles", "The claim that lists roles; dots go into objects.")
    roles: Mapping[str, tuple[str, ...]] = _mapping(
        "The issuer's name of a role = Pentad's role or scopes; other names grant nothing. By default Pentad's names."
    )
    scopes: Mapping[str, tuple[str, ...]] = _mapping(
        "The issuer's name of a scope = Pentad's role or scopes; other names grant nothing. By default Pentad's names."
    )

    def __str__(self) -> str:
        return self.issuer or ""

    def trusted(self, place: str) -> "TrustedIssuer":
        """The checked issuer; `place` is the table of its settings."""
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
    """The issuers whose JSON Web Tokens are accepted: the one in this table, and those in `issuers`."""

    issuers: tuple[IssuerSettings, ...] = setting((), "Further issuers, each a table with the settings of `jwt`.")


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """The company's identity provider (OpenID Connect). Its callback is `/login/callback` of this server."""

    issuer: str | None = setting(None, "The identity provider's URL; without it, users log in with passwords only.")
    client_id: str | None = setting(None, "This server's client id at the provider.")
    client_secret: str | None = setting(None, "The client secret, if there is one.", secret=True)
    client_secret_file: Path | None = field(
        default=None, metadata=documented("A file with the secret, instead of the secret itself.")
    )
    name: str | None = setting(None, "The provider's name on the login page; by default its host.")
    scopes: tuple[str, ...] = setting(("openid", "profile", "email"), "The scopes to request from the provider.")
    groups_claim: str = setting("groups", "The claim that lists a person's groups; dots go into objects.")
    roles: Mapping[str, tuple[str, ...]] = _mapping(
        "A group's name at the provider = Pentad's role, with extra scopes if needed; no role, no login."
        " By default groups named reader, writer and admin count."
    )
    domains: tuple[str, ...] = setting(
        (), "If set, only users with a verified e-mail address in these domains may log in."
    )
    create_users: bool = setting(True, "Whether a person's first login creates a user.")

    def checked(self) -> "IdentityProvider | None":
        """The checked provider; None if none is configured."""
        if self.issuer is None:
            return None
        from pentad.access.user_identities import IdentityProvider

        return IdentityProvider(
            issuer=self.issuer,
            client_id=self.client_id or "",
            client_secret=self._secret(),
            name=self.name or urlsplit(self.issuer).hostname or self.issuer,
            scopes=self.scopes,
            groups_claim=self.groups_claim,
            roles={theirs: " ".join(ours) for theirs, ours in self.roles.items()},
            domains=tuple(domain.lower().removeprefix("@") for domain in self.domains),
            create_users=self.create_users,
        )

    def _secret(self) -> str | None:
        if self.client_secret_file is None:
            return self.client_secret
        if self.client_secret is not None:
            raise Misconfigured(
                "login.provider.client_secret and client_secret_file are both set.", hint="Keep one of them."
            )
        try:
            return self.client_secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            raise Misconfigured(
                "login.provider.client_secret_file cannot be read.", hint="Check its path and permissions."
            ) from None


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """Settings for the logins of people and programs."""

    authorization_server: bool = setting(
        True, "Whether clients may log in with OAuth 2.1, after a person signs in and consents."
    )
    open_registration: bool = setting(True, "Whether clients may register themselves (RFC 7591).")
    client_documents: bool = setting(
        True,
        "Whether a client's id may be the https URL of a document about it, which this server fetches;"
        " switch it off on a server without internet.",
    )
    access_token_minutes: float = setting(60.0, "Minutes an access token is valid, at least 0.02 (a second).")
    refresh_token_days: int = setting(30, "Days without use after which a client has to log in again.")
    grant_days: int = setting(365, "Days after which a person has to consent again.")

    session_idle_hours: float = setting(12.0, "Hours without use after which a browser has to log in again.")
    session_days: float = setting(14.0, "Days after which a browser has to log in again in any case.")
    provider: ProviderSettings = field(default_factory=ProviderSettings)

    def lifetimes(self) -> "Lifetimes":
        """The lifetimes of grants and their tokens."""
        from pentad.access.oauth.grants import Lifetimes

        day = 86_400.0
        return Lifetimes(self.access_token_minutes * 60.0, self.refresh_token_days * day, self.grant_days * day)


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The log, always on stderr."""

    level: Literal["debug", "info", "warning", "error", "critical"] = setting("info", "The least severe level shown.")
    format: Literal["auto", "json", "console"] = setting("auto", "auto is console on a terminal and json elsewhere.")


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The audit trail."""

    days: int = setting(90, "Days to keep the audit trail, 1 or more.")


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """The export of traces."""

    otlp_endpoint: str | None = setting(
        None, "An OpenTelemetry collector that accepts OTLP over HTTP, such as http://localhost:4318; none by default."
    )
    otlp_headers: str | None = setting(
        None, "Headers for the collector, as comma-separated name=value pairs.", secret=True
    )

    def headers(self) -> dict[str, str]:
        """The headers for the collector."""
        pairs = (part.partition("=") for part in (self.otlp_headers or "").split(",") if part.strip())
        return {name.strip(): value.strip() for name, _, value in pairs}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The source of vectors for search."""

    embedder: Literal["auto", "minilm", "remote", "none"] = setting(
        "auto", "auto: the endpoint if one is set, else the model of `pentad models pull`, else none (words only)."
    )
    remote_url: str | None = setting(None, "An OpenAI-compatible endpoint for embeddings, such as https://host/v1.")
    remote_model: str = setting("text-embedding-3-small", "The model to request from the endpoint.")
    remote_dimensions: int = setting(1536, "The dimensions of its vectors; others are refused.")
    remote_shorten: bool = setting(False, "Whether to ask the endpoint to shorten its vectors to that many dimensions.")
    remote_key: str | None = setting(None, "The endpoint's key, sent as a bearer token.", secret=True)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value came from: the layer, and the file, variable or flag."""

    layer: Literal["default", "file", "environment", "flag"]
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.layer} {self.detail}".rstrip()


DEFAULT: Final = Origin("default")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one process."""

    host: str = setting("127.0.0.1", "The address to listen on.")
    port: int = setting(8700, "The HTTP port; 0 picks a free one.")
    grpc_port: int = setting(8888, "The port of the gRPC services (directory, agents); 0 switches it off.")
    grpc_cert_file: str | None = setting(None, "The certificate of the gRPC port (PEM); without it, plain text.")
    grpc_key_file: str | None = setting(None, "The private key of that certificate.")
    grpc_client_ca_file: str | None = setting(None, "The CA that must have signed gRPC clients' certificates.")
    data: Path = field(default=Path(), metadata=documented("The data folder."))
    database: str | None = setting(
        None, "A postgresql:// URL; without it a SQLite file in the data folder.", secret=True
    )
    secret_key: str | None = setting(
        None, "Encrypts the keys and secrets in the store; 32 random characters or more.", secret=True
    )
    secret_key_previous: tuple[str, ...] = setting(
        (), "Previous values of secret_key; the next start re-encrypts secrets that still use them.", secret=True
    )
    auth: Literal["required", "none"] = setting("required", "none trusts every caller; allowed on loopback only.")
    workers: int = setting(1, "Number of server processes; more than one suits PostgreSQL and several cores.")
    drain_seconds: int = setting(10, "Seconds that requests and agents have to finish when the server stops.")
    rooms: tuple[str, ...] = setting(
        (), "Rooms to open, by name or as my.module:ROOM; empty opens every installed one."
    )
    agent: tuple[str, ...] = setting(
        (), "Agents to host: each my.module:Agent, a card's URL, a registered id, or `command: ...`."
    )
    public_url: str | None = setting(None, "The URL that clients use, if there is a proxy in front.")
    allowed_hosts: tuple[str, ...] = setting((), "Host names to accept in addition to this machine's.")
    allowed_origins: tuple[str, ...] = setting(
        (), "Web origins, besides the server's own, that browsers may call from, each as scheme://host:port."
    )
    forwarded_allow_ips: tuple[str, ...] = setting(
        (), "Proxies trusted to report a client's address and scheme: addresses or networks."
    )
    forwarded_header: Literal["x-forwarded-for", "forwarded"] = setting(
        "x-forwarded-for", "The header in which these proxies report the client's address."
    )
    read_only: bool = setting(False, "Refuse all changes, on every endpoint of the server.")
    confirm: tuple[str, ...] = setting(
        (), "Tools that ask the user first, by name or glob, with `:action` if they have one: objects:delete."
    )
    profiles: Mapping[str, Profile] = field(
        default_factory=dict[str, Profile],
        metadata=documented(
            "Selections of tools at /mcp/<name>: rooms, tags, tools, typed, read_only, output_schemas, lists."
        ),
    )
    http_sse: bool = setting(
        False, "Also serve the HTTP+SSE transport of 2024-11-05, at /sse and /message; only with one process."
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
    login: LoginSettings = field(default_factory=LoginSettings)
    fetch: FetchPolicy = field(default_factory=FetchPolicy)
    log: LogSettings = field(default_factory=LogSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    search: SearchSettings = field(default_factory=SearchSettings)

    file: Path | None = None
    """The configuration file that was read, if any."""
    room_tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]], repr=False)
    """The tables `[rooms.<name>]` as written; `pentad.settings.rooms` reads them."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment variables; rooms have their own."""
    demo: bool = False
    """Whether this is `pentad demo`."""
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin], repr=False)
    warnings: tuple[str, ...] = ()

    def origin(self, path: str) -> Origin:
        """The origin of a setting's value, such as `limits.body_bytes`."""
        return self.origins.get(path, DEFAULT)

    def model_folders(self) -> tuple[Path, ...]:
        """The folders that may hold models; `pentad models pull` writes to the first."""
        if self.models is not None:
            return (self.models,)
        return tuple(dict.fromkeys((self.data / "models", user_data_folder() / "models")))

    def remote_embedder(self) -> "RemoteModel | None":
        """The embeddings endpoint, if configured."""
        if self.search.remote_url is None:
            return None
        from pentad.search.remote_embedder import RemoteModel

        return RemoteModel(
            url=self.search.remote_url,
            model=self.search.remote_model,
            dimensions=self.search.remote_dimensions,
            key=self.search.remote_key,
            shortened=self.search.remote_shorten,
        )

    def trusted_issuers(self) -> "tuple[TrustedIssuer, ...]":
        """The checked issuers whose tokens are accepted."""
        own = [self.jwt.trusted("jwt")] if self.jwt.issuer is not None else []
        return (*own, *(one.trusted(f"jwt.issuers[{number}]") for number, one in enumerate(self.jwt.issuers)))

    def secret_box(self) -> "SecretBox":
        """Encrypts secrets in the store according to these settings."""
        from pentad.access.secret_box import SecretBox

        return SecretBox(self.secret_key, self.secret_key_previous)

    def grpc_file(self, name: str) -> str | None:
        """A TLS file of the gRPC port. These used to be settings of the directory room; those names are still read,
        even if the room is not open."""
        former = self.environment.get(f"PENTAD_DIRECTORY_{name.upper()}")
        return getattr(self, name) or former or self.room_tables.get("directory", {}).get(name)

    def proxies(self) -> TrustedProxies:
        """The trusted proxies."""
        return TrustedProxies(self.forwarded_allow_ips, self.forwarded_header)

    def is_public(self, page: str) -> bool:
        """Whether one of `PUBLIC_PAGES` needs no login."""
        return self.is_local() if "auto" in self.public_pages else page in self.public_pages

    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        named = self.public_url is None or is_loopback(urlsplit(self.public_url).hostname or "")
        return named and is_loopback(self.host) and not self.forwarded_allow_ips

    def url(self, path: str = "/") -> str:
        """A URL of this server for clients."""
        if self.public_url is not None:
            return self.public_url.rstrip("/") + path
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  compared, not bound
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}{path}"


def checked(settings: Settings) -> Settings:
    """The same settings; Misconfigured if they do not fit together."""
    for name in ("port", "grpc_port"):
        if not 0 <= getattr(settings, name) <= MOST_PORTS:
            raise Misconfigured(f"{name} is {getattr(settings, name)}.", hint=f"A port is 0 to {MOST_PORTS}.")
    if settings.workers < 1:
        raise Misconfigured(f"workers is {settings.workers}.", hint="There must be at least one worker process.")
    _check_login(settings.login)
    if settings.http_sse and settings.workers > 1:
        raise Misconfigured(
            f"http_sse needs a server with one process, not {settings.workers}.",
            hint="Set workers = 1, or leave http_sse out: newer clients need no SSE.",
        )
    _check_tools(settings)
    if settings.audit.days < 1:
        raise Misconfigured(
            f"audit.days is {settings.audit.days}.", hint="The audit trail must be kept for at least a day."
        )
    if settings.auth == "none" and not is_loopback(settings.host):
        raise Misconfigured(
            f"--auth none is refused on {settings.host!r}: anyone who reaches that address could do anything.",
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
    settings.login.provider.checked()
    settings.secret_box()
    return settings


def _check_login(login: LoginSettings) -> None:
    if not (login.session_idle_hours > 0 and login.session_days > 0):
        raise Misconfigured(
            "login.session_idle_hours and login.session_days must be positive.", hint="12 and 14 suit most teams."
        )
    if not 1 <= login.access_token_minutes * 60 <= MOST_DAYS * 86_400:
        raise Misconfigured(
            f"login.access_token_minutes is {login.access_token_minutes:g}.",
            hint=f"It is 0.02 (a second) to {MOST_DAYS * 1440}.",
        )
    for name in ("refresh_token_days", "grant_days"):
        if not 1 <= (value := getattr(login, name)) <= MOST_DAYS:
            raise Misconfigured(f"login.{name} is {value}.", hint=f"It is 1 to {MOST_DAYS}.")


def _check_tools(settings: Settings) -> None:
    """Check the profiles' names and the rules for confirmation."""
    for name, profile in settings.profiles.items():
        if name in BUILT_IN or not _PROFILE_NAME.fullmatch(name):
            taken = "is built in" if name in BUILT_IN else "is not a valid name"
            raise Misconfigured(
                f"The profile {name[:80]!r} {taken}.", hint="Use another: lower-case letters, digits, - and _."
            )
        for entry in profile.typed:
            room, _, rest = entry.partition(":")
            if not room or not rest:
                raise Misconfigured(
                    f"profiles.{name}.typed has {entry[:80]!r}.",
                    hint="Write room:name, as in registers:permits/permit.",
                )
    for pattern in settings.confirm:
        if not pattern.partition(":")[0] or pattern.endswith(":"):
            raise Misconfigured(f"confirm has {pattern[:80]!r}.", hint="Write a tool, or tool:action.")


def _check_edge(settings: Settings) -> None:
    """Check which pages, origins and proxies are allowed."""
    settings.proxies()
    for page in settings.public_pages:
        if page not in (*PUBLIC_PAGES, "auto", "none"):
            raise Misconfigured(
                f"public_pages has {page[:80]!r}.", hint=f"It may have {', '.join(PUBLIC_PAGES)}, auto or none."
            )
    for origin in settings.allowed_origins:
        if not _is_web_url(origin) or urlsplit(origin)[2:] not in (("", "", ""), ("/", "", "")):
            raise Misconfigured(
                f"allowed_origins has {origin[:80]!r}, which is not an origin.",
                hint="Write scheme, host and port as a browser sends them: http://localhost:6274.",
            )


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable only from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _check_database(url: str) -> None:
    scheme, separator, _ = url.partition("://")
    if not separator or scheme not in DATABASE_SCHEMES:
        raise Misconfigured(
            "database is not a URL of a supported store.",
            hint="Write postgresql://user:password@host/name, or leave it out for SQLite in the data folder.",
        )


def _is_web_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username
