"""A domain in a name must publish the signing key to vouch for the name."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.clock import iso
from pentad.kernel.errors import InvalidInput, NotFound, Unavailable
from pentad.net.addresses import networks
from pentad.net.fetch import HttpFetcher
from pentad.net.fetch_policy import FetchPolicy
from pentad.rooms.directory.trust.jwks import REMEMBERED, Domain, WellKnownKeySets, domain_of, find_vouched_key, keys_of
from pentad.rooms.directory.trust.keys import read_public_key
from pentad.rooms.directory.trust.service import ASK_AGAIN_AFTER, VALID_FOR, Trust
from tests.net.test_fetch import answering
from tests.rooms.directory.records.parts import WHO
from tests.rooms.directory.trust.key_files import GOOD, jwk, private_pem, public_pem
from tests.rooms.directory.trust.opening import Pages, Site, TurnedClock

NAME = "https://example.org/agents/echo"
UNPUBLISHED = "example.org does not publish a key that signed the record"


async def signed(site: Site, name: str = NAME, **changes: Any) -> str:
    cid = await site.push(name=name, **changes)
    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    return cid


@pytest.mark.anyio
async def test_a_domain_vouches_for_the_key_that_signed(site: Site):
    cid = await signed(site, version="v1")
    site.domains.sets["example.org"] = {"keys": [jwk("ECDSA-P256", kid="other"), jwk("Ed25519", kid="release-2026")]}
    assert (await site.trust.verification_info(cid, None)).error_message == "no verification found"
    before = site.clock.now()
    verdict = await site.trust.verify_name(cid, None)
    assert (verdict.verified, verdict.error_message) == (True, None)
    assert (verdict.domain, verdict.method, verdict.key_id) == ("example.org", "wellknown", "release-2026")
    at = datetime.fromisoformat(verdict.verified_at)
    assert at - datetime.fromisoformat(iso(before)) < timedelta(seconds=60)
    assert verdict.verified_at.endswith("Z")
    for asked in ((cid, "ignored"), (None, NAME), (None, "example.org/agents/echo"), (None, NAME, "v1")):
        assert await site.trust.verify_name(*asked) == verdict
        if asked[1] != "ignored":
            assert await site.trust.verification_info(*asked) == verdict
    assert site.domains.asked == [Domain("https", "example.org")]
    assert await site.flags(cid) == (1, 1)


@pytest.mark.anyio
async def test_the_word_of_a_domain_is_good_for_a_week(site: Site):
    cid = await signed(site)
    site.domains.sets["example.org"] = {"keys": [jwk("Ed25519")]}
    assert (await site.trust.verify_name(cid, None)).verified
    site.clock.ahead = VALID_FOR - 60
    assert (await site.trust.verification_info(cid, None)).verified
    site.clock.ahead = VALID_FOR + 60
    assert (await site.trust.verification_info(cid, None)).error_message == "verification invalid or expired"
    site.domains.sets["example.org"] = {"keys": []}
    assert (await site.trust.verify_name(cid, None)).error_message == UNPUBLISHED
    assert (await site.trust.verification_info(cid, None)).error_message == UNPUBLISHED
    assert await site.flags(cid) == (0, 1)


@pytest.mark.anyio
async def test_a_domain_that_did_not_vouch_is_asked_again_only_after_a_while(site: Site):
    cid = await signed(site)
    reason = "the keys of example.org are unknown: example.org does not answer."
    for _ in range(3):
        assert (await site.trust.verify_name(cid, None)).error_message == reason
    assert (await site.trust.verification_info(cid, None)).error_message == reason
    assert (len(site.domains.asked), await site.kept(cid)) == (1, {"signatures": 1, "name": 0})
    site.domains.sets["example.org"] = {"keys": [jwk("Ed25519")]}
    site.clock.ahead = ASK_AGAIN_AFTER + 1
    assert (await site.trust.verify_name(cid, None)).verified


@pytest.mark.anyio
async def test_without_a_good_signature_no_domain_is_asked(site: Site):
    site.domains.sets["example.org"] = {"keys": [jwk("Ed25519")]}
    unsigned, forged = await site.push(name=NAME, version="v1"), await site.push(name=NAME, version="v2")
    await site.attach_key(forged, public_pem("Ed25519"))
    await site.attach_signature(forged, signature="AAAA")
    for cid, why in ((unsigned, "no signatures found"), (forged, "failed to verify signature")):
        message = (await site.trust.verify_name(cid, None)).error_message or ""
        assert message.startswith(f"no verification found: not trusted: {why}")
        assert (await site.trust.verification_info(cid, None)).error_message == "no verification found"
    plain = await signed(site, "example.org/agents/echo")
    assert "does not begin with https://" in ((await site.trust.verify_name(plain, None)).error_message or "")
    assert site.domains.asked == []


@pytest.mark.anyio
async def test_a_new_signature_makes_the_old_word_void(site: Site):
    cid = await signed(site)
    site.domains.sets["example.org"] = {"keys": [jwk("Ed25519")]}
    assert (await site.trust.verify_name(cid, None)).verified
    await site.parts.referrers.delete(WHO, cid, kind=None)
    assert await site.flags(cid) == (0, 0)
    assert not (await site.trust.verify_name(cid, None)).verified
    await site.trust.sign(WHO, cid, private_pem("ECDSA-P256"))
    assert (await site.trust.verify_name(cid, None)).error_message == UNPUBLISHED


@pytest.mark.anyio
async def test_what_changed_while_a_domain_was_asked_is_not_covered_by_its_answer(site: Site):
    cid = await signed(site)

    class Slow:
        async def key_set(self, domain: Domain) -> dict[str, Any]:
            await site.parts.referrers.delete(WHO, cid)
            return {"keys": [jwk("Ed25519")]}

    parts = site.parts
    trust = Trust(
        parts.database, site.clock, site.pages, parts.referrers, parts.naming, parts.events, resolver=Slow()
    )  # fmt: skip
    assert (await trust.verify_name(cid, None)).verified
    assert (await site.flags(cid), await site.kept(cid)) == ((0, 0), {})

    class Deleting:
        async def key_set(self, domain: Domain) -> dict[str, Any]:
            await site.parts.records.delete(WHO, cid)
            return {"keys": [jwk("Ed25519")]}

    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    trust = Trust(
        parts.database, site.clock, site.pages, parts.referrers, parts.naming, parts.events, resolver=Deleting()
    )  # fmt: skip
    assert (await trust.verify_name(cid, None)).verified
    assert (await site.trust.verify_name(cid, None)).error_message == "record not found"


@pytest.mark.anyio
async def test_what_is_asked_must_name_a_record(site: Site):
    for ask in (site.trust.verify_name, site.trust.verification_info):
        with pytest.raises(InvalidInput, match="either cid or name is required"):
            await ask(None, "")
        with pytest.raises(NotFound, match='no record found with name "nobody"'):
            await ask(None, "nobody")
    assert (await site.trust.verify_name("nonsense", None)).error_message == "record not found"
    assert (await site.trust.verification_info("nonsense", None)).error_message == "no verification found"


@pytest.mark.anyio
async def test_a_refresh_checks_what_is_new_and_renews_what_would_expire(site: Site):
    site.domains.sets["example.org"] = {"keys": [jwk("Ed25519")]}
    cids = [await signed(site, version=f"v{number}") for number in range(3)]
    await site.push(name=NAME, version="unsigned")
    plain = await signed(site, "plain")
    await site.database.write(lambda tx: tx.run("DELETE FROM directory_verifications"))  # as if signed elsewhere
    assert await site.trust.refresh(limit=3) == (3, 3)
    assert await site.trust.refresh() == (1, 0)
    assert await site.trust.refresh() == (0, 0)
    assert [await site.flags(cid) for cid in (*cids, plain)] == [(1, 1)] * 3 + [(0, 1)]

    site.clock.ahead = VALID_FOR - 3_600
    del site.domains.sets["example.org"]
    assert (await site.trust.refresh()).names == 3
    assert [await site.flags(cid) for cid in cids] == [(1, 1)] * 3  # the word given still holds
    site.domains.sets["example.org"] = {"keys": [jwk("Ed25519")]}
    assert (await site.trust.refresh()).names == 3
    assert (await site.trust.refresh()).names == 0
    site.clock.ahead += VALID_FOR
    del site.domains.sets["example.org"]
    await site.trust.refresh()
    assert [await site.flags(cid) for cid in cids] == [(0, 1)] * 3


@pytest.mark.anyio
async def test_the_domain_itself_is_asked_over_http(site: Site):
    paths: list[str] = []

    async def handler(request: web.Request) -> web.Response:
        paths.append(request.path)
        return web.json_response({"keys": [jwk("Ed25519", kid="k1")]})

    fetcher = HttpFetcher(FetchPolicy(allow_networks=networks("127.0.0.0/8"), allow_http=True))
    parts = site.parts
    trust = Trust(parts.database, site.clock, fetcher, parts.referrers, parts.naming, parts.events)
    async with answering(handler) as port:
        cid = await signed(site, f"http://127.0.0.1:{port}/agent")
        verdict = await trust.verify_name(cid, None)
    await fetcher.close()
    assert (verdict.verified, verdict.domain, verdict.key_id) == (True, f"127.0.0.1:{port}", "k1")
    assert paths == ["/.well-known/jwks.json"]


@pytest.mark.anyio
async def test_inner_addresses_stay_closed_to_names(site: Site):
    fetcher = HttpFetcher()
    parts = site.parts
    trust = Trust(parts.database, site.clock, fetcher, parts.referrers, parts.naming, parts.events)
    for name, why in (
        ("https://127.0.0.1/agent", "not on the public internet"),
        ("http://example.org/agent", "Plain http is not fetched"),
    ):
        cid = await signed(site, name)
        assert why in ((await trust.verify_name(cid, None)).error_message or "")
    await fetcher.close()


@pytest.mark.anyio
async def test_an_answer_is_remembered_for_a_while_and_a_failure_too():
    pages, clock = Pages(), TurnedClock()
    sets = WellKnownKeySets(pages, clock)
    here, gone = Domain("https", "example.org"), Domain("https", "example.net")
    url = "https://example.org/.well-known/jwks.json"
    pages.pages[url] = json.dumps({"keys": []}).encode()
    for _ in range(2):
        assert await sets.key_set(here) == {"keys": []}
        with pytest.raises(Unavailable, match="Nobody is there"):
            await sets.key_set(gone)
    assert [url for url, _ in pages.asked] == [url, "https://example.net/.well-known/jwks.json"]
    clock.ahead = REMEMBERED + 1
    for page, why in ((b"404", "HTTP status 404"), (b"[]", "not a JSON object"), (b"\xff{", "not a JSON object")):
        pages.pages[url] = page
        with pytest.raises(Unavailable, match=why):
            await sets.key_set(here)
        clock.ahead += REMEMBERED + 1
    pages.pages[url] = b"[" * 100 + b"]" * 100
    with pytest.raises(Unavailable, match="nested deeper"):
        await sets.key_set(here)


@pytest.mark.parametrize("kind", GOOD)
def test_a_key_is_the_same_as_jwk_and_as_pem(kind: str):
    public = read_public_key(public_pem(kind))
    found = find_vouched_key(
        {"keys": [jwk(kind, 1, kid="other"), jwk(kind, kid="mine", use="sig", key_ops=["verify"])]}, [public]
    )
    assert found is not None
    assert (found.key_id, found.key) == ("mine", public)
    strange: list[dict[str, Any]] = [{}, {"kid": ""}, {"kid": 7}, {"kid": "\x1b[2J"}, {"kid": "\ud800"}]
    for unusable in strange:
        unnamed = find_vouched_key({"keys": [jwk(kind, **unusable)]}, [public])
        assert unnamed is not None
        assert unnamed.key_id == public.fingerprint


def test_what_is_not_for_signatures_is_passed_over():
    good = jwk("Ed25519")
    others: list[Any] = [
        None, "x", {}, good | {"use": "enc"}, good | {"key_ops": ["sign"]}, good | {"key_ops": 7}, good | {"x": "AA"},
        good | {"crv": "X25519"}, good | {"x": "é" * 43}, good | {"x": None}, good | {"kty": "oct"},
        jwk("ECDSA-P256") | {"y": jwk("ECDSA-P256", 1)["y"]}, jwk("ECDSA-P256") | {"crv": "P-384"},
        jwk("weak RSA"), jwk("RSA") | {"e": "AA"}, jwk("RSA") | {"n": "A" * 10_000},
    ]  # fmt: skip
    assert list(keys_of({"keys": others})) == []
    assert len(list(keys_of({"keys": [*others, good]}))) == 1
    for broken in ({}, {"keys": None}, {"keys": {"a": good}}):
        assert list(keys_of(broken)) == []


@given(st.dictionaries(st.sampled_from(["kty", "crv", "x", "y", "n", "e", "use", "key_ops", "kid"]), st.one_of(
    st.sampled_from(["OKP", "EC", "RSA", "Ed25519", "P-256", "AQAB", "sig", ""]), st.text(max_size=60), st.none(),
    st.integers(), st.lists(st.text(max_size=4), max_size=2))))  # fmt: skip
def test_no_key_set_raises(entry: dict[str, Any]):
    list(keys_of({"keys": [entry]}))


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("https://example.org/agent", ("https", "example.org")),
        ("HTTPS://Example.ORG", ("https", "example.org")),
        ("http://example.org:8080/a/b?c#d", ("http", "example.org:8080")),
        ("https://xn--bcher-kva.example/ü", ("https", "xn--bcher-kva.example")),
        ("example.org/agent", None),
        ("dns://example.org/agent", None),
        ("https://", None),
        ("https:///agent", None),
        ("https://user@example.org/agent", None),
        ("https://example.org@evil.example/agent", None),
        ("https://example.org\\@evil.example/agent", None),
        ("https://example.org?x=/agent", None),
        ("https://example.org#/agent", None),
        ("https://bücher.example/agent", None),
        ("https://[::1]/agent", None),
        (" https://example.org/agent", None),
        ("https://example.org\n/agent", None),
        ("https://example.org:port/agent", None),
        ("https://" + "a." * 5_000 + "org/agent", None),
    ],
)
def test_the_domain_of_a_name_is_read_strictly(name: str, domain: tuple[str, str] | None):
    assert domain_of(name) == domain
