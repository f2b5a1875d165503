"""A whole Pentad whose directory is served over gRPC on a port of its own, and a client that speaks every method."""

import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.struct_pb2 import Struct
from grpc import StatusCode, aio

from pentad.app import App, open_app
from pentad.http.grpc_port import open_ports
from pentad.kernel.default_limits import Limits
from pentad.rooms.directory.remote.client import LOST_STATUS
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.wire.protos import (
    changes_pb2,
    core_pb2,
    events_pb2,
    naming_pb2,
    ranked_pb2,
    routing_pb2,
    search_pb2,
    sign_pb2,
    store_pb2,
)
from pentad.settings.model import Settings, TokenSettings
from tests.ports import free_port

ROOM = "directory"
ROLES = {"writer": ["directory:read", "directory:write"], "reader": ["directory:read"], "stranger": ["registers:read"]}
MODULES: tuple[ModuleType, ...] = (
    store_pb2, search_pb2, ranked_pb2, changes_pb2, routing_pb2, naming_pb2, sign_pb2, events_pb2,
)  # fmt: skip
METHODS: Mapping[str, MethodDescriptor] = {
    f"{service.name}/{method.name}": method
    for module in MODULES
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
SECONDS = 60


@dataclass(frozen=True)
class Refusal(Exception):
    """How a call ended that was not well, and what it had answered before."""

    code: StatusCode
    text: str
    answers: tuple[Any, ...] = ()


class Wire:
    """A client of one server."""

    def __init__(self, channel: aio.Channel, metadata: Sequence[tuple[str, str]] = ()) -> None:
        self.channel = channel
        self.metadata = tuple(metadata)

    def start(self, name: str, *requests: Any) -> Any:
        """The call itself, for tests that read it bit by bit; requests may be one stream of them."""
        method = METHODS[name]
        path = f"/{method.containing_service.full_name}/{method.name}"
        shape = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
        answer = GetMessageClass(method.output_type)
        ask = getattr(self.channel, shape)(path, _serialized, answer.FromString)
        one_by_one = method.client_streaming and (not requests or isinstance(requests[0], Message))
        given = iter(requests) if one_by_one else requests[0]
        return ask(given, timeout=SECONDS, metadata=self.metadata)

    async def all(self, name: str, *requests: Message) -> list[Any]:
        """Every answer; Refusal with the status when it is not OK.

        When the server ends a stream while requests are still being sent, gRPC's client loses the status: ask again.
        """
        for _ in range(10):
            try:
                return await self._all(name, *requests)
            except Refusal as refusal:
                if refusal.text != LOST_STATUS:
                    raise
        raise AssertionError(f"{name} was cut short every time")

    async def _all(self, name: str, *requests: Message) -> list[Any]:
        answers: list[Any] = []
        call = self.start(name, *requests)
        try:
            if METHODS[name].server_streaming:
                async for answer in call:
                    answers += (answer,)
            else:
                answers.append(await call)
        except aio.AioRpcError as error:
            raise Refusal(error.code(), error.details() or "", tuple(answers)) from None
        return answers

    async def one(self, name: str, *requests: Message) -> Any:
        (answer,) = await self.all(name, *requests)
        return answer

    async def refused(self, name: str, *requests: Message) -> Refusal:
        """The refusal of a call that has to be refused."""
        try:
            answers = await self.all(name, *requests)
        except Refusal as refusal:
            return refusal
        raise AssertionError(f"{name} answered {answers}")

    async def push(self, *records: Mapping[str, Any]) -> list[str]:
        return [ref.cid for ref in await self.all("StoreService/Push", *map(record_of, records))]


@dataclass(frozen=True)
class Site:
    """An open server."""

    app: App
    port: int
    wire: Wire
    keys: Mapping[str, str]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def directory(self) -> Directory:
        return self.app.rooms[0].service

    def as_role(self, role: str) -> Wire:
        return Wire(self.wire.channel, [("authorization", f"Bearer {self.keys[role]}")])


def record_of(data: Mapping[str, Any]) -> core_pb2.Record:
    made = Struct()
    made.update(dict(data))
    return core_pb2.Record(data=made)


def ref(cid: str) -> core_pb2.RecordRef:
    return core_pb2.RecordRef(cid=cid)


@contextlib.asynccontextmanager
async def open_site(
    data: Path,
    database: str | None = None,
    *,
    auth: Literal["none", "required"] = "none",
    settings: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    jwt: TokenSettings | None = None,
) -> AsyncGenerator[Site]:
    """A server with the directory, and a key for each role."""
    port = free_port()
    chosen = Settings(
        data=data, database=database, rooms=(ROOM,), auth=auth, grpc_port=port, limits=limits or Limits(),
        jwt=jwt or TokenSettings(), room_tables={"directory": {"sync_hosts": "127.0.0.1", **(settings or {})}},
    )  # fmt: skip
    async with open_app(chosen) as app, open_ports(app):
        keys = {role: (await app.api_keys.create(role, scopes=scopes)).token for role, scopes in ROLES.items()}
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Site(app, port, Wire(channel), keys)


def _serialized(message: Message) -> bytes:
    return message.SerializeToString()
