"""Signing and verifying records; a bad signature is a result, never an exception."""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, NotFound
from pentad.kernel.principal import Principal
from pentad.rooms.directory.records.events import EventType
from pentad.rooms.directory.records.referrers import PUBLIC_KEY, SIGNATURE, Referrer
from pentad.rooms.directory.trust.keys import read_private_key, read_public_key
from pentad.rooms.directory.trust.signatures import (
    KEY_HINT,
    MOST_ATTEMPTS,
    Signature,
    check_signatures,
    read_signature,
    scheme_of,
    sign,
)
from pentad.rooms.directory.trust.store import MOST_STATEMENTS, Statement
from tests.rooms.directory.records.parts import WHO, heard
from tests.rooms.directory.trust.key_files import GOOD, huge_rsa_pem, key, prehashed_signature, private_pem, public_pem
from tests.rooms.directory.trust.opening import Site

CID = "baeareifx2kwsn23pstno64xnd23rgxxs2oc7eam7klockwijurxisnvgmu"
NAMES = {
    "Ed25519": "ED25519",
    "ECDSA-P256": "ECDSA_P256_SHA256",
    "ECDSA-P384": "ECDSA_P384_SHA256",
    "ECDSA-P521": "ECDSA_P521_SHA256",
    "RSA": "RSA_PKCS1V15_SHA256",
}


def text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def statements(*said: tuple[str, Any]) -> list[Statement]:
    return [Statement(str(number), kind, data) for number, (kind, data) in enumerate(said)]


def checked(data: Any, *keys: Any, cid: str = CID) -> str:
    """The message for one signature and some keys."""
    said = [(PUBLIC_KEY, {"key": one}) for one in keys]
    return check_signatures(cid, statements(*said, (SIGNATURE, data))).message


@pytest.mark.parametrize("kind", GOOD)
def test_every_family_signs_the_text_of_the_cid(kind: str):
    made = sign(read_private_key(private_pem(kind)), CID, "2026-01-01T00:00:00.000Z")
    assert (made.algorithm, made.signed_at) == (NAMES[kind], "2026-01-01T00:00:00.000Z")
    assert made.annotations == {KEY_HINT: read_public_key(public_pem(kind)).fingerprint}
    assert checked(made.to_json(), public_pem(kind)) == "trusted"
    assert checked(made.to_json() | {"algorithm": ""}, public_pem(kind, 1), public_pem(kind)) == "trusted"
    failed = "not trusted: failed to verify signature: none of the keys made it for this record"
    assert checked(made.to_json(), public_pem(kind, 1)) == failed
    assert checked(made.to_json(), public_pem(kind), cid=CID[:-1] + "q") == failed


def test_what_other_directories_write_is_understood():
    curve, rsa_key, edwards = key("ECDSA-P384"), key("RSA"), key("Ed25519")
    payload = CID.encode()
    by_curve = curve.sign(payload, ec.ECDSA(hashes.SHA384()))
    by_rsa = rsa_key.sign(payload, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())
    prehashed = prehashed_signature(edwards.private_bytes_raw(), payload)
    assert (
        checked({"signature": text(by_curve), "algorithm": "PKIX_ECDSA_P384_SHA_384"}, public_pem("ECDSA-P384"))
        == "trusted"
    )
    assert checked({"signature": text(by_rsa), "algorithm": "RSA-PSS-SHA256"}, public_pem("RSA")) == "trusted"
    for name in ("", "Ed25519", "ED25519_PH", "Ed25519ph"):
        assert checked({"signature": text(prehashed), "algorithm": name}, public_pem("Ed25519")) == "trusted"
    pure = text(edwards.sign(payload))
    assert checked({"signature": pure, "algorithm": "ED25519"}, public_pem("Ed25519")) == "trusted"
    assert checked({"signature": pure, "algorithm": "ED25519_PH"}, public_pem("Ed25519")).startswith("not trusted")
    wrong_hash = {"signature": text(by_curve), "algorithm": "ECDSA_P384_SHA256"}
    assert checked(wrong_hash, public_pem("ECDSA-P384")).startswith("not trusted: failed")


@pytest.mark.parametrize("kind", GOOD)
@pytest.mark.parametrize("said", GOOD)
def test_a_signature_that_says_another_algorithm_than_its_key_has_does_not_hold(kind: str, said: str):
    made = sign(read_private_key(private_pem(kind)), CID, "").to_json() | {"algorithm": NAMES[said]}
    assert (checked(made, public_pem(kind)) == "trusted") is (kind == said)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "the signature is empty"),
        (None, "a signature or key is too large to be one"),
        ({"signature": 7, "annotations": [1], "algorithm": None}, "the signature is empty"),
        ({"signature": "!!!"}, "the signature is not base64"),
        ({"signature": "é"}, "the signature is not base64"),
        ({"signature": "A" * 5_000}, "the signature is longer than any can be"),
        ({"signature": "AAAA"}, "failed to verify signature: none of the keys made it for this record"),
        ({"signature": "AAAA", "algorithm": "ROT13"}, "the signature has the unknown algorithm 'ROT13'"),
        (
            {"signature": "AAAA", "algorithm": "RSA"},
            "failed to verify signature: none of the keys made it for this record",
        ),
        ({"contentBundle": "e30="}, "the signature was made without a key (sigstore), which is not checked here"),
        ({"content_bundle": "e30="}, "the signature was made without a key (sigstore), which is not checked here"),
    ],
)
def test_a_signature_that_is_none_is_answered_with_the_reason(data: Any, reason: str):
    assert checked(data, public_pem("Ed25519"), public_pem("ECDSA-P256")) == f"not trusted: {reason}"


@pytest.mark.parametrize(
    ("pem", "reason"),
    [
        (None, "the public key is not PEM text"),
        ("nonsense", "the public key is not PEM text"),
        (huge_rsa_pem(9_000), "the RSA key has 9000 bits; the limit is 8192"),
        ("-----BEGIN PUBLIC KEY-----\n" + "A" * 100_000, "the public key has 100027 characters; the limit is 8192"),
        (public_pem("weak RSA"), "the RSA key has 1024 bits; at least 2048 are needed"),
        (public_pem("secp256k1"), "the key is on a curve that is not supported"),
    ],
)
def test_a_key_that_cannot_be_used_is_answered_with_the_reason(pem: Any, reason: str):
    weak = key("weak RSA").sign(CID.encode(), padding.PKCS1v15(), hashes.SHA256())
    assert checked({"signature": text(weak)}, pem) == f"not trusted: {reason}"


def test_a_signature_without_any_key_says_so():
    made = sign(read_private_key(private_pem("Ed25519")), CID, "")
    assert checked(made.to_json()) == "not trusted: no public key found to check the signature with"
    verdict = check_signatures(CID, statements((SIGNATURE, made.to_json())), read_public_key(public_pem("Ed25519")))
    assert verdict.success


def test_thousands_of_false_signatures_and_keys_cost_a_bounded_amount():
    keys = [(PUBLIC_KEY, {"key": public_pem("ECDSA-P256", number)}) for number in range(40)]
    false = text(key("ECDSA-P256").sign(b"something else", ec.ECDSA(hashes.SHA256())))
    verdict = check_signatures(CID, statements(*keys, *[(SIGNATURE, {"signature": false})] * 100))
    assert verdict.problems[-1] == f"failed to verify signature: {MOST_ATTEMPTS} pairs of signature and key were tried"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(["signature", "algorithm", "annotations", "key", "certificate", "contentBundle", "signedAt"])


@given(st.lists(st.tuples(st.sampled_from([SIGNATURE, PUBLIC_KEY]), st.dictionaries(fields, json_values)), max_size=4))
@settings(max_examples=100, deadline=None)
def test_no_statement_whatsoever_makes_a_record_trusted_or_raises(said: list[tuple[str, Any]]):
    verdict = check_signatures(CID, statements(*said))
    assert not verdict.success
    assert verdict.message.startswith("not trusted: ")


@given(st.sampled_from(GOOD), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_one_bit_of_a_signature_is_enough_to_lose_it(kind: str, place: int):
    made = sign(read_private_key(private_pem(kind)), CID, "")
    raw = bytearray(base64.b64decode(made.signature))
    raw[place // 8 % len(raw)] ^= 1 << place % 8
    assert checked(made.to_json() | {"signature": text(bytes(raw))}, public_pem(kind)).startswith("not trusted: ")


@given(st.builds(Signature, *[st.text(max_size=10)] * 6, annotations=st.dictionaries(st.text(min_size=1), st.text())))
def test_a_signature_is_read_as_it_was_written(signature: Signature):
    assert read_signature(signature.to_json()) == signature


@given(st.text(max_size=300))
def test_the_name_of_an_algorithm_nobody_knows_is_refused_in_words(name: str):
    with pytest.raises(InvalidInput, match="unknown algorithm"):
        scheme_of(f"?{name}")


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["Ed25519", "ECDSA-P256"])
async def test_a_signed_record_is_trusted_until_its_signature_goes(site: Site, kind: str):
    cid = await site.push()
    assert (await site.trust.verify(cid)).message == "not trusted: no signatures found"
    made = await site.trust.sign(WHO, cid, private_pem(kind))
    attached = await site.parts.referrers.pull(cid)
    assert {one.type: dict(one.data) for one in attached} == {
        PUBLIC_KEY: {"key": public_pem(kind)},
        SIGNATURE: made.to_json(),
    }
    assert await site.flags(cid) == (0, 1), "signing verifies at once"
    first, second = await site.trust.verify(cid), await site.trust.verify(cid)
    assert first == second
    assert (first.success, first.message, first.problems) == (True, "trusted", ())
    assert [(one.identity, one.issuer) for one in first.signers] == [(public_pem(kind), f"key:{kind}")]
    assert (await site.flags(cid), await site.kept(cid)) == ((0, 1), {"signatures": 1})
    await site.parts.referrers.delete(WHO, cid, kind=SIGNATURE)
    assert (await site.flags(cid), await site.kept(cid)) == ((0, 0), {})
    assert (await site.trust.verify(cid)).message == "not trusted: no signatures found"


@pytest.mark.anyio
async def test_signing_again_with_the_same_key_changes_nothing(site: Site):
    cid = await site.push()
    first = await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    site.clock.ahead = 60
    assert await site.trust.sign(WHO, cid, private_pem("Ed25519")) == first
    assert len(await site.parts.referrers.pull(cid)) == 2
    await site.trust.sign(WHO, cid, private_pem("Ed25519", 1))
    assert len((await site.trust.verify(cid)).signers) == 2
    await site.parts.referrers.delete(WHO, cid, kind=PUBLIC_KEY)
    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    assert (await site.trust.verify(cid)).success


@pytest.mark.anyio
async def test_listeners_hear_who_signed(site: Site):
    cid = await site.push()
    with_type = (EventType.RECORD_SIGNED, EventType.PUBLIC_KEY_UPLOADED)
    async with site.parts.events.listen(with_type) as listening:
        await site.trust.sign(WHO, cid, private_pem("ECDSA-P256"))
        events = await heard(listening, 2)
    assert [(one.type, one.resource_id) for one in events] == [(kind, cid) for kind in with_type]
    fingerprint = read_public_key(public_pem("ECDSA-P256")).fingerprint
    assert events[0].metadata == {"signer": f"key:ECDSA-P256 sha256:{fingerprint}"}


@pytest.mark.anyio
async def test_one_good_signature_is_enough_and_the_others_are_told(site: Site):
    cid, other = await site.push(), await site.push()
    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    elsewhere = await site.trust.sign(WHO, other, private_pem("Ed25519"))
    assert (await site.trust.verify(cid)).success
    await site.attach_signature(cid, **elsewhere.to_json())
    await site.attach_signature(cid, signature="AAAA", algorithm="ROT13")
    assert (await site.flags(cid), await site.kept(cid)) == ((0, 0), {})
    verdict = await site.trust.verify(cid)
    assert (verdict.success, len(verdict.signers), len(verdict.problems)) == (True, 1, 2)
    assert await site.trust.verify(cid) == verdict


@pytest.mark.anyio
async def test_nobody_can_bury_the_signature_of_whoever_brought_the_record(site: Site):
    cid = await site.push()
    eve = Principal("user:eve", "Eve", frozenset())
    pem = public_pem("Ed25519", 1)
    junk = [Referrer(PUBLIC_KEY, cid, {"key": pem}, {"n": str(number)}) for number in range(MOST_STATEMENTS + 1)]
    junk += [Referrer(SIGNATURE, cid, {"signature": "AAAA", "signedAt": str(n)}) for n in range(MOST_STATEMENTS + 1)]
    checked = [site.parts.referrers.checked(one) for one in junk]
    await site.database.write(lambda tx: site.parts.referrers.write(tx, eve, checked))
    assert not (await site.trust.verify(cid)).success
    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    verdict = await site.trust.verify(cid)
    assert [one.identity for one in verdict.signers] == [public_pem("Ed25519")]
    assert await site.kept(cid) == {"signatures": 1}


@pytest.mark.anyio
async def test_a_named_key_must_have_signed(site: Site):
    cid = await site.push()
    made = await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    assert (await site.trust.verify(cid, public_pem("Ed25519"))).success
    other = await site.trust.verify(cid, public_pem("Ed25519", 1))
    assert other.message == "not trusted: failed to verify signature: none of the keys made it for this record"
    assert (await site.trust.verify(cid, "/etc/hostname")).message == "not trusted: the public key is not PEM text"
    assert (await site.trust.verify(cid, public_pem("weak RSA"))).message.startswith("not trusted: the RSA key has")
    assert (await site.trust.verify(cid, "https://example.org/k")).message.startswith(
        "not trusted: the public key cannot"
    )
    assert await site.kept(cid) == {"signatures": 1}, "what a caller's own key says is not kept"
    loose = await site.push()
    await site.attach_signature(loose, **made.to_json())
    assert not (await site.trust.verify(loose, public_pem("Ed25519"))).success


@pytest.mark.anyio
async def test_what_does_not_hold_is_kept_as_such(site: Site):
    cid = await site.push()
    await site.attach_key(cid, public_pem("Ed25519"))
    await site.attach_signature(cid, signature="AAAA")
    verdict = await site.trust.verify(cid)
    assert (verdict.success, verdict.signers) == (False, ())
    assert (await site.kept(cid), await site.flags(cid)) == ({"signatures": 0}, (0, 0))
    assert await site.trust.verify(cid) == verdict


@pytest.mark.anyio
async def test_a_record_that_was_changed_in_the_store_is_not_trusted_though_its_signature_was(site: Site):
    cid = await site.push()
    await site.trust.sign(WHO, cid, private_pem("Ed25519"))
    assert (await site.trust.verify(cid)).success
    await site.database.write(lambda tx: tx.run("UPDATE directory_texts SET data = replace(data, 'agent', 'agents')"))
    for verdict in (await site.trust.verify(cid), await site.trust.verify(cid, public_pem("Ed25519"))):
        assert verdict.message == "not trusted: the stored record is not what its CID says"


@pytest.mark.anyio
async def test_unknown_records_are_not_trusted_and_not_signed(site: Site):
    for cid in ("", "nonsense", CID, "a\0b"):
        assert (await site.trust.verify(cid)).message == "not trusted: record not found"
        with pytest.raises(NotFound, match="record not found"):
            await site.trust.sign(WHO, cid, private_pem("Ed25519"))


@pytest.mark.anyio
async def test_only_the_owner_of_the_machine_signs_with_encrypted_keys_and_files(site: Site):
    cid = await site.push()
    encrypted = private_pem("Ed25519", password=b"word")
    with pytest.raises(InvalidInput, match="is encrypted"):
        await site.trust.sign(WHO, cid, encrypted, "word")
    with pytest.raises(InvalidInput, match="is not PEM text"):
        await site.trust.sign(WHO, cid, "/tmp/key.pem")
    await site.trust.sign(WHO, cid, encrypted, "word", local=True)
    assert (await site.trust.verify(cid)).success
