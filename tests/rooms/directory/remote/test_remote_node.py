"""A remote directory: every operation of a node, with every kind of authentication."""

import asyncio
import base64
import contextlib
import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grpc import aio

from pentad.kernel.errors import DeadlineExceeded, InvalidInput, NotFound, PentadError, Unauthenticated, Unavailable
from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.remote.client_settings import client_settings
from pentad.rooms.directory.remote.node import RemoteNode
from pentad.rooms.directory.search.query import Filter, FilterKind, Query
from pentad.rooms.directory.wire.protos import search_pb2
from pentad.rooms.directory.wire.structs import encoded_record
from tests.ports import free_port
from tests.room_settings import room_settings
from tests.rooms.directory.interface.grpc.certificates import Authority
from tests.rooms.directory.interface.grpc.site import Site, open_site
from tests.rooms.directory.interface.grpc.test_naming_methods import pem_of
from tests.rooms.directory.records.parts import agent
from tests.rooms.directory.remote.workload_api import workload_api

pytestmark = pytest.mark.anyio
UNKNOWN = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"


@contextlib.asynccontextmanager
async def node_at(address: str, **settings: str) -> AsyncGenerator[RemoteNode]:
    made = client_settings(
        room_settings("directory", client_server_address=address, **{f"client_{k}": v for k, v in settings.items()})
    )
    assert made is not None
    node = RemoteNode(made)
    try:
        yield node
    finally:
        await node.close()


@pytest.fixture
async def node(site: Site) -> AsyncIterator[RemoteNode]:
    async with node_at(site.address) as opened:
        yield opened


async def test_a_record_goes_there_and_comes_back(node: RemoteNode, site: Site) -> None:
    data = agent(annotations={"html": "<b>&", "zero": "-0"})
    pushed = await node.push(LOCAL, data)
    assert node.address == site.address
    assert pushed.new is None, "the other side does not tell"
    record = await node.pull(pushed.cid)
    assert (record.cid, record.data) == (pushed.cid, data)
    other = await node.push(LOCAL, agent())
    several = await node.pull_many([UNKNOWN, pushed.cid, UNKNOWN, other.cid, UNKNOWN])
    assert [one.cid for one in several] == [pushed.cid, other.cid]
    assert pushed.cid in await node.search_cids()


async def test_refusals_come_in_the_other_sides_words(node: RemoteNode) -> None:
    with pytest.raises(NotFound, match=f"record not found: {UNKNOWN}"):
        await node.pull(UNKNOWN)
    with pytest.raises(InvalidInput, match="record validation failed"):
        await node.push(LOCAL, {"schema_version": "1.0.0"})


async def test_a_search_tells_exactly_whether_there_is_more(node: RemoteNode) -> None:
    name = "example.org/remote-search"
    cids = [(await node.push(LOCAL, agent(name=name, version=f"v{number}"))).cid for number in range(3)]
    by_name = Filter(FilterKind.NAME, name)
    found = await node.search(Query((by_name,), limit=2))
    assert ([hit.cid for hit in found.hits], found.total, found.has_more) == ([cids[2], cids[1]], 3, True)
    assert [hit.trusted_by for hit in found.hits] == [(), ()], "another Pentad says who vouches for a hit"
    assert [hit.cid for hit in (await node.search(Query((by_name,), limit=2, cursor=found.cursor))).hits] == [cids[0]]
    found = await node.search(Query((by_name,), limit=2, offset=1))
    assert ([hit.cid for hit in found.hits], found.has_more) == ([cids[1], cids[0]], False)
    without = Filter(FilterKind.VERSION, "v1", negate=True)
    assert [hit.cid for hit in (await node.search(Query((by_name, without)))).hits] == [cids[2], cids[0]]


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (Query(words="summaries"), "cannot search by words"),
        (Query((Filter(FilterKind.NAME, "a"), Filter(FilterKind.VERSION, "b")), match="any"), 'cannot match "any"'),
        (Query((Filter(FilterKind.NAME, "a"),), cursor="x"), "cannot continue from a cursor"),
        (Query((Filter(FilterKind.SKILL_ID, "1"),), id_version="1.0.0"), "cannot take ids"),
    ],
)
async def test_what_the_other_side_cannot_do_is_refused(query: Query, problem: str) -> None:
    async def everything(request: Any, context: Any) -> Any:
        yield search_pb2.SearchCIDsResponse(record_cid=UNKNOWN).SerializeToString()

    handler = grpc.unary_stream_rpc_method_handler(everything)
    async with other_server({"SearchService/SearchCIDs": handler}) as address, node_at(address) as node:
        assert [hit.cid for hit in (await node.search(Query())).hits] == [UNKNOWN]
        with pytest.raises(InvalidInput, match=problem):
            await node.search(query)


async def test_another_pentad_searches_by_words_any_filter_cursor_and_ids_of_a_version(node: RemoteNode) -> None:
    name = "example.org/remote-ranking"
    cids = [
        (await node.push(LOCAL, agent(name=name, version=f"v{number}", description="Zephyr forecasts."))).cid
        for number in range(3)
    ]
    by_name = Filter(FilterKind.NAME, name)
    found = await node.search(Query((by_name,), words="zephyr"))
    assert [hit.cid for hit in found.hits] == [cids[2]], "words find the newest version"
    found = await node.search(Query((by_name, Filter(FilterKind.VERSION, "no-such")), match="any"))
    assert [hit.cid for hit in found.hits] == cids[::-1]
    first = await node.search(Query((by_name,), words="zephyr", latest=False, limit=2))
    rest = await node.search(Query((by_name,), words="zephyr", latest=False, limit=2, cursor=first.cursor))
    assert (first.has_more, rest.has_more) == (True, False)
    assert sorted(hit.cid for hit in (*first.hits, *rest.hits)) == sorted(cids)
    with pytest.raises(InvalidInput, match="cursor does not belong to this search"):
        await node.search(Query((by_name,), cursor="x"))
    skill = agent()["skills"][0]["id"]
    for id_version, expected in ((agent()["schema_version"], cids[::-1]), ("0.3.1", [])):
        found = await node.search(Query((by_name, Filter(FilterKind.SKILL_ID, str(skill))), id_version=id_version))
        assert [hit.cid for hit in found.hits] == expected, id_version


async def test_verdicts_are_asked_for(node: RemoteNode, site: Site) -> None:
    cid = (await node.push(LOCAL, agent())).cid
    verdict = await node.verify(cid)
    assert (verdict.success, verdict.message) == (False, "not trusted: no verified signatures found")
    await site.directory.trust.sign(LOCAL, cid, pem_of(Ed25519PrivateKey.generate()))
    verdict = await node.verify(cid)
    assert (verdict.success, verdict.message, verdict.signers[0].issuer) == (True, "trusted", "key:Ed25519")
    assert verdict.signers[0].identity.startswith("-----BEGIN PUBLIC KEY-----")
    name = await node.verify_name(cid, None, None)
    assert (name.verified, name.error_message) == (False, "no verification found")


async def test_a_dead_server_is_told_at_once() -> None:
    async with node_at(f"127.0.0.1:{free_port()}") as node, asyncio.timeout(60):
        for asking in (node.pull(UNKNOWN), node.push(LOCAL, agent()), node.search(Query()), node.verify(UNKNOWN)):
            with pytest.raises(Unavailable, match="cannot be reached"):
                await asking


async def test_a_server_that_never_answers_is_given_up() -> None:
    open_connections: list[asyncio.StreamWriter] = []

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_connections.append(writer)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with node_at(f"127.0.0.1:{port}", timeout="0.5") as node, asyncio.timeout(60):
        with pytest.raises((DeadlineExceeded, Unavailable)):
            await node.pull(UNKNOWN)
    server.close()
    await server.wait_closed()
    for writer in open_connections:  # one that outlived the test would be another test's warning
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def other_server(answers: Mapping[str, Any]) -> AsyncGenerator[str]:
    """A server that answers StoreService and SearchService as told, and nothing else."""
    server = aio.server()
    for service in ("store.v1.StoreService", "search.v1.SearchService"):
        methods = {
            name.partition("/")[2]: made for name, made in answers.items() if service.endswith(name.partition("/")[0])
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(f"agntcy.dir.{service}", methods)])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


async def test_a_record_that_is_not_the_one_asked_for_is_refused() -> None:
    async def lie(stream: Any, context: Any) -> Any:
        async for _ in stream:
            yield encoded_record('{"name":"another"}')

    handler = grpc.stream_stream_rpc_method_handler(lie)
    async with other_server({"StoreService/Pull": handler}) as address, node_at(address) as node:
        with pytest.raises(Unavailable, match="a different record than requested"):
            await node.pull(UNKNOWN)


async def test_an_old_server_is_not_asked_for_what_it_would_ignore() -> None:
    async def nothing(request: Any, context: Any) -> Any:
        return
        yield b""

    handler = grpc.unary_stream_rpc_method_handler(nothing)
    async with other_server({"SearchService/SearchCIDs": handler}) as address, node_at(address) as node:
        found = await node.search(Query((Filter(FilterKind.NAME, "a"),)))
        assert (found.hits, found.total, found.has_more) == ([], None, False)
        for one in (Filter(FilterKind.NAME, "a", negate=True), Filter(FilterKind.DESCRIPTION, "a")):
            with pytest.raises(InvalidInput, match="too old"):
                await node.search(Query((one,)))


async def works(node: RemoteNode) -> bool:
    return len(await node.pull_many([(await node.push(LOCAL, agent())).cid])) == 1


async def test_a_token_goes_along(tmp_path: Path) -> None:
    async with open_site(tmp_path, auth="required") as site:
        async with node_at(site.address, auth_mode="none", auth_token=site.keys["writer"]) as node:
            assert await works(node)
        async with node_at(site.address, auth_mode="insecure") as node:
            with pytest.raises(Unauthenticated):
                await node.pull(UNKNOWN)


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
async def secured(tmp_path: Path, authority: Authority) -> AsyncIterator[Site]:
    """A server with a certificate that takes a login."""
    cert, key = authority.server().write(tmp_path, "server")
    authority.root.write(tmp_path, "root")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key)}
    async with open_site(tmp_path / "data", auth="required", settings=files) as site:
        yield site


@pytest.fixture
async def mutual(tmp_path: Path, authority: Authority) -> AsyncIterator[Site]:
    """A server that wants certificates."""
    cert, key = authority.server().write(tmp_path, "server")
    root, _ = authority.root.write(tmp_path, "root")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key), "grpc_client_ca_file": str(root)}
    async with open_site(tmp_path / "data", auth="required", settings=files) as site:
        yield site


@pytest.fixture
def socket() -> Iterator[Path]:
    """A short path: that of a Unix socket has little room."""
    with tempfile.TemporaryDirectory(prefix="spiffe-") as folder:
        yield Path(folder) / "api.sock"


async def test_tls_with_files(mutual: Site, authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.workload("spiffe://example.org/pentad").write(tmp_path, "client")
    files = {"tls_ca_file": str(tmp_path / "root.pem"), "tls_cert_file": str(cert), "tls_key_file": str(key)}
    async with node_at(f"localhost:{mutual.port}", auth_mode="tls", **files) as node:
        assert await works(node)


@pytest.mark.requirement("dir:env:tls-skip-verify")
async def test_oidc_sends_its_token_over_tls(secured: Site, tmp_path: Path) -> None:
    root = str(tmp_path / "root.pem")
    token = secured.keys["writer"]
    async with node_at(f"localhost:{secured.port}", auth_token=token, tls_ca_file=root) as node:
        assert await works(node)
    async with node_at(f"localhost:{secured.port}", auth_mode="oidc", auth_token=token) as node:
        with pytest.raises(Unavailable):
            await node.pull(UNKNOWN)
    async with node_at(secured.address, auth_mode="oidc", auth_token=token, tls_skip_verify="true") as node:
        assert await works(node)
    named = {"tls_ca_file": root, "tls_server_name": "localhost"}
    async with node_at(f"[::ffff:127.0.0.1]:{secured.port}", auth_mode="oidc", auth_token=token, **named) as node:
        assert await works(node)


@pytest.mark.requirement("dir:env:x509")
async def test_x509_takes_its_identity_from_the_workload_api(mutual: Site, authority: Authority, socket: Path) -> None:
    svid = authority.workload("spiffe://example.org/pentad")
    address = f"localhost:{mutual.port}"
    async with (
        workload_api(socket, authority, svid) as api,
        node_at(address, auth_mode="x509", spiffe_socket_path=api) as node,
    ):
        assert await works(node)


@pytest.mark.requirement("dir:env:jwt")
@pytest.mark.parametrize("mode", ["jwt", "jwt-tls"])
async def test_jwt_takes_its_token_from_the_workload_api(
    secured: Site, authority: Authority, socket: Path, tmp_path: Path, mode: str
) -> None:
    svid = authority.workload("spiffe://example.org/pentad")
    ca = {"tls_ca_file": str(tmp_path / "root.pem")} if mode == "jwt-tls" else {}
    async with workload_api(socket, authority, svid, secured.keys["writer"]) as api:
        given = {"auth_mode": mode, "spiffe_socket_path": f"unix://{api}", "jwt_audience": "directory", **ca}
        async with node_at(f"localhost:{secured.port}", **given) as node:
            assert await works(node)


@pytest.mark.requirement("dir:env:token")
async def test_a_token_file_is_an_identity(mutual: Site, authority: Authority, tmp_path: Path) -> None:
    svid = authority.workload("spiffe://example.org/pentad")
    text = {
        "x509_svid": [base64.b64encode(svid.der).decode()],
        "private_key": base64.b64encode(svid.key_der).decode(),
        "root_cas": [base64.b64encode(authority.root.der).decode()],
    }
    file = tmp_path / "token.json"
    file.write_text(json.dumps([text]), encoding="utf-8")
    async with node_at(f"localhost:{mutual.port}", auth_mode="token", spiffe_token=str(file)) as node:
        assert await works(node)
    for broken in ("", "[]", "{}", '[{"x509_svid": ["?"]}]', "[1]"):
        file.write_text(broken, encoding="utf-8")
        async with node_at(f"localhost:{mutual.port}", auth_mode="token", spiffe_token=str(file)) as node:
            with pytest.raises(PentadError, match="not a SPIFFE token file"):
                await node.pull(UNKNOWN)


async def test_a_workload_api_that_is_missing_or_knows_nobody_is_told(authority: Authority, socket: Path) -> None:
    given = {"spiffe_socket_path": str(socket), "timeout": "20"}
    async with node_at("localhost:1", auth_mode="x509", **given) as node:
        with pytest.raises(Unavailable, match="Workload API cannot be used"):
            await node.pull(UNKNOWN)
    async with workload_api(socket, authority, None) as api:
        given["spiffe_socket_path"] = api
        async with node_at("localhost:1", auth_mode="x509", **given) as node:
            with pytest.raises(Unavailable, match="no identity"):
                await node.pull(UNKNOWN)
        async with node_at("localhost:1", auth_mode="jwt-tls", jwt_audience="directory", **given) as node:
            with pytest.raises(Unavailable, match="no token"):
                await node.pull(UNKNOWN)


async def test_a_server_without_tls_cannot_be_skipped_over(site: Site) -> None:
    async with node_at(site.address, auth_mode="tls", tls_skip_verify="1", timeout="2") as node:
        with pytest.raises(Unavailable, match="presents no certificate"):
            await node.pull(UNKNOWN)
