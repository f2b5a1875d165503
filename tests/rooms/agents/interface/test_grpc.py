"""A2A over gRPC: the same operations as over HTTP, with the same rights, limits and errors."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from grpc import ChannelCredentials, StatusCode, aio, ssl_channel_credentials

from pentad.app import App, open_app
from pentad.http.grpc_port import open_ports
from pentad.kernel.principal import LOCAL
from pentad.rooms.agents.codecs.a2a_grpc import MESSAGES, SERVICE
from pentad.rooms.agents.codecs.a2a_v10 import V10
from pentad.rooms.agents.codecs.base import STREAMING, Operation
from pentad.rooms.agents.codecs.errors import BAD_REQUEST, ERROR_INFO
from pentad.rooms.agents.codecs.protos import a2a_pb2 as pb
from pentad.rooms.agents.service import Agents
from pentad.rooms.agents.tasks.child_tasks import trace_of
from pentad.settings.model import Settings
from tests.behaviour.connecting import front_of
from tests.behaviour.http_wire import send
from tests.ports import free_port
from tests.rooms.directory.interface.grpc.certificates import Authority

pytestmark = pytest.mark.anyio
SECONDS = 60
HERE = "tests.rooms.agents.interface.agents"
M = TypeVar("M", bound=Message)


class Refused(Exception):
    """How a call ended, and the details of its status."""

    def __init__(self, code: StatusCode, text: str, details: dict[str, Message]) -> None:
        super().__init__(code, text)
        self.code, self.text, self.details = code, text, details

    @property
    def reason(self) -> str:
        return getattr(self.details.get(ERROR_INFO), "reason", "")


class Site:
    """A server and a caller over gRPC."""

    def __init__(self, app: App, channel: aio.Channel, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.app = app
        self.channel = channel
        self.headers = [("a2a-version", "1.0"), *headers]

    @property
    def room(self) -> Agents:
        return self.app.rooms[0].service

    def with_key(self, token: str) -> "Site":
        return Site(self.app, self.channel, [("authorization", f"Bearer {token}")])

    async def one(self, operation: Operation, request: Message) -> Any:
        try:
            return await self._call("unary_unary", operation)(request, metadata=self.headers, timeout=SECONDS)
        except aio.AioRpcError as error:
            raise refused(error) from None

    async def many(self, operation: Operation, request: Message) -> AsyncIterator[Any]:
        try:
            async for answer in self._call("unary_stream", operation)(request, metadata=self.headers, timeout=SECONDS):
                yield answer
        except aio.AioRpcError as error:
            raise refused(error) from None

    async def send(self, text: str, **more: Any) -> Any:
        return (await self.one("send", asking(text, **more))).task

    def _call(self, shape: str, operation: Operation) -> Any:
        answer = MESSAGES[operation].answer
        return getattr(self.channel, shape)(
            f"/{SERVICE}/{V10.methods[operation]}",
            request_serializer=type(pb.Task()).SerializeToString,
            response_deserializer=answer.FromString,
        )


def refused(error: aio.AioRpcError) -> Refused:
    kinds = {ERROR_INFO: pb.ErrorInfo, BAD_REQUEST: pb.BadRequest}
    details: dict[str, Message] = {}
    for name, value in error.trailing_metadata():
        if name == "grpc-status-details-bin":
            assert isinstance(value, bytes)
            status = pb.Status.FromString(value)
            assert (status.code, status.message) == (error.code().value[0], error.details())
            details = {one.type_url: kinds[one.type_url].FromString(one.value) for one in status.details}
    return Refused(error.code(), error.details() or "", details)


def asking(text: str, *, tenant: str = "echo", at_once: bool = False, **fields: Any) -> pb.SendMessageRequest:
    message = pb.Message(message_id=uuid4().hex, role="ROLE_USER", parts=[pb.Part(text=text)], **fields)
    how = pb.SendMessageConfiguration(return_immediately=at_once)
    return pb.SendMessageRequest(message=message, configuration=how, tenant=tenant)


@asynccontextmanager
async def serving(data: Path, *, trusting: ChannelCredentials | None = None, **more: Any) -> AsyncGenerator[Site]:
    port = free_port()
    options: dict[str, Any] = {"auth": "none", "drain_seconds": 0, **more}
    settings = Settings(data=data, rooms=("agents",), grpc_port=port, agent=(f"{HERE}:painter",), **options)
    place = f"localhost:{port}"
    async with (
        open_app(settings) as app,
        open_ports(app),
        aio.insecure_channel(place) if trusting is None else aio.secure_channel(place, trusting) as channel,
    ):
        yield Site(app, channel)


@pytest.mark.requirement("agents:grpc:tls")
@pytest.mark.parametrize("place", ["server", "directory", "variables"])
async def test_the_port_speaks_tls_whichever_rooms_are_open(tmp_path: Path, place: str) -> None:
    authority = Authority()
    cert, key = authority.server().write(tmp_path, "server")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key)}
    given: dict[str, Any] = {
        "server": files,
        "directory": {"room_tables": {"directory": files}},
        "variables": {"environment": {f"PENTAD_DIRECTORY_{name.upper()}": file for name, file in files.items()}},
    }[place]
    trusting = ssl_channel_credentials(authority.root.pem)
    async with serving(tmp_path / "data", trusting=trusting, **given) as site:
        assert (await site.send("hello")).status.message.parts[0].text == "hello"
        plain = Site(site.app, aio.insecure_channel(f"localhost:{site.app.settings.grpc_port}"))
        with pytest.raises(Refused) as error:
            await plain.send("hello")
        assert error.value.code is StatusCode.UNAVAILABLE
        await plain.channel.close()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with serving(tmp_path) as opened:
        yield opened


@pytest.mark.requirement("agents:repeat:first-result", "agents:repeat:test-kit")
async def test_a_message_sent_again_gets_its_first_task_and_another_binding_has_ids_of_its_own(site: Site) -> None:
    request = asking("hello")
    first = (await site.one("send", request)).task
    assert (await site.one("send", request)).task == first
    message = {"messageId": request.message.message_id, "role": "ROLE_USER", "parts": [{"text": "hello"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    answer = await send(front_of(site.app), "POST", "/agents/echo", headers, json.dumps(body).encode()).body()
    assert json.loads(answer)["result"]["task"]["id"] != first.id


@pytest.mark.requirement("trace:grpc")
async def test_a_task_belongs_to_the_trace_of_its_call_and_the_answer_says_the_request_id(site: Site) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    metadata = [*site.headers, ("traceparent", f"00-{trace}-00f067aa0ba902b7-01")]
    call = site._call("unary_unary", "send")(asking("hello"), metadata=metadata, timeout=SECONDS)
    task = (await call).task
    assert dict(await call.trailing_metadata())["x-request-id"] == trace
    assert trace_of(task.id, (await site.room.tasks.get(LOCAL, task.id)).origin).trace_id == trace
    stream = site._call("unary_stream", "stream")(asking("hello"), metadata=metadata, timeout=SECONDS)
    assert [answer async for answer in stream]
    assert dict(await stream.trailing_metadata())["x-request-id"] == trace


@pytest.mark.requirement("agents:grpc:operations")
async def test_a_task_is_sent_read_listed_and_canceled(site: Site) -> None:
    done = await site.send("hello", metadata={"n": 42, "half": 0.5})
    assert (done.status.state, done.status.message.parts[0].text) == (pb.TASK_STATE_COMPLETED, "hello")
    assert dict(done.history[0].metadata) == {"n": 42, "half": 0.5}
    again = await site.one("get", pb.GetTaskRequest(id=done.id, tenant="echo"))
    assert again == done
    short = await site.one("get", pb.GetTaskRequest(id=done.id, tenant="echo", history_length=0))
    assert not short.history
    asked = await site.send("ask")
    assert asked.status.state == pb.TASK_STATE_INPUT_REQUIRED
    answered = await site.send("red", task_id=asked.id)
    assert answered.status.message.parts[0].text == "red"
    slow = await site.send("slow", at_once=True)
    page = await site.one("list", pb.ListTasksRequest(tenant="echo", status="TASK_STATE_WORKING", page_size=10))
    assert ([one.id for one in page.tasks], page.total_size, page.page_size) == ([slow.id], 1, 10)
    ended = await site.one("cancel", pb.CancelTaskRequest(id=slow.id, tenant="echo"))
    assert ended.status.state == pb.TASK_STATE_CANCELED


@pytest.mark.requirement("agents:grpc:operations")
async def test_tasks_are_shared_with_the_other_bindings(site: Site) -> None:
    from pentad.kernel.principal import LOCAL

    done = await site.send("hello")
    found = await site.room.tasks.get(LOCAL, done.id, agent="echo")
    assert (found.dialect, found.state) == ("1.0", "completed")


@pytest.mark.requirement("agents:grpc:streams")
async def test_a_stream_begins_with_the_task_and_ends_with_its_rest(site: Site) -> None:
    kinds = [one.WhichOneof("payload") async for one in site.many("stream", asking("stream a b"))]
    assert kinds[0] == "task"
    assert kinds.count("artifact_update") == 2
    assert kinds[-1] == "status_update"
    asked = [one async for one in site.many("stream", asking("ask"))]
    assert asked[-1].status_update.status.state == pb.TASK_STATE_INPUT_REQUIRED


@pytest.mark.requirement("agents:grpc:streams")
async def test_a_subscription_hears_of_the_end(site: Site) -> None:
    slow = await site.send("slow", at_once=True)
    heard: list[Any] = []
    async for one in site.many("subscribe", pb.SubscribeToTaskRequest(id=slow.id, tenant="echo")):
        heard.append(one)
        if len(heard) == 1:
            await site.one("cancel", pb.CancelTaskRequest(id=slow.id, tenant="echo"))
    assert heard[0].task.id == slow.id
    assert heard[-1].status_update.status.state == pb.TASK_STATE_CANCELED
    with pytest.raises(Refused) as caught:
        [one async for one in site.many("subscribe", pb.SubscribeToTaskRequest(id=slow.id, tenant="echo"))]
    assert (caught.value.code, caught.value.reason) == (StatusCode.FAILED_PRECONDITION, "UNSUPPORTED_OPERATION")


@pytest.mark.requirement("agents:grpc:streams")
async def test_a_stream_ends_when_the_server_stops(site: Site) -> None:
    stream = site.many("stream", asking("slow"))
    assert (await anext(stream)).task.id
    site.app.stopping.set()
    with pytest.raises(Refused) as caught:
        [one async for one in stream]
    assert caught.value.code is StatusCode.UNAVAILABLE


@pytest.mark.requirement("agents:grpc:operations")
async def test_push_configs_are_set_read_listed_and_deleted(tmp_path: Path) -> None:
    async with serving(tmp_path, room_tables={"agents": {"push_private": True}}) as site:
        slow = await site.send("slow", at_once=True)
        given = pb.TaskPushNotificationConfig(
            task_id=slow.id, url="http://127.0.0.1:9/hook", token="t", tenant="echo",
            authentication=pb.AuthenticationInfo(scheme="Bearer", credentials="c"),
        )  # fmt: skip
        made = await site.one("set_push", given)
        assert made.id
        named: dict[str, Any] = {"task_id": slow.id, "tenant": "echo"}
        got = await site.one("get_push", pb.GetTaskPushNotificationConfigRequest(id=made.id, **named))
        assert (got.url, got.authentication.scheme) == (given.url, "Bearer")
        listed = await site.one("list_push", pb.ListTaskPushNotificationConfigsRequest(**named))
        assert [one.id for one in listed.configs] == [made.id]
        await site.one("delete_push", pb.DeleteTaskPushNotificationConfigRequest(id=made.id, **named))
        listed = await site.one("list_push", pb.ListTaskPushNotificationConfigsRequest(**named))
        assert not listed.configs
        await site.one("cancel", pb.CancelTaskRequest(id=slow.id, tenant="echo"))


@pytest.mark.requirement("agents:grpc:errors")
async def test_errors_have_the_status_and_the_details_of_the_protocol(site: Site) -> None:
    async def told(operation: Operation, request: Message) -> Refused:
        with pytest.raises(Refused) as caught:
            await site.one(operation, request)
        return caught.value

    missing = await told("get", pb.GetTaskRequest(id="nothing", tenant="echo"))
    assert (missing.code, missing.reason) == (StatusCode.NOT_FOUND, "TASK_NOT_FOUND")
    empty = await told("send", pb.SendMessageRequest(tenant="echo"))
    assert (empty.code, empty.reason) == (StatusCode.INVALID_ARGUMENT, "INVALID_PARAMS")
    violations = empty.details[BAD_REQUEST]
    assert isinstance(violations, pb.BadRequest)
    assert ["message" in one.description for one in violations.field_violations] == [True]
    stranger = await told("send", asking("x", tenant="nobody"))
    assert stranger.code is StatusCode.INVALID_ARGUMENT
    done = await site.send("hello")
    late = await told("cancel", pb.CancelTaskRequest(id=done.id, tenant="echo"))
    assert (late.code, late.reason) == (StatusCode.FAILED_PRECONDITION, "TASK_NOT_CANCELABLE")
    site.headers = [("a2a-version", "0.3")]
    old = await told("get", pb.GetTaskRequest(id=done.id, tenant="echo"))
    assert old.reason == "VERSION_NOT_SUPPORTED"


@pytest.mark.requirement("agents:grpc:errors")
async def test_what_is_no_request_is_refused(site: Site) -> None:
    call = site.channel.unary_unary(f"/{SERVICE}/SendMessage")
    with pytest.raises(aio.AioRpcError) as caught:
        await call(b"\x0a\x05abc", timeout=SECONDS)
    assert caught.value.code() is StatusCode.INVALID_ARGUMENT
    nan = asking("x")
    nan.metadata["n"] = float("nan")
    with pytest.raises(Refused) as refusal:
        await site.one("send", nan)
    assert refusal.value.code is StatusCode.INVALID_ARGUMENT


@pytest.mark.requirement("agents:grpc:rights")
async def test_logins_rights_owners_and_the_audit_trail_are_those_of_the_server(tmp_path: Path) -> None:
    async with serving(tmp_path, auth="required") as site:
        keys = {
            name: site.with_key((await site.app.api_keys.create(name, scopes=scopes)).token)
            for name, scopes in {
                "ada": ["agents:read", "agents:write"],
                "oda": ["agents:read", "agents:write"],
                "reader": ["agents:read"],
                "stranger": ["registers:read"],
            }.items()
        }
        task = await keys["ada"].send("hello")
        request = pb.GetTaskRequest(id=task.id, tenant="echo")
        for caller, operation, message, code, reason in (
            (site, "get", request, StatusCode.UNAUTHENTICATED, "UNAUTHENTICATED"),
            (keys["stranger"], "get", request, StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED"),
            (keys["reader"], "send", asking("x"), StatusCode.PERMISSION_DENIED, "PERMISSION_DENIED"),
            (keys["oda"], "get", request, StatusCode.NOT_FOUND, "TASK_NOT_FOUND"),
            (keys["oda"], "send", asking("x", task_id=task.id), StatusCode.NOT_FOUND, "TASK_NOT_FOUND"),
        ):
            with pytest.raises(Refused) as caught:
                await caller.one(operation, message)  # pyright: ignore[reportArgumentType]
            assert (caught.value.code, caught.value.reason) == (code, reason)
        by_header = Site(site.app, site.channel, [("x-api-key", keys["ada"].headers[-1][1].removeprefix("Bearer "))])
        assert (await by_header.one("get", request)).id == task.id, "the other way to log in that cards name"
        extended = await keys["ada"].one("card", pb.GetExtendedAgentCardRequest(tenant="echo"))
        assert extended.name
        await site.app.audit.flush()
        trail = [(one.tool, one.outcome, one.transport) for one in await site.app.audit.recent()]
        assert (f"/{SERVICE}/SendMessage", "ok", "grpc") in trail
        assert (f"/{SERVICE}/GetTask", "permission_denied", "grpc") in trail


@pytest.mark.requirement("agents:grpc:card")
async def test_cards_announce_the_port_if_others_can_know_it(tmp_path: Path) -> None:
    def announced(site: Site) -> list[tuple[str, str]]:
        card = site.room.cards.public(site.room.agents["painter"], "http://localhost:8700")
        interfaces = card["supportedInterfaces"]
        return [(one["url"], one["tenant"]) for one in interfaces if one["protocolBinding"] == "GRPC"]

    async with serving(tmp_path / "one") as site:
        assert announced(site) == [(f"localhost:{site.app.settings.grpc_port}", "painter")]
    async with serving(tmp_path / "two", public_url="https://agents.example") as site:
        assert announced(site) == []
    tables = {"agents": {"grpc_address": "grpc.agents.example:443"}}
    async with serving(tmp_path / "three", public_url="https://agents.example", room_tables=tables) as site:
        assert announced(site) == [("grpc.agents.example:443", "painter")]


def test_every_operation_is_a_method_in_its_shape() -> None:
    from types import SimpleNamespace

    from pentad.rooms.agents.interface.grpc import AgentGrpc

    nothing: Any = SimpleNamespace()
    (methods,) = AgentGrpc(nothing, {}, nothing, nothing, "").services().services.values()
    assert set(methods) == set(V10.methods.values())
    streaming = {V10.methods[one] for one in STREAMING}
    assert {name for name, method in methods.items() if method.shape == "one-many"} == streaming
