"""Access over gRPC: the same logins, scopes, limits and audit trail as over HTTP, plus certificates."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Struct
from grpc import StatusCode, aio, ssl_channel_credentials

from pentad.access.failed_logins import PAIR_ALLOWED
from pentad.app import open_app
from pentad.http.grpc_port import open_ports
from pentad.kernel.default_limits import Limits
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import LOCAL, Principal
from pentad.net import grpc_calls
from pentad.net.grpc_calls import address_of
from pentad.net.grpc_server import open_grpc
from pentad.platform import MountContext
from pentad.rooms.directory.interface.grpc.server import is_login_waived
from pentad.rooms.directory.records.referrers import SIGNATURE
from pentad.rooms.directory.remote.client import LOST_STATUS
from pentad.rooms.directory.wire.protos import core_pb2, events_pb2, routing_pb2, search_pb2, store_pb2
from pentad.settings.model import Settings
from tests.ports import free_port
from tests.room_settings import room_settings
from tests.rooms.directory.interface.grpc.certificates import Authority
from tests.rooms.directory.interface.grpc.site import METHODS, ROOM, Site, Wire, open_site, record_of, ref
from tests.rooms.directory.records.parts import agent

pytestmark = pytest.mark.anyio
COUNT = "SearchService/CountRecords"
EVERYTHING = search_pb2.CountRecordsRequest()


@pytest.fixture(scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A server that wants credentials."""
    async with open_site(tmp_path_factory.mktemp("guarded"), auth="required") as site:
        await site.app.users.add("ada", "a long password", role="writer")
        yield site


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic x", "Bearer pk_wrong", "Digest x", "Bearer"])
async def test_without_valid_credentials_nothing_is_answered(guarded: Site, header: str | None) -> None:
    stranger = Wire(guarded.wire.channel, [("authorization", header)] if header else [])
    for name, request in ((COUNT, EVERYTHING), ("StoreService/Push", record_of(agent()))):
        assert (await stranger.refused(name, request)).code is StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("name", sorted(METHODS))
async def test_a_request_that_is_none_is_refused_after_who_sent_it(guarded: Site, name: str) -> None:
    method = METHODS[name]
    if not method.input_type.fields:
        return  # nothing in it can be wrong
    path = f"/{method.containing_service.full_name}/{method.name}"
    shape = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    for wire, code in (
        (guarded.as_role("writer"), "INVALID_ARGUMENT"),
        (Wire(guarded.wire.channel), "UNAUTHENTICATED"),
    ):
        broken = b"\x0a\x05abc"
        call = getattr(guarded.wire.channel, shape)(path)(
            iter([broken]) if method.client_streaming else broken, metadata=wire.metadata, timeout=20
        )
        said = await call.details() or ""
        assert (await call.code()).name == code or said == LOST_STATUS, said
        assert "Unexpected" not in said


async def test_an_api_key_or_a_password_lets_in(guarded: Site) -> None:
    basic = base64.b64encode(b"ada:a long password").decode()
    for wire in (guarded.as_role("writer"), Wire(guarded.wire.channel, [("authorization", f"Basic {basic}")])):
        assert len(await wire.push(agent())) == 1
        assert (await wire.one(COUNT, EVERYTHING)).total_count >= 1


async def test_scopes_decide_what_a_caller_may_do(guarded: Site) -> None:
    reader, stranger = guarded.as_role("reader"), guarded.as_role("stranger")
    await reader.one(COUNT, EVERYTHING)
    refusal = await reader.refused("StoreService/Push", record_of(agent()))
    assert refusal.code is StatusCode.PERMISSION_DENIED
    assert refusal.text == "not allowed to access /agntcy.dir.store.v1.StoreService/Push"
    assert (await stranger.refused(COUNT, EVERYTHING)).code is StatusCode.PERMISSION_DENIED


@pytest.mark.requirement("dir:delete:rights")
async def test_only_authors_and_administrators_delete_records_signatures_and_syncs_and_unpublish(
    guarded: Site,
) -> None:
    created = guarded.app.api_keys.create
    scopes = {"other": ["directory:read", "directory:write"], "admin": ["directory:*"]}
    tokens = {name: (await created(name, scopes=given)).token for name, given in scopes.items()}
    other, admin = (
        Wire(guarded.wire.channel, [("authorization", f"Bearer {tokens[name]}")]) for name in ("other", "admin")
    )
    author = guarded.as_role("writer")
    mine, second = await author.push(agent(), agent())

    async def sign(wire: Wire) -> core_pb2.ReferrerRef:
        statement = Struct()
        statement.update({"signature": str(id(wire))})
        push = store_pb2.PushReferrerRequest(record_ref=ref(mine), type=SIGNATURE.encode(), data=statement)
        return (await wire.one("StoreService/PushReferrer", push)).referrer_ref

    def unsign(statement: core_pb2.ReferrerRef | None = None) -> store_pb2.DeleteReferrerRequest:
        return store_pb2.DeleteReferrerRequest(record=ref(mine), referrer_ref=statement)

    by_author, by_other, by_admin = await sign(author), await sign(other), await sign(admin)
    sync = store_pb2.CreateSyncRequest(remote_directory_url="http://127.0.0.1:9")
    unpublish = routing_pb2.UnpublishRequest(record_refs=routing_pb2.RecordRefs(refs=[ref(mine)]))
    begun = store_pb2.DeleteSyncRequest(sync_id=(await author.one("SyncService/CreateSync", sync)).sync_id)
    for name, request in (
        ("StoreService/Delete", ref(mine)),
        ("StoreService/DeleteReferrer", unsign(by_author)),
        ("StoreService/DeleteReferrer", unsign()),
        ("SyncService/DeleteSync", begun),
        ("RoutingService/Unpublish", unpublish),
    ):
        refusal = await other.refused(name, request)
        assert refusal.code is StatusCode.PERMISSION_DENIED
        assert "someone else's" in refusal.text
    kept = await author.all("StoreService/PullReferrer", store_pb2.PullReferrerRequest(record_ref=ref(mine)))
    assert len(kept) == 3
    assert list((await other.one("StoreService/DeleteReferrer", unsign(by_other))).referrer_refs) == [by_other]
    assert list((await author.one("StoreService/DeleteReferrer", unsign(by_admin))).referrer_refs) == [by_admin]
    await author.one("SyncService/DeleteSync", begun)
    await author.one("StoreService/Delete", ref(mine))
    await admin.one("StoreService/Delete", ref(second))
    assert await guarded.directory.records.known([mine, second]) == set()


async def test_calls_are_in_the_audit_trail_with_how_they_ended(guarded: Site) -> None:
    key = guarded.keys["reader"]
    marked = Wire(guarded.wire.channel, [("authorization", f"Bearer {key}"), ("x-request-id", "marked-1")])
    await marked.one(COUNT, EVERYTHING)
    await marked.refused("StoreService/Push", record_of(agent()))
    await guarded.app.audit.flush()
    entries = [entry for entry in await guarded.app.audit.recent() if entry.request_id == "marked-1"]
    assert sorted((entry.tool, entry.outcome, entry.transport) for entry in entries) == [
        ("/agntcy.dir.search.v1.SearchService/CountRecords", "ok", "grpc"),
        ("/agntcy.dir.store.v1.StoreService/Push", "permission_denied", "grpc"),
    ]


@pytest.mark.requirement("trace:grpc")
async def test_a_call_says_its_request_id_and_belongs_to_the_trace_it_names(guarded: Site) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    given = [("traceparent", f"00-{trace}-00f067aa0ba902b7-01")]
    login = ("authorization", f"Bearer {guarded.keys['reader']}")
    for metadata, said in ((given, trace), ([*given, ("x-request-id", "mine")], "mine"), ([], None)):
        call = Wire(guarded.wire.channel, [login, *metadata]).start(COUNT, EVERYTHING)
        await call
        told = dict(await call.trailing_metadata())["x-request-id"]
        assert told == said or (said is None and len(told) == len(trace))
    stranger = ("authorization", f"Bearer {guarded.keys['stranger']}")
    refused = Wire(guarded.wire.channel, [stranger, *given]).start(COUNT, EVERYTHING)
    assert await refused.code() is StatusCode.PERMISSION_DENIED
    assert dict(await refused.trailing_metadata())["x-request-id"] == trace
    await guarded.app.audit.flush()
    found = await guarded.app.traces.trace(LOCAL, trace)
    assert len(found["spans"]) == 3


@pytest.mark.requirement("access:failed-logins:told")
async def test_a_failed_login_is_in_the_trail_with_its_name_and_address(guarded: Site) -> None:
    basic = base64.b64encode(b"mallory:canary-guess").decode()
    stranger = Wire(guarded.wire.channel, [("authorization", f"Basic {basic}")])
    assert (await stranger.refused(COUNT, EVERYTHING)).code is StatusCode.UNAUTHENTICATED
    await guarded.app.audit.flush()
    [entry] = [one for one in await guarded.app.audit.recent(tool="login") if one.login == "user mallory"]
    assert (entry.address, entry.transport, entry.outcome) == ("127.0.0.1", "grpc", "unauthenticated")


@pytest.mark.requirement("access:failed-logins:no-lockout", "access:failed-logins:guesses")
async def test_guessing_over_grpc_closes_the_name_at_that_address_alone(guarded: Site) -> None:
    await guarded.app.users.add("eve", "a long password", role="reader")
    for number in range(PAIR_ALLOWED):
        basic = base64.b64encode(f"eve:guess {number}".encode()).decode()
        await Wire(guarded.wire.channel, [("authorization", f"Basic {basic}")]).refused(COUNT, EVERYTHING)
    right = base64.b64encode(b"eve:a long password")
    wire = Wire(guarded.wire.channel, [("authorization", f"Basic {right.decode()}")])
    assert (await wire.refused(COUNT, EVERYTHING)).code is StatusCode.RESOURCE_EXHAUSTED
    known = await guarded.app.authenticator.authenticate(b"Basic " + right, "192.0.2.9")
    assert known.name == "eve"
    assert (await wire.refused(COUNT, EVERYTHING)).code is StatusCode.RESOURCE_EXHAUSTED, "remembered for its address"


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("ipv4:192.0.2.7:50000", "192.0.2.7"),
        ("ipv6:%5B2001:db8::7%5D:50000", "2001:db8::7"),
        ("ipv6:[::1]:1", "::1"),
        ("unix:/run/pentad", None),
        ("", None),
    ],
)
async def test_the_address_of_a_peer_is_read_from_its_name(peer: str, address: str | None) -> None:
    assert address_of(peer) == address


async def test_too_many_calls_are_refused(tmp_path: Path) -> None:
    settings = Settings(
        data=tmp_path, rooms=(ROOM,), grpc_port=free_port(), limits=Limits(calls_per_second=0.001, calls_burst=4)
    )
    async with open_app(settings) as app, open_ports(app):
        token = (await app.api_keys.create("k", scopes=["directory:read"])).token
        async with aio.insecure_channel(f"127.0.0.1:{settings.grpc_port}") as channel:
            wire = Wire(channel, [("authorization", f"Bearer {token}")])
            for _ in range(4):
                await wire.one(COUNT, EVERYTHING)
            refusal = await wire.refused(COUNT, EVERYTHING)
    assert refusal.code is StatusCode.RESOURCE_EXHAUSTED
    assert refusal.text.startswith("rate limit exceeded")


async def test_grpc_alone_can_be_opened_on_this_machine(tmp_path: Path) -> None:
    async with open_site(tmp_path, auth="required", settings={"grpc_auth": "none"}) as site:
        assert len(await site.wire.push(agent())) == 1


def test_grpc_is_not_opened_to_others() -> None:
    open_to_all = room_settings("directory", grpc_auth="none")
    assert is_login_waived(open_to_all, "127.0.0.1")
    assert not is_login_waived(room_settings("directory"), "127.0.0.1")
    with pytest.raises(Misconfigured, match=r"refused on '0\.0\.0\.0'"):
        is_login_waived(open_to_all, "0.0.0.0")
    with pytest.raises(Misconfigured, match=r"rooms\.directory\.grpc_auth"):
        room_settings("directory", grpc_auth="maybe")


async def test_a_caller_with_a_certificate_needs_no_login(tmp_path: Path) -> None:
    authority = Authority()
    cert, key = authority.server().write(tmp_path, "server")
    root, _ = authority.root.write(tmp_path, "root")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key), "grpc_client_ca_file": str(root)}
    client = authority.workload("spiffe://example.org/reader")
    mutual = ssl_channel_credentials(authority.root.pem, client.key_pem, client.pem)
    settings = files | {"grpc_client_role": "reader"}
    async with open_site(tmp_path / "data", auth="required", settings=settings) as site:
        async with aio.secure_channel(f"localhost:{site.port}", mutual) as channel:
            await Wire(channel).one(COUNT, EVERYTHING)
            refusal = await Wire(channel).refused("StoreService/Push", record_of(agent()))
            assert refusal.code is StatusCode.PERMISSION_DENIED
        async with aio.secure_channel(f"localhost:{site.port}", ssl_channel_credentials(authority.root.pem)) as channel:
            assert (await Wire(channel).refused(COUNT, EVERYTHING)).code is StatusCode.UNAVAILABLE
        await site.app.audit.flush()
        assert {entry.principal for entry in await site.app.audit.recent()} == {"x509:spiffe://example.org/reader"}


async def test_over_tls_without_certificates_for_callers_a_login_is_needed(tmp_path: Path) -> None:
    authority = Authority()
    cert, key = authority.server().write(tmp_path, "server")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key)}
    trusting = ssl_channel_credentials(authority.root.pem)
    async with (
        open_site(tmp_path / "data", auth="required", settings=files) as site,
        aio.secure_channel(f"localhost:{site.port}", trusting) as channel,
    ):
        assert (await Wire(channel).refused(COUNT, EVERYTHING)).code is StatusCode.UNAUTHENTICATED
        login = [("authorization", f"Bearer {site.keys['reader']}")]
        await Wire(channel, login).one(COUNT, EVERYTHING)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"grpc_cert_file": "x"}, "belong together"),
        ({"grpc_key_file": "x"}, "belong together"),
        ({"grpc_client_ca_file": "x"}, "needs grpc_cert_file"),
        ({"grpc_cert_file": "/no/such", "grpc_key_file": "/no/such"}, "cannot be read"),
    ],
)
async def test_certificates_that_cannot_be_used_are_told(
    tmp_path: Path, settings: dict[str, str], problem: str
) -> None:
    with pytest.raises(Misconfigured, match=problem):
        async with open_site(tmp_path, settings=settings):
            pass


async def test_a_taken_port_is_one_clear_error(tmp_path: Path) -> None:
    async with open_site(tmp_path / "first") as first:
        settings = Settings(data=tmp_path / "second", rooms=(ROOM,), auth="none", grpc_port=first.port)
        async with open_app(settings) as app:
            with pytest.raises(Misconfigured, match="already in use") as raised:
                async with open_ports(app):
                    pass
            assert "--grpc-port" in (raised.value.hint or "")


async def test_a_port_taken_at_the_last_moment_is_told_too(tmp_path: Path) -> None:
    async with open_site(tmp_path) as site:
        opened = site.app.rooms[0]
        taken = MountContext("127.0.0.1", site.port, False, local, spend, site.app.record, site.app.stopping)
        assert opened.room.mounts is not None
        services = [mount.grpc() for mount in opened.room.mounts(opened.service, taken) if mount.grpc is not None]
        with pytest.raises(Misconfigured, match="gRPC cannot listen"):
            async with open_grpc(services, taken, host="127.0.0.1", port=site.port, shared=False):
                pass


async def local(header: str | None, address: str | None) -> Principal:
    return LOCAL


async def spend(principal_id: str) -> None:
    return None


async def test_port_zero_opens_nothing(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rooms=(ROOM,), auth="none", grpc_port=0)
    async with open_app(settings) as app, open_ports(app):
        assert app.rooms[0].room.has_port


@pytest.mark.parametrize("name", ["EventService/Listen", "StoreService/Push"])
@pytest.mark.requirement("directory:wire:rights-now")
async def test_a_stream_ends_when_its_caller_is_gone(guarded: Site, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grpc_calls, "RECHECK_SECONDS", 0.0)
    made = await guarded.app.api_keys.create("brief", scopes=["directory:read", "directory:write"])
    brief = Wire(guarded.wire.channel, [("authorization", f"Bearer {made.token}")])
    more, waiting = asyncio.Event(), asyncio.Event()

    async def records() -> AsyncIterator[Message]:
        yield record_of(agent())
        waiting.set()
        await more.wait()
        yield record_of(agent())

    async with asyncio.timeout(60):
        if name == "EventService/Listen":
            call = brief.start(name, events_pb2.ListenRequest())
            await call.initial_metadata()
        else:
            call = brief.start(name, records())
        if name == "StoreService/Push":
            await call.read()
            await waiting.wait()
        await guarded.app.api_keys.revoke(made.key.id)
        before = await guarded.directory.records.count()
        more.set()
        if name == "EventService/Listen":
            await guarded.as_role("writer").push(agent())
            before += 1
        with pytest.raises(aio.AioRpcError) as refused:
            await call.read()
        assert refused.value.code() is StatusCode.UNAUTHENTICATED
    assert await guarded.directory.records.count() == before
