"""The settings of the metrics room and of the collectors that come with it.

Collectors of other packages have their own settings, which begin with the collector's name, as in `shelves_url`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

from pentad.entry_points import entry_points
from pentad.kernel.errors import Misconfigured
from pentad.settings.model import NO_TABLE, RoomSettings, setting

T = TypeVar("T")
COLLECTORS: Final = "pentad.collectors"
"""The entry-point group of collectors."""
_AT_LEAST_ONE: Final = ("concurrency", "raw_days", "hour_days", "day_days")


def _anypoint(name: str, default: T, about: str, *, secret: bool = False) -> T:
    return setting(default, about, secret=secret, variables=(f"PENTAD_ANYPOINT_{name}",))


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSettings(RoomSettings):
    """The settings of the metrics room."""

    removed: ClassVar[Mapping[str, str]] = {"sse": "Set `http_sse = true` for the whole server (PENTAD_HTTP_SSE)."}
    anypoint_client_id: str | None = _anypoint("CLIENT_ID", None, "The id of a connected app.")
    anypoint_client_secret: str | None = _anypoint("CLIENT_SECRET", None, "Its secret.", secret=True)
    anypoint_username: str | None = _anypoint("USERNAME", None, "A user, if there is no connected app.")
    anypoint_password: str | None = _anypoint("PASSWORD", None, "The user's password.", secret=True)
    anypoint_org: str | None = _anypoint("ORG", None, "The default business group of queries.")
    anypoint_url: str | None = _anypoint("URL", None, "One URL for all product APIs; by default the vendor's own.")
    anypoint_plane: str | None = _anypoint(
        "PLANE", None, "us, eu or gov if no URL is set; with a URL, gov or private says what is behind it."
    )
    anypoint_object_store_url: str | None = _anypoint(
        "OBJECT_STORE_URL", None, "The URL of the object store's statistics, if it differs."
    )
    anypoint_security_policies: tuple[str, ...] = _anypoint(
        "SECURITY_POLICIES", (), "Policies that count as security policies; by default the usual ones."
    )
    anypoint_preview: bool = _anypoint("PREVIEW", False, "Also enable the preview collectors flex, usage and audit.")
    anypoint_ignore_organizations: tuple[str, ...] = _anypoint("IGNORE_ORGANIZATIONS", (), "Business groups to skip.")
    anypoint_ignore_environments: tuple[str, ...] = _anypoint("IGNORE_ENVIRONMENTS", (), "Environments to skip.")
    plain_methods: bool = setting(
        False, "Whether tools also answer as JSON-RPC methods of their own names, without `tools/call`."
    )
    compat: str | None = setting(
        None, "`legacy`: tools return the Metrics Toolkit's numbers; a call may override it with `compat: current`."
    )
    compat_endpoints: tuple[str, ...] = setting(
        (), "Limits `compat` to these endpoints: paths such as /rooms/metrics/mcp, or `stdio`."
    )
    concurrency: int = setting(64, "Requests to one host at the same time.")
    poll: Mapping[str, Any] = setting(NO_TABLE, "Seconds between polls, by collector; 0 is never.")
    thresholds: Mapping[str, Any] = setting(NO_TABLE, "`warn` and `alarm`, by collector and key.")
    raw_days: float = setting(7.0, "Days to store samples.")
    hour_days: float = setting(90.0, "Days to store hourly figures.")
    day_days: float = setting(1_825.0, "Days to store daily figures.")
    prometheus_url: str | None = setting(None, "A Prometheus server.")
    prometheus_token: str | None = setting(None, "The token for it.", secret=True)
    prometheus_queries: Mapping[str, Any] = setting(NO_TABLE, "Queries by name.")
    postgres_url: str | None = setting(
        None, "A PostgreSQL server to measure; by default the store, if it is one.", secret=True
    )
    http_json: Mapping[str, Any] = setting(NO_TABLE, "JSON documents over HTTP: by name `url`, and `values` by path.")
    sdlc: Mapping[str, Any] = setting(NO_TABLE, "Software delivery systems: by name `url`, `user`, `token`.")
    loaders: Mapping[str, Any] = setting(
        NO_TABLE,
        "Destinations: by name `format`, `url`, `token` or `user` and `password`, `index`; `collectors` and `every`.",
    )
    receivers: Mapping[str, Any] = setting(
        NO_TABLE, "Receivers of alerts: by name `type` (webhook, slack, email, agent) and address."
    )

    def __post_init__(self) -> None:
        if self.compat not in (None, "legacy"):
            raise Misconfigured(f"rooms.metrics.compat is {self.compat!r}.", hint="Use legacy, or leave it out.")
        for endpoint in self.compat_endpoints:
            if endpoint != "stdio" and not endpoint.startswith("/"):
                raise Misconfigured(
                    f"rooms.metrics.compat_endpoints has {endpoint[:80]!r}.",
                    hint="Use paths such as /mcp or /rooms/metrics/mcp, or stdio.",
                )
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise Misconfigured(f"rooms.metrics.{name} is {getattr(self, name):g}.", hint="Use 1 or more.")

    @staticmethod
    def accepts(name: str) -> bool:
        return name.startswith(tuple(f"{collector}_" for collector in entry_points(COLLECTORS)))

    def get(self, name: str) -> Any:
        """A setting of a collector of another package; None if it is not set."""
        return self.extra.get(name)
