"""Ed25519ph is verified as RFC 8032 says."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.rooms.directory.trust.ed25519ph import verify_equation, verify_prehashed
from tests.rooms.directory.trust.key_files import prehashed_signature

PUBLIC = bytes.fromhex("ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf")
SIGNATURE = bytes.fromhex(
    "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae41"
    "31f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406"
)
ORDER = 2**252 + 27742317777372353535851937790883648493
secrets = st.binary(min_size=32, max_size=32)


def test_the_vector_of_the_standard_holds_for_its_message_alone():
    assert verify_prehashed(PUBLIC, SIGNATURE, b"abc")
    assert not verify_prehashed(PUBLIC, SIGNATURE, b"abd")


@given(secrets, st.binary(max_size=200))
@settings(max_examples=25, deadline=None)
def test_what_a_signer_made_holds_and_is_not_a_pure_signature(secret: bytes, message: bytes):
    public = ed25519.Ed25519PrivateKey.from_private_bytes(secret).public_key()
    made = prehashed_signature(secret, message)
    assert verify_prehashed(public.public_bytes_raw(), made, message)
    assert not verify_prehashed(public.public_bytes_raw(), made, message + b"!")
    assert not verify_equation(public.public_bytes_raw(), made, b"", message)


@given(secrets, st.binary(max_size=50), st.integers(0, 511), st.booleans())
@settings(max_examples=50, deadline=None)
def test_the_equation_agrees_with_the_library_on_pure_signatures(secret: bytes, message: bytes, bit: int, bend: bool):
    key = ed25519.Ed25519PrivateKey.from_private_bytes(secret)
    made = int.from_bytes(key.sign(message), "little") ^ (1 << bit if bend else 0)
    signature = made.to_bytes(64, "little")
    try:
        key.public_key().verify(signature, message)
        expected = True
    except InvalidSignature:
        expected = False
    assert verify_equation(key.public_key().public_bytes_raw(), signature, b"", message) is expected is (not bend)


@given(st.binary(max_size=70), st.binary(max_size=70), st.binary(max_size=20))
@settings(max_examples=100, deadline=None)
def test_garbage_never_holds_and_never_raises(public: bytes, signature: bytes, message: bytes):
    assert not verify_prehashed(public, signature, message)
    assert not verify_prehashed(PUBLIC, signature.ljust(64, b"\1")[:64], message)


def test_a_scalar_past_the_order_is_refused_though_the_equation_would_hold():
    scalar = int.from_bytes(SIGNATURE[32:], "little") + ORDER
    assert not verify_prehashed(PUBLIC, SIGNATURE[:32] + scalar.to_bytes(32, "little"), b"abc")
