"""Signing keys of whole servers, on both stores: rotated, shared, encrypted, backed up, and imported."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from grpc import aio

from pentad.access.server_secrets import known_secrets, secret_keys
from pentad.app import App, migration_sets, open_app
from pentad.http.grpc_port import open_ports
from pentad.kernel.errors import Misconfigured
from pentad.kernel.principal import LOCAL
from pentad.rooms.agents.card_signing import CardSigner, derived_key
from pentad.rooms.agents.client.card_verification import verify
from pentad.rooms.agents.keys import RING as CARDS
from pentad.rooms.agents.keys import open_card_ring
from pentad.rooms.agents.service import Agents
from pentad.rooms.directory.service import Directory
from pentad.rooms.directory.trust.keys import new_private_key, read_private_key
from pentad.rooms.directory.trust.server_key import FILE
from pentad.rooms.directory.wire.protos import sign_pb2
from pentad.rooms.finder import find_rooms
from pentad.settings.model import Settings
from pentad.storage.backup import backup, restore
from pentad.storage.open import locate
from tests import waiting
from tests.behaviour.clients import HTTP_MODERN, SESSION
from tests.behaviour.connecting import connect_http, front_of
from tests.behaviour.http_wire import send
from tests.ports import free_port
from tests.rooms.directory.interface.grpc.site import Wire, ref
from tests.stores import PostgresServer, Stores

pytestmark = pytest.mark.anyio

KEY = "not-a-real-key " * 3
JWKS = "/.well-known/jwks.json"
CARD = "/.well-known/agent-card.json"
RECORD_KEYS = "/api/directory/keys"
RECORD: dict[str, Any] = {
    "name": "example.org/signed",
    "version": "1.0.0",
    "schema_version": "0.7.0",
    "description": "A record to sign.",
    "authors": ["Ada"],
    "created_at": "2026-01-01T00:00:00Z",
    "skills": [{"name": "natural_language_processing/natural_language_generation/text_completion", "id": 10201}],
    "domains": [],
    "locators": [],
}


@asynccontextmanager
async def opened(stores: Stores, data: Path | None = None, **more: Any) -> AsyncGenerator[App]:
    database = stores.url or f"sqlite:///{stores.data / 'pentad.db'}"
    settings = Settings(data=data or stores.data, database=database, rooms=("agents", "directory"), auth="none", **more)
    async with open_app(settings) as app:
        yield app


def agents(app: App) -> Agents:
    return app.rooms[0].service


def directory(app: App) -> Directory:
    return app.rooms[1].service


async def get(app: App, path: str) -> Any:
    answer = send(front_of(app), "GET", path)
    return json.loads(await answer.body())


async def pushed(app: App) -> str:
    return (await directory(app).records.push(LOCAL, RECORD)).cid


async def sign(app: App, cid: str) -> str:
    """Sign with the server's key; return the fingerprint of the key."""
    room = directory(app)
    private = await room.signing_keys.private_key()
    await room.trust.sign(LOCAL, cid, private)
    return read_private_key(private).public.fingerprint


async def until(app: App, keys: list[str]) -> None:
    """Wait until the server publishes exactly these keys for its cards."""
    await waiting.until(lambda: get(app, JWKS), lambda found: [one["kid"] for one in found["keys"]] == keys)


@pytest.mark.requirement("access:signing-keys:rotated", "access:signing-keys:heard")
async def test_a_rotation_in_one_process_signs_cards_anew_in_another_and_keeps_the_old_key(stores: Stores) -> None:
    async with opened(stores) as one, opened(stores) as other:
        before, tag = await get(other, CARD), send(front_of(other), "GET", CARD)
        old = (await get(other, JWKS))["keys"][0]["kid"]
        ring = await open_card_ring(one.database, one.secret_box, one.clock)
        await ring.rotate()
        new = CardSigner(await ring.private_key()).kid
        for app in (one, other):
            await until(app, [new, old])
            published = await get(app, JWKS)
            card = await get(app, CARD)
            assert verify(card, published).kid == new
            assert verify(before, published).kid == old
            assert verify(card, {"keys": published["keys"][:1]}).kid == new, "new signatures need no old key"
            assert agents(app).host_cards()[0].card["signatures"] == card["signatures"]
        again = send(front_of(other), "GET", CARD)
        await tag.body()
        await again.body()
        assert again.headers["etag"] != tag.headers["etag"]
        pushed_signature = agents(other).signature(b"payload")
        assert json.loads(_decoded(pushed_signature.split(".")[0]))["kid"] == new


def _decoded(text: str) -> bytes:
    import base64

    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.requirement("access:signing-keys:rotated", "access:signing-keys:shared")
async def test_a_record_signed_before_a_rotation_is_trusted_and_its_key_published(
    stores: Stores, tmp_path: Path
) -> None:
    async with opened(stores) as one, opened(stores, tmp_path / "elsewhere") as other:
        cid = await pushed(one)
        old = await sign(one, cid)
        assert await sign(other, cid) == old, "one key for all processes, whatever their folder"
        assert (await directory(one).trust.verify(cid)).success
        await directory(other).signing_keys.rotate()
        new = await sign(one, cid)
        assert new != old
        verdict = await directory(one).trust.verify(cid)
        assert (verdict.success, len(verdict.signers)) == (True, 2)
        published = (await get(one, RECORD_KEYS))["keys"]
        assert [key["fingerprint"] for key in published] == [new, old]
        assert [key["retired"] is None for key in published] == [True, False]
        assert "PRIVATE" not in json.dumps(published)
        for key in published:
            assert (await directory(one).trust.verify(cid, key["publicKey"])).success


@pytest.mark.requirement("access:signing-keys:rotated", "access:signing-keys:shared")
async def test_over_every_wire_records_are_signed_with_the_new_key_and_the_old_signature_holds(stores: Stores) -> None:
    port = free_port()
    async with opened(stores) as one, opened(stores, grpc_port=port) as other, open_ports(other):
        clients = [await connect_http(app, wire) for app, wire in ((one, SESSION), (other, HTTP_MODERN))]
        cid = await pushed(one)
        old = (await clients[0].call("directory_sign", {"reference": cid})).result["structuredContent"]
        await directory(one).signing_keys.rotate()
        new = (await clients[1].call("directory_sign", {"reference": cid})).result["structuredContent"]
        assert old["public_key"] != new["public_key"]
        for client in clients:
            found = (await client.call("agntcy_dir_verify_record", {"cid": cid})).result["structuredContent"]
            assert (found["success"], len(found["signers"])) == (True, 2)
            assert "PRIVATE" not in json.dumps([old, new, found])
            await client.close()
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            answer = await Wire(channel).one("SignService/Verify", sign_pb2.VerifyRequest(record_ref=ref(cid)))
            assert (answer.success, len(answer.signers)) == (True, 2)


@pytest.mark.requirement("access:signing-keys:backup", "access:secret-key:sealed")
@pytest.mark.parametrize("secret_key", [None, KEY], ids=["plain", "encrypted"])
async def test_a_restored_backup_signs_with_the_published_keys(
    stores: Stores, tmp_path: Path, request: pytest.FixtureRequest, secret_key: str | None
) -> None:
    saved = tmp_path / "saved.backup"
    async with opened(stores, secret_key=secret_key) as app:
        cid = await pushed(app)
        fingerprint = await sign(app, cid)
        keys, card = await get(app, JWKS), await get(app, CARD)
        await backup(app.database, saved)
    if secret_key is not None:
        assert b"PRIVATE KEY" not in saved.read_bytes()
    server: PostgresServer | None = None if stores.url is None else request.getfixturevalue("postgres_server")
    folder = tmp_path / "empty"
    folder.mkdir()
    target = Stores(None if server is None else server.fresh_database(), folder)
    await restore(locate(target.url, folder), saved, sets=migration_sets(find_rooms(("agents", "directory"))))
    async with opened(target, secret_key=secret_key) as app:
        assert await get(app, JWKS) == keys
        assert verify(await get(app, CARD), keys) == verify(card, keys)
        assert await sign(app, cid) == fingerprint
        assert (await directory(app).trust.verify(cid)).success


@pytest.mark.requirement("access:secret-key:wrong", "access:secret-key:turned-on")
async def test_a_server_does_not_start_without_the_key_its_store_is_encrypted_with(stores: Stores) -> None:
    async with opened(stores) as app:
        keys = await get(app, JWKS)
    async with opened(stores, secret_key=KEY) as app:
        assert await get(app, JWKS) == keys, "turned on later, it changes no key"
        private = await app.database.read(lambda rows: rows.value("SELECT min(private) FROM signing_keys"))
        assert private.startswith("sealed1:")
    for wrong in (None, "another-unreal-key " * 3):
        with pytest.raises(Misconfigured, match="secret_key"):
            async with opened(stores, secret_key=wrong):
                pass
    async with opened(stores, secret_key="another-unreal-key " * 3, secret_key_previous=(KEY,)) as app:
        assert await get(app, JWKS) == keys
    async with opened(stores, secret_key="another-unreal-key " * 3) as app:
        assert await get(app, JWKS) == keys


@pytest.mark.requirement("access:signing-keys:adopted")
@pytest.mark.parametrize("secret_key", [None, KEY], ids=["plain", "encrypted"])
async def test_the_card_key_of_an_earlier_version_goes_on_signing(stores: Stores, secret_key: str | None) -> None:
    async with opened(stores) as app:
        await app.database.write(lambda tx: tx.run("DELETE FROM signing_keys"))
        [secret] = await secret_keys(app.database, CARDS)
    async with opened(stores, secret_key=secret_key) as app:
        published = await get(app, JWKS)
        assert [one["kid"] for one in published["keys"]] == [CardSigner(derived_key(secret)).kid]
        assert await known_secrets(app.database, CARDS) == [], "there is one truth"


@pytest.mark.requirement("access:signing-keys:adopted")
async def test_the_key_file_of_an_earlier_version_is_moved_into_the_store(stores: Stores, tmp_path: Path) -> None:
    mine, another = new_private_key(), new_private_key()
    file = stores.data / FILE
    file.write_text(mine, encoding="ascii")
    async with opened(stores) as app:
        assert await directory(app).signing_keys.private_key() == mine
        assert not file.exists()
    file.write_text(mine, encoding="ascii")  # as if the process had died before it removed the file
    async with opened(stores) as app:
        assert [one.private for one in await directory(app).signing_keys.keys()] == [mine]
        assert not file.exists()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / FILE).write_text(another, encoding="ascii")
    async with opened(stores, elsewhere) as app:
        published = (await get(app, RECORD_KEYS))["keys"]
        wanted = [read_private_key(key).public.fingerprint for key in (mine, another)]
        assert [key["fingerprint"] for key in published] == wanted, "another machine's signatures stay known"


@pytest.mark.requirement("access:signing-keys:adopted")
@pytest.mark.parametrize("broken", [b"\xff", b"no key at all"])
async def test_a_key_file_that_is_none_is_left_alone_with_a_warning(
    tmp_path: Path, broken: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(broken)
    async with opened(Stores(None, tmp_path)) as app:
        assert await sign(app, await pushed(app))
    assert (tmp_path / FILE).read_bytes() == broken
    assert FILE in caplog.text
    assert str(tmp_path) not in caplog.text
