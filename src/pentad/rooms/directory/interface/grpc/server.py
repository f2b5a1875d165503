"""The directory's API over gRPC: its services, and who may call them.

`grpc_auth = "none"` waives the login if only this machine can connect. If the port requires client certificates
(`grpc_client_ca_file`), callers need no login; `grpc_client_role` sets their rights.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pentad.access.scopes import role_scopes
from pentad.kernel.errors import Misconfigured, PentadError
from pentad.kernel.incidents import internal_error
from pentad.kernel.principal import Principal
from pentad.net.grpc_calls import GrpcServices, Service, Status, retry_of
from pentad.rooms.directory.interface.grpc.services import (
    change_service,
    event_service,
    naming_service,
    publication_service,
    ranked_search_service,
    routing_service,
    search_service,
    sign_service,
)
from pentad.rooms.directory.interface.grpc.store_service import referrer_methods, store_methods, sync_service
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.settings import DirectorySettings
from pentad.rooms.directory.wire.statuses import status_of
from pentad.settings.model import is_loopback

_NAMES: Final = ("x509_subject_alternative_name", "x509_common_name")
_LONGEST_NAME: Final = 200


def is_login_waived(settings: DirectorySettings, host: str) -> bool:
    """Whether gRPC needs no login. Only allowed on a loopback address."""
    if settings.grpc_auth == "none" and not is_loopback(host):
        raise Misconfigured(
            f'grpc_auth = "none" is refused on {host!r}: anyone who can reach that address could do anything.',
            hint="Bind 127.0.0.1, or leave grpc_auth at required.",
        )
    return settings.grpc_auth == "none"


class CertificateAuth:
    """Authenticates callers by the certificate that TLS verified."""

    def __init__(self, settings: DirectorySettings) -> None:
        self._scopes = role_scopes(settings.grpc_client_role)
        self._requires_certificate = bool(settings.grpc_client_ca_file)

    def principal(self, connection: Mapping[str, Sequence[bytes]]) -> Principal | None:
        """The caller named by a connection's certificate, or None without one."""
        if not self._requires_certificate:
            return None
        for key in _NAMES:
            if found := connection.get(key):
                name = found[0].decode("utf-8", "replace")[:_LONGEST_NAME]
                return Principal(id=f"x509:{name}", name=name, scopes=self._scopes, kind="token")
        return None


def directory_services(directory: Directory, host: str) -> GrpcServices:
    """The API for a port on this host."""
    settings: DirectorySettings = directory.platform.settings
    return GrpcServices(
        "directory",
        services(directory),
        call_status,
        login_waived=is_login_waived(settings, host),
        by_certificate=CertificateAuth(settings).principal,
    )


def call_status(error: Exception, name: str) -> Status:
    """The status of a call that failed."""
    known = error if isinstance(error, PentadError) else internal_error(error, name)
    return *status_of(known, name), retry_of(known)


def services(directory: Directory) -> dict[str, Service]:
    """Every service of the API, by its full name."""
    area = "agntcy.dir"
    return {
        f"{area}.store.v1.StoreService": {**store_methods(directory), **referrer_methods(directory)},
        f"{area}.store.v1.SyncService": sync_service(directory),
        f"{area}.search.v1.SearchService": search_service(directory),
        f"{area}.routing.v1.RoutingService": routing_service(directory),
        f"{area}.routing.v1.PublicationService": publication_service(directory),
        f"{area}.sign.v1.SignService": sign_service(directory),
        f"{area}.naming.v1.NamingService": naming_service(directory),
        f"{area}.events.v1.EventService": event_service(directory),
        "pentad.directory.v1.ChangeService": change_service(directory),
        "pentad.directory.v1.RankedSearchService": ranked_search_service(directory),
    }
