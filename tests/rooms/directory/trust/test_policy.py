"""The trust policy: keys and issuers by namespace, and the quarantine for all other records."""

from typing import Any

import pytest

from pentad.kernel.errors import Conflict, InvalidInput, NotFound, Unavailable
from pentad.rooms.directory.records.namespaces import Namespaces
from pentad.rooms.directory.records.referrers import SIGNATURE
from pentad.rooms.directory.records.trust_marks import TrustMark
from pentad.rooms.directory.search.query import Filter, FilterKind, Query
from pentad.rooms.directory.search.service import RecordSearch
from pentad.rooms.directory.trust.policy_service import ISSUER_SECONDS, SILENT_SECONDS, TrustPolicy
from tests.rooms.directory.records.parts import WHO
from tests.rooms.directory.trust.key_files import jwk, private_pem, public_pem
from tests.rooms.directory.trust.opening import Site

pytestmark = pytest.mark.anyio

ACME, OTHER = 0, 1


@pytest.fixture
def policy(site: Site) -> TrustPolicy:
    site.parts.jobs.clock = site.clock
    return TrustPolicy(site.parts.jobs, site.domains)


@pytest.fixture
def rules(site: Site, policy: TrustPolicy) -> Namespaces:
    return Namespaces(site.database, policy.changed)


async def signed(site: Site, number: int, **changes: Any) -> str:
    cid = await site.push(**changes)
    await site.trust.sign(WHO, cid, private_pem("Ed25519", number))
    return cid


async def trusted_by(site: Site, cid: str) -> tuple[str, ...]:
    """Who vouches for a record: the same by search, by its mark and by verification."""
    (hit,) = (await RecordSearch(site.database).find(Query(limit=0, quarantined=True))).hits
    mark = await site.parts.records.trust(cid)
    verdict = await site.trust.verify(cid)
    assert hit.cid == cid
    assert hit.trusted_by == mark.trusted_by == verdict.trusted_by
    assert verdict.success is bool(mark.trusted_by)
    assert (await site.flags(cid))[1] == int(verdict.success)
    return mark.trusted_by


async def found(site: Site, **more: Any) -> set[str]:
    return {hit.cid for hit in (await RecordSearch(site.database).find(Query(limit=0, **more))).hits}


@pytest.mark.requirement("dir:trust:policy")
async def test_without_entries_any_valid_signature_is_trusted(site: Site, policy: TrustPolicy) -> None:
    cid = await signed(site, OTHER)
    assert await trusted_by(site, cid) == ("any valid signature",)
    await policy.add(WHO, "acme", "elsewhere.org", key=public_pem("Ed25519", ACME))
    await policy.settle()
    assert await trusted_by(site, cid) == (), "a policy that names somebody is a complete list"
    assert "has no entry for its namespace" in (await site.trust.verify(cid)).message
    await policy.remove("acme", "elsewhere.org")
    await policy.settle()
    assert await trusted_by(site, cid) == ("any valid signature",)


@pytest.mark.requirement("dir:trust:policy")
async def test_a_named_key_is_trusted_in_its_namespace_and_others_are_not(site: Site, policy: TrustPolicy) -> None:
    cid = await signed(site, ACME, name="example.org/team/agent")
    await policy.add(WHO, "everywhere", key=public_pem("Ed25519", ACME))
    await policy.settle()
    assert await trusted_by(site, cid) == ("everywhere",)
    await policy.add(WHO, "team", "example.org/team", key=public_pem("Ed25519", OTHER))
    await policy.settle()
    assert await trusted_by(site, cid) == (), "the most specific namespace decides alone"
    verdict = await site.trust.verify(cid)
    assert "not by anyone the trust policy trusts for example.org/team" in verdict.message
    assert [one.identity for one in verdict.signers] == [public_pem("Ed25519", ACME)], "it says who signed all the same"
    await site.trust.sign(WHO, cid, private_pem("Ed25519", OTHER))
    assert await trusted_by(site, cid) == ("team",)
    assert (await site.trust.verify(cid, public_pem("Ed25519", ACME))).success, (
        "who names a key has a policy of their own"
    )


@pytest.mark.requirement("dir:trust:issuers")
async def test_an_issuer_is_trusted_with_the_keys_it_publishes(site: Site, policy: TrustPolicy) -> None:
    with pytest.raises(Unavailable):
        await policy.add(WHO, "acme", issuer="https://keys.example.org")
    site.domains.sets["keys.example.org"] = {"keys": [jwk("Ed25519", ACME, kid="one")]}
    cid = await signed(site, ACME)
    await policy.add(WHO, "acme", issuer="https://keys.example.org/any/path")
    await policy.settle()
    assert await trusted_by(site, cid) == ("acme",)
    site.domains.sets["keys.example.org"] = {"keys": [jwk("Ed25519", OTHER, kid="two")]}
    assert await policy.refresh_issuers() == 0, "not due yet"
    site.clock.ahead = ISSUER_SECONDS
    assert await policy.refresh_issuers() == 1
    await policy.settle()
    assert await trusted_by(site, cid) == ()


@pytest.mark.requirement("dir:trust:issuers")
async def test_the_last_keys_of_a_silent_issuer_count_for_a_week(site: Site, policy: TrustPolicy) -> None:
    site.domains.sets["keys.example.org"] = {"keys": [jwk("Ed25519", ACME, kid="one")]}
    cid = await signed(site, ACME)
    await policy.add(WHO, "acme", issuer="https://keys.example.org")
    site.domains.sets.clear()
    site.clock.ahead = ISSUER_SECONDS
    await policy.refresh_issuers()
    state = await policy.settle()
    assert "does not answer" in (state.entries[0].problem or "")
    assert await trusted_by(site, cid) == ("acme",)
    site.clock.ahead = SILENT_SECONDS + 1
    await policy.refresh_issuers()
    await policy.settle()
    assert await trusted_by(site, cid) == ()


@pytest.mark.requirement("dir:trust:quarantine")
async def test_untrusted_records_of_a_namespace_with_quarantine_are_not_found(
    site: Site, policy: TrustPolicy, rules: Namespaces
) -> None:
    before = await site.push(name="example.org/before")
    other = await site.push(name="example.com/other")
    await policy.add(WHO, "acme", key=public_pem("Ed25519", ACME))
    await rules.set("example.org", quarantine=True)
    state = await policy.settle()
    assert (state.quarantined, state.pending) == (1, False)
    unsigned = await site.push(name="example.org/unsigned")
    foreign = await signed(site, OTHER, name="example.org/foreign")
    good = await signed(site, ACME, name="example.org/good")
    assert await found(site) == {other, good}
    assert await found(site, words="agent") <= {other, good}
    everything = await RecordSearch(site.database).find(Query(limit=0, quarantined=True))
    reasons = {hit.cid: hit.quarantined for hit in everything.hits}
    assert reasons.keys() == {before, other, unsigned, foreign, good}
    assert reasons[before] == reasons[unsigned] == "it is not signed"
    assert "not by anyone the trust policy trusts" in (reasons[foreign] or "")
    assert reasons[good] is reasons[other] is None
    assert {one.cid for one in await policy.quarantined()} == {before, unsigned, foreign}
    with pytest.raises(NotFound, match="no record found"):
        await site.parts.naming.resolve("example.org/unsigned")
    assert {ref.cid for _, ref in await site.parts.records.newest(10)} == {other, good}
    assert (await site.parts.records.pull(unsigned)).cid == unsigned, "who has the CID can look at it"


@pytest.mark.requirement("dir:trust:quarantine")
@pytest.mark.parametrize("name", ["https://example.org/agent", "http://example.org/agent", "HTTPS://Example.ORG/agent"])
async def test_another_spelling_of_a_name_escapes_no_quarantine(
    site: Site, policy: TrustPolicy, rules: Namespaces, name: str
) -> None:
    await policy.add(WHO, "acme", "example.org", key=public_pem("Ed25519", ACME))
    await rules.set("example.org", quarantine=True)
    await signed(site, OTHER, name=name)
    good = await signed(site, ACME, name=f"{name}-signed")
    assert await found(site) == {good}
    with pytest.raises(NotFound, match="no record found"):
        await site.parts.naming.resolve("example.org/agent")


@pytest.mark.requirement("dir:trust:quarantine")
async def test_a_record_leaves_quarantine_when_it_is_trusted_and_returns_without_its_signature(
    site: Site, policy: TrustPolicy, rules: Namespaces
) -> None:
    await policy.add(WHO, "acme", key=public_pem("Ed25519", ACME))
    await rules.set("", quarantine=True)
    cid = await signed(site, ACME)
    assert await site.parts.records.trust(cid) == TrustMark(("acme",), None)
    await site.parts.referrers.delete(WHO, cid, SIGNATURE)
    assert await site.parts.records.trust(cid) == TrustMark((), "it is not signed"), "at once, not when it is judged"
    await site.trust.sign(WHO, cid, private_pem("Ed25519", ACME))
    assert await found(site) == {cid}
    await rules.set("", quarantine=False)
    await policy.remove("acme")
    await policy.settle()
    assert (await policy.state()).quarantined == 0


@pytest.mark.requirement("dir:trust:quarantine")
async def test_published_records_in_quarantine_are_not_announced(
    site: Site, policy: TrustPolicy, rules: Namespaces
) -> None:
    cid = await site.push()
    await site.database.write(lambda tx: tx.run("UPDATE directory_records SET published_at = 1"))
    assert [one.cid for one in await site.parts.routing.list()] == [cid]
    await rules.set("", quarantine=True)
    await policy.settle()
    assert await site.parts.routing.list() == []


async def test_rules_of_a_namespace_are_set_one_by_one(rules: Namespaces) -> None:
    await rules.set("example.org", immutable=False)
    await rules.set("example.org", quarantine=True)
    await rules.set("example.org/strict", immutable=True)
    found = {one.namespace: (one.immutable, one.quarantine) for one in await rules.all()}
    assert found == {"": (True, False), "example.org": (False, True), "example.org/strict": (True, True)}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"name": "", "key": "x"}, "printable"),
        ({"name": "a"}, "either a key or an issuer"),
        ({"name": "a", "key": "x", "issuer": "https://example.org"}, "either a key or an issuer"),
        ({"name": "a", "key": "no key"}, "not PEM"),
        ({"name": "a", "issuer": "http://example.org"}, "not an issuer"),
        ({"name": "a", "issuer": "example.org"}, "not an issuer"),
    ],
)
async def test_a_wrong_entry_is_refused(policy: TrustPolicy, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        await policy.add(WHO, **given)


async def test_an_entry_is_not_replaced_silently(policy: TrustPolicy) -> None:
    await policy.add(WHO, "acme", key=public_pem("Ed25519", ACME))
    with pytest.raises(Conflict):
        await policy.add(WHO, "acme", key=public_pem("Ed25519", OTHER))
    with pytest.raises(NotFound):
        await policy.remove("acme", "example.org")


@pytest.mark.requirement("dir:trust:policy")
async def test_searches_for_trusted_records_go_by_the_policy(site: Site, policy: TrustPolicy) -> None:
    good, foreign = await signed(site, ACME), await signed(site, OTHER)
    await policy.add(WHO, "acme", key=public_pem("Ed25519", ACME))
    await policy.settle()
    for value, cid in (("true", good), ("false", foreign)):
        assert await found(site, filters=(Filter(FilterKind.TRUSTED, value),)) == {cid}
