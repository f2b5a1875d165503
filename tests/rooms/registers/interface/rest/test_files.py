"""Files of objects: forms, raw bodies, what bounds them, and what becomes of them."""

from pathlib import Path

import pytest

from pentad.app import migration_sets, open_app
from pentad.http.application import http_application
from pentad.kernel.errors import Unavailable
from pentad.rooms.finder import find_rooms
from pentad.settings.model import Settings
from pentad.storage.backup import backup, restore
from pentad.storage.open import locate
from tests.rooms.registers.opening import ADMIN
from tests.rooms.registers.site import Reply, Site, open_site
from tests.stores import Stores

pytestmark = pytest.mark.anyio

NAME = {"name": {"type": "string"}, "level": {"type": "integer"}}
FORM = {"content-type": "multipart/form-data; boundary=b0"}


def form(*files: tuple[str, bytes], **fields: str) -> bytes:
    """A form as curl -F writes it."""
    parts = [f'name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    parts += [f'name="file"; filename="{name}"\r\n\r\n'.encode() + content for name, content in files]
    return b"".join(b"--b0\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--b0--\r\n"


async def files_path(site: Site) -> str:
    path = "/api" + await site.pair(NAME)
    return f"{path}/{(await site.send('POST', path, {'name': 'one'})).json['id']}/files"


async def upload(site: Site, item: str, *files: tuple[str, bytes], who: str = "admin") -> Reply:
    return await site.send("POST", item, form(*files), who=who, headers=FORM)


@pytest.mark.requirement("registers:files:forms")
async def test_a_form_attaches_all_its_files_or_none(site: Site) -> None:
    item = await files_path(site)
    made = await upload(site, item, ("a.txt", b"alpha"), ("b.bin", bytes(range(256))))
    assert made.status == 201
    assert [(one["name"], one["size"]) for one in made.json["results"]] == [("a.txt", 5), ("b.bin", 256)]
    assert (await site.send("GET", f"{item}/b.bin")).body == bytes(range(256))
    for bad in ((("c.txt", b"c"), (".hidden", b"h")), (("d.txt", b"1"), ("d.txt", b"2")), ()):
        refused = await upload(site, item, *bad)
        assert refused.status == 400, refused.body
    assert (await site.send("GET", item)).json["total"] == 2
    assert (await upload(site, item, ("x.txt", b"x"), who="reader")).status == 403
    broken = await site.send("POST", item, form(("e.txt", b"e"))[:-9], headers=FORM)
    assert (broken.status, broken.json["message"]) == (400, "The form ends in the middle.")


@pytest.mark.requirement("registers:files:forms")
async def test_a_file_of_many_pieces_comes_back_as_it_was_and_can_be_replaced(site: Site) -> None:
    item = await files_path(site)
    large = bytes(range(256)) * 12_345
    assert (await upload(site, item, ("large.bin", large))).status == 201
    read = await site.send("GET", f"{item}/large.bin")
    assert (read.body == large, read.headers["content-length"]) == (True, str(len(large)))
    assert (await site.send("PUT", f"{item}/large.bin", b"")).status == 201
    assert (await site.send("GET", f"{item}/large.bin")).body == b""
    left = "SELECT count(*) FROM file_pieces WHERE file NOT IN (SELECT id FROM files)"
    assert await site.app.database.read(lambda rows: rows.value(left)) == 0


async def test_a_form_above_the_limit_is_refused_and_the_number_of_files_too(site: Site) -> None:
    item = await files_path(site)
    limit = site.app.settings.limits.upload_bytes
    assert (await upload(site, item, ("big.bin", bytes(limit)))).status == 413
    many = [(f"{number}.txt", b"") for number in range(100)]
    assert (await upload(site, item, *many[:99])).status == 201
    assert (await upload(site, item, ("100.txt", b""), ("101.txt", b""))).status == 413
    assert (await upload(site, item, ("0.txt", b"again"), ("100.txt", b""))).status == 201


async def test_files_go_with_their_object_when_it_is_purged(site: Site) -> None:
    item = await files_path(site)
    uuid = item.split("/")[-2]
    await upload(site, item, ("a.txt", b"alpha"))
    await site.send("DELETE", item.removesuffix("/files"))
    assert (await site.send("GET", item)).status == 404
    await site.send("POST", f"/api/deleted/{uuid}/restore")
    assert (await site.send("GET", f"{item}/a.txt")).body == b"alpha"
    await site.send("DELETE", item.removesuffix("/files"))
    assert (await site.send("DELETE", f"/api/deleted/{uuid}")).status == 204
    assert (
        await site.app.database.read(lambda rows: rows.value("SELECT count(*) FROM files WHERE object = ?", uuid)) == 0
    )


async def test_a_download_of_a_file_replaced_meanwhile_ends_rather_than_mix_two_contents(site: Site) -> None:
    item = await files_path(site)
    old, new = b"o" * 3_000_000, b"n" * 3_000_000
    await upload(site, item, ("f", old))
    _, stored = await site.registers.objects.find_by_uuid(ADMIN, item.split("/")[-2])
    content = site.registers.attachments.pieces(await site.registers.attachments.get(stored, "f"))
    assert set(await anext(content)) == {ord("o")}
    await upload(site, item, ("f", new))
    with pytest.raises(Unavailable, match="replaced"):
        await anext(content)


@pytest.mark.requirement("registers:files:backup")
async def test_a_backup_holds_the_files_and_a_restore_brings_them_back(stores: Stores, tmp_path: Path) -> None:
    saved = tmp_path / "saved.backup"
    content = bytes(range(256)) * 9_000
    async with open_site(stores.data, stores.url) as site:
        item = await files_path(site)
        await upload(site, item, ("kept.bin", content))
        await backup(site.app.database, saved)
        await site.send("DELETE", f"{item}/kept.bin")
        await upload(site, item, ("later.bin", b"x"))
        key = site.credentials("admin")["authorization"]
    place = locate(stores.url, stores.data)
    await restore(place, saved, sets=migration_sets(find_rooms(("registers",))))
    settings = Settings(data=stores.data, database=stores.url, rooms=("registers",), auth="required")
    async with open_app(settings) as app:
        again = Site(app, http_application(app), {"admin": key.removeprefix("Bearer ")})
        listed = (await again.send("GET", item)).json["results"]
        assert [one["name"] for one in listed] == ["kept.bin"]
        assert (await again.send("GET", f"{item}/kept.bin")).body == content


@pytest.mark.requirement("registers:files:forms")
async def test_a_form_brings_a_file_to_import(site: Site) -> None:
    place = await site.pair(NAME)
    target = f"/api/registers/{place.split('/')[2]}/import"
    rows = b"name,level\none,1\ntwo,2\n"
    told = await site.send("POST", target, form(("rows.csv", rows), key="name"), headers=FORM)
    assert (told.status, told.json["created"]) == (200, 2), told.body
    again = form(("rows", rows.replace(b"2\n", b"3\n")), key="name", format="csv", dry_run="true")
    told = await site.send("POST", target, again, headers=FORM)
    assert (told.json["mode"], told.json["updated"]) == ("dry run", 1), told.body
    for bad in (form(("rows", rows)), form(key="name"), form(("a.csv", rows), ("b.csv", rows))):
        assert (await site.send("POST", target, bad, headers=FORM)).status == 400
    assert (await site.send("GET", f"/api{place}")).json["total"] == 2
