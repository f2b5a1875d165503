"""Calls of another directory's methods: with a deadline each, and with its failures as the kernel's errors."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, TypeVar

from google.protobuf.message import Message
from grpc import StatusCode, aio

from pentad.kernel.errors import PentadError, Unavailable
from pentad.rooms.directory.wire.channels import Channel
from pentad.rooms.directory.wire.client_settings import ClientSettings
from pentad.rooms.directory.wire.oidc import OidcTokens
from pentad.rooms.directory.wire.statuses import error_of

M = TypeVar("M", bound=Message)


LOST_STATUS: Final = "Internal error from Core"
"""What gRPC's client says when a message could not be sent because the call was over already."""


class BrokenStream(Unavailable):
    """The server ended a stream while requests were still being sent; gRPC then does not know why."""


class WireClient:
    """Speaks to the directory at an address."""

    def __init__(self, settings: ClientSettings, tokens: OidcTokens | None = None) -> None:
        self.address = settings.address
        self._deadline = settings.deadline
        self._channel = Channel(settings, tokens=tokens)

    async def close(self) -> None:
        await self._channel.close()

    async def one(self, method: str, request: Message, answer: type[M]) -> M:
        """One request, one answer."""
        channel = await self._channel.opened()
        ask: Any = channel.unary_unary(method, _serialized, answer.FromString)
        try:
            return await ask(request, timeout=self._deadline, metadata=await self._channel.metadata())
        except aio.AioRpcError as error:
            raise self._failure(error) from None

    async def many(self, method: str, request: Message, answer: type[M]) -> AsyncIterator[M]:
        """One request, a stream of answers."""
        channel = await self._channel.opened()
        ask: Any = channel.unary_stream(method, _serialized, answer.FromString)
        call = ask(request, timeout=self._deadline, metadata=await self._channel.metadata())
        async for one in self._read(call):
            yield one

    async def exchanged(self, method: str, requests: Sequence[bytes]) -> AsyncIterator[bytes]:
        """A stream of requests, an answer for each, all as their bytes.

        A stream of one is sent as a single request, which looks the same to the server and cannot be cut short.
        """
        channel: Any = await self._channel.opened()
        alone = len(requests) == 1
        ask = channel.unary_stream(method) if alone else channel.stream_stream(method)
        given = requests[0] if alone else iter(requests)
        call = ask(given, timeout=self._deadline, metadata=await self._channel.metadata())
        count = 0
        async for one in self._read(call):
            count += 1
            yield one
        if count < len(requests):
            raise Unavailable(f"The directory at {self.address} answered {count} of {len(requests)} requests.")

    async def _read(self, call: Any) -> AsyncIterator[Any]:
        try:
            async for one in call:
                yield one
        except aio.AioRpcError as error:
            if error.code() is StatusCode.INTERNAL and error.details() == LOST_STATUS:
                raise BrokenStream(f"The directory at {self.address} ended the stream.") from None
            raise self._failure(error) from None
        finally:
            call.cancel()

    def _failure(self, error: aio.AioRpcError) -> PentadError:
        if error.code() is StatusCode.UNAUTHENTICATED:
            self._channel.refused()
        return error_of(error.code(), error.details() or "", self.address)


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()
