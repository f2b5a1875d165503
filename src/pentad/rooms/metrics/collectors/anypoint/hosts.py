"""Where the platform is: one of the vendor's own control planes, or an address the operator wrote.

The vendor's object-store statistics are on a host of their own; behind an operator's address everything is at that one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from pentad.kernel.errors import Misconfigured

PLANES: Final = {
    "us": "anypoint.mulesoft.com",
    "eu": "eu1.anypoint.mulesoft.com",
    "gov": "gov.anypoint.mulesoft.com",
}
NOT_IN_GOV: Final = frozenset({"rtf", "apma", "arm"})


@dataclass(frozen=True, slots=True)
class Places:
    """Base addresses, without a slash at their end."""

    base: str
    store: str
    is_gov: bool = False


def places(settings: Mapping[str, Any]) -> Places:
    """What `anypoint_url`, `anypoint_plane` (us, eu, gov) and `anypoint_object_store_url` say; by default us."""
    url = str(settings.get("anypoint_url") or "").strip().rstrip("/")
    plane = str(settings.get("anypoint_plane") or "us").strip().casefold()
    if plane not in PLANES:
        raise Misconfigured(f"There is no control plane {plane[:40]!r}.", hint=f"One of: {', '.join(PLANES)}.")
    base = url or f"https://{PLANES[plane]}"
    host = (urlsplit(base).hostname or "").casefold()
    if not host or urlsplit(base).scheme not in ("http", "https"):
        raise Misconfigured(
            "PENTAD_ANYPOINT_URL is not an http or https address.", hint="As in https://anypoint.mulesoft.com."
        )
    store = str(settings.get("anypoint_object_store_url") or "").strip().rstrip("/")
    if not store:
        store = f"https://object-store-stats.{host}" if host in PLANES.values() else base
    return Places(base, store, host == PLANES["gov"])
