"""Directories that follow each other: whole servers with logins, over gRPC."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, NotFound
from pentad.kernel.principal import LOCAL, Principal
from pentad.net.grpc_calls import Service
from pentad.rooms.directory.federation import peer_search
from pentad.rooms.directory.federation.peers import PeerCredentials, PeerFilters, PeerState
from pentad.rooms.directory.interface.grpc import server
from pentad.rooms.directory.models import SCAN_REPORT
from pentad.rooms.directory.records import routing
from pentad.rooms.directory.records.referrers import SIGNATURE, Referrer
from pentad.rooms.directory.records.service import draft_record
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.keys import read_private_key
from pentad.rooms.directory.wire.protos import routing_pb2
from tests.rooms.directory.interface.grpc.certificates import Authority
from tests.rooms.directory.interface.grpc.site import Site, open_site
from tests.rooms.directory.records.parts import agent
from tests.stores import PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["sqlite", "postgres"])
def databases(request: pytest.FixtureRequest) -> Iterator[tuple[str | None, str | None]]:
    """Two stores of one kind."""
    if request.param == "sqlite":
        yield None, None
        return
    postgres: PostgresServer = request.getfixturevalue("postgres_server")
    with ExitStack() as stack:
        yield stack.enter_context(postgres.empty_database()), stack.enter_context(postgres.empty_database())


@pytest.fixture
async def a(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path / "a", auth="required") as site:
        yield site


@pytest.fixture
async def b(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path / "b", auth="required") as site:
        yield site


async def follow(site: Site, other: Site, name: str = "acme", filters: PeerFilters | None = None) -> None:
    """Follow another directory with a key that may only read there."""
    credentials = PeerCredentials(token=other.keys["reader"])
    await site.directory.peers.add(LOCAL, name, other.address, credentials, filters or PeerFilters())


async def push(site: Site, **changes: Any) -> str:
    return (await site.directory.records.push(LOCAL, agent(**changes))).cid


async def sign(site: Site, cid: str) -> str:
    """Sign with the server's own key; returns the public one."""
    key = await site.directory.signing_keys.private_key()
    await site.directory.trust.sign(LOCAL, cid, key)
    return read_private_key(key).public.pem


async def has(site: Site, *cids: str) -> None:
    """Wait until a directory has exactly these records."""
    directory = site.directory
    await until(lambda: cids_of(directory), lambda found: found == set(cids))


async def cids_of(directory: Directory) -> set[str]:
    return {ref.cid for _, ref in await directory.records.newest(1_000)}


async def state(site: Site) -> PeerState:
    (found,) = await site.directory.peers.states()
    return found


@pytest.mark.requirement("dir:federation:trust", "dir:federation:in-step")
async def test_a_record_signed_there_is_trusted_here_by_our_policy_and_goes_when_it_is_withdrawn(
    tmp_path: Path, databases: tuple[str | None, str | None]
) -> None:
    first, second = databases
    async with (
        open_site(tmp_path / "a", first, auth="required") as a,
        open_site(tmp_path / "b", second, auth="required") as b,
    ):
        early = await push(a, name="acme.example/early")
        pem = await sign(a, early)
        await b.directory.policy.add(LOCAL, "acme-release", "acme.example", key=pem)
        await follow(b, a)
        await follow(a, b)
        await until(lambda: b.directory.records.trust(early), lambda mark: mark.trusted_by == ("acme-release",))
        late = await push(a, name="acme.example/late")
        own = await push(b)
        await has(b, early, late, own)
        await has(a, early, late, own)
        assert (await b.directory.records.trust(late)).trusted_by == ()
        await sign(a, late)
        await until(lambda: b.directory.records.trust(late), lambda mark: mark.trusted_by == ("acme-release",))
        verdict = await b.directory.trust.verify(late)
        assert (verdict.success, verdict.trusted_by) == (True, ("acme-release",))
        assert await a.directory.records.delete(LOCAL, early)
        await has(b, late, own)
        assert await a.directory.referrers.delete(LOCAL, late, SIGNATURE)
        again = await push(a)  # an event: the removal of a statement alone is noticed within a minute
        await has(b, late, own, again)
        await until(lambda: b.directory.records.trust(late), lambda mark: mark.trusted_by == ())
        found = (await state(b)).as_json()
        assert (found["status"], found["records"], found["auth"]) == ("in step", 2, "token")


@pytest.mark.requirement("dir:federation:in-step")
async def test_a_record_that_was_pushed_here_too_stays_and_a_copy_deleted_here_does_not_return(
    a: Site, b: Site
) -> None:
    both, copy, withdrawn = agent(), await push(a), await push(a)
    cid = (await a.directory.records.push(LOCAL, both)).cid
    await follow(b, a)
    await has(b, cid, copy, withdrawn)
    await b.directory.records.push(LOCAL, both)
    await b.directory.records.delete(LOCAL, withdrawn)
    await sign(a, withdrawn)
    await a.directory.records.delete(LOCAL, cid)
    await a.directory.records.delete(LOCAL, copy)
    await has(b, cid)
    await a.directory.records.push(LOCAL, both)
    marker = await push(a)
    await has(b, cid, marker)


@pytest.mark.requirement("dir:federation:in-step")
async def test_a_withdrawn_record_that_is_pushed_again_is_copied_again(a: Site, b: Site) -> None:
    data = agent()
    cid = (await a.directory.records.push(LOCAL, data)).cid
    await sign(a, cid)
    await follow(b, a)
    await has(b, cid)
    await until(lambda: b.directory.referrers.pull(cid), bool)
    await a.directory.records.delete(LOCAL, cid)
    await has(b)
    await a.directory.records.push(LOCAL, data)
    await has(b, cid)


@pytest.mark.requirement("dir:federation:in-step")
async def test_copies_are_not_handed_on(tmp_path: Path, a: Site, b: Site) -> None:
    copy, own = await push(a), await push(b)
    await follow(b, a)
    await has(b, copy, own)
    async with open_site(tmp_path / "c", auth="required") as c:
        await follow(c, b)
        await has(c, own)
        marker = await push(b)
        await has(c, own, marker)
        await b.directory.records.push(LOCAL, (await b.directory.records.pull(copy)).data)
        await has(c, own, marker, copy)


@pytest.mark.requirement("dir:federation:states")
async def test_copies_wait_for_approval_and_go_when_the_original_is_withdrawn(a: Site, b: Site) -> None:
    kept, bad, draft = await push(a), await push(a), await push(a)
    await a.directory.states.set(LOCAL, [draft], "draft")
    await follow(b, a)
    await has(b, kept, bad)
    assert (await a.directory.states.get(kept)).state == "approved"
    assert (await b.directory.states.get(kept)).state == "proposed", "each directory approves for itself"
    await b.directory.states.set(LOCAL, [bad], "approved")
    await a.directory.states.set(LOCAL, [bad], "withdrawn", "It leaks.")
    await a.directory.states.set(LOCAL, [draft], "proposed")
    marker = await push(a)  # an event: a change of a state alone is noticed within a minute
    await has(b, kept, draft, marker)
    await a.directory.states.set(LOCAL, [bad], "approved")
    again = await push(a)
    await has(b, kept, draft, marker, bad, again)
    assert (await b.directory.states.get(bad)).state == "proposed"


@pytest.mark.requirement("dir:federation:filters")
async def test_filters_say_what_is_copied(a: Site, b: Site) -> None:
    skill = {"name": "language_processing/language_generation/summarization"}
    wanted = await push(a, name="acme.example/wanted", skills=[skill])
    await push(a, name="other.example/not", skills=[skill])
    await push(
        a, name="acme.example/not-either", domains=[], skills=[{"name": "language_processing/language_understanding"}]
    )
    await follow(b, a, filters=PeerFilters(("acme.example",), ("/skills/language_processing/language_generation",)))
    await until(lambda: state(b), lambda found: found.peer.status == "in step")
    assert await cids_of(b.directory) == {wanted}


@pytest.mark.requirement("dir:federation:filters")
async def test_a_peer_adds_nothing_to_records_outside_its_namespaces(a: Site, b: Site) -> None:
    mine = agent(name="mine.example/agent")
    cid = (await b.directory.records.push(LOCAL, mine)).cid
    await a.directory.records.push(LOCAL, mine)
    await a.directory.referrers.push(LOCAL, Referrer(SCAN_REPORT, cid, {"isSafe": True}))
    lie = "UPDATE directory_records SET name = ? WHERE cid = ?"
    await a.app.database.write(lambda tx: tx.run(lie, "acme.example/agent", cid))
    wanted = await push(a, name="acme.example/wanted")
    await follow(b, a, filters=PeerFilters(("acme.example",)))
    await has(b, cid, wanted)
    await until(lambda: state(b), lambda found: found.peer.status == "in step")
    assert await b.directory.referrers.pull(cid) == []


@pytest.mark.requirement("dir:federation:failures")
async def test_a_peer_that_fails_says_why_and_when_it_is_tried_again(a: Site, b: Site) -> None:
    await b.directory.peers.add(
        LOCAL, "acme", a.address, PeerCredentials(token=a.keys["stranger"]), PeerFilters()
    )  # fmt: skip
    failing = await until(lambda: state(b), lambda found: found.peer.status == "failing" and found.next_attempt)
    shown = failing.as_json()
    assert "not allowed to access" in shown["problem"]
    assert shown["failing_since"] is not None
    assert a.keys["stranger"] not in str(shown)
    assert a.keys["stranger"] not in repr(await b.directory.peers.get("acme"))


@pytest.mark.requirement("dir:federation:failures")
async def test_a_refused_key_is_reported_with_one_number_for_the_log(a: Site, b: Site) -> None:
    await b.directory.peers.add(LOCAL, "acme", a.address, PeerCredentials(token="wrong"), PeerFilters())
    failing = await until(lambda: state(b), lambda found: found.peer.status == "failing")
    problem = failing.as_json()["problem"]
    assert "not accepted" in problem
    assert problem.count("incident") == 1, "the other side's, where the reason is logged"


@pytest.mark.requirement("dir:federation:failures", "dir:federation:restarts")
async def test_a_server_that_starts_tries_its_peers_at_once(a: Site, tmp_path: Path) -> None:
    async with open_site(tmp_path / "b", auth="required") as b:
        stranger = PeerCredentials(token=a.keys["stranger"])
        await b.directory.peers.add(LOCAL, "acme", a.address, stranger, PeerFilters())
        later = b.app.clock.now() + 300
        put_off = "UPDATE jobs SET run_at = ? WHERE key = 'acme' AND state = 'queued' AND attempt > 0"
        await until(lambda: b.app.database.write(lambda tx: tx.run(put_off, later)), lambda changed: changed == 1)
        assert (await state(b)).next_attempt == later
    async with open_site(tmp_path / "b", auth="required") as b:
        await until(lambda: state(b), lambda found: found.next_attempt is not None and found.next_attempt < later - 60)


@pytest.mark.requirement("dir:federation:failures")
async def test_a_record_that_contradicts_a_final_version_is_left_out_and_counted(a: Site, b: Site) -> None:
    await push(a, name="x.example/same", version="v1", description="There.")
    mine = await push(b, name="x.example/same", version="v1", description="Here.")
    other = await push(a)
    await follow(b, a)
    await has(b, mine, other)
    found = (await until(lambda: state(b), lambda found: found.peer.status == "in step")).as_json()
    assert found["skipped"] == 1
    assert "exists with other content" in found["skipped_reason"]


@pytest.mark.requirement("dir:federation:states")
async def test_a_peer_reserves_no_names_and_versions(a: Site, b: Site) -> None:
    names = ("mine.example/agent", "mine.example/approved")
    copies = [await push(a, name=name, version="v1", description="There.") for name in names]
    await follow(b, a)
    await has(b, *copies)
    await b.directory.states.set(LOCAL, [copies[1]], "approved")
    writer = Principal("user:ada", "ada", frozenset({"directory:write"}))
    own = [agent(name=name, version="v1", description="Here.") for name in names]
    for who, record in ((writer, own[0]), (LOCAL, own[1])):
        with pytest.raises(Conflict):
            await b.directory.records.push(who, record)
    with pytest.raises(Conflict):
        await b.directory.records.propose(LOCAL, own[0])
    mine = (await b.directory.records.push(LOCAL, own[0])).cid
    marker = await push(a)
    await has(b, mine, copies[1], marker)
    assert (await b.directory.naming.find(names[0])).cid == mine


@pytest.mark.requirement("dir:federation:in-step")
async def test_a_store_that_was_replaced_is_read_from_its_beginning(a: Site, b: Site) -> None:
    lost, kept = await push(a), await push(a)
    await follow(b, a)
    await has(b, lost, kept)

    def replaced(tx: Any) -> None:
        """As if a backup without the record had been restored."""
        a.directory.records.lock(tx)
        a.directory.records.erase(tx, lost)
        tx.run("DELETE FROM directory_changes")
        tx.run("UPDATE directory_store SET id = '0123456789abcdef'")

    await a.app.database.write(replaced)
    await has(b, kept)


@pytest.mark.requirement("dir:federation:in-step")
async def test_a_restored_store_that_has_got_as_far_again_is_read_from_its_beginning(a: Site, b: Site) -> None:
    kept, lost = await push(a), await push(a)
    await follow(b, a)
    await has(b, lost, kept)
    new = draft_record(agent())

    def restored(tx: Any) -> None:
        """As if a backup without the last record had been restored, and another pushed before anybody looked."""
        a.directory.records.lock(tx)
        a.directory.records.erase(tx, lost)
        tx.run("DELETE FROM directory_changes")
        tx.run("UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'directory_records'")
        a.directory.records.write(tx, LOCAL, [new])

    await a.app.database.write(restored)
    await has(b, kept, new.cid)


@pytest.mark.requirement("dir:federation:in-step")
async def test_without_the_peer_its_copies_go(a: Site, b: Site) -> None:
    await push(a)
    mine = await push(b)
    await follow(b, a)
    await until(lambda: state(b), lambda found: found.records == 1)
    await b.directory.peers.remove("acme")
    await has(b, mine)
    await until(b.directory.peers.states, lambda found: not found)
    with pytest.raises(NotFound):
        await b.directory.peers.remove("acme")


@pytest.mark.requirement("dir:federation:in-step")
async def test_a_directory_that_is_no_pentad_is_compared_as_a_whole(
    tmp_path: Path, b: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = server.services

    def without_changes(directory: Directory) -> Mapping[str, Service]:
        return {name: one for name, one in every(directory).items() if not name.startswith("pentad.")}

    monkeypatch.setattr(server, "services", without_changes)
    async with open_site(tmp_path / "other", auth="required") as other:
        gone, kept = await push(other), await push(other)
        await sign(other, kept)
        await follow(b, other)
        await has(b, gone, kept)
        await until(lambda: b.directory.referrers.pull(kept, SIGNATURE), bool)
        await other.directory.records.delete(LOCAL, gone)
        await has(b, kept)


@pytest.mark.requirement("dir:federation:credentials")
async def test_a_peer_is_followed_with_a_certificate(tmp_path: Path, b: Site) -> None:
    authority = Authority()
    cert, key = authority.server().write(tmp_path, "server")
    root, _ = authority.root.write(tmp_path, "root")
    files = {"grpc_cert_file": str(cert), "grpc_key_file": str(key), "grpc_client_ca_file": str(root)}
    client = authority.workload("spiffe://example.org/reader")
    settings = files | {"grpc_client_role": "reader"}
    async with open_site(tmp_path / "tls", auth="required", settings=settings) as a:
        cid = await push(a)
        credentials = PeerCredentials(
            certificate=client.pem.decode(), private_key=client.key_pem.decode(), ca=authority.root.pem.decode()
        )
        await b.directory.peers.add(
            LOCAL, "acme", f"https://127.0.0.1:{a.port}", credentials, PeerFilters()
        )  # fmt: skip
        await has(b, cid)


@pytest.mark.parametrize(
    ("url", "credentials", "problem"),
    [
        ("example.org:8888", {"token": "x"}, "plain text"),
        ("example.org", {}, "must include port"),
        ("https://example.org", {"token": "x", "issuer": "https://i.example"}, "one kind"),
        ("https://example.org", {"issuer": "https://i.example"}, "client_id"),
        ("https://example.org", {"issuer": "http://i.example", "client_id": "c", "client_secret": "s"}, "https"),
        ("https://example.org", {"certificate": "x"}, "belong together"),
        ("https://example.org", {"ca": "x"}, "cannot be read"),
        ("127.0.0.1:1", {"ca": "x"}, "for TLS"),
    ],
)
async def test_a_peer_that_cannot_work_is_refused(b: Site, url: str, credentials: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        await b.directory.peers.add(LOCAL, "acme", url, PeerCredentials(**credentials), PeerFilters())
    assert await b.directory.peers.states() == []


async def test_a_peer_is_not_replaced_silently(a: Site, b: Site) -> None:
    await follow(b, a)
    with pytest.raises(Conflict):
        await follow(b, a)
    with pytest.raises(InvalidInput, match="cannot name"):
        await follow(b, a, "Not a name")


@pytest.mark.requirement("dir:federation:search")
async def test_a_routing_search_finds_what_peers_publish_and_says_what_is_missing(
    a: Site, b: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    cid = await push(a)
    data = (await a.directory.records.pull(cid)).data
    await a.app.database.write(lambda tx: tx.run("UPDATE directory_records SET published_at = 1"))
    kind = routing_pb2.RECORD_QUERY_TYPE_SKILL
    query = routing_pb2.RecordQuery(type=kind, value=data["skills"][0]["name"])
    await follow(b, a)
    await has(b, cid)
    request = routing_pb2.SearchRequest(queries=[query])
    (found,) = await b.as_role("reader").all("RoutingService/Search", request)
    assert (found.record_ref.cid, found.peer.id, list(found.peer.addrs)) == (cid, "acme", [a.address])
    assert (found.match_score, dict(found.peer.annotations)) == (1, {})
    await b.directory.peers.add(LOCAL, "silent", "127.0.0.1:1", PeerCredentials(), PeerFilters())
    (found,) = await b.as_role("reader").all("RoutingService/Search", request)
    assert dict(found.peer.annotations) == {"unreachable": "silent"}
    second = await push(a, version="v7.0.0")
    await a.app.database.write(lambda tx: tx.run("UPDATE directory_records SET published_at = 1"))
    monkeypatch.setattr(peer_search, "MOST_PER_QUERY", 1)
    (found,) = await b.as_role("reader").all("RoutingService/Search", request)
    assert dict(found.peer.annotations) == {"unreachable": "silent", "truncated": "acme"}
    await has(b, cid, second)
    await b.app.database.write(lambda tx: tx.run("UPDATE directory_records SET published_at = 1"))
    monkeypatch.setattr(routing, "MOST_SCORED", 1)
    found = await b.as_role("reader").all("RoutingService/Search", request)
    assert {one.peer.annotations["truncated"] for one in found} == {"local, acme"}
    nothing = routing_pb2.SearchRequest(queries=[routing_pb2.RecordQuery(type=kind, value="none")])
    refused = await b.as_role("reader").refused("RoutingService/Search", nothing)
    assert "silent: " in refused.text
