"""Calls another directory over gRPC: plain text, TLS, SPIFFE or bearer tokens.

The channel is opened on first use. SPIFFE identities expire, so such a channel is reopened from time to time; a token
goes with each call as metadata. Every call has a deadline, and failures become errors of the kernel.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Final, TypeVar

import grpc
from google.protobuf.message import Message
from grpc import StatusCode, aio

from pentad.kernel.clock import Clock, SystemClock
from pentad.kernel.errors import Misconfigured, PentadError, Unavailable
from pentad.rooms.directory.models import NotOffered
from pentad.rooms.directory.remote.client_settings import ClientSettings, file_bytes
from pentad.rooms.directory.remote.oidc import OidcTokens
from pentad.rooms.directory.remote.spiffe import Identity, fetch_identity, fetch_token, identity_from_file
from pentad.rooms.directory.wire.client_calls import end_call
from pentad.rooms.directory.wire.statuses import error_of

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
    """One connection, reused for many calls."""

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
        self._lock = asyncio.Lock()

    async def connection(self) -> aio.Channel:
        """The connection, reopened if its identity has aged."""
        async with self._lock:
            if self._open is None or self._clock.monotonic() >= self._open_until:
                channel = await self._connect()
                await self._drop()
                self._open = channel
                renewed = self._settings.mode in ("x509", "jwt")
                self._open_until = self._clock.monotonic() + IDENTITY_SECONDS if renewed else float("inf")
            return self._open

    async def metadata(self) -> list[tuple[str, str]]:
        """The metadata of a call: its bearer token."""
        settings = self._settings
        if self._tokens is not None:
            return [("authorization", f"Bearer {await self._tokens.token()}")]
        if settings.mode in ("jwt", "jwt-tls") and self._clock.monotonic() >= self._token_until:
            self._token = await fetch_token(settings.spiffe_socket, settings.audience, settings.deadline)
            self._token_until = self._clock.monotonic() + TOKEN_SECONDS
        return [("authorization", f"Bearer {self._token}")] if self._token else []

    def refused(self) -> None:
        """The other side rejected the token of a call."""
        if self._tokens is not None:
            self._tokens.refused()

    async def close(self) -> None:
        """Close the connection, and stop waiting for a login."""
        await self._drop()
        if self._tokens is not None:
            await self._tokens.close()

    async def _drop(self) -> None:
        """Close the connection; running calls get a second to end."""
        channel, self._open = self._open, None
        if channel is not None:
            await channel.close(grace=1.0)

    async def _connect(self) -> aio.Channel:
        settings = self._settings
        if settings.mode in ("none", "insecure"):
            return aio.insecure_channel(settings.address, options=_OPTIONS)
        identity = await self._identity()
        roots, name = identity.roots or None, settings.server_name
        if settings.skip_verify:
            roots, name = await asyncio.to_thread(_presented_certificate, settings)
        elif settings.roots:
            roots = settings.roots
        elif settings.ca_file:
            roots = file_bytes(settings.ca_file, "TLS_CA_FILE")
        credentials = grpc.ssl_channel_credentials(roots, identity.key or None, identity.chain or None)
        named = [("grpc.ssl_target_name_override", name)] if name else []
        return aio.secure_channel(settings.address, credentials, options=[*_OPTIONS, *named])

    async def _identity(self) -> Identity:
        """Our certificate and the roots we trust. Empty parts mean no certificate and the system's roots."""
        settings = self._settings
        if settings.mode == "token":
            return identity_from_file(file_bytes(settings.spiffe_token, "SPIFFE_TOKEN"))
        if settings.mode == "x509":
            return await fetch_identity(settings.spiffe_socket, settings.deadline)
        if settings.mode == "jwt":
            whole = await fetch_identity(settings.spiffe_socket, settings.deadline)
            return Identity(b"", b"", whole.roots)
        if not settings.cert_file:
            return Identity(settings.chain, settings.private_key, b"")
        chain, key = file_bytes(settings.cert_file, "TLS_CERT_FILE"), file_bytes(settings.key_file, "TLS_KEY_FILE")
        return Identity(chain, key, b"")


def _presented_certificate(settings: ClientSettings) -> tuple[bytes, str]:
    """The server's current certificate, trusted as is, and a name in it. gRPC always verifies certificates, so "do not
    verify" can only mean trusting the first one seen."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        pem = ssl.get_server_certificate(settings.host_and_port, timeout=settings.deadline)
    except (OSError, ValueError):
        raise Unavailable(f"The directory at {settings.address} presents no certificate.") from None
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


M = TypeVar("M", bound=Message)


LOST_STATUS: Final = "Internal error from Core"
"""The message of gRPC's client if a call ended before a message could be sent."""


class BrokenStream(Unavailable):
    """The server ended a stream while requests were still being sent. gRPC does not report why."""


class Signals:
    """Collects the answers of a stream between two waits."""

    def __init__(self) -> None:
        self.arrived = asyncio.Event()
        self.ended: PentadError | None = None

    async def wait(self, seconds: float) -> None:
        """Wait for an answer, at most this long. Raises the error that ended the stream, unless the server does not
        offer the method."""
        if isinstance(self.ended, NotOffered):
            await asyncio.sleep(seconds)
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.arrived.wait()
        self.arrived.clear()
        if self.ended is not None and not isinstance(self.ended, NotOffered):
            raise self.ended


class WireClient:
    """Calls the directory at an address."""

    def __init__(self, settings: ClientSettings, tokens: OidcTokens | None = None) -> None:
        self.address = settings.address
        self._deadline = settings.deadline
        self._channel = Channel(settings, tokens=tokens)

    async def close(self) -> None:
        await self._channel.close()

    async def call(self, method: str, request: Message, answer: type[M]) -> M:
        """One request, one answer."""
        channel = await self._channel.connection()
        method_call: Any = channel.unary_unary(method, _serialized, answer.FromString)
        try:
            return await method_call(request, timeout=self._deadline, metadata=await self._channel.metadata())
        except aio.AioRpcError as error:
            raise self._failure(error) from None

    async def stream(self, method: str, request: Message, answer: type[M]) -> AsyncGenerator[M]:
        """One request, a stream of answers."""
        channel = await self._channel.connection()
        method_call: Any = channel.unary_stream(method, _serialized, answer.FromString)
        call = method_call(request, timeout=self._deadline, metadata=await self._channel.metadata())
        async with aclosing(self._read(call)) as answers:
            async for one in answers:
                yield one

    @asynccontextmanager
    async def listen(self, method: str, request: Message) -> AsyncGenerator["Signals"]:
        """Open a stream that may be silent for long, and signal its answers. Begins once the server has accepted it."""
        channel = await self._channel.connection()
        method_call: Any = channel.unary_stream(method, _serialized, bytes)
        call = method_call(request, metadata=await self._channel.metadata())
        signals = Signals()

        async def read() -> None:
            try:
                async with aclosing(self._read(call)) as answers:
                    async for _ in answers:
                        signals.arrived.set()
                signals.ended = Unavailable(f"The directory at {self.address} ended the stream.")
            except PentadError as error:
                signals.ended = error
            signals.arrived.set()

        with suppress(TimeoutError):
            async with asyncio.timeout(self._deadline):
                await call.initial_metadata()
        reading = asyncio.create_task(read(), name="directory-events-of-peer")
        try:
            yield signals
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def exchange(self, method: str, requests: Sequence[bytes], *, one_each: bool = True) -> AsyncGenerator[bytes]:
        """Send a stream of requests as bytes and yield an answer for each, or any number of answers without `one_each`.
        A single request is sent without a stream, which the server treats the same and cannot break halfway."""
        channel: Any = await self._channel.connection()
        alone = len(requests) == 1
        method_call = channel.unary_stream(method) if alone else channel.stream_stream(method)
        given = requests[0] if alone else iter(requests)
        call = method_call(given, timeout=self._deadline, metadata=await self._channel.metadata())
        count = 0
        async with aclosing(self._read(call)) as answers:
            async for one in answers:
                count += 1
                yield one
        if one_each and count < len(requests):
            raise Unavailable(f"The directory at {self.address} answered {count} of {len(requests)} requests.")

    async def _read(self, call: Any) -> AsyncGenerator[Any]:
        try:
            async for one in call:
                yield one
        except aio.AioRpcError as error:
            if error.code() is StatusCode.INTERNAL and error.details() == LOST_STATUS:
                raise BrokenStream(f"The directory at {self.address} ended the stream.") from None
            raise self._failure(error) from None
        finally:
            await end_call(call)

    def _failure(self, error: aio.AioRpcError) -> PentadError:
        if error.code() is StatusCode.UNAUTHENTICATED:
            self._channel.refused()
        return error_of(error.code(), error.details() or "", self.address)


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()
