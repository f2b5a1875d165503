"""States and quarantine together: hosts never see a quarantined record, even if it is approved."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pentad.kernel.principal import LOCAL
from pentad.rooms.directory.records.referrers import SIGNATURE
from pentad.rooms.directory.registry.catalogs import Catalogs
from pentad.rooms.directory.search.query import Query
from tests.rooms.directory.registry.registry_client import OFFICIAL, RegistryError
from tests.rooms.directory.registry.site import BASE, Site, opened_site
from tests.rooms.directory.trust.key_files import private_pem, public_pem

pytestmark = pytest.mark.anyio

NAME = "org.example/weather"
ACME, OTHER = 0, 1


@pytest.fixture
async def site(tmp_path: Path, database_url: str | None) -> AsyncIterator[Site]:
    """A registry that trusts one key in a namespace."""
    async with opened_site(tmp_path, database=database_url, registry_readers="anyone") as opened:
        await opened.directory.policy.add(LOCAL, "acme", "org.example", key=public_pem("Ed25519", ACME))
        yield opened


async def hold_back(site: Site, *, quarantine: bool = True) -> None:
    await site.directory.namespaces.set("org.example", quarantine=quarantine)
    await site.directory.policy.settle()


async def published(site: Site, version: str = "1.0.0", who: str = "admin") -> dict[str, Any]:
    """What the directory says of a server that was published."""
    return (await site.publish(NAME, version, who))["_meta"]["pentad/record"]


async def listed(site: Site, **query: str | int) -> list[tuple[str, str, bool]]:
    """The versions that hosts see, with status and whether it is the latest."""
    return [(one.key[1], one.status, one.is_latest) async for one in site.client().every(**query)]


@pytest.mark.requirement("dir:states:quarantine")
async def test_an_approved_server_is_not_served_before_it_is_trusted(site: Site) -> None:
    await hold_back(site)
    told = await published(site)
    assert (told["state"], told["quarantined"]) == ("approved", "it is not signed")
    assert await listed(site, include_deleted="true") == []
    with pytest.raises(RegistryError, match="404"):
        await site.client("admin").version(NAME)
    assert (await Catalogs(site.app.database).ai_catalog(BASE))["entries"] == []
    await site.directory.trust.sign(LOCAL, told["cid"], private_pem("Ed25519", OTHER))
    assert await listed(site) == [], "a stranger's signature does not help"
    await site.directory.trust.sign(LOCAL, told["cid"], private_pem("Ed25519", ACME))
    assert await listed(site) == [("1.0.0", "active", True)]
    assert len((await Catalogs(site.app.database).ai_catalog(BASE))["entries"]) == 1


@pytest.mark.requirement("dir:states:quarantine")
async def test_a_trusted_server_still_waits_for_approval(site: Site) -> None:
    await hold_back(site)
    told = await published(site, who="writer")
    await site.directory.trust.sign(LOCAL, told["cid"], private_pem("Ed25519", ACME))
    assert await listed(site) == []
    await site.directory.states.set(LOCAL, [told["cid"]], "approved")
    assert await listed(site) == [("1.0.0", "active", True)]


@pytest.mark.requirement("dir:states:quarantine")
async def test_approving_a_record_in_quarantine_says_that_it_stays_there(site: Site) -> None:
    await hold_back(site)
    told = await published(site, who="writer")
    path = f"{BASE}/api/directory/states/record?reference={told['cid']}"
    headers = {**site.login("admin"), "content-type": "application/json"}
    answer = json.loads((await site.send("PUT", path, headers, b'{"state": "approved"}')).body)
    assert (answer["state"], answer["quarantined"]) == ("approved", "it is not signed")
    page, _ = await site.directory.states.in_state("approved", 10)
    assert [one.quarantined for one in page] == ["it is not signed"]
    assert await listed(site) == []


@pytest.mark.requirement("dir:states:quarantine")
async def test_hosts_learn_that_what_they_have_seen_is_held_back_and_get_the_version_before(site: Site) -> None:
    first, _second = await published(site), await published(site, "2.0.0")
    await site.directory.trust.sign(LOCAL, first["cid"], private_pem("Ed25519", ACME))
    assert await listed(site) == [("1.0.0", "active", False), ("2.0.0", "active", True)]
    await hold_back(site)
    assert await listed(site) == [("1.0.0", "active", True)]
    assert await listed(site, include_deleted="true") == [("1.0.0", "active", True), ("2.0.0", "deleted", False)]
    path = f"{BASE}/v0.1/servers/org.example%2Fweather/versions/2.0.0?include_deleted=true"
    gone = json.loads((await site.send("GET", path)).body)
    assert "remotes" not in gone["server"], "nothing but name and version of what is held back"
    assert "pentad/record" not in gone["_meta"]
    assert gone["_meta"][OFFICIAL]["statusMessage"] == "It is in quarantine until a trusted signature is added."
    await hold_back(site, quarantine=False)
    assert await listed(site) == [("1.0.0", "active", False), ("2.0.0", "active", True)]


@pytest.mark.requirement("dir:states:quarantine")
async def test_a_deprecated_server_has_its_reason_again_after_quarantine(site: Site) -> None:
    told = await published(site)
    await site.directory.states.set(LOCAL, [told["cid"]], "deprecated", "Use 2.0.0.")
    await hold_back(site)
    assert await listed(site) == []
    await hold_back(site, quarantine=False)
    path = f"{BASE}/v0.1/servers/org.example%2Fweather/versions/1.0.0"
    official = json.loads((await site.send("GET", path)).body)["_meta"][OFFICIAL]
    assert (official["status"], official["statusMessage"]) == ("deprecated", "Use 2.0.0.")


@pytest.mark.requirement("dir:states:quarantine")
async def test_a_server_that_loses_its_signature_is_held_back_at_once(site: Site) -> None:
    await hold_back(site)
    told = await published(site)
    await site.directory.trust.sign(LOCAL, told["cid"], private_pem("Ed25519", ACME))
    assert await listed(site) == [("1.0.0", "active", True)]
    await site.directory.referrers.delete(LOCAL, told["cid"], SIGNATURE)
    assert await listed(site) == []


@pytest.mark.requirement("dir:search:usable")
async def test_a_version_that_is_held_back_hides_no_older_one(site: Site) -> None:
    async def found(*, quarantined: bool = False) -> list[str]:
        hits = (await site.directory.search.find(Query(words="weather place", quarantined=quarantined))).hits
        return [one.data["version"] for one in await site.directory.search.records([hit.cid for hit in hits])]

    old = await published(site)
    await site.directory.trust.sign(LOCAL, old["cid"], private_pem("Ed25519", ACME))
    await hold_back(site)
    new = await published(site, "2.0.0")
    assert new["quarantined"]
    assert await found() == ["1.0.0"]
    assert sorted(await found(quarantined=True)) == ["1.0.0", "2.0.0"]
    await site.directory.trust.sign(LOCAL, new["cid"], private_pem("Ed25519", ACME))
    assert await found() == await found(quarantined=True) == ["2.0.0"]
    await hold_back(site, quarantine=False)
    assert await found() == ["2.0.0"]
