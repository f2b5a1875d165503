"""The smallest valid picture and sound, for fixtures that must carry one."""

import struct
import zlib


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + _chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00"))
    + _chunk(b"IEND", b"")
)
"""One red pixel."""

_SILENCE = b"\x00\x00" * 8
WAV = (
    b"RIFF"
    + struct.pack("<I", 36 + len(_SILENCE))
    + b"WAVEfmt "
    + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    + b"data"
    + struct.pack("<I", len(_SILENCE))
    + _SILENCE
)
"""A millisecond of silence."""
