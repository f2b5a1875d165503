"""Keys are read strictly, and only from places their owner may use."""

import base64
import contextlib
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from hypothesis import given
from hypothesis import strategies as st

from pentad.kernel.errors import InvalidInput, LimitExceeded, NotFound, Unavailable
from pentad.rooms.directory.trust.keys import read_private_key, read_public_key
from pentad.rooms.directory.trust.service import KeySource
from tests.rooms.directory.trust.key_files import BAD, GOOD, huge_rsa_pem, key, private_pem, public_pem
from tests.rooms.directory.trust.opening import Pages

COSIGN = (
    "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\neyJrZGYiOnt9fQ==\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n"
)


@pytest.mark.parametrize("kind", GOOD)
def test_a_key_has_one_name_one_spelling_and_one_fingerprint(kind: str):
    private = read_private_key(private_pem(kind))
    public = read_public_key("\n" + public_pem(kind).replace("\n", "\r\n") + "\n")
    assert private.public == public
    assert (public.algorithm, public.pem) == (kind, public_pem(kind))
    assert re.fullmatch("[0-9a-f]{64}", public.fingerprint)
    assert read_public_key(public_pem(kind, 1)) != public


def test_an_older_form_of_an_rsa_key_is_the_same_key():
    form = serialization.PublicFormat.PKCS1
    older = key("RSA").public_key().public_bytes(serialization.Encoding.PEM, form).decode()
    assert read_public_key(older) == read_public_key(public_pem("RSA"))


@pytest.mark.parametrize("kind", BAD)
def test_weak_and_foreign_keys_are_refused_with_the_reason(kind: str):
    with pytest.raises(InvalidInput, match=r"1024 bits; at least 2048|curve that is not|kind that is not"):
        read_public_key(public_pem(kind))
    with pytest.raises(InvalidInput, match=r"1024 bits; at least 2048|curve that is not|kind that is not"):
        read_private_key(private_pem(kind))


@pytest.mark.parametrize("bits", [8_200, 16_384, 100_000])
def test_a_huge_key_is_refused(bits: int):
    with pytest.raises(LimitExceeded, match=r"the limit is"):
        read_public_key(huge_rsa_pem(bits))


@pytest.mark.parametrize("kind", ["Ed25519", "ECDSA-P256"])
def test_an_encrypted_key_opens_with_its_password_alone(kind: str):
    pem = private_pem(kind, password=b"open sesame")
    assert read_private_key(pem, "open sesame") == read_private_key(private_pem(kind), b"not needed")
    with pytest.raises(InvalidInput, match="cannot be opened"):
        read_private_key(pem, "wrong")
    for nothing in (None, ""):
        with pytest.raises(InvalidInput, match="is encrypted") as refused:
            read_private_key(pem, nothing)
        assert refused.value.hint == "Give its password."
    with pytest.raises(InvalidInput, match="is encrypted"):
        read_private_key(pem, "open sesame", may_be_encrypted=False)


def test_the_format_of_cosign_is_refused_by_name():
    with pytest.raises(InvalidInput, match="cosign's own encrypted format, which is not supported"):
        read_private_key(COSIGN, "x")


@given(st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda raw: _pem("PUBLIC KEY", raw))))
def test_garbage_is_refused_in_words(text: str):
    with pytest.raises(InvalidInput):
        read_public_key(text)
    with pytest.raises(InvalidInput):
        read_private_key(text.replace("PUBLIC", "PRIVATE"), "password")


@given(st.sampled_from(GOOD), st.integers(0, 10_000), st.integers(0, 255))
def test_a_key_with_a_byte_exchanged_is_another_key_or_none(kind: str, place: int, byte: int):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    raw = bytearray(key(kind).public_key().public_bytes(serialization.Encoding.DER, form))
    before = raw[place % len(raw)]
    raw[place % len(raw)] = byte
    with contextlib.suppress(InvalidInput):
        changed = read_public_key(_pem("PUBLIC KEY", bytes(raw)))
        assert (changed == read_public_key(public_pem(kind))) is (raw[place % len(raw)] == before)


def _pem(label: str, raw: bytes) -> str:
    return f"-----BEGIN {label}-----\n{base64.encodebytes(raw).decode()}-----END {label}-----\n"


@pytest.mark.anyio
async def test_the_owner_of_the_machine_may_name_files_and_variables(tmp_path: Path):
    source = KeySource(Pages(), {"KEY": "from the environment"})
    (tmp_path / "key.pem").write_text("from a file", encoding="ascii")
    (tmp_path / "large.pem").write_bytes(b"x" * 20_000)
    assert await source.text(f" {tmp_path}/key.pem ", "private key", local=True) == "from a file"
    assert await source.text("env://KEY", "private key", local=True) == "from the environment"
    with pytest.raises(NotFound, match="no variable 'OTHER'"):
        await source.text("env://OTHER", "private key", local=True)
    with pytest.raises(NotFound, match="cannot be read: No such file"):
        await source.text(f"{tmp_path}/none.pem", "public key", local=True)
    with pytest.raises(InvalidInput, match="too large"):
        await source.text(f"{tmp_path}/large.pem", "public key", local=True)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "given_key", ["/etc/hostname", "env://HOME", "~/.ssh/id_ed25519", "file:///etc/hostname", "", "a\0b"]
)
async def test_nobody_else_may(given_key: str):
    with pytest.raises(InvalidInput, match=r"is not PEM text|cannot be reached"):
        await KeySource(Pages()).text(given_key, "public key")


@pytest.mark.anyio
async def test_an_address_is_fetched_through_the_one_door():
    pages = Pages()
    pages.pages = {"https://example.org/key.pem": b"the key", "https://example.org/gone.pem": b"404"}
    source = KeySource(pages)
    assert await source.text("https://example.org/key.pem", "private key") == "the key"
    assert await source.text("https://example.org/key.pem", "public key", local=True) == "the key"
    assert pages.asked == [("https://example.org/key.pem", False), ("https://example.org/key.pem", True)]
    with pytest.raises(InvalidInput, match="plain http"):
        await source.text("http://example.org/key.pem", "private key")
    for missing in ("https://example.org/gone.pem", "http://example.net/key.pem"):
        with pytest.raises(Unavailable, match=r"cannot be fetched: (HTTP status 404|Nobody is there)\."):
            await source.text(missing, "public key")
    with pytest.raises(InvalidInput, match="awskms:// cannot be reached"):
        await source.text("awskms:///alias/key", "private key", local=True)
