"""The connection to another directory, in every mode its clients know: plain text, TLS, SPIFFE, bearer tokens.

A channel is made when it is first needed. Identities of SPIFFE expire, so such a channel is made anew after a while; a
token goes with each call as metadata.
"""

import asyncio
import ssl
from typing import Any, Final

import grpc
from grpc import aio

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured, Unavailable
from pentad.rooms.directory.wire.client_settings import ClientSettings, file_bytes
from pentad.rooms.directory.wire.oidc import OidcTokens
from pentad.rooms.directory.wire.workload import Identity, fetched_identity, fetched_token, identity_of_token

IDENTITY_SECONDS: Final = 600.0
TOKEN_SECONDS: Final = 60.0
_ANSWER_BYTES: Final = 16 * 1024 * 1024
_OPTIONS: Final[list[tuple[str, Any]]] = [
    ("grpc.max_receive_message_length", _ANSWER_BYTES),
    ("grpc.max_send_message_length", _ANSWER_BYTES),
    ("grpc.enable_retries", 0),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]


class Channel:
    """One connection, kept for many calls."""

    def __init__(
        self, settings: ClientSettings, *, tokens: OidcTokens | None = None, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._clock = clock or SystemClock()
        self._open: aio.Channel | None = None
        self._open_until = 0.0
        self._token = settings.token
        self._token_until = 0.0
        self._making = asyncio.Lock()

    async def opened(self) -> aio.Channel:
        """The connection, made anew when its identity is old."""
        async with self._making:
            if self._open is None or self._clock.monotonic() >= self._open_until:
                made = await self._made()
                await self._drop()
                self._open = made
                renewed = self._settings.mode in ("x509", "jwt")
                self._open_until = self._clock.monotonic() + IDENTITY_SECONDS if renewed else float("inf")
            return self._open

    async def metadata(self) -> list[tuple[str, str]]:
        """What goes with each call."""
        settings = self._settings
        if self._tokens is not None:
            return [("authorization", f"Bearer {await self._tokens.token()}")]
        if settings.mode in ("jwt", "jwt-tls") and self._clock.monotonic() >= self._token_until:
            self._token = await fetched_token(settings.spiffe_socket, settings.audience, settings.deadline)
            self._token_until = self._clock.monotonic() + TOKEN_SECONDS
        return [("authorization", f"Bearer {self._token}")] if self._token else []

    def refused(self) -> None:
        """The other side did not accept what went with a call."""
        if self._tokens is not None:
            self._tokens.refused()

    async def close(self) -> None:
        """End the connection, and a login that is waited for."""
        await self._drop()
        if self._tokens is not None:
            await self._tokens.close()

    async def _drop(self) -> None:
        """Calls under way get a moment to end."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close(grace=1.0)

    async def _made(self) -> aio.Channel:
        settings = self._settings
        if settings.mode in ("none", "insecure"):
            return aio.insecure_channel(settings.address, options=_OPTIONS)
        identity = await self._identity()
        roots, name = identity.roots or None, settings.server_name
        if settings.skip_verify:
            roots, name = await asyncio.to_thread(_shown_certificate, settings)
        elif settings.ca_file:
            roots = file_bytes(settings.ca_file, "TLS_CA_FILE")
        credentials = grpc.ssl_channel_credentials(roots, identity.key or None, identity.chain or None)
        named = [("grpc.ssl_target_name_override", name)] if name else []
        return aio.secure_channel(settings.address, credentials, options=[*_OPTIONS, *named])

    async def _identity(self) -> Identity:
        """Who we are and whom we trust; empty parts mean nobody in particular and the system's own roots."""
        settings = self._settings
        if settings.mode == "token":
            return identity_of_token(file_bytes(settings.spiffe_token, "SPIFFE_TOKEN"))
        if settings.mode == "x509":
            return await fetched_identity(settings.spiffe_socket, settings.deadline)
        if settings.mode == "jwt":
            whole = await fetched_identity(settings.spiffe_socket, settings.deadline)
            return Identity(b"", b"", whole.roots)
        if not settings.cert_file:
            return Identity(b"", b"", b"")
        chain, key = file_bytes(settings.cert_file, "TLS_CERT_FILE"), file_bytes(settings.key_file, "TLS_KEY_FILE")
        return Identity(chain, key, b"")


def _shown_certificate(settings: ClientSettings) -> tuple[bytes, str]:
    """The certificate the server shows now, to be trusted as it is, and a name it carries.

    gRPC always checks certificates, so "do not verify" can only mean: take the first one seen for the right one.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        pem = ssl.get_server_certificate(settings.host_and_port, timeout=settings.deadline)
    except (OSError, ValueError):
        raise Unavailable(f"The directory at {settings.address} shows no certificate.") from None
    certificate = x509.load_pem_x509_certificate(pem.encode())
    names: list[str] = []
    try:
        alternatives = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = alternatives.get_values_for_type(x509.DNSName)
        names += [str(address) for address in alternatives.get_values_for_type(x509.IPAddress)]
    except x509.ExtensionNotFound:
        names = [str(one.value) for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if not names:
        raise Misconfigured(
            f"The certificate of {settings.address} has no host name, so it cannot be used without verification.",
            hint="Set DIRECTORY_CLIENT_TLS_CA_FILE and DIRECTORY_CLIENT_TLS_SERVER_NAME instead.",
        )
    return pem.encode(), names[0].replace("*", "any")
