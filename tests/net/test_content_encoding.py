"""Compressed bodies, honest and hostile."""

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pentad.kernel.errors import LimitExceeded, Unavailable
from pentad.net.content_encoding import BoundedBody


def bare_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


ENCODINGS = {
    "identity": ("", bytes),
    "gzip": ("gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "bare deflate": ("deflate", bare_deflate),
    "two gzip members": ("gzip", lambda data: gzip.compress(data[:3]) + gzip.compress(data[3:])),
}


@settings(max_examples=60)
@given(st.sampled_from(sorted(ENCODINGS)), st.binary(max_size=300), st.integers(1, 900), st.integers(1, 70))
def test_a_body_is_the_same_however_it_is_packed_and_cut(kind: str, seed: bytes, times: int, cut: int):
    name, pack = ENCODINGS[kind]
    data = seed * times
    wire = pack(data)
    body = BoundedBody(name, max_bytes=len(data), max_ratio=100_000)
    step = max(cut, len(wire) // 50)
    for start in range(0, len(wire), step):
        body.feed(wire[start : start + step])
    assert body.finish() == data


@pytest.mark.requirement("net:fetch:bounds")
def test_a_bomb_is_stopped_at_the_cap():
    body = BoundedBody("gzip", max_bytes=1_000_000, max_ratio=100_000)
    with pytest.raises(LimitExceeded, match="1000000 bytes"):
        body.feed(gzip.compress(bytes(50_000_000)))


def test_a_suspicious_ratio_is_stopped_before_the_cap():
    body = BoundedBody("deflate", max_bytes=100_000_000, max_ratio=100)
    with pytest.raises(LimitExceeded, match="100 times"):
        body.feed(zlib.compress(bytes(10_000_000)))


@pytest.mark.parametrize("wire", [gzip.compress(b"hello")[:-1], b"\x1f\x8bnot gzip"], ids=["cut off", "no gzip"])
def test_a_damaged_body_is_an_error_not_a_fragment(wire: bytes):
    body = BoundedBody("gzip", max_bytes=1000, max_ratio=100)
    with pytest.raises(Unavailable):  # noqa: PT012  a damaged start fails at once, a missing end only at the end
        body.feed(wire)
        body.finish()


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
def test_an_encoding_that_was_not_offered_is_refused(encoding: str):
    with pytest.raises(Unavailable):
        BoundedBody(encoding, max_bytes=1000, max_ratio=100)
