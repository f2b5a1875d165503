"""Standard gRPC services: health checks and reflection.

Both are public, because orchestrators' probes have no login. They reveal which services exist and whether they run, but
no stored data.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc.aio import ServicerContext

from pentad.net.grpc_calls import serialized
from pentad.net.protos import health_pb2, reflection_pb2

M = TypeVar("M")
HEALTH: Final = "grpc.health.v1.Health"
REFLECTION: Final = ("grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection")
CALLS_MOST: Final = 100
"""How many of these calls run at a time. Each holds one of the server's slots for calls, and needs no login."""
REQUESTS_MOST: Final = 1_000
"""Requests that one reflection stream may send."""
WAIT_SECONDS: Final = 30.0
"""How long a caller may be silent before it sends its request."""


def introspection_handlers(services: Iterable[str], stopping: asyncio.Event) -> list[grpc.GenericRpcHandler]:
    """The handlers for a server with these services."""
    names = sorted({*services, HEALTH, *REFLECTION})
    slots = _Slots()
    health, reflection = _Health(names, stopping, slots), _Reflection(names, slots)
    asked = health_pb2.HealthCheckRequest.FromString
    # On the wire a single request is a stream of one. A unary handler would wait for it forever.
    handlers = {
        HEALTH: {
            "Check": grpc.stream_unary_rpc_method_handler(health.check, asked, serialized),
            "Watch": grpc.stream_stream_rpc_method_handler(health.watch, asked, serialized),
        }
    }
    info = grpc.stream_stream_rpc_method_handler(
        reflection.info, reflection_pb2.ServerReflectionRequest.FromString, serialized
    )
    handlers |= {name: {"ServerReflectionInfo": info} for name in REFLECTION}
    return [grpc.method_handlers_generic_handler(name, methods) for name, methods in handlers.items()]


class _Slots:
    """Limits how many of these calls run at a time."""

    def __init__(self) -> None:
        self._taken = 0

    @asynccontextmanager
    async def slot(self, context: "ServicerContext[Any, Any]") -> AsyncGenerator[None]:
        """Hold a slot while the block runs; without a free one the call ends."""
        if self._taken >= CALLS_MOST:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls of this kind")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


async def _next(requests: AsyncIterator[M]) -> M | None:
    """The next request; None at the end of the stream, or if none comes in time."""
    try:
        return await asyncio.wait_for(anext(requests), WAIT_SECONDS)
    except (StopAsyncIteration, TimeoutError):
        return None


class _Health:
    def __init__(self, services: Iterable[str], stopping: asyncio.Event, slots: _Slots) -> None:
        self._services = {"", *services}
        self._stopping = stopping
        self._slots = slots

    async def check(
        self, requests: AsyncIterator[health_pb2.HealthCheckRequest], context: "ServicerContext[Any, Any]"
    ) -> health_pb2.HealthCheckResponse:
        async with self._slots.slot(context):
            request = await _next(aiter(requests))
            if request is not None and request.service in self._services:
                return self._answer(request.service)
            return await context.abort(grpc.StatusCode.NOT_FOUND, "unknown service")

    async def watch(
        self, requests: AsyncIterator[health_pb2.HealthCheckRequest], context: "ServicerContext[Any, Any]"
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """The state now, and again when the server stops."""
        async with self._slots.slot(context):
            request = await _next(aiter(requests))
            if request is not None:
                yield self._answer(request.service)
                await self._stopping.wait()
                yield self._answer(request.service)

    def _answer(self, service: str) -> health_pb2.HealthCheckResponse:
        states = health_pb2.HealthCheckResponse
        if service not in self._services:
            return states(status=states.SERVICE_UNKNOWN)
        return states(status=states.NOT_SERVING if self._stopping.is_set() else states.SERVING)


class _Reflection:
    def __init__(self, services: list[str], slots: _Slots) -> None:
        self._services = services
        self._slots = slots
        self._files: dict[str, FileDescriptor] = {}
        self._pool = descriptor_pool.Default()
        for name in services:
            try:
                self._add(self._pool.FindServiceByName(name).file)
            except KeyError:  # v1alpha has no descriptor of its own
                continue

    async def info(
        self, requests: AsyncIterator[reflection_pb2.ServerReflectionRequest], context: "ServicerContext[Any, Any]"
    ) -> AsyncIterator[reflection_pb2.ServerReflectionResponse]:
        stream = aiter(requests)
        async with self._slots.slot(context):
            for _ in range(REQUESTS_MOST):
                request = await _next(stream)
                if request is None:
                    return
                yield self._answer(request)

    def _answer(self, request: reflection_pb2.ServerReflectionRequest) -> reflection_pb2.ServerReflectionResponse:
        answer = reflection_pb2.ServerReflectionResponse(valid_host=request.host, original_request=request)
        match request.WhichOneof("message_request"):
            case "list_services":
                named = [reflection_pb2.ServiceResponse(name=name) for name in self._services]
                answer.list_services_response.CopyFrom(reflection_pb2.ListServiceResponse(service=named))
            case "file_by_filename":
                self._put_file(answer, self._files.get(request.file_by_filename))
            case "file_containing_symbol":
                self._put_file(answer, self._containing(request.file_containing_symbol))
            case "file_containing_extension" | "all_extension_numbers_of_type":
                self._put_file(answer, None)  # the services have no extensions
            case _:
                self._put_error(answer, grpc.StatusCode.INVALID_ARGUMENT, "the request asks for nothing")
        return answer

    def _containing(self, symbol: str) -> FileDescriptor | None:
        try:
            file = self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return None
        return file if file.name in self._files else None

    def _put_file(self, answer: reflection_pb2.ServerReflectionResponse, file: FileDescriptor | None) -> None:
        if file is None:
            self._put_error(answer, grpc.StatusCode.NOT_FOUND, "it is not part of this server's services")
            return
        needed = [one.serialized_pb for one in _with_dependencies(file)]
        answer.file_descriptor_response.CopyFrom(reflection_pb2.FileDescriptorResponse(file_descriptor_proto=needed))

    def _put_error(self, answer: reflection_pb2.ServerReflectionResponse, code: grpc.StatusCode, text: str) -> None:
        number: int = code.value[0]
        answer.error_response.CopyFrom(reflection_pb2.ErrorResponse(error_code=number, error_message=text))

    def _add(self, file: FileDescriptor) -> None:
        self._files |= {one.name: one for one in _with_dependencies(file)}


def _with_dependencies(file: FileDescriptor) -> list[FileDescriptor]:
    """The file, then all its imports, each once."""
    found: dict[str, FileDescriptor] = {}
    waiting = [file]
    while waiting:
        one = waiting.pop()
        if one.name not in found:
            found[one.name] = one
            waiting += one.dependencies
    return list(found.values())
