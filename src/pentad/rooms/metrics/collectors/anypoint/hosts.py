"""Where the platform is: one of the vendor's own control planes, or an address the operator wrote.

The vendor's object-store statistics are on a host of their own; behind an operator's address everything is at that one.
"""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from pentad.kernel.errors import Misconfigured
from pentad.rooms.metrics.settings import MetricsSettings

PLANES: Final = {
    "us": "anypoint.mulesoft.com",
    "eu": "eu1.anypoint.mulesoft.com",
    "gov": "gov.anypoint.mulesoft.com",
}
PRIVATE: Final = "private"
"""The platform in a data centre of one's own, wherever that is."""

NOT_THERE: Final = {
    "gov": frozenset({"rtf", "apma", "arm"}),
    PRIVATE: frozenset({"ch", "rtf", "apma", "amq", "osv2"}),
}
"""The collectors a plane has nothing for."""


@dataclass(frozen=True, slots=True)
class Places:
    """Base addresses, without a slash at their end."""

    base: str
    store: str
    lacking: frozenset[str] = frozenset()
    """The collectors that have nothing to ask there."""


def places(settings: MetricsSettings) -> Places:
    """What `anypoint_url`, `anypoint_plane` and `anypoint_object_store_url` say; by default us.

    A plane beside an address only says what is behind the address: a private one, or the vendor's behind a proxy.
    """
    url = (settings.anypoint_url or "").strip().rstrip("/")
    plane = (settings.anypoint_plane or "us").strip().casefold()
    if plane not in PLANES and plane != PRIVATE:
        known = ", ".join((*PLANES, PRIVATE))
        raise Misconfigured(f"There is no control plane {plane[:40]!r}.", hint=f"One of: {known}.")
    if plane == PRIVATE and not url:
        raise Misconfigured("A private control plane has no address of its own.", hint="Set PENTAD_ANYPOINT_URL.")
    base = url or f"https://{PLANES[plane]}"
    host = (urlsplit(base).hostname or "").casefold()
    if not host or urlsplit(base).scheme not in ("http", "https"):
        raise Misconfigured(
            "PENTAD_ANYPOINT_URL is not an http or https address.", hint="As in https://anypoint.mulesoft.com."
        )
    store = (settings.anypoint_object_store_url or "").strip().rstrip("/")
    if not store:
        store = f"https://object-store-stats.{host}" if host in PLANES.values() else base
    return Places(base, store, NOT_THERE.get("gov" if host == PLANES["gov"] else plane, frozenset()))
